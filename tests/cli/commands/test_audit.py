"""The command audit, as it is typed."""

import joblib
import pandas as pd
import pytest

from shiftmetrics._core.result import format_percent
from shiftmetrics.cli.inputs.results import read_results
from shiftmetrics.decisions import audit_samples


@pytest.fixture
def typed(clinic):
    return ["audit", clinic / "reference.csv", clinic / "current.csv", "--label", "paid"]


def test_the_answer_comes_first_and_the_files_hold_it(run, clinic, typed, tmp_path):
    outputs = ["--json", tmp_path / "a.json", "--report", tmp_path / "a.html"]
    result = run(*typed, "--time", "day", "--rows", tmp_path / "rows.csv", *outputs)
    assert result.exit_code == 0, result.output
    verdict, _, sentence = result.stdout.splitlines()[0].partition("  ")
    assert verdict == "CHANGED"
    # forty of two hundred are planted, and nothing else differs
    assert "20 %" in sentence
    assert "one mode" in sentence
    # The rows of the mode are of four days, and there are later ones.
    assert "from 2024-10-13 to 2024-10-16 (100 %)" in result.stdout
    assert "city = C" in result.stdout
    assert "Took `visit_id` as the id" in result.stdout
    (found,) = read_results(tmp_path / "a.json").values()
    frames = [pd.read_csv(clinic / f"{name}.csv") for name in ("reference", "current")]
    expected = audit_samples(*frames, label="paid", time="day")
    assert found.headline() == expected.headline()
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert sorted(rows["id"]) == list(range(1120, 1160))
    assert set(rows["city"]) == {"C"}
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "city = C" in page
    assert "What to do now" in page


@pytest.mark.slow
def test_a_column_that_holds_the_classes_of_the_model_is_named(run, clinic):
    model = ["--model", clinic / "model.joblib", "--trust"]
    files = [clinic / "reference.csv", clinic / "labelled.csv"]
    assert "--label paid says how often" in run("audit", *files, *model).stdout
    assert "says how often" not in run("audit", *files, *model, "--label", "paid").stdout


def test_the_plan_and_the_rows_of_modes_are_two_files(run, clinic, typed, tmp_path):
    rows = tmp_path / "rows.csv"
    result = run(*typed, "--plan", "30", "--rows", rows)
    assert result.exit_code == 0, result.output
    plan = tmp_path / "rows_plan.csv"
    assert str(plan) in result.stdout
    current = pd.read_csv(clinic / "current.csv", dtype=str).set_index("visit_id")
    tables = {path: pd.read_csv(path, dtype=str) for path in (rows, plan)}
    beside = ["order", "id", "label"]
    assert list(tables[rows]) == ["mode", *beside, *current.columns]
    assert list(tables[plan]) == [*beside, "plan", *current.columns]
    assert set(tables[rows]["id"]) == {str(number) for number in range(1120, 1160)}
    # The rows of the plan are those that the library draws, in its order, with what the file says of each.
    frames = [pd.read_csv(clinic / f"{name}.csv") for name in ("reference", "current")]
    drawn = audit_samples(*frames, label="paid", plan=30).plan.rows
    assert list(tables[plan]["id"]) == frames[1]["visit_id"].iloc[drawn].astype(str).tolist()
    for table in tables.values():
        expected = current.loc[table["id"]].reset_index(drop=True)
        pd.testing.assert_frame_equal(table[expected.columns], expected)


def test_a_file_for_a_plan_takes_a_plan(run, typed, tmp_path):
    plan = tmp_path / "plan.csv"
    result = run(*typed, "--to-label", plan)
    assert result.exit_code == 2
    assert "--plan NUMBER" in result.output
    (tmp_path / "rows_plan.csv").write_text("id,label\n1,yes\n")
    result = run(*typed, "--rows", tmp_path / "rows.csv", "--peek")
    assert result.exit_code == 2
    assert "--to-label" in result.output
    assert not (tmp_path / "rows.csv").exists()
    said = run(*typed, "--plan", "30")
    assert "--to-label plan.csv writes the rows of the plan" in said.stdout


@pytest.mark.slow
def test_a_plan_is_written_filled_in_and_answered(run, clinic, typed, tmp_path):
    model = ["--model", clinic / "model.joblib", "--trust"]
    files = {"--rows": tmp_path / "rows.csv", "--to-label": tmp_path / "plan.csv"}
    options = [part for pair in files.items() for part in pair]
    first = run(*typed, *model, "--plan", "40", *options)
    assert first.exit_code == 0, first.output
    assert "Label 40 samples" in first.stdout
    truth = pd.read_csv(clinic / "labelled.csv").set_index("visit_id")["paid"]
    given = []
    for path in files.values():
        filled = pd.read_csv(path)
        filled["label"] = truth.loc[filled["id"]].to_numpy()
        filled.to_csv(path, index=False)
        given += ["--labels", path]
    assert len(filled) == 40
    second = run(*typed, *model, *given)
    assert second.exit_code == 0, second.output
    fitted = joblib.load(clinic / "model.joblib")
    current = pd.read_csv(clinic / "current.csv").set_index("visit_id")
    ids = filled["id"]
    right = (fitted.predict(current.loc[ids, ["x"]]) == truth.loc[ids]).mean()
    assert f"{format_percent(right)} of 40 labelled samples are right" in second.stdout
    assert "In mode 1," in second.stdout


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--plan", "5", "--peek"], "--plan"),
        (["--time", "hour"], "--time"),
        (["--exclude", "nothing"], "--exclude"),
        (["--model", "model.joblib"], "--model"),
        (["--prediction", "guess"], "--model"),
        (["--rows", "rows.txt"], "--rows"),
    ],
)
def test_wrong_options_are_named(run, typed, options, named):
    result = run(*typed, *options)
    assert result.exit_code == 2
    assert named in result.output


def test_a_file_with_labels_is_not_replaced(run, typed, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("id,label\n1,yes\n")
    result = run(*typed, "--rows", rows)
    assert result.exit_code == 2
    assert rows.read_text() == "id,label\n1,yes\n"


def test_a_model_that_ends_the_program_is_no_answer(run, clinic, typed, tmp_path, monkeypatch):
    (tmp_path / "leaving_model.py").write_text(
        "import sys\n"
        "class Model:\n"
        "    def predict(self, X):\n"
        "        sys.exit(0)\n"
        "model = Model()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    result = run(*typed, "--model", "leaving_model:model", "--trust")
    assert result.exit_code == 2
    assert "sys.exit" in result.output
