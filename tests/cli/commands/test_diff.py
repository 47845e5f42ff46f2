"""`diff`: the answer of two files, whatever kind they are, its exit code, and the file of rows to label."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import Result
from shiftmetrics.decisions import diff_models

CLASSES = ["cat", "dog", "eel"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder with predictions of two models for 400 images: the new one errs where the old one was right."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 400)
    old = rng.dirichlet([1, 1, 1], size=400) + 2.0 * np.eye(3)[labels]
    new = old.copy()
    new[:30] = np.roll(old[:30], 1, axis=1)
    ids = [f"image-{i}" for i in range(400)]
    for name, scores in {"old": old, "new": new}.items():
        table = pd.DataFrame(scores / scores.sum(axis=1, keepdims=True), columns=CLASSES)
        table.insert(0, "image_id", ids)
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        table.assign(truth=np.array(CLASSES)[labels]).to_csv(
            tmp_path / f"{name}_labelled.csv", index=False
        )
    pd.DataFrame({"image_id": ids, "label": np.array(CLASSES)[labels]}).to_csv(
        tmp_path / "labels.csv", index=False
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def first_words(done) -> str:
    # what was read stands above the verdict
    lines = [line for line in done.stdout.splitlines() if not line.startswith("Read ")]
    return lines[0].partition("  ")[0]


@pytest.mark.parametrize(
    ("typed", "verdict", "code"),
    [
        ("old.csv new.csv", "CANNOT TELL", 0),
        ("old.csv new.csv --allow 0.01", "CANNOT TELL", 3),
        ("old.csv new.csv --allow 0.1", "SAFE", 0),  # 30 of 400 can cost 7.5 points at most
        ("old.csv old.csv --allow 0", "SAFE", 0),
        ("old.csv old.csv", "SAME", 0),
        ("old_labelled.csv new_labelled.csv --label truth --allow 0.01", "WORSE", 1),
        ("new_labelled.csv old_labelled.csv --label truth --allow 0.01", "SAFE", 0),
        ("old.csv new.csv --labels labels.csv --allow 0.01", "WORSE", 1),
        ("old_labelled.csv new_labelled.csv --label truth", "WORSE", 0),
    ],
)
def test_the_exit_code_is_the_verdict(run, place, typed, verdict, code):
    done = run("diff", *typed.split())
    assert (first_words(done), done.exit_code) == (verdict, code), done.output


def test_it_says_what_it_took_for_what(run, place):
    done = run("diff", "old_labelled.csv", "new_labelled.csv")
    said = "Read old_labelled.csv and new_labelled.csv: id image_id, classes cat, dog, eel, truth truth."
    assert done.stdout.startswith(said)


def test_every_kind_of_file_gives_the_same_answer(run, place):
    pytest.importorskip("pyarrow")
    expected = json.loads(run("diff", "old.csv", "new.csv", "--json", "-").stdout)
    for name in ("old", "new"):
        table = pd.read_csv(f"{name}.csv")
        table.to_parquet(f"{name}.parquet")
        table.to_json(f"{name}.jsonl", orient="records", lines=True)
        np.save(f"{name}.npy", table[CLASSES].to_numpy())
    np.savez("both.npz", **{name: np.load(f"{name}.npy") for name in ("old", "new")})
    kinds = ["old.parquet new.parquet", "old.jsonl new.jsonl", "old.npy new.npy"]
    kinds += ["both.npz:old both.npz:new", "old.csv new.jsonl"]
    for typed in kinds:
        found = json.loads(run("diff", *typed.split(), "--json", "-").stdout)
        assert found["certain"] == expected["certain"]
        assert found["changes"]["n_changed"] == expected["changes"]["n_changed"] == 30


def test_rows_are_labelled_in_a_file_and_given_back(run, place):
    done = run("diff", "old.csv", "new.csv", "--changed", "changed.csv", "--allow", "0.01")
    assert done.exit_code == 3
    table = pd.read_csv("changed.csv", dtype={"label": object})
    assert list(table.columns[:4]) == ["order", "id", "label", "old"]
    assert len(table) == 30
    truth = pd.read_csv("labels.csv").set_index("image_id")["label"]
    n_labelled = 25
    table.loc[: n_labelled - 1, "label"] = truth[table["id"][:n_labelled]].to_numpy()
    table.to_csv("changed.csv", index=False)
    labelled = run(
        "diff", "old.csv", "new.csv", "--labels", "changed.csv", "--allow", "0.01", "--json", "-"
    )
    found = json.loads(labelled.stdout)
    assert labelled.exit_code == {"WORSE": 1, "CANNOT TELL": 3}[found["verdict"]]
    assert found["status"]["code"] == "sampled"
    known = (table["label"].notna()).sum()
    assert found["labelled"]["n_labelled"] <= known
    exact = -30 / 400
    assert found["interval"]["low"] <= exact <= found["interval"]["high"]


def test_a_file_of_labels_is_not_written_over(fails, run, place):
    assert run("diff", "old.csv", "new.csv", "--changed", "changed.csv").exit_code == 0
    before = (place / "changed.csv").read_bytes()
    assert "--changed" in fails("diff", "old.csv", "new.csv", "--changed", "changed.csv")
    assert (place / "changed.csv").read_bytes() == before
    for other in ("changed.txt", "no/changed.csv"):
        assert "--changed" in fails("diff", "old.csv", "new.csv", "--changed", other)


def test_files_hold_the_whole_answer(run, place):
    done = run(
        "diff", "old_labelled.csv", "new_labelled.csv", "--json", "d.json", "--report", "d.html"
    )
    assert done.exit_code == 0, done.output
    result = Result.from_json(place / "d.json")
    tables = [pd.read_csv(f"{name}_labelled.csv") for name in ("old", "new")]
    expected = diff_models(*tables, rng=0)
    # the files are called by their names, the tables by their arguments
    assert dataclasses.replace(result, settings=expected.settings).equals(expected)
    page = (place / "d.html").read_text(encoding="utf-8")
    assert page.index("answer bad") < page.index("What to do now") < page.index("<nav")
    assert page.index("<nav") < page.index("How to repeat") < page.index('<pre class="command"')
    assert "Kappa" not in page[: page.index("<nav")]
    # what was written is read by the other commands
    assert run("report", "d.json", "-o", "again.html").exit_code == 0
    rules = '[[rule]]\nmeasure = "diff"\nfield = "changes.fraction"\nat_most = 0.01\n'
    (place / "rules.toml").write_text(rules)
    assert run("check", "d.json", "--rules", "rules.toml").exit_code == 1


def test_options_reach_the_function(run, place):
    done = run("diff", "old.csv", "new.csv", "--plan", "7", "--json", "-")
    assert json.loads(done.stdout)["plan"]["n_labels"] == 7
    done = run("diff", "old.csv", "new.csv", "--peek", "--json", "-")
    assert json.loads(done.stdout)["plan"]["mode"] == "anytime"
    costs = run(
        "diff", "old.csv", "new.csv", "--labels", "labels.csv", "--costs", "cat=10", "--json", "-"
    )
    assert json.loads(costs.stdout)["metric"] == "mean cost"
    groups = pd.read_csv("old.csv").assign(site=["a", "b"] * 200)
    groups.to_csv("grouped.csv", index=False)
    done = run(
        "diff", "grouped.csv", "new.csv", "--labels", "labels.csv", "--group", "site", "--json", "-"
    )
    assert {"a", "b"} <= {part["name"] for part in json.loads(done.stdout)["parts"]}


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("old.csv", ["NEW"]),
        ("old.csv nowhere.csv", ["NEW", "nowhere.csv"]),
        ("old.csv new.csv --label kind", ["--label", "kind"]),
        ("old.csv new.csv --id kind", ["--id", "kind"]),
        ("old.csv new.csv --label truth --labels labels.csv", ["--label truth"]),
        ("old.csv new.csv --plan 3 --peek", ["--plan"]),
        ("old.csv new.csv --allow -1", ["--allow"]),
        ("old.csv short.csv", ["--inner"]),
        ("old.csv empty.csv", ["NEW", "empty.csv"]),
        ("old.csv gap.csv", ["row 7", "cat"]),
        ("old.csv twice.csv", ["image_id", "twice.csv"]),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(fails, place, typed, words):
    table = pd.read_csv("new.csv")
    table[:-3].to_csv("short.csv", index=False)
    (place / "empty.csv").write_text("image_id,cat,dog,eel\n")
    table.assign(cat=table["cat"].where(table["image_id"] != "image-7")).to_csv(
        "gap.csv", index=False
    )
    pd.concat([table, table[7:8].assign(cat=0.5)]).to_csv("twice.csv", index=False)
    before = {path: path.read_bytes() for path in place.iterdir()}
    message = fails("diff", *typed.split(), "--json", "o.json", "--report", "o.html")
    for word in words:
        assert word in message, message
    assert {path: path.read_bytes() for path in place.iterdir()} == before


def test_markdown_is_written_or_printed_alone(run, fails, place):
    table = pd.DataFrame(
        {"id": range(400), "prediction": ["a", "b"] * 200, "label": ["a", "b"] * 200}
    )
    table.to_csv("old.csv", index=False)
    table.to_csv("new.csv", index=False)
    typed = ("diff", "old.csv", "new.csv", "--label", "label", "--allow", "0.02")
    printed = run(*typed, "--markdown", "-")
    assert printed.exit_code == 0, printed.output
    assert printed.stdout.startswith("<!-- Written by shiftmetrics. -->\n## SAFE: From old.csv")
    written = run(*typed, "--markdown", "verdict.md")
    assert written.stdout.startswith("Read old.csv")
    assert Path("verdict.md").read_text() == printed.stdout
    assert run(*typed, "--markdown", "verdict.md").exit_code == 0  # its own file is replaced
    Path("notes.md").write_text("# Mine\n")
    assert "did not write" in fails(*typed, "--markdown", "notes.md")
    assert "must not both" in fails(*typed, "--markdown", "-", "--json", "-")
    assert "overwrite" in fails(*typed, "--markdown", "old.csv")


def test_markdown_of_scores(run, place):
    scores = pd.DataFrame({"id": range(300), "judge": [0.0, 1.0, 1.0] * 100})
    scores.to_csv("old.csv", index=False)
    scores.assign(judge=0.0).to_csv("new.csv", index=False)
    typed = ("diff", "old.csv", "new.csv", "--scores", "judge", "--allow", "0.02")
    done = run(*typed, "--markdown", "-")
    assert done.exit_code == 1
    assert "## WORSE: From old.csv to new.csv" in done.stdout


def test_a_doubt_that_decides_is_said_once(run, place: Path) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(50) % 2
    for name, n_wrong in (("old", 24), ("new", 30)):
        says = truth ^ rng.permutation(np.arange(50) < n_wrong)
        chance = np.where(says == 1, 0.8, 0.2)
        frame = pd.DataFrame({"a": 1 - chance, "b": chance})
        frame.to_csv(f"{name}.csv", index=False)
    pd.DataFrame({"label": np.array(["a", "b"])[truth]}).to_csv("labels.csv", index=False)
    done = run("diff", "old.csv", "new.csv", "--labels", "labels.csv", "--allow", "0.1")
    assert done.exit_code == 3
    assert "new.csv is right in " in done.stdout
    assert "New.csv" not in done.output
    assert done.output.count("fewer than the") == 1


def test_the_changed_rows_hold_their_columns_and_are_read_back(run, place):
    tables = {name: pd.read_csv(f"{name}.csv") for name in ("old", "new")}
    truth = pd.read_csv("labels.csv").set_index("image_id")["label"]
    for name, table in tables.items():
        table["caption"] = [f"=HYPERLINK({number})" for number in range(400)]
        table["plan"] = "gold"
        table.to_csv(f"{name}.csv", index=False)
    done = run("diff", "old.csv", "new.csv", "--changed", "changed.csv")
    assert done.exit_code == 0, done.output
    changed = pd.read_csv("changed.csv")
    assert list(changed)[-2:] == ["caption", "plan (row)"]
    own = tables["old"].set_index("image_id").loc[changed["id"]]
    assert changed["caption"].tolist() == [f"'{cell}" for cell in own["caption"]]
    changed["label"] = truth.loc[changed["id"]].to_numpy()
    changed.to_csv("filled.csv", index=False)
    typed = ("diff", "old.csv", "new.csv", "--json", "-", "--labels")
    answers = [json.loads(run(*typed, name).stdout) for name in ("filled.csv", "labels.csv")]
    counts = [[answer["labelled"][key] for key in ("fixed", "broken")] for answer in answers]
    assert counts[0] == counts[1] == [0, 30]
