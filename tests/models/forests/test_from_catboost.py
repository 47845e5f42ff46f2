"""CatBoost models from their JSON: oblivious trees, whose leaves have a bit for each split."""

from typing import Any

import numpy as np
import pytest

from shiftmetrics.models.forests import forest_of
from shiftmetrics.models.forests.from_catboost import forest_of_catboost


def document(**other: Any) -> dict[str, Any]:
    """Return a model of one tree: bit 0 says whether column 1 is above 0.5, bit 1 whether column 0 is above 2."""
    split = {"split_type": "FloatFeature"}
    tree = {
        "splits": [
            {**split, "float_feature_index": 1, "border": 0.5},
            {**split, "float_feature_index": 0, "border": 2.0},
        ],
        "leaf_values": [1.0, 2.0, 3.0, 4.0],
    }
    columns = [
        {"feature_index": 0, "flat_feature_index": 0, "nan_value_treatment": "AsFalse"},
        {"feature_index": 1, "flat_feature_index": 1, "nan_value_treatment": "AsTrue"},
    ]
    whole = {
        "oblivious_trees": [tree],
        "features_info": {"float_features": columns},
        "scale_and_bias": [2.0, [0.25]],
    }
    return {**whole, **other}


def test_a_leaf_has_a_bit_for_each_split() -> None:
    forest = forest_of_catboost(document(), "RMSE")
    rows = np.array([[2.0, 0.5], [2.0, 0.6], [2.1, 0.5], [2.1, 0.6], [np.nan, np.nan]])
    found = forest.total(forest.leaves(rows))[:, 0]
    np.testing.assert_allclose(found, 0.25 + 2.0 * np.array([1.0, 2.0, 3.0, 4.0, 2.0]))


def test_a_border_is_in_single_precision() -> None:
    forest = forest_of_catboost(document(), "Logloss")
    beside = np.nextafter(np.float32(2.0), np.float32(3.0))
    rows = np.array([[2.0 + 1e-9, 0.0], [float(beside), 0.0]])
    np.testing.assert_allclose(forest.total(forest.leaves(rows))[:, 1], [2.25, 6.25])


def test_others_are_none() -> None:
    columns = document()["features_info"]
    words = {**columns, "categorical_features": [{}]}
    assert forest_of_catboost(document(features_info=words), "Logloss") is None
    assert forest_of_catboost(document(oblivious_trees=None), "Logloss") is None
    assert forest_of_catboost(document(), "YetiRank") is None
    ctr = {"splits": [{"split_type": "OnlineCtr"}], "leaf_values": [0.0, 1.0]}
    assert forest_of_catboost(document(oblivious_trees=[ctr]), "Logloss") is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_of_the_library(n_classes: int) -> None:
    catboost = pytest.importorskip("catboost")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.digitize(np.nan_to_num(X).sum(axis=1), [0.0, 1.5][: n_classes - 1])
    options = {"iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostClassifier(**options, thread_count=1).fit(X, y)
    forest = forest_of(model)
    nodes = rng.choice(np.flatnonzero(forest.feature >= 0), 300)
    points = X[rng.integers(150, size=300)]
    at = np.nextafter(forest.threshold[nodes], rng.choice([-np.inf, np.inf], 300))
    points[np.arange(300), forest.feature[nodes]] = at
    outputs = forest.total(forest.leaves(points))
    np.testing.assert_allclose(
        forest.probabilities(outputs), model.predict_proba(points), atol=1e-9
    )
