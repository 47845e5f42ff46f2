"""`compare --data`: fitted models in place of files of scores."""

import json

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shiftmetrics import compare_agreement

MODELS = {
    "forest": lambda: RandomForestClassifier(20, random_state=0),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "bayes": GaussianNB,
}


@pytest.fixture(scope="module")
def cellar(tmp_path_factory):
    """Write three models, rows of wines, and the same rows with noise in another order."""
    folder = tmp_path_factory.mktemp("wines")
    features, kinds = load_wine(return_X_y=True, as_frame=True)
    features = features.iloc[:, [1, 9]]
    models = {}
    for name, make in MODELS.items():
        models[name] = make().fit(features[::2], kinds[::2])
        joblib.dump(models[name], folder / f"{name}.joblib")
    joblib.dump(Ridge().fit(features[::2], kinds[::2]), folder / "ridge.joblib")
    rows = features[1::2].reset_index(drop=True)
    noise = np.random.default_rng(0).normal(size=rows.shape)
    shifted = rows + 0.7 * rows.std().to_numpy() * noise
    kinds = kinds[1::2].to_numpy()
    for name, frame, order in (("rows", rows, 1), ("shifted", shifted, -1)):
        frame = frame.assign(bottle_id=np.arange(len(rows)), kind=kinds)
        frame[::order].to_csv(folder / f"{name}.csv", index=False)
    return folder, (models, rows, shifted, kinds)


@pytest.fixture
def wines(cellar, monkeypatch):
    """Return the models and the rows, in the folder that they stand in."""
    folder, written = cellar
    monkeypatch.chdir(folder)
    return written


TYPED = [f"{name}={name}.joblib" for name in MODELS]


@pytest.mark.parametrize(
    ("labels", "reference"),
    [(True, True), (False, False)],
)
def test_models_are_asked_for_their_probabilities(run, wines, labels, reference):
    models, rows, shifted, kinds = wines
    typed = ["--label", "kind"] if labels else []
    typed += ["--reference", "rows.csv"] if reference else []
    done = run("compare", *TYPED, "--data", "shifted.csv", *typed, "--trust", "--json", "-")
    assert done.exit_code == 0, done.output
    expected = compare_agreement(
        {name: model.predict_proba(shifted) for name, model in models.items()},
        {name: model.predict_proba(rows) for name, model in models.items()} if reference else None,
        labels=kinds if labels else None,
    )
    found = {model["name"]: model["value"] for model in json.loads(done.stdout)["models"]}
    assert found == pytest.approx({model.name: model.value for model in expected.models}, abs=1e-9)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("forest.joblib bayes.joblib --data shifted.csv", "--trust"),
        ("forest.joblib rows.csv --data shifted.csv --trust", "SHIFTED must be a file of kind"),
        ("forest.joblib gone.joblib --data shifted.csv --trust", "existing file"),
        ("forest.joblib ridge.joblib --data shifted.csv --trust", "predict_proba"),
        ("forest.joblib bayes.joblib --data gone.csv --trust", "--data must be an existing file"),
        (
            "forest.joblib bayes.joblib --data shifted.csv --labelled rows.csv --labelled rows.csv --trust",
            "--labelled must",
        ),
        (
            "forest.joblib bayes.joblib --data shifted.csv --reference rows.csv --reference rows.csv --trust",
            "second --reference",
        ),
        ("forest.joblib bayes.joblib --trust", "--data FILE"),
    ],
)
def test_what_cannot_be_asked_is_named(fails, wines, typed, message):
    assert message in fails("compare", *typed.split())
