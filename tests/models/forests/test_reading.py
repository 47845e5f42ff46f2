"""Every library's trees, read as one format: the same predictions, at thresholds and beside them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics import model_stability
from shiftmetrics.models import Search
from shiftmetrics.models.forests import forest_of
from walked_trees import outputs_of


def test_missing_values_go_where_the_model_sends_them() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    models = [HistGradientBoostingClassifier(max_iter=6), DecisionTreeClassifier(max_depth=5)]
    for name, cls in (("xgboost", "XGBClassifier"), ("lightgbm", "LGBMClassifier")):
        library = pytest.importorskip(name)
        models.append(getattr(library, cls)(n_estimators=6, n_jobs=1))
    for model in models:
        forest = forest_of(model.fit(X, y))
        np.testing.assert_allclose(
            forest.probabilities(outputs_of(forest, X)), model.predict_proba(X), atol=1e-6
        )


def test_what_is_no_forest_is_none() -> None:
    X, y = load_iris(return_X_y=True)
    assert forest_of(LogisticRegression(max_iter=500).fit(X, y)) is None
    assert forest_of(object()) is None
    assert (
        forest_of(GradientBoostingClassifier(init=LogisticRegression(max_iter=500)).fit(X, y))
        is None
    )
    assert forest_of(DecisionTreeClassifier().fit(X, np.stack([y, y], axis=1))) is None


@pytest.mark.parametrize("objective", ["reg:logistic", "reg:squarederror"])
def test_a_classifier_with_an_objective_of_regressions_is_no_forest(objective: str) -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:80, :3]
    model = xgboost.XGBClassifier(objective=objective, n_estimators=4, max_depth=2).fit(X, y[:80])
    assert forest_of(model) is None
    quiet = Search(progress=False)
    result = model_stability(model, X, y[:80], 0.5, loss="zero_one", computing=quiet)
    assert result.kind == "upper_bound"
