"""`diff --data`: two fitted models in place of two files of predictions."""

import json
import shutil

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from shiftmetrics.decisions import diff_models

NAMES = np.array(["barolo", "grignolino", "barbera"])
MODELS = {
    "forest": lambda: RandomForestClassifier(20, random_state=0),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "svc": lambda: make_pipeline(StandardScaler(), LinearSVC()),
}


@pytest.fixture(scope="module")
def cellar(tmp_path_factory):
    """Write models of wines that see two columns, and a test file with ids, groups and the kind of wine."""
    folder = tmp_path_factory.mktemp("wines")
    features, kinds = load_wine(return_X_y=True, as_frame=True)
    features = features.iloc[:, [1, 9]]
    labels = NAMES[kinds]
    train = np.arange(len(labels)) % 2 == 0
    models = {}
    for name, make in MODELS.items():
        models[name] = make().fit(features[train], labels[train])
        joblib.dump(models[name], folder / f"{name}.joblib")
    test = features[~train].reset_index(drop=True)
    test.insert(0, "bottle_id", [f"bottle {i}" for i in range(len(test))])
    test["kind"] = labels[~train]
    test["cellar"] = np.where(np.arange(len(test)) % 3 == 0, "north", "south")
    test.to_csv(folder / "test.csv", index=False)
    return folder, models, test, features.columns


@pytest.fixture
def wines(cellar, tmp_path, monkeypatch):
    """Return the models, the test rows and the columns, in a folder with files of its own."""
    folder, models, test, columns = cellar
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return models, test.copy(), columns


def answered(run, *typed):
    done = run("diff", *typed, "--json", "-")
    assert done.exit_code in (0, 1, 3), done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize("new", ["logistic", "svc"])
def test_models_are_asked_for_what_they_predict(run, wines, new):
    models, test, columns = wines
    found = answered(
        run, "forest.joblib", f"{new}.joblib", "--data", "test.csv", "--label", "kind", "--trust"
    )
    right = [models[name].predict(test[columns]) == test["kind"] for name in ("forest", new)]
    assert found["labelled"]["fixed"] == int((right[1] & ~right[0]).sum())
    assert found["labelled"]["broken"] == int((right[0] & ~right[1]).sum())
    assert found["labelled"]["old_score"] == pytest.approx(right[0].mean())
    assert found["labelled"]["new_score"] == pytest.approx(right[1].mean())


@pytest.mark.slow
def test_it_is_the_answer_of_their_probabilities(run, wines):
    models, test, columns = wines
    typed = ["forest.joblib", "logistic.joblib", "--data", "test.csv", "--trust"]
    found = answered(run, *typed)
    tables = [
        pd.DataFrame(models[name].predict_proba(test[columns]), columns=models[name].classes_)
        for name in ("forest", "logistic")
    ]
    assert found["value"] == diff_models(*tables, rng=0).value
    assert found["changes"]["fraction"] == diff_models(*tables, rng=0).changes.fraction
    assert "id bottle_id" in run("diff", *typed).stdout


def test_groups_and_ids_of_the_data_are_kept(run, wines):
    typed = ["forest.joblib", "logistic.joblib", "--data", "test.csv", "--label", "kind"]
    done = run("diff", *typed, "--group", "cellar", "--changed", "changed.csv", "--trust")
    assert done.exit_code == 0, done.output
    assert pd.read_csv("changed.csv")["id"].str.startswith("bottle ").all()


def test_models_that_know_no_names_get_what_is_neither_label_nor_id(run, wines):
    _, test, columns = wines
    for name in ("forest", "logistic"):
        plain = MODELS[name]().fit(test[columns].to_numpy(), test["kind"])
        joblib.dump(plain, f"{name}.joblib")
    test.drop(columns="cellar").to_csv("test.csv", index=False)
    typed = ["forest.joblib", "logistic.joblib", "--data", "test.csv", "--label", "kind"]
    assert answered(run, *typed, "--trust")["n_samples"] == len(test)


def test_regressions_are_compared_by_their_outputs(run, wines):
    _, test, columns = wines
    outcome = test[columns[0]] * 2 + np.arange(len(test)) % 5
    for name, model in {"old": Ridge(), "new": RandomForestRegressor(5, random_state=0)}.items():
        joblib.dump(model.fit(test[columns], outcome), f"{name}.joblib")
    test.assign(price=outcome).to_csv("test.csv", index=False)
    found = answered(
        run, "old.joblib", "new.joblib", "--data", "test.csv", "--label", "price", "--trust"
    )
    old, new = (joblib.load(f"{name}.joblib").predict(test[columns]) for name in ("old", "new"))
    expected = np.abs(old - outcome).mean() - np.abs(new - outcome).mean()
    assert found["value"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("forest.joblib svc.joblib --data test.csv", "--trust"),
        ("forest.joblib test.csv --data test.csv --trust", "NEW must be a file of kind .joblib"),
        ("forest.joblib gone.joblib --data test.csv --trust", "NEW must be an existing file"),
        ("forest.joblib svc.joblib --data gone.csv --trust", "--data must be an existing file"),
        (
            "forest.joblib svc.joblib --data test.csv --label paid --trust",
            "--label must name a column of --data, got 'paid'",
        ),
        ("forest.joblib svc.joblib --data narrow.csv --trust", "OLD: model must be"),
        ("forest.joblib broken.joblib --data test.csv --trust", "NEW: model must be"),
        ("forest.joblib svc.joblib --trust", "--data FILE"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(run, wines, typed, said):
    _, test, columns = wines
    test[["kind", columns[0]]].to_csv("narrow.csv", index=False)
    joblib.dump({"not": "a model"}, "broken.joblib")
    done = run("diff", *typed.split())
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output


def test_boosters_as_their_libraries_train_them_are_asked_like_estimators() -> None:
    xgboost = pytest.importorskip("xgboost")
    from shiftmetrics.decisions.predictions.model_outputs import prediction_table

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    label = (table["a"] > 0.0).astype(int)
    options = {"objective": "binary:logistic", "max_depth": 2, "nthread": 1}
    booster = xgboost.train(options, xgboost.DMatrix(table, label), 3)
    said = prediction_table(booster, table.assign(y=label), ["y"])
    expected = booster.predict(xgboost.DMatrix(table))
    np.testing.assert_allclose(said["1"], expected, atol=1e-6)
    np.testing.assert_array_equal(said["y"], label)


def test_the_changed_rows_hold_the_columns_of_the_data_once(run, wines):
    models, test, columns = wines
    typed = ("forest.joblib", "svc.joblib", "--data", "test.csv", "--trust", "--group", "cellar")
    done = run("diff", *typed, "--label", "kind", "--changed", "changed.csv")
    assert done.exit_code in (0, 1, 3), done.output
    changed = pd.read_csv("changed.csv")
    rows = test.set_index("bottle_id").loc[changed["id"]]
    answers = [models[name].predict(rows[columns]) for name in ("forest", "svc")]
    assert changed["old"].tolist() == answers[0].tolist()
    assert changed["new"].tolist() == answers[1].tolist()
    assert list(changed)[-3:] == ["cellar", *columns]
    assert "bottle_id" not in changed
    assert "kind" not in changed
    np.testing.assert_allclose(changed[columns], rows[columns])
