"""The trees of LightGBM, read as one format: the same predictions, at thresholds and beside them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from shiftmetrics.models.forests import forest_of
from shiftmetrics.models.forests.from_lightgbm import forest_of_text
from walked_trees import outputs_of


def edge_points(forest, X, seed=0):
    """Rows with one value at a threshold, or at the next float beyond it."""
    rng = np.random.default_rng(seed)
    points = np.repeat(X[:200], 5, axis=0)
    nodes = rng.choice(np.flatnonzero(forest.feature >= 0), len(points))
    at = forest.threshold[nodes]
    values = np.where(rng.random(len(points)) < 0.5, at, np.nextafter(at, np.inf))
    fine = np.isfinite(values)
    points[np.arange(len(points))[fine], forest.feature[nodes[fine]]] = values[fine]
    return points


def assert_same_classes(model, X, y, *, rtol=1e-12):
    forest = forest_of(model.fit(X, y))
    points = edge_points(forest, X)
    outputs = outputs_of(forest, points)
    np.testing.assert_allclose(
        forest.probabilities(outputs), model.predict_proba(points), rtol=rtol, atol=rtol
    )
    positions = np.searchsorted(model.classes_, model.predict(points))
    margins = forest.margins(outputs, positions)
    assert margins.min() >= -forest.tolerance


def assert_same_values(model, X, y, *, rtol=1e-12):
    forest = forest_of(model.fit(X, y))
    points = edge_points(forest, X)
    np.testing.assert_allclose(
        forest.predictions(outputs_of(forest, points)), model.predict(points), rtol=rtol, atol=rtol
    )


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_lightgbm(load) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    options = {"n_estimators": 8, "verbose": -1, "n_jobs": 1}
    assert_same_classes(lightgbm.LGBMClassifier(**options), *load(return_X_y=True))
    averaged = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7}
    assert_same_classes(lightgbm.LGBMClassifier(**options, **averaged), *load(return_X_y=True))


@pytest.mark.parametrize("objective", ["regression", "poisson", "quantile"])
def test_lightgbm_regressions(objective) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=8, objective=objective, verbose=-1, n_jobs=1)
    assert_same_values(model, *load_diabetes(return_X_y=True))


def test_lightgbm_of_other_kinds_is_left_to_others() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y = load_breast_cancer(return_X_y=True)
    for options in ({"linear_tree": True}, {"zero_as_missing": True}):
        model = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1, **options)
        assert forest_of(model.fit(X, y)) is None


LIGHTGBM_TEXT = """tree
version=v4
num_class=1
num_tree_per_iteration=1
max_feature_idx=1
objective=binary sigmoid:2

Tree=0
num_leaves=3
num_cat=0
split_feature=1 0
threshold=0.29999999999999999 -1.5
decision_type=2 10
left_child=1 -1
right_child=-3 -2
leaf_value=-0.25 0.5 1.25
is_linear=0
shrinkage=1


Tree=1
num_leaves=1
num_cat=0
split_feature=
threshold=
decision_type=
left_child=
right_child=
leaf_value=0.125
is_linear=0
shrinkage=1


end of trees

feature_importances:
"""


def test_a_dump_of_lightgbm() -> None:
    forest = forest_of_text(LIGHTGBM_TEXT)
    points = np.array([[-1.5, 0.3], [-1.0, 0.3], [0.0, 0.31], [np.nan, 0.0], [0.0, np.nan]])
    # A missing second value counts as 0 (none was seen), a missing first one goes left by default.
    expected = 0.125 + np.array([-0.25, 0.5, 1.25, -0.25, 0.5])
    np.testing.assert_allclose(outputs_of(forest, points)[:, 1], expected)
    np.testing.assert_allclose(
        forest.probabilities(outputs_of(forest, points))[:, 1], 1 / (1 + np.exp(-2 * expected))
    )
    sets = "decision_type=2 1\ncat_boundaries=0 2\ncat_threshold=5 1"  # bits 0, 2 and 32
    split = LIGHTGBM_TEXT.replace("decision_type=2 10", sets).replace("9999 -1.5", "9999 0")
    codes = np.array([[code, 0.0] for code in (0.0, 1.0, 2.0, 32.0, 33.0, 99.0, np.nan)])
    expected_codes = 0.125 + np.array([-0.25, 0.5, -0.25, -0.25, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(outputs_of(forest_of_text(split), codes)[:, 1], expected_codes)
    assert forest_of_text(LIGHTGBM_TEXT.replace("binary sigmoid:2", "cross_entropy_lambda")) is None
    averaged = forest_of_text(LIGHTGBM_TEXT.replace("num_class=1", "average_output\nnum_class=1"))
    np.testing.assert_allclose(outputs_of(averaged, points)[:, 1], expected / 2)


def test_lightgbm_reads_tiny_numbers_as_zero() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = np.where(rng.random((600, 3)) < 0.3, 0.0, rng.normal(size=(600, 3)))
    y = ((X[:, 0] > 0) ^ (X[:, 1] < 0) ^ (X[:, 2] == 0)).astype(int)
    assert_same_classes(lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1), X, y)
