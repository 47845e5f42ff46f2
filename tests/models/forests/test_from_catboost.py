"""CatBoost models from their JSON: oblivious trees, whose leaves have a bit for each split."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from nearest_errors import nearest_error_with_categories
from shiftmetrics import model_stability
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
    for column in columns:
        column["borders"] = [0.5]
    whole = {
        "oblivious_trees": [tree],
        "features_info": {"float_features": columns},
        "scale_and_bias": [2.0, [0.25]],
    }
    return {**whole, **other}


def with_categories(*, joint: bool = False) -> dict[str, Any]:
    """Return a model of a number, a category (split 1), and a statistic (splits 2 and 3) of one column or of two."""
    parts = [{"combination_element": "cat_feature_value"}] * (1 + joint)
    number = {"feature_index": 0, "flat_feature_index": 1, "nan_value_treatment": "AsIs"}
    info = {
        "float_features": [{**number, "borders": [0.5]}],
        "categorical_features": [{"flat_feature_index": 0, "values": [7]}],
        "ctrs": [{"borders": [1.0, 2.0], "elements": parts}],
    }
    one_hot = {"split_type": "OneHotFeature", "split_index": 1}
    statistic = {"split_type": "OnlineCtr", "split_index": 3}
    trees = [
        {"splits": [one_hot], "leaf_values": [1.0, 2.0]},
        {"splits": [statistic, one_hot], "leaf_values": [0.0, 10.0, 20.0, 30.0]},
    ]
    return document(oblivious_trees=trees, features_info=info)


def test_splits_by_category_have_a_column_each() -> None:
    forest = forest_of_catboost(with_categories(), "RMSE")
    # Two columns, then the sides of splits 1 and 3.
    rows = np.array([[0.0, 0.0, one, two] for one in (0.0, 1.0) for two in (0.0, 1.0)])
    found = forest.total(forest.leaves(rows))[:, 0]
    np.testing.assert_allclose(found, 0.25 + 2.0 * np.array([1.0, 11.0, 22.0, 32.0]))


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
    texts = {**columns, "text_features": [{}]}
    assert forest_of_catboost(document(features_info=texts), "Logloss") is None
    assert forest_of_catboost(document(oblivious_trees=None), "Logloss") is None
    assert forest_of_catboost(document(), "YetiRank") is None
    assert forest_of_catboost(with_categories(joint=True), "Logloss") is None


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


@pytest.mark.parametrize("kind", ["one-hot", "statistics", "integers"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_categories_of_the_library_are_measured_exactly(kind: str, n_classes: int) -> None:
    catboost = pytest.importorskip("catboost")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.integers(0, 4, size=80)})
    score = frame["a"] + 1.5 * (frame["b"] == 2) + rng.normal(0.0, 0.3, 80)
    y = np.digitize(score, [0.4, 1.5][: n_classes - 1])
    if kind != "integers":
        frame["b"] = frame["b"].map(lambda place: "stuv"[place])
    options = {"iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False}
    sizes = {"one-hot": 10, "statistics": 2, "integers": 10}
    model = catboost.CatBoostClassifier(
        one_hot_max_size=sizes[kind], cat_features=["b"], thread_count=1, **options
    ).fit(frame, y)
    result = model_stability(model, frame, y, 0.6, resampling=None)
    assert (result.kind, result.search.route) == ("exact", "ensemble")
    forest = forest_of(model)
    edges = np.unique(forest.threshold[forest.feature == 0])
    expected = nearest_error_with_categories(model.predict, frame, y, edges)
    np.testing.assert_allclose(result.loss.distances, expected, rtol=1e-6, atol=1e-9)
