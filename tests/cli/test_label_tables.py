"""Cells that a spreadsheet would run are text in our files, and come back as they were."""

from pathlib import Path

import pandas as pd
import pytest

from shiftmetrics._core.files import write_text
from shiftmetrics._core.staging import all_or_nothing
from shiftmetrics.cli.label_tables import (
    guarded,
    is_unfilled,
    unguarded,
    without_guards,
    write_table,
)

FORMULAS = ["=1+1", "+SUM(1)", "-a", "@SUM(1)", "\tx", "\rx", "'=x", "''@x"]


@pytest.mark.parametrize("cell", [*FORMULAS, "a", "'a", "", "-5", "+1e3", "-.5", "2-1", None, 3.0])
def test_cells_come_back(cell):
    found = guarded(cell)
    assert unguarded(found) == cell
    if isinstance(found, str) and found not in ("-5", "+1e3", "-.5"):
        assert found[:1] not in tuple("=+-@\t\r")


def test_numbers_stay_numbers():
    assert [guarded(cell) for cell in ("-5", "+1e3", "-.5", -5)] == ["-5", "+1e3", "-.5", -5]
    assert guarded("-5+2") == "'-5+2"


def test_a_table_comes_back(tmp_path):
    table = pd.DataFrame({"=id": FORMULAS, "n": range(8), "label": [None] * 8})
    path = tmp_path / "c.csv"
    write_table(table, path, guard=True)
    read = pd.read_csv(path)
    assert read.columns[0] == "'=id"
    assert without_guards(read)["=id"].tolist() == FORMULAS
    assert without_guards(read)["n"].tolist() == list(range(8))
    write_table(table, path, guard=False)
    assert pd.read_csv(path)["=id"][0] == "=1+1"


def test_a_table_gets_its_name_after_all_others(tmp_path, monkeypatch):
    """What may hold labels is not replaced: were it there before the rest, a killed command could not be repeated."""
    named = []
    replace = Path.replace
    monkeypatch.setattr(
        Path, "replace", lambda self, target: named.append(target.name) or replace(self, target)
    )
    with all_or_nothing():
        write_table(pd.DataFrame({"id": [1]}), tmp_path / "c.csv", guard=True)
        write_text(tmp_path / "m.md", "later")
    assert named == ["m.md", "c.csv"]


def test_what_is_no_table_stays():
    assert without_guards([1]) == [1]


def files():
    ids = ["@SUM(1)", *[f"r{i}" for i in range(20)]]
    old = ['=HYPERLINK("http://example.invalid")', *["a"] * 10, *["b"] * 10]
    pd.DataFrame({"id": ids, "prediction": old}).to_csv("old.csv", index=False)
    pd.DataFrame({"id": ids, "prediction": ["a"] * 21}).to_csv("new.csv", index=False)


def test_changed_rows_can_be_opened_filled_in_and_given_back(run, place):
    files()
    assert run("diff", "old.csv", "new.csv", "--changed", "c.csv").exit_code == 0
    cells = pd.read_csv("c.csv", dtype=str, keep_default_na=False)
    assert not [c for c in cells.to_numpy().ravel() if c[:1] in tuple("=+-@\t\r") and c]
    filled = cells.assign(label="a")
    filled.to_csv("labels.csv", index=False)
    done = run("diff", "old.csv", "new.csv", "--labels", "labels.csv")
    assert done.exit_code != 2, done.output
    filled.loc[filled["id"] == "'@SUM(1)", "id"] = "@SUM(1)"
    filled.to_csv("typed.csv", index=False)
    again = run("diff", "old.csv", "new.csv", "--labels", "typed.csv")
    # all but the name of the file of labels
    assert "SAFE" in done.stdout or "CANNOT TELL" in done.stdout or "WORSE" in done.stdout
    assert done.stdout.replace("labels.csv", "typed.csv") == again.stdout
    assert run("diff", "old.csv", "new.csv", "--changed", "raw.csv", "--as-is").exit_code == 0
    assert "@SUM(1)" in pd.read_csv("raw.csv")["id"].tolist()


def test_a_run_file_with_changed_rows_works_the_second_time(run, place):
    files()
    Path("run.toml").write_text(
        '[[diff]]\nname = "d"\nold = "old.csv"\nnew = "new.csv"\nchanged = "c.csv"\n'
    )
    assert run("run", "run.toml", "-q").exit_code == 0
    assert run("run", "run.toml", "-q").exit_code == 0
    filled = Path("c.csv").read_text().replace("1,'@SUM(1),,", "1,'@SUM(1),a,")
    Path("c.csv").write_text(filled)
    if is_unfilled(Path("c.csv")):
        pd.read_csv("c.csv").assign(label="a").to_csv("c.csv", index=False)
    before = Path("c.csv").read_bytes()
    done = run("run", "run.toml", "-q")
    assert done.exit_code == 2
    assert "may hold labels" in done.output
    assert Path("c.csv").read_bytes() == before
