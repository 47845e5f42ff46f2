"""``shiftmetrics stability FILE --model MODEL``: files of joblib and attributes of modules, domains, bad input."""

import json
import pickle
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shiftmetrics import Resampling, Result
from shiftmetrics._core.documents import read_results
from shiftmetrics.models import Perturbation, feature_stability, model_stability

COLUMNS = ["age", "pulse", "ward"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with rows, a pipeline fitted on their table, and models fitted on arrays."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "age": rng.normal(60, 15, 120).round(1),
            "pulse": rng.normal(80, 10, 120).round(1),
            "ward": rng.choice(["north", "south"], 120),
            "weight": rng.uniform(0.5, 2.0, 120).round(2),
            "nurse": rng.choice(["Ann", "Bob"], 120),
        }
    )
    score = (rows["age"] - 60) / 15 + 0.5 * (rows["ward"] == "south") + rng.normal(0, 0.7, 120)
    rows["died"] = np.where(score > 0, "yes", "no")
    rows["cost"] = (3.0 * score + 10.0).round(3)
    rows.to_csv(folder / "rows.csv", index_label="patient")
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["ward"]), remainder=StandardScaler()),
        LogisticRegression(),
    )
    joblib.dump(pipeline.fit(rows[COLUMNS], rows["died"]), folder / "model.joblib")
    array = LogisticRegression().fit(rows[["age", "pulse"]].to_numpy(), rows["died"])
    (folder / "array.pkl").write_bytes(pickle.dumps(array))
    rows[["age", "pulse", "died"]].to_csv(folder / "numbers.csv", index=False)
    np.savez(
        folder / "numbers.npz",
        X=rows[["age", "pulse"]].to_numpy(),
        y=(rows["died"] == "yes").to_numpy(int),
    )
    joblib.dump(
        LinearRegression().fit(rows[["age", "pulse"]], rows["cost"]), folder / "cost.joblib"
    )
    (folder / "mymodels.py").write_text(
        "class Sign:\n"
        "    classes_ = [0, 1]\n"
        "    def predict(self, X):\n"
        "        return (X[:, 0] > 60).astype(int)\n"
        "sign = Sign()\n"
    )
    return folder


@pytest.fixture
def run(run):
    """Return the runner of command lines, with trust in the models of this file."""
    return lambda *arguments: run(*arguments, "--trust")


@pytest.fixture
def rows(place) -> pd.DataFrame:
    return pd.read_csv(place / "rows.csv")


def asked(model):
    """Return the options that say which model, which column holds the labels and which risk is too high."""
    return ["--model", model, "--target", "died", "-r", "0.4"]


def test_a_pipeline_on_a_table(run, place, rows, tmp_path):
    result = run(
        "stability", place / "rows.csv", *asked(place / "model.joblib"),
        "--id", "patient", "--json", tmp_path / "o.json", "--report", tmp_path / "r.html",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    expected = model_stability(
        joblib.load(place / "model.joblib"), rows[COLUMNS], rows["died"], 0.4
    )
    assert expected.headline() in result.stdout
    assert "does not see: 'weight', 'nurse', 'cost'" in result.stdout
    back = Result.from_json(tmp_path / "o.json")
    assert back.value == pytest.approx(expected.value)
    assert back.search.route == "linear"
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert (tmp_path / "r.html").stat().st_size < 1_000_000
    for part in (
        "How far the worst case perturbs samples", "The most sensitive sample",
        "What changes, by column", "The rows that break first", "nurse", "<th>Label</th>",
    ):  # fmt: skip
        assert part in page
    assert "<script" not in page


@pytest.mark.slow
def test_where_rows_may_move(run, place, rows, tmp_path):
    model = joblib.load(place / "model.joblib")
    moves = Perturbation(immutable=["ward"], bounds={"age": (20.0, np.inf), "pulse": (30.0, 200.0)})
    result = run(
        "stability", place / "rows.csv", *asked(place / "model.joblib"),
        "--immutable", "ward", "--bounds", "age=20:,pulse=30:200", "--weight", "weight", "--theta1", "0.2",
        "--divergence", "chi2", "--loss", "zero_one", "--json", tmp_path / "o.json", "-q",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    expected = model_stability(
        model,
        rows[COLUMNS],
        rows["died"],
        0.4,
        theta1=0.2,
        divergence="chi2",
        sample_weight=rows["weight"],
        perturbation=moves,
    )
    assert json.loads((tmp_path / "o.json").read_text())["value"] == pytest.approx(
        expected.value, rel=1e-9
    )
    model_cost = run(
        "stability", place / "rows.csv", *asked(place / "model.joblib"),
        "--cost", "range", "--json", tmp_path / "c.json",
    )  # fmt: skip
    assert model_cost.exit_code == 0, model_cost.output
    expected = model_stability(
        model, rows[COLUMNS], rows["died"], 0.4, perturbation=Perturbation(cost="range")
    )
    assert json.loads((tmp_path / "c.json").read_text())["value"] == pytest.approx(
        expected.value, rel=1e-9
    )
    frozen = run(
        "stability", place / "rows.csv", *asked(place / "model.joblib"),
        "--features", "pulse", "--integer", "pulse",
    )  # fmt: skip
    assert frozen.exit_code == 0, frozen.output


def test_models_of_arrays(run, place, rows):
    expected = model_stability(
        pickle.loads((place / "array.pkl").read_bytes()),
        rows[["age", "pulse"]].to_numpy(),
        rows["died"],
        0.4,
    )
    result = run(
        "stability",
        place / "numbers.csv",
        *asked(place / "array.pkl"),
    )
    assert expected.headline() in result.stdout, result.output


def test_an_attribute_of_a_module_in_this_folder(run, place, monkeypatch):
    monkeypatch.chdir(place)
    before = list(sys.path)
    result = run(
        "stability", "numbers.npz:X", "--model", "mymodels:sign", "--target", "numbers.npz:y", "-r", "0.45",
        "--queries", "50", "--seed", "1", "--verbose",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "upper bound" in result.stdout
    assert sys.path == before
    sys.modules.pop("mymodels")


def test_a_regression(run, place):
    result = run(
        "stability", place / "rows.csv", "--model", place / "cost.joblib", "--target", "cost", "-r", "8",
        "--loss", "squared", "--report", place / "cost.html", "-v",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "exact" in result.stdout
    assert "<th>Label</th>" not in (place / "cost.html").read_text(encoding="utf-8")


def test_the_curve_comes_beside(run, place, tmp_path):
    arguments = [*asked(place / "model.joblib"), "--id", "patient"]
    result = run(
        "stability", place / "rows.csv", *arguments, "--curve", "--json", tmp_path / "o.json",
        "--report", tmp_path / "r.html",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "at risk 0.4\t" in result.stdout
    assert list(read_results(tmp_path / "o.json")) == ["o", "o: Stability over risk thresholds"]
    single, curve = read_results(tmp_path / "o.json").values()
    at = int(np.flatnonzero(np.isclose(curve.points.threshold, 0.4))[0])
    assert curve.points.stability[at] == pytest.approx(single.value, rel=1e-8)
    assert "Stability over risk thresholds" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_features_come_beside(run, place, rows, tmp_path):
    arguments = [*asked(place / "model.joblib"), "--id", "patient"]
    result = run(
        "stability", place / "rows.csv", *arguments, "--feature-stability", "--immutable", "ward",
        "--json", tmp_path / "o.json", "--report", tmp_path / "r.html",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    model = joblib.load(place / "model.joblib")
    moves = Perturbation(immutable=["ward"])
    expected = feature_stability(model, rows[COLUMNS], rows["died"], 0.4, perturbation=moves)
    assert expected.headline() in result.stdout.replace("\n", " ")
    _, features = read_results(tmp_path / "o.json").values()
    assert [part.feature for part in features.features] == [
        part.feature for part in expected.features
    ]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The most important features." in page


def test_rows_that_belong_together(run, place, rows, tmp_path):
    visits = np.arange(len(rows)) // 2
    np.save(tmp_path / "visits.npy", visits)
    arguments = [
        *asked(place / "model.joblib"),
        "--json",
        tmp_path / "o.json",
    ]
    result = run(
        "stability",
        place / "rows.csv",
        *arguments,
        "--groups",
        tmp_path / "visits.npy",
        "--confidence-level",
        "0.9",
    )
    assert result.exit_code == 0, result.output
    model = joblib.load(place / "model.joblib")
    expected = model_stability(
        model,
        rows[COLUMNS],
        rows["died"],
        0.4,
        resampling=Resampling(groups=visits, confidence_level=0.9),
    )
    assert Result.from_json(tmp_path / "o.json").interval.equals(expected.interval)


def test_groups_and_labels_stand_aside_of_a_model_of_arrays(run, place, rows, tmp_path):
    frame = rows[["age", "pulse", "died", "nurse", "ward"]]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = ["--groups", "nurse", "--label", "ward", "--json", tmp_path / "o.json"]
    result = run("stability", tmp_path / "rows.csv", *asked(place / "array.pkl"), *options)
    assert result.exit_code == 0, result.output
    assert "does not see: 'nurse', 'ward'" in result.stdout
    assert Result.from_json(tmp_path / "o.json").settings["resampling"]["groups"]


@pytest.mark.slow
def test_costs_by_column(run, fails, place, rows, tmp_path):
    arguments = [
        "stability",
        place / "rows.csv",
        *asked(place / "model.joblib"),
    ]
    result = run(
        *arguments,
        "--cost",
        "ward=0.1,age=inf",
        "--feature-stability",
        "--json",
        tmp_path / "o.json",
    )
    assert result.exit_code == 0, result.output
    model = joblib.load(place / "model.joblib")
    moves = Perturbation(cost={"ward": 0.1, "age": np.inf})
    expected = feature_stability(model, rows[COLUMNS], rows["died"], 0.4, perturbation=moves)
    _, features = read_results(tmp_path / "o.json").values()
    assert [part.feature for part in features.features] == [
        part.feature for part in expected.features
    ]
    assert {part.feature for part in features.features} == {"ward", "pulse"}
    assert features.features[0].worst_case_risk == pytest.approx(
        expected.features[0].worst_case_risk
    )
    assert "--cost must be a scale, or COLUMN=COST" in fails(*arguments, "--cost", "ward=cheap")
    assert "--cost must be one of 'std'" in fails(*arguments, "--cost", "metres")


def test_the_curve_of_distances(run, folder):
    result = run("stability", folder / "distances.npy", "--distances", "0", "-r", "0.4", "--curve")
    assert result.exit_code == 0, result.output
    assert "at risk 0.4\t" in result.stdout


@pytest.mark.parametrize("threshold", ["0.01", "1.0"])
def test_boundaries_are_answers(run, place, tmp_path, threshold):
    result = run(
        "stability", place / "rows.csv", "--model", place / "model.joblib", "--target", "died", "-r", threshold,
        "--report", tmp_path / "r.html", "--curve",
    )  # fmt: skip
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "model.joblib"], "--target COLUMN must say what the model predicts"),
        (["--target", "died", "--losses", "age"], "--target must go with --model"),
        (["--immutable", "ward", "--losses", "age"], "--immutable must go with --model"),
        (
            ["--model", "model.joblib", "--target", "died", "--losses", "age"],
            "--losses must not go with --model",
        ),
        (
            ["--model", "none.joblib", "--target", "died"],
            "--model must be an existing file, got 'none.joblib'",
        ),
        (["--model", "rows.csv", "--target", "died"], "--model must be a file of kind .joblib"),
        (
            ["--model", "broken.joblib", "--target", "died"],
            "must name an object that can be opened here, got 'broken.joblib'",
        ),
        (["--model", "number.joblib", "--target", "died"], "--model must"),
        (
            ["--model", "nowhere:model", "--target", "died"],
            "must name an object that can be opened",
        ),
        (["--model", "json:nothing", "--target", "died"], "must name an object that can be opened"),
        (
            ["--model", "model.joblib", "--target", "dead"],
            "--target must name a column of FILE, got 'dead'",
        ),
        (["--model", "model.joblib", "--target", "age"], "--target must"),
        (["--model", "model.joblib", "--target", "cost", "--loss", "squared"], "--loss must"),
        (
            ["--model", "model.joblib", "--target", "died", "--immutable", "wart"],
            "--immutable must",
        ),
        (
            ["--model", "model.joblib", "--target", "died", "--bounds", "age"],
            "--bounds must be data, none, or COLUMN",
        ),
        (
            ["--model", "model.joblib", "--target", "died", "--bounds", "age=9:1"],
            "must be a pair with lowest <= highest",
        ),
        (["--model", "model.joblib", "--target", "died", "--method", "magic"], "--method must"),
        (
            ["--model", "model.joblib", "--target", "died", "--weight", "w"],
            "--weight must name a column",
        ),
        (["--model", "model.joblib", "--target", "died", "--id", "w"], "--id must name a column"),
        (
            ["--model", "model.joblib", "--target", "died", "--label", "w"],
            "--label must name a column",
        ),
        (["--model", "model.joblib", "--target", "died", "--theta1", "-1"], "--theta1 must"),
        (
            ["--model", "model.joblib", "--target", "died", "--cost", "metres"],
            "--cost must be one of",
        ),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(fails, place, monkeypatch, arguments, message):
    monkeypatch.chdir(place)
    (place / "broken.joblib").write_bytes(b"not a model")
    joblib.dump(3.0, place / "number.joblib")
    before = sorted(place.iterdir())
    assert message in fails("stability", "rows.csv", "-r", "0.4", *arguments, "--json", "o.json")
    assert sorted(place.iterdir()) == before


def test_columns_that_the_model_needs(fails, place):
    message = fails(
        "stability",
        place / "numbers.csv",
        *asked(place / "model.joblib"),
    )
    assert (
        "FILE must have the columns that --model was fitted on, got none called 'ward'" in message
    )


def test_missing_cells_that_the_model_refuses_are_named(fails, place, rows, tmp_path):
    rows.loc[3, "pulse"] = np.nan
    rows.to_csv(tmp_path / "rows.csv", index=False)
    message = fails(
        "stability",
        tmp_path / "rows.csv",
        *asked(place / "model.joblib"),
    )
    assert (
        "FILE must be free of missing cells for this Pipeline, got 1 in column 'pulse'" in message
    )


def test_empty_cells_stay_empty(run, rows, tmp_path):
    for name in COLUMNS:
        rows.loc[np.random.default_rng(len(name)).random(120) < 0.2, name] = np.nan
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    steps = make_column_transformer((OneHotEncoder(), ["ward"]), remainder=numbers)
    model = make_pipeline(steps, LogisticRegression()).fit(rows[COLUMNS], rows["died"])
    joblib.dump(model, tmp_path / "model.joblib")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    said = run(
        "stability", tmp_path / "rows.csv", "--model", tmp_path / "model.joblib", "--target", "died", "-r", "0.4",
        "--features", "age,ward", "--json", tmp_path / "o.json", "--report", tmp_path / "r.html",
    )  # fmt: skip
    assert said.exit_code == 0, said.output
    expected = model_stability(
        model, rows[COLUMNS], rows["died"], 0.4, perturbation=Perturbation(features=["age", "ward"])
    )
    assert (expected.kind, expected.search.route) == ("exact", "linear")
    assert expected.headline() in said.stdout
    (back,) = read_results(tmp_path / "o.json").values()
    pd.testing.assert_frame_equal(
        back.changed_rows().isna(), rows[COLUMNS].isna(), check_index_type=False
    )
    page = (tmp_path / "r.html").read_text()
    assert "age = missing" in page
    assert ">nan" not in page
