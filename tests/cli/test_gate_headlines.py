"""Never confidently wrong, after measuring: what `check`, `run`, `report` and `demo` print is counted again."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from counting import CLASSES, EDGES, N, answer, counted, quantised, two_models, write
from shiftmetrics._core.documents import read_results


@pytest.fixture(scope="module")
def drawn():
    """Return probabilities of two models, and labels."""
    return two_models(7)


def answers_of(*sides) -> list[list[int]]:
    return [[answer(row) for row in scores] for scores in sides]


def rule(bound: float, **keys: str) -> str:
    lines = [f'{key} = "{text}"' for key, text in keys.items()]
    return "\n".join(["[[rule]]", *lines, f"at_most = {float(bound)!r}", ""])


def judged(stdout: str, field: str) -> list[float]:
    """Return the numbers that were judged of a field."""
    return [
        float(text) for text in re.findall(rf"\b{re.escape(field)} (-?[\d.]+(?:e-\d+)?)", stdout)
    ]


# --- check and report ------------------------------------------------------------------------------------


@pytest.mark.parametrize("edge", EDGES)
def test_check_and_report_say_what_argmax_changes(run, place, drawn, edge):
    (old, new), labels = drawn
    old, new = EDGES[edge](old), EDGES[edge](new)
    write(place / "old.csv", old)
    write(place / "new.csv", new)
    changed = counted(*answers_of(old, new), labels)["changed"]
    # scores of one class that are much larger than the others may be no scores: the columns are named
    columns = ["--columns", ",".join(CLASSES)] if edge == "one class" else []
    assert run("diff", "old.csv", "new.csv", *columns, "--json", "diff.json").exit_code == 0
    scores = ["new.csv", "old.csv", *columns, "--kind", "scores"]
    assert run("agreement", *scores, "--json", "agreement.json").exit_code == 0
    files = "diff.json", "agreement.json"
    for bound, code in (((changed + 0.5) / N, 0), ((changed - 0.5) / N, 1)):
        rules = rule(bound, measure="diff", field="changes.fraction")
        (place / "rules.toml").write_text(rules + rule(bound, measure="posterior_agreement"))
        done = run("check", *files, "--rules", "rules.toml", "--json", "gate.json")
        assert done.exit_code == code, done.output
        for field in ("changes.fraction", "changes.disagreement"):
            assert judged(done.stdout, field) == pytest.approx([changed / N], abs=1e-4)
        outcomes = json.loads((place / "gate.json").read_text())["outcomes"]
        assert [part["value"] for part in outcomes] == pytest.approx([changed / N] * 2, abs=1e-12)
    done = run("report", *files, "--output", "page.html")
    page = (place / "page.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    counts = f"{changed} of {N} predictions" if changed else f"None of the {N} predictions"
    for text in (done.stdout, page):
        assert counts in text


def test_check_of_a_regression_and_of_hard_labels(run, place, drawn):
    rng = np.random.default_rng(8)
    truth = rng.normal(300, 50, N)
    old, new = truth + rng.normal(0, 10, N), truth + rng.normal(0, 12, N)
    write(place / "old.csv", old, truth=truth)
    write(place / "new.csv", new)
    run("diff", "old.csv", "new.csv", "--json", "price.json")
    gain = sum(abs(a - t) - abs(b - t) for a, b, t in zip(old, new, truth, strict=True)) / N
    (first, second), labels = drawn
    hard = answers_of(first, second)
    write(place / "a.csv", CLASSES[hard[0]], truth=CLASSES[labels])
    write(place / "b.csv", CLASSES[hard[1]])
    run("diff", "a.csv", "b.csv", "--json", "hard.json")
    counts = counted(*hard, labels)
    better = (counts["new_right"] - counts["old_right"]) / N
    for name, value in (("price", gain), ("hard", better)):
        for step, code in ((-1e-6, 0), (1e-6, 1)):
            text = f'[[rule]]\nresult = "{name}"\nusing = "value"\nat_least = {float(value + step)!r}\n'
            (place / "rules.toml").write_text(text)
            done = run("check", f"{name}.json", "--rules", "rules.toml")
            assert done.exit_code == code, done.output
            assert judged(done.stdout, "value") == pytest.approx([value], rel=1e-3)


def test_check_of_labels_that_are_missing_fails_what_is_not_shown(run, place, drawn):
    """Without labels the difference is no answer; with an interval around it, the unfavourable end counts."""
    (old, new), labels = drawn
    write(place / "old.csv", old)
    write(place / "new.csv", new, label=CLASSES[labels])
    counts = counted(*answers_of(old, new), labels)
    better = (counts["new_right"] - counts["old_right"]) / N
    (place / "rules.toml").write_text(
        f'[[rule]]\nmeasure = "diff"\nat_least = {float(better - 1e-9)!r}\n'
    )
    run("diff", "old.csv", "new.csv", "--json", "d.json")
    done = run("check", "d.json", "--rules", "rules.toml")
    assert done.exit_code == 1
    found = json.loads((place / "d.json").read_text())
    assert judged(done.stdout, "counted as") == pytest.approx([found["interval"]["low"]], abs=1e-4)
    pd.read_csv("new.csv").drop(columns="label").to_csv("bare.csv", index=False)
    run("diff", "old.csv", "bare.csv", "--json", "d.json")
    done = run("check", "d.json", "--rules", "rules.toml")
    assert done.exit_code == 1
    assert "unlabelled" in done.stdout


# --- run -------------------------------------------------------------------------------------------------


def test_run_prints_what_counting_gives(run, place, drawn):
    (old, new), labels = drawn
    write(place / "old.csv", old)
    write(place / "new.csv", quantised(new, 4), label=CLASSES[labels])
    counts = counted(*answers_of(old, quantised(new, 4)), labels)
    better = (counts["new_right"] - counts["old_right"]) / N
    config = f"""
    [[diff]]
    name = "release"
    old = "old.csv"
    new = "new.csv"
    allow = 0.5
    [[agreement]]
    name = "bits"
    shifted = "new.csv"
    reference = "old.csv"
    kind = "scores"
    [[rule]]
    result = "release"
    using = "value"
    at_least = {float(better - 1e-9)!r}
    [[rule]]
    result = "bits"
    at_most = {float(counts["changed"] - 0.5) / N!r}
    """
    (place / "config.toml").write_text(config)
    done = run("run", "config.toml")
    assert done.exit_code == 1, done.output
    assert f"{counts['fixed']} errors fixed, {counts['broken']} new" in done.stdout
    (share,) = re.findall(r"([\d.]+) % of \d+ predictions changed", done.stdout)
    assert float(share) == pytest.approx(100 * counts["changed"] / N, rel=0.05)
    assert "Failed: 2 checks of 2 rules, 1 passed, 1 failed" in done.stdout
    assert judged(done.stdout, "changes.disagreement") == pytest.approx(
        [counts["changed"] / N], abs=1e-4
    )
    cases = (place / "results" / "junit.xml").read_text()
    assert cases.count("<testcase") == 2
    assert cases.count("<failure") == 1


# --- demo ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_demo_prints_what_its_own_files_give(run, place):
    done = run("demo", "--output", "demo")
    assert done.exit_code == 0, done.output
    results = list(read_results(place / "demo" / "results.json").values())
    with np.load(place / "demo" / "digits.npz") as arrays:
        files = {name: arrays[name] for name in arrays.files}
    original = answers_of(files["scores"])[0]
    for name, result in zip(("rotated_scores", "noisy_scores"), results[:2], strict=True):
        share = np.mean(np.array(answers_of(files[name])[0]) != original)
        assert result.changes.disagreement == pytest.approx(share, abs=1e-12)
        shown = re.findall(r"([\d.]+) % of the predictions change", result.headline())[0]
        assert float(shown) == pytest.approx(100 * share, rel=0.05)
        assert result.headline() in done.stdout
    # the errors now, by the labels; a distance of 0 is an error
    wrong = np.mean(np.array(original) != files["labels"])
    assert np.mean(files["distances"] == 0.0) == pytest.approx(wrong, abs=1e-12)
    assert results[2].base_risk == pytest.approx(wrong, abs=1e-12)
    # the withheld digit: most of the members of the first mode show it
    right, members = re.findall(r"(\d+) of its (\d+) members", done.stdout)[0]
    assert int(members) == results[3].new[0].n_members
    assert int(members) / 2 < int(right) <= (files["labels"] == 4).sum()
    assert f"{int((files['labels'] == 4).sum())} in the test sample" in done.stdout


# --- real data -------------------------------------------------------------------------------------------


@pytest.mark.realdata
@pytest.mark.parametrize("bits", [None, 4, 8])
def test_a_gate_on_real_networks(run, data_folder, place, bits):
    with np.load(data_folder / "imagenet16h_noise" / "imagenet16h.npz") as arrays:
        scores = np.exp(np.asarray(arrays["log_probs"][0, :2], dtype=np.float64))
        labels = np.asarray(arrays["labels"])
    old = scores[0]
    new = scores[1] if bits is None else quantised(old, bits)
    np.savez("runs.npz", old=old, new=new)
    np.save("labels.npy", labels)
    counts = counted(*answers_of(old, new), labels)
    n = len(labels)
    run("diff", "runs.npz:old", "runs.npz:new", "--json", "d.json")
    run("agreement", "runs.npz:new", "runs.npz:old", "--kind", "scores", "--json", "a.json")
    for bound, code in (((counts["changed"] + 0.5) / n, 0), ((counts["changed"] - 0.5) / n, 1)):
        rules = rule(bound, measure="diff", field="changes.fraction")
        (place / "rules.toml").write_text(rules + rule(bound, measure="posterior_agreement"))
        assert run("check", "d.json", "a.json", "--rules", "rules.toml").exit_code == code
    done = run("report", "d.json", "--output", "page.html")
    printed = done.stdout.replace(",", "")
    shown = f"{counts['changed']} of {n}" if counts["changed"] else f"None of the {n}"
    assert f"{shown} predictions changed" in printed
