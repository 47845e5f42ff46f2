"""The hash of a model stays while the model does."""

import io

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)  # fmt: skip
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics.decisions.monitor.model_digest import model_digest
from shiftmetrics.decisions.monitor.monitor import monitor_batch
from shiftmetrics.decisions.monitor.profile import make_passport

MODELS = [
    RandomForestClassifier(10, random_state=0),
    ExtraTreesClassifier(10, random_state=0),
    DecisionTreeClassifier(random_state=0),
    IsolationForest(n_estimators=10, random_state=0),
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    HistGradientBoostingClassifier(max_iter=5),
    SVC(),
    MLPClassifier((4,), max_iter=5, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


def read_again(model):
    """Write a model and read it, as two commands do one after the other."""
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_model_that_was_written_read_and_asked_is_the_same(model):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=["x", "z"])
    y = (X["x"] + 0.5 * rng.normal(size=80) > 0).astype(int)
    fitted = clone(model).fit(X, y)
    found = model_digest(fitted)
    assert found
    for _ in range(3):
        other = read_again(fitted)
        other.predict(X)
        assert model_digest(other) == found
    anew = clone(model).fit(X[::-1] + 0.25, 1 - y[::-1])
    assert model_digest(anew) != found


def test_what_cannot_be_written_has_none():
    assert model_digest(lambda rows: rows) == ""
    assert model_digest("answer") == ""


def test_a_model_that_counts_its_questions_is_not_compared():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(120, 2)), columns=["x", "z"])
    frame["y"] = (frame["x"] > 0).astype(int)
    neighbours = KNeighborsClassifier().fit(frame[["x", "z"]], frame["y"])
    passport = make_passport(frame, model=neighbours, label="y")
    assert passport.model == ""
    assert monitor_batch(passport, frame[:40], model=neighbours).warnings == ()
    forest = RandomForestClassifier(10, random_state=0).fit(frame[["x", "z"]], frame["y"])
    known = make_passport(frame, model=forest, label="y")
    assert known.model == model_digest(read_again(forest))
