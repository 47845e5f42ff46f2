"""Every library's trees, read as one format: the same predictions, at thresholds and beside them."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from shiftmetrics.models.forests import forest_of
from shiftmetrics.models.forests.forest import edge_for_float32
from shiftmetrics.models.forests.from_lightgbm import forest_of_text
from shiftmetrics.models.forests.from_xgboost import forest_of_json
from walked_trees import outputs_of

CLASSIFIERS = [
    DecisionTreeClassifier(random_state=0),
    ExtraTreeClassifier(random_state=0),
    RandomForestClassifier(8, random_state=0),
    ExtraTreesClassifier(8, random_state=0),
    GradientBoostingClassifier(n_estimators=6, random_state=0),
    GradientBoostingClassifier(n_estimators=6, init="zero", random_state=0),
    GradientBoostingClassifier(
        n_estimators=6, init=DummyClassifier(strategy="prior"), random_state=0
    ),
    HistGradientBoostingClassifier(max_iter=6, random_state=0),
]
REGRESSIONS = [
    DecisionTreeRegressor(random_state=0),
    RandomForestRegressor(8, random_state=0),
    ExtraTreesRegressor(8, random_state=0),
    GradientBoostingRegressor(n_estimators=6, random_state=0),
    HistGradientBoostingRegressor(max_iter=6, random_state=0),
    HistGradientBoostingRegressor(max_iter=6, loss="poisson", random_state=0),
    HistGradientBoostingRegressor(max_iter=6, loss="gamma", random_state=0),
]


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
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_classifiers_of_scikit_learn(model, load) -> None:
    assert_same_classes(model, *load(return_X_y=True))


def test_exponential_loss_has_twice_the_logit() -> None:
    model = GradientBoostingClassifier(n_estimators=6, loss="exponential", random_state=0)
    assert_same_classes(model, *load_breast_cancer(return_X_y=True))


@pytest.mark.parametrize("model", REGRESSIONS, ids=lambda model: type(model).__name__)
def test_regressions_of_scikit_learn(model) -> None:
    assert_same_values(model, *load_diabetes(return_X_y=True))


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


# --- dumps written by hand, so that the readers are tested without the libraries -------------------------


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


def test_edges_are_where_float32_rounds_across_the_threshold() -> None:
    rng = np.random.default_rng(0)
    thresholds = np.concatenate(
        [rng.normal(size=500), rng.normal(size=500) * 1e-30, [0.0, -0.0, 1e30, 16777216.0]]
    )
    for strict in (False, True):
        given = thresholds.astype(np.float32).astype(np.float64) if strict else thresholds
        edge = edge_for_float32(given, strict=strict)
        beyond = np.nextafter(edge, np.inf)
        if strict:
            assert (edge.astype(np.float32) < given).all()
            assert (beyond.astype(np.float32) >= given).all()
        else:
            assert (edge.astype(np.float32) <= given).all()
            assert (beyond.astype(np.float32) > given).all()
