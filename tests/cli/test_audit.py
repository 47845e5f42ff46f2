"""The commands audit, passport and monitor, as they are typed."""

import json
import xml.etree.ElementTree as ET

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from shiftmetrics._core.result import format_percent
from shiftmetrics.cli.inputs.results import read_results
from shiftmetrics.decisions import audit_samples


def visits(rng, n):
    x = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "visit_id": np.arange(n) + 1000,
            "x": x.round(3),
            "city": rng.choice(["A", "B"], n),
            "day": pd.date_range("2024-10-01", periods=20).repeat(-(-n // 20))[:n].astype(str),
        }
    )
    frame["paid"] = np.where(rng.random(n) < 0.1, x < 0, x > 0).astype(int)
    return frame


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(0)
    reference, current = visits(rng, 200), visits(rng, 200)
    current.loc[120:159, "city"] = "C"
    model = LogisticRegression().fit(reference[["x"]], reference["paid"])
    joblib.dump(model, folder / "model.joblib")
    reference.to_csv(folder / "reference.csv", index=False)
    current.to_csv(folder / "labelled.csv", index=False)
    current.drop(columns="paid").to_csv(folder / "current.csv", index=False)
    return folder


@pytest.fixture
def typed(place):
    return ["audit", place / "reference.csv", place / "current.csv", "--label", "paid"]


def test_the_answer_comes_first_and_the_files_hold_it(run, place, typed, tmp_path):
    outputs = ["--json", tmp_path / "a.json", "--report", tmp_path / "a.html"]
    result = run(*typed, "--time", "day", "--rows", tmp_path / "rows.csv", *outputs)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("CHANGED  20 % of the samples are new, in one mode")
    assert "since 2024-10-13" in result.stdout
    assert "city = C" in result.stdout
    assert "Took `visit_id` as the id" in result.stdout
    (found,) = read_results(tmp_path / "a.json").values()
    frames = [pd.read_csv(place / f"{name}.csv") for name in ("reference", "current")]
    expected = audit_samples(*frames, label="paid", time="day")
    assert found.headline() == expected.headline()
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert sorted(rows["id"]) == list(range(1120, 1160))
    assert set(rows["city"]) == {"C"}
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "city = C" in page
    assert "What to do now" in page


@pytest.mark.slow
def test_a_column_that_holds_the_classes_of_the_model_is_named(run, place):
    model = ["--model", place / "model.joblib", "--trust"]
    files = [place / "reference.csv", place / "labelled.csv"]
    assert "--label paid says how often" in run("audit", *files, *model).stdout
    assert "says how often" not in run("audit", *files, *model, "--label", "paid").stdout


@pytest.mark.slow
def test_a_plan_is_written_filled_in_and_answered(run, place, typed, tmp_path):
    model = ["--model", place / "model.joblib", "--trust"]
    rows = tmp_path / "rows.csv"
    first = run(*typed, *model, "--plan", "40", "--rows", rows)
    assert first.exit_code == 0, first.output
    assert "Label 40 samples" in first.stdout
    filled = pd.read_csv(rows)
    truth = pd.read_csv(place / "labelled.csv").set_index("visit_id")["paid"]
    planned = filled["mode"] == "plan"
    assert planned.sum() == 40
    filled["label"] = truth.loc[filled["id"]].to_numpy()
    filled.to_csv(rows, index=False)
    second = run(*typed, *model, "--labels", rows)
    assert second.exit_code == 0, second.output
    fitted = joblib.load(place / "model.joblib")
    current = pd.read_csv(place / "current.csv").set_index("visit_id")
    ids = filled.loc[planned, "id"]
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


@pytest.fixture
def passport(run, place, tmp_path):
    path = tmp_path / "passport.json"
    options = ["--model", place / "model.joblib", "--trust", "--label", "paid", "--exclude", "day"]
    result = run("passport", place / "reference.csv", "--output", path, *options)
    assert result.exit_code == 0, result.output
    assert "Watches errors" in result.stdout
    return path


@pytest.mark.slow
def test_batches_are_watched_and_the_state_is_kept(run, place, passport, tmp_path):
    rng = np.random.default_rng(1)
    model = ["--model", place / "model.joblib", "--trust"]
    batch = tmp_path / "batch.csv"
    codes = []
    for look in range(30):
        frame = visits(rng, 40)
        if look >= 3:
            frame["paid"] = 1 - frame["paid"]
        frame.to_csv(batch, index=False)
        result = run("monitor", passport, batch, *model, "--junit", tmp_path / "m.xml")
        codes.append(result.exit_code)
        if result.exit_code:
            break
    assert codes == [0] * (len(codes) - 1) + [1]
    assert 4 <= len(codes) <= 15
    assert result.stdout.startswith("ERRORS HAVE RISEN")
    state = json.loads(passport.with_suffix(".state.json").read_text())
    assert state["n_batches"] == len(codes)
    suite = ET.parse(tmp_path / "m.xml").getroot()
    assert int(suite.get("failures")) == 1


def test_a_batch_that_cannot_be_read_leaves_the_state(run, place, passport, tmp_path):
    model = ["--model", place / "model.joblib", "--trust"]
    batch = tmp_path / "batch.csv"
    rng = np.random.default_rng(2)
    visits(rng, 40).to_csv(batch, index=False)
    assert run("monitor", passport, batch, *model).exit_code == 0
    state = passport.with_suffix(".state.json")
    before = state.read_text()
    visits(rng, 40).drop(columns="city").to_csv(batch, index=False)
    result = run("monitor", passport, batch, *model)
    assert result.exit_code == 2
    assert "city" in result.output
    assert state.read_text() == before
    visits(rng, 40).to_csv(batch, index=False)
    assert run("monitor", passport, batch).exit_code == 2  # the model is missing
    assert state.read_text() == before


def test_a_foreign_file_is_no_passport(run, place, tmp_path):
    path = tmp_path / "passport.json"
    path.write_text("{}")
    assert run("monitor", path, place / "current.csv").exit_code == 2
    result = run("passport", place / "reference.csv", "--output", path)
    assert result.exit_code == 2
    assert path.read_text() == "{}"


def test_the_example_is_what_the_first_page_shows(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("example", "audit").exit_code == 0
    result = run("audit", "reference.csv", "current.csv", "--time", "day")
    current = pd.read_csv("current.csv")
    riders = current["job"] == "delivery rider"
    assert result.stdout.startswith("CHANGED  14 % of the samples are new, in 2 modes")
    assert f"job = delivery rider, hours above 58, age 23  {riders.sum()} samples" in result.stdout
    assert f"income missing  {current['income'].isna().sum()} samples" in result.stdout
    assert result.stdout.count("since 2024-10-16") == 2
    assert run("example", "audit").exit_code == 2  # nothing is written over


def test_a_model_that_ends_the_program_is_no_answer(run, place, typed, tmp_path, monkeypatch):
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
