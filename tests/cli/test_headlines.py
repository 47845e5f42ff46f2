"""Never confidently wrong: every number of every headline is computed again, by counting, from the files."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest

from counting import (
    CLASSES,
    EDGES,
    N,
    answer,
    counted,
    numbers,
    quantised,
    rounds_to,
    two_models,
    write,
)


@pytest.fixture(scope="module")
def drawn():
    """Return probabilities of two models, and labels."""
    return two_models(0)


# --- diff ------------------------------------------------------------------------------------------------


def check_changes(printed: str, n_changed: int) -> None:
    if not n_changed:
        assert f"None of the {N} " in printed
        return
    assert f"{n_changed} of {N} " in printed
    (share,) = re.findall(r" changed \(([\d.]+) %\)", printed)
    assert rounds_to(share, 100 * n_changed / N)


def check_difference(printed: str, counts: dict[str, int]) -> None:
    # what was read stands above the verdict
    headline = next(line for line in printed.splitlines() if not line.startswith("Read "))
    difference = (counts["new_right"] - counts["old_right"]) / N
    assert difference == (counts["fixed"] - counts["broken"]) / N
    (fixed, broken) = re.findall(r"(\d+) errors? fixed, (\d+) new", headline)[0]
    assert (int(fixed), int(broken)) == (counts["fixed"], counts["broken"])
    if difference:
        points, word = re.findall(r"new is ([\d.]+) points? (better|worse)", headline)[0]
        assert rounds_to(points, 100 * abs(difference))
        assert word == ("better" if difference > 0 else "worse")
    else:
        assert "as good as" in headline
    before, after = re.findall(r"\(([\d.]+) % to ([\d.]+) %", headline)[0]
    assert rounds_to(before, 100 * counts["old_right"] / N)
    assert rounds_to(after, 100 * counts["new_right"] / N)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("side", ["new", "both"])
def test_diff_counts_what_argmax_changes(run, place, drawn, edge, side):
    (old, new), labels = drawn
    new = EDGES[edge](old if side == "new" else new)
    old = EDGES[edge](old) if side == "both" else old
    write(place / "old.csv", old)
    write(place / "new.csv", new, label=CLASSES[labels])
    answers = [[answer(row) for row in scores] for scores in (old, new)]
    counts = counted(*answers, labels)
    check_changes(run("diff", "old.csv", "new.csv", "--json", "d.json").stdout, counts["changed"])
    done = run("diff", "old.csv", "new.csv", "--label", "label", "--allow", "0.02")
    if counts["changed"]:
        check_difference(done.stdout, counts)
    tied = sum(int((np.sort(row)[-2:] == row.max()).all()) for row in [*old, *new])
    if counts["changed"]:
        assert numbers(done.stdout, "Tied scores: ") == [tied]


@pytest.mark.parametrize("kind", ["words", "integers", "one class"])
def test_diff_of_hard_labels(run, place, drawn, kind):
    (old, new), labels = drawn
    answers = [np.array([answer(row) for row in scores]) for scores in (old, new)]
    if kind == "one class":
        answers[1] = np.zeros(N, dtype=int)
    names = CLASSES if kind != "integers" else np.arange(3)
    write(place / "old.csv", names[answers[0]])
    write(place / "new.csv", names[answers[1]], label=names[labels])
    counts = counted(*answers, labels)
    files = ("old.csv", "new.csv", "--prediction", "score")
    check_changes(run("diff", *files).stdout, counts["changed"])
    check_difference(run("diff", *files, "--label", "label").stdout, counts)


def test_diff_of_a_regression_says_so(run, place):
    rng = np.random.default_rng(1)
    truth = rng.normal(300, 50, N)
    old = truth + rng.normal(0, 10, N)
    write(place / "old.csv", old, truth=truth)
    write(place / "new.csv", 1.1 * old)
    done = run("diff", "old.csv", "new.csv", "--label", "truth", "--allow", "1")
    errors = [
        sum(abs(a - b) for a, b in zip(side, truth, strict=True)) / N for side in (old, 1.1 * old)
    ]
    worse, before, after = re.findall(
        r"new is ([\d.]+) worse \(([\d.]+) to ([\d.]+);", done.stdout
    )[0]
    assert done.exit_code == 1
    assert float(worse) == pytest.approx(errors[1] - errors[0], rel=0.05)
    assert [float(before), float(after)] == pytest.approx(errors, rel=0.05)
    assert "outputs changed" in done.stdout
    check_changes(done.stdout, N)


def test_diff_of_rare_events_takes_a_threshold_and_says_it(run, place):
    rng = np.random.default_rng(2)
    ill = rng.random(N) < 0.05
    scores = [
        np.clip(0.05 + 0.1 * ill + rng.normal(0, width, N), 0.001, 0.4) for width in (0.02, 0.06)
    ]
    for name, score in zip(("old", "new"), scores, strict=True):
        write(place / f"{name}.csv", score)
    write(place / "labelled.csv", scores[1], label=ill.astype(int))
    for threshold in (0.1, 0.5):
        answers = [[int(score >= threshold) for score in side] for side in scores]
        counts = counted(*answers, ill)
        done = run("diff", "old.csv", "labelled.csv", "--threshold", threshold, "--label", "label")
        check_changes(done.stdout, counts["changed"])
        if counts["changed"]:
            check_difference(done.stdout, counts)
    # without a threshold it is set to the rate of the labels, or asked for, and said
    without = run("diff", "old.csv", "labelled.csv", "--label", "label")
    assert "threshold" in without.stdout


def test_rows_of_one_file_alone_are_named_and_counted(run, fails, place, drawn):
    old, new = drawn[0]
    write(place / "old.csv", old)
    write(place / "new.csv", new)
    table = pd.read_csv("new.csv")
    missing = table[:7]["image_id"].tolist()
    table[7:].to_csv("short.csv", index=False)
    message = fails("diff", "old.csv", "short.csv")
    assert any(name in message for name in missing)
    kept = [i for i in range(N) if f"image-{i}" not in missing]
    n_changed = sum(answer(old[i]) != answer(new[i]) for i in kept)
    done = run("diff", "old.csv", "short.csv", "--inner")
    assert f"{n_changed} of {len(kept)} predictions changed" in done.stdout


# --- agreement -------------------------------------------------------------------------------------------


def log_agreement(old, new, beta: float) -> float:
    """Return the mean log overlap of tempered posteriors plus the log of the number of classes."""
    total = 0.0
    for before, after in zip(old, new, strict=True):
        tempered = []
        for row in (before, after):
            powers = np.exp(beta * (np.log(row) - np.log(row).max()))
            tempered.append(powers / powers.sum())
        total += math.log(len(before) * float(tempered[0] @ tempered[1]))
    return total / len(old)


def test_agreement_counts_and_agrees(run, place, drawn):
    (old, new), _ = drawn
    write(place / "shifted.csv", new)
    write(place / "original.csv", old)
    arguments = ("agreement", "shifted.csv", "original.csv", "--id", "image_id", "--json", "a.json")
    done = run(*arguments)
    brief, headline = done.stdout.splitlines()[1:3]
    answers = [[answer(row) for row in scores] for scores in (old, new)]
    share = np.mean([a != b for a, b in zip(*answers, strict=True)])
    printed = re.findall(r"([\d.]+) % of the predictions change", headline)[0]
    assert brief.startswith(f"CHANGED  {printed} % of {N} predictions changed")
    assert float(printed) == pytest.approx(100 * share, rel=0.05)
    document = json.loads((place / "a.json").read_text())
    chance = sum(
        np.mean(np.array(answers[0]) == k) * np.mean(np.array(answers[1]) == k) for k in range(3)
    )
    assert document["changes"]["kappa"] == pytest.approx(
        (1 - share - chance) / (1 - chance), abs=1e-9
    )
    best = max(
        log_agreement(old, new, beta) for beta in document["beta"] * np.linspace(0.9, 1.1, 41)
    )
    assert document["value"] == pytest.approx(best, abs=2e-5)
    assert document["value"] >= best - 1e-9
    elsewhere = max(log_agreement(old, new, beta) for beta in np.geomspace(0.01, 100, 40))
    assert document["value"] >= elsewhere - 1e-9


@pytest.mark.parametrize("bits", [4, 8])
def test_agreement_of_quantised_scores_counts_as_diff_does(run, place, drawn, bits):
    old = drawn[0][0]
    write(place / "full.csv", old)
    write(place / "quantised.csv", quantised(old, bits))
    changed = sum(answer(a) != answer(b) for a, b in zip(old, quantised(old, bits), strict=True))
    # rows that are rounded do not sum to 1: they are scores
    arguments = ["--id", "image_id", "--kind", "scores"]
    done = run("agreement", "quantised.csv", "full.csv", *arguments)
    assert ("None of the" in done.stdout) == (changed == 0)
    if changed:
        printed = re.findall(r"([\d.]+) % of the predictions change", done.stdout)[0]
        assert float(printed) == pytest.approx(100 * changed / N, rel=0.05)


def test_prices_are_no_scores_of_classes(fails, place):
    prices = np.random.default_rng(1).normal(300, 50, N)
    write(place / "old.csv", prices)
    write(place / "new.csv", 1.1 * prices)
    for command in ("agreement new.csv old.csv", "compare new.csv old.csv --reference old.csv"):
        assert "regression" in fails(*command.split(), "--id", "image_id")


# --- stability -------------------------------------------------------------------------------------------


def test_stability_of_losses_by_tilting(run, place):
    losses = np.random.default_rng(3).exponential(size=300)
    pd.DataFrame({"loss": losses}).to_csv("losses.csv", index=False)
    threshold = 1.5 * losses.mean()
    done = run("stability", "losses.csv", "--losses", "loss", "-r", threshold, "--json", "s.json")
    now = re.findall(r"(?:currently|now) ([\d.]+)", done.stdout)[0]
    assert rounds_to(now, losses.mean()) or float(now) == pytest.approx(losses.mean(), rel=0.05)
    low, high = 0.0, 50.0
    for _ in range(200):  # the exponential tilt whose mean is the threshold
        tilt = 0.5 * (low + high)
        weights = np.exp(tilt * (losses - losses.max()))
        weights /= weights.sum()
        low, high = (tilt, high) if weights @ losses < threshold else (low, tilt)
    divergence = float(weights @ np.log(len(losses) * weights))
    document = json.loads((place / "s.json").read_text())
    assert document["value"] == pytest.approx(
        document["theta2"] * divergence if "theta2" in document else 0.4 * divergence, rel=1e-6
    )


def test_stability_of_distances_by_moving_the_nearest(run, place):
    rng = np.random.default_rng(4)
    distances = np.where(rng.random(400) < 0.1, 0.0, rng.exponential(size=400))
    pd.DataFrame({"distance": distances}).to_csv("distances.csv", index=False)
    arguments = ["--distances", "distance", "-r", "0.25", "--theta2", "inf", "--json", "s.json"]
    done = run("stability", "distances.csv", *arguments)
    base = sum(distance == 0.0 for distance in distances) / 400
    assert any(rounds_to(text, 100 * base) for text in re.findall(r"([\d.]+) %", done.stdout))
    nearest = sorted(distance for distance in distances if distance > 0.0)
    moved = nearest[: round(0.25 * 400) - round(base * 400)]
    document = json.loads((place / "s.json").read_text())
    assert document["value"] == pytest.approx(0.4 * sum(d * d for d in moved) / 400, rel=1e-6)


# --- novelty, compare ------------------------------------------------------------------------------------


def test_novelty_finds_what_was_put_there_and_nothing_else(run, place):
    rng = np.random.default_rng(5)
    known = rng.normal(size=(200, 2))
    new = np.concatenate([rng.normal(size=(150, 2)), rng.normal((8.0, 0.0), 0.4, size=(50, 2))])
    np.savez("points.npz", known=known, new=new, same=rng.normal(size=(200, 2)))
    done = run("novelty", "points.npz:new", "points.npz:known")
    share = numbers(done.stdout, after=" %")[0]
    assert 20.0 <= share <= 30.0
    rows = [int(row) for row in re.findall(r"rows? (\d+), (\d+), (\d+)", done.stdout)[0]]
    assert min(rows) >= 150
    calm = run("novelty", "points.npz:same", "points.npz:known", "--json", "n.json")
    assert json.loads((place / "n.json").read_text())["p_value"] > 0.01, calm.stdout


def test_compare_ranks_by_what_labels_say(run, place, drawn):
    (old, new), labels = drawn
    write(place / "a.csv", old, label=CLASSES[labels])
    write(place / "b.csv", new, label=CLASSES[labels])
    command = "compare a=a.csv b=b.csv --reference a.csv --id image_id --label label --json c.json"
    done = run(*command.split())
    right = {
        name: sum(answer(row) == label for row, label in zip(scores, labels, strict=True)) / N
        for name, scores in {"a": old, "b": new}.items()
    }
    best = max(right, key=right.get)
    assert done.stdout.splitlines()[1].startswith(f"CLEAR  {best} is the best")
    for name, accuracy in right.items():
        printed = re.findall(
            rf"^{name}\t.*accuracy ([\d.]+) %", done.stdout, flags=re.MULTILINE | re.IGNORECASE
        )[0]
        assert rounds_to(printed, 100 * accuracy)


# --- audit -----------------------------------------------------------------------------------------------


def test_audit_tells_a_moved_column_from_the_same_source(run, place):
    rng = np.random.default_rng(6)
    reference, same, moved = (
        pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd")) for _ in range(3)
    )
    moved["b"] += 1.0
    for name, table in {"reference": reference, "same": same, "moved": moved}.items():
        table.to_csv(f"{name}.csv", index=False)
    assert run("audit", "reference.csv", "same.csv").stdout.startswith("NO CHANGE SHOWN")
    done = run("audit", "reference.csv", "moved.csv")
    assert done.stdout.startswith("CHANGED")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("b: median")]
    now, before = numbers(line, "(?:median|was) ")
    assert [now, before] == pytest.approx([moved["b"].median(), reference["b"].median()], rel=1e-2)


# --- real data -------------------------------------------------------------------------------------------


@pytest.mark.realdata
@pytest.mark.parametrize("bits", [None, 4, 8])
def test_real_networks(run, data_folder, place, bits):
    with np.load(data_folder / "imagenet16h_noise" / "imagenet16h.npz") as arrays:
        scores = np.exp(np.asarray(arrays["log_probs"][0, :2], dtype=np.float64))
        labels = np.asarray(arrays["labels"])
    old = scores[0]
    new = scores[1] if bits is None else quantised(old, bits)
    np.savez("runs.npz", old=old, new=new)
    pd.DataFrame({"id": range(len(labels)), "label": labels}).to_csv("labels.csv", index=False)
    answers = [[answer(row) for row in side] for side in (old, new)]
    counts = counted(*answers, labels)
    done = run("diff", "runs.npz:old", "runs.npz:new", "--json", "-")
    found = json.loads(done.stdout)
    assert found["changes"]["n_changed"] == counts["changed"]
    agreed = run("agreement", "runs.npz:new", "runs.npz:old", "--kind", "scores", "--json", "-")
    disagreement = json.loads(agreed.stdout)["changes"]["disagreement"]
    assert disagreement == pytest.approx(counts["changed"] / len(labels), abs=1e-12)
