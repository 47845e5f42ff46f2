"""The trees of XGBoost, read as one format: the same predictions, at thresholds and beside them."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from shiftmetrics.models.forests import forest_of
from shiftmetrics.models.forests.from_xgboost import forest_of_json
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
def test_xgboost(load) -> None:
    xgboost = pytest.importorskip("xgboost")
    options = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1}
    assert_same_classes(xgboost.XGBClassifier(**options), *load(return_X_y=True), rtol=1e-6)
    assert_same_classes(xgboost.XGBRFClassifier(**options), *load(return_X_y=True), rtol=1e-6)


@pytest.mark.parametrize("objective", ["reg:squarederror", "count:poisson", "reg:tweedie"])
def test_xgboost_regressions(objective) -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=8, objective=objective, n_jobs=1)
    assert_same_values(model, *load_diabetes(return_X_y=True), rtol=1e-5)


def test_xgboost_stops_at_its_best_iteration() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = load_breast_cancer(return_X_y=True)
    model = xgboost.XGBClassifier(
        n_estimators=60, early_stopping_rounds=2, learning_rate=0.9, n_jobs=1
    )
    model.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])], verbose=False)
    forest = forest_of(model)
    assert forest.n_trees == model.best_iteration + 1 < 60
    np.testing.assert_allclose(
        forest.probabilities(outputs_of(forest, X)), model.predict_proba(X), atol=1e-6
    )


def test_xgboost_of_other_kinds_is_left_to_others() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = load_breast_cancer(return_X_y=True)
    for options in ({"booster": "gblinear"}, {"missing": 0.0}):
        assert (
            forest_of(xgboost.XGBClassifier(n_estimators=3, n_jobs=1, **options).fit(X, y)) is None
        )


def test_several_labels_a_row_are_no_classes() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = load_iris(return_X_y=True)
    labels = np.stack([y > 0, y > 1], axis=1).astype(int)
    assert forest_of(xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, labels)) is None


def xgboost_document(**changes):
    tree = {
        "left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_indices": [1, 0, 0],
        "split_conditions": [0.3, -0.5, 1.5], "default_left": [1, 0, 0], "split_type": [0, 0, 0],
        "tree_param": {"size_leaf_vector": "1"},
    }  # fmt: skip
    document = {
        "learner": {
            "attributes": {},
            "learner_model_param": {
                "base_score": "[2.5E-1]", "num_class": "0", "num_feature": "2", "num_target": "1",
            },
            "objective": {"name": "binary:logistic"},
            "gradient_booster": {
                "name": "gbtree",
                "model": {"trees": [tree, tree], "tree_info": [0, 0], "iteration_indptr": [0, 1, 2]},
            },
        }
    }  # fmt: skip
    for path, value in changes.items():
        *parents, last = path.split("__")
        node = document["learner"]
        for parent in parents:
            node = node[parent]
        node[last] = value
    return json.loads(json.dumps(document))


def test_a_dump_of_xgboost() -> None:
    forest = forest_of_json(xgboost_document())
    below = float(np.nextafter(np.float32(0.3), np.float32(0)))
    points = np.array(
        [[0.0, below], [0.0, 0.3], [0.0, np.nan]]
    )  # 0.3 is read as float32, and < is strict
    np.testing.assert_allclose(
        outputs_of(forest, points)[:, 1], np.log(1 / 3) + np.array([-1.0, 3.0, -1.0])
    )
    assert forest.link == "softmax"
    assert forest.n_features == 2
    stopped = forest_of_json(xgboost_document(attributes={"best_iteration": "0"}))
    assert stopped.n_trees == 1
    unknown = xgboost_document(objective={"name": "survival:cox"})
    assert forest_of_json(unknown) is None
    assert forest_of_json(xgboost_document(gradient_booster__name="gblinear")) is None
    trees = xgboost_document()["learner"]["gradient_booster"]
    dropout = xgboost_document(
        gradient_booster={
            "name": "dart",
            "gbtree": {**trees, "name": "gbtree"},
            "weight_drop": [0.5, 1.0],
        }
    )
    expected = np.log(1 / 3) + 0.75 * np.array([-1.0, 3.0, -1.0])
    np.testing.assert_allclose(outputs_of(forest_of_json(dropout), points)[:, 1], expected)


def test_categories_in_a_dump_of_xgboost() -> None:
    document = xgboost_document()
    document["learner"]["gradient_booster"]["model"]["trees"][0] |= {
        "split_type": [1, 0, 0], "categories": [0, 2], "categories_nodes": [0], "categories_segments": [0],
        "categories_sizes": [2],
    }  # fmt: skip
    forest = forest_of_json(document)
    points = np.array([[0.0, code] for code in (0.0, 1.0, 2.0, 3.0, 9.0, np.nan)])
    first = np.array([1.5, -0.5, 1.5, -0.5, -0.5, -0.5])  # what is listed goes right
    second = np.array([-0.5, 1.5, 1.5, 1.5, 1.5, -0.5])
    np.testing.assert_allclose(outputs_of(forest, points)[:, 1], np.log(1 / 3) + first + second)
