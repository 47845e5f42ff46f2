"""Nearest counter-examples from predictions alone, against exact ones: linear models, trees, grids."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree
from sklearn.tree import DecisionTreeClassifier

from oracles import valid_moves
from shiftmetrics.models import Search
from shiftmetrics.models.domain.domain import Domain, Flip
from shiftmetrics.models.search.counterexamples import find_counterexamples

WITHIN = 1.1  # times the exact distance, in the median
QUERIES = 500


def domain_of(X: np.ndarray, **changes: Any) -> Domain:
    d = X.shape[1]
    fields = {
        "names": tuple(f"x{j}" for j in range(d)),
        "unit": X.std(axis=0),
        "mutable": np.ones(d, dtype=bool),
        "lower": np.full(d, -np.inf),
        "upper": np.full(d, np.inf),
        "integer": np.zeros(d, dtype=bool),
    }
    return Domain(**{**fields, **changes})


class Oracle:
    """A model that counts what it is asked, and remembers where."""

    def __init__(self, predict: Callable[[np.ndarray], np.ndarray], X: np.ndarray) -> None:
        self.predict, self.y, self.n_queries = predict, predict(X), 0
        self.of_row = np.zeros(len(X), dtype=int)
        self.points: list[np.ndarray] = []
        self.rows: list[np.ndarray] = []

    def is_wrong(self, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        self.n_queries += len(points)
        np.add.at(self.of_row, rows, 1)
        self.points.append(points)
        self.rows.append(rows)
        return self.predict(points) != self.y[rows]


def search(
    predict: Any, X: np.ndarray, domain: Domain, n_queries: int = QUERIES
) -> tuple[Any, Oracle]:
    oracle = Oracle(predict, X)
    problem = SimpleNamespace(
        codes=X,
        y=oracle.y,
        domain=domain,
        search=Search(progress=False),
        rng=np.random.default_rng(0),
        predict=predict,
        is_wrong=oracle.is_wrong,
    )
    # One query of each row is that of its own prediction.
    found = find_counterexamples(problem, n_queries=1 + n_queries)
    found = found._replace(queries=found.queries - 1)
    np.testing.assert_array_equal(found.queries, oracle.of_row)
    assert valid_moves(domain, found.points, X).all()
    assert found.queries.max() <= n_queries
    reached = np.isfinite(found.distances)
    np.testing.assert_allclose(found.distances[reached], domain.distances(found.points, X)[reached])
    assert (predict(found.points)[reached] != oracle.y[reached]).all()
    assert valid_moves(domain, found.points, X).all()
    return found, oracle


@pytest.mark.parametrize("d", [2, 5, 10, 20])
def test_linear_models(d: int) -> None:
    rng = np.random.default_rng(d)
    X = rng.standard_normal((100, d)) * rng.uniform(0.5, 3.0, d)
    w, b = rng.standard_normal(d) / X.std(axis=0), 0.3
    found, _ = search(lambda points: (points @ w + b > 0).astype(int), X, domain_of(X))
    ratio = found.distances / (np.abs(X @ w + b) / np.linalg.norm(w * X.std(axis=0)))
    assert ratio.min() >= 1.0 - 1e-9
    assert np.median(ratio) <= WITHIN
    assert np.quantile(ratio, 0.9) <= 1.2


def test_linear_model_of_more_features_than_a_normal_has_queries() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 100))
    w = rng.standard_normal(100)
    found, _ = search(lambda points: (points @ w > 0).astype(int), X, domain_of(X))
    ratio = found.distances / (np.abs(X @ w) / np.linalg.norm(w * X.std(axis=0)))
    assert 1.0 <= np.median(ratio) <= 1.15


def test_linear_model_inside_bounds() -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (40, 3))
    w, b = np.array([1.0, 0.7, 0.2]), -0.4
    domain = domain_of(X, unit=np.ones(3), lower=np.full(3, -1.0), upper=np.full(3, 1.0))
    found, oracle = search(lambda points: (points @ w + b > 0).astype(int), X, domain)
    exact = []
    for row, label in zip(X, oracle.y, strict=True):
        sign = 1.0 if label == 0 else -1.0
        answer = minimize(
            lambda move: move @ move, np.zeros(3), jac=lambda move: 2 * move, method="SLSQP",
            bounds=list(zip(-1.0 - row, 1.0 - row, strict=True)),
            constraints={"type": "ineq", "fun": lambda m, row=row, sign=sign: sign * ((row + m) @ w + b)},
        )  # fmt: skip
        exact.append(np.sqrt(answer.fun))
    ratio = found.distances / np.array(exact)
    assert ratio.min() >= 1.0 - 1e-4
    assert np.median(ratio) <= WITHIN


def leaf_boxes(tree: Any, d: int) -> list[tuple[np.ndarray, np.ndarray, int]]:
    boxes = []

    def walk(node: int, low: np.ndarray, high: np.ndarray) -> None:
        if tree.children_left[node] < 0:
            boxes.append((low, high, int(tree.value[node][0].argmax())))
            return
        feature, threshold = tree.feature[node], tree.threshold[node]
        below, above = high.copy(), low.copy()
        below[feature], above[feature] = min(high[feature], threshold), max(low[feature], threshold)
        walk(tree.children_left[node], low, below)
        walk(tree.children_right[node], above, high)

    walk(0, np.full(d, -np.inf), np.full(d, np.inf))
    return boxes


@pytest.mark.parametrize(
    ("d", "depth", "n_classes"), [(2, 4, 2), (5, 6, 3), (10, 8, 2), (20, 5, 2)]
)
def test_trees(d: int, depth: int, n_classes: int) -> None:
    rng = np.random.default_rng(depth)
    X = rng.standard_normal((300, d)) * rng.uniform(0.5, 3.0, d)
    Z = X / X.std(axis=0)
    score = Z[:, 0] * Z[:, 1] + Z[:, -1] ** 2 + 0.5 * rng.standard_normal(300)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)
    X = X[:120]
    unit, predicted = X.std(axis=0), tree.predict(X)
    exact = np.full(len(X), np.inf)
    for low, high, label in leaf_boxes(tree.tree_, d):
        distance = np.linalg.norm((np.clip(X, low, high) - X) / unit, axis=1)
        exact = np.where(predicted != tree.classes_[label], np.minimum(exact, distance), exact)
    found, _ = search(tree.predict, X, domain_of(X))
    ratio = found.distances / exact
    assert ratio.min() >= 1.0 - 1e-4  # trees compare in single precision
    assert np.median(ratio) <= WITHIN


PLANE = {
    "circle": lambda P: np.hypot(P[:, 0] - 0.3, P[:, 1]) < 1.0,
    "sine": lambda P: P[:, 1] > np.sin(3.0 * P[:, 0]),
    "checkerboard": lambda P: (np.floor(1.1 * P[:, 0] + 0.2) + np.floor(1.1 * P[:, 1] - 0.1)) % 2,
    "spiral": lambda P: (
        np.sin(2.0 * np.hypot(P[:, 0], P[:, 1]) + np.arctan2(P[:, 1], P[:, 0])) > 0.0
    ),
    "islands": lambda P: np.sin(3.0 * P[:, 0]) * np.sin(3.0 * P[:, 1]) > 0.6,
    "three classes": lambda P: np.floor(np.abs(P) @ np.array([1.0, 0.5])) % 3,
}


@pytest.mark.parametrize("name", PLANE)
def test_against_a_grid_in_the_plane(name: str) -> None:
    X = np.random.default_rng(2).standard_normal((100, 2)) * [1.3, 0.8]
    unit = X.std(axis=0)

    def predict(points: np.ndarray) -> np.ndarray:
        return np.asarray(PLANE[name](points), dtype=int)

    found, oracle = search(predict, X, domain_of(X))
    axis = np.linspace(-5.0, 5.0, 601)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    labels, spacing = predict(grid), np.linalg.norm((axis[1] - axis[0]) / unit)
    exact = _nearest(grid / unit, labels, X / unit, oracle.y)
    assert np.median(found.distances / exact) <= WITHIN
    assert (found.distances >= exact - spacing).all()  # no nearer than what the grid allows


def _nearest(grid: np.ndarray, labels: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    exact = np.empty(len(X))
    for label in np.unique(y):
        exact[y == label] = cKDTree(grid[labels != label]).query(X[y == label])[0]
    return exact


def test_categories_and_whole_steps_move_as_a_whole_and_come_near_the_best_of_all() -> None:
    rng = np.random.default_rng(3)
    n = 80
    X = np.column_stack(
        [
            rng.standard_normal(n),
            rng.integers(0, 4, n),
            rng.integers(0, 3, n),
            rng.integers(0, 2, n),
            np.zeros(n),
        ]
    ).astype(float)
    X[:, 4] = 1.0 - X[:, 3]  # columns 3 and 4 are one-hot
    flips = (
        Flip("colour", np.array([2]), np.array([[0.0], [1.0], [2.0]]), 1.0),
        Flip("hot", np.array([3, 4]), np.array([[0.0, 1.0], [1.0, 0.0]]), 0.7),
    )
    domain = domain_of(
        X, unit=np.array([1.0, 1.2, 1.0, 1.0, 1.0]), integer=np.array([False, True, False, False, False]),
        lower=np.array([-np.inf, 0.0, *3 * [-np.inf]]), upper=np.array([np.inf, 3.0, *3 * [np.inf]]), flips=flips,
    )  # fmt: skip
    effect = np.array([0.0, 0.8, -0.9])

    def score(points: np.ndarray) -> np.ndarray:
        category = effect[points[:, 2].astype(int)]
        return points[:, 0] + 0.7 * points[:, 1] + category + 0.6 * points[:, 3] - 1.4

    found, _ = search(lambda points: (score(points) > 0).astype(int), X, domain)
    exact = np.full(n, np.inf)  # every jump, and the slide that is left
    for whole in range(4):
        for category in range(3):
            for hot in range(2):
                point = X.copy()
                point[:, 1], point[:, 2], point[:, 3], point[:, 4] = whole, category, hot, 1 - hot
                gap = score(point)
                slide = np.where((gap > 0) == (score(X) > 0), np.abs(gap), 0.0)
                point[:, 0] += np.where(gap > 0, -slide, slide)
                exact = np.minimum(exact, domain.distances(point, X))
    ratio = found.distances / exact
    assert ratio.min() >= 1.0 - 1e-9
    assert np.median(ratio) <= 1.01
    assert np.quantile(ratio, 0.9) <= WITHIN


def test_frozen_columns_stay_and_no_error_within_reach_is_no_error() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((50, 3))
    domain = domain_of(X, mutable=np.array([False, True, False]))
    found, _ = search(lambda points: (points[:, 0] > 0).astype(int), X, domain)
    assert np.isinf(found.distances).all()
    np.testing.assert_array_equal(found.points, X)
    found, _ = search(lambda points: (points[:, 1] > 0).astype(int), X, domain)
    np.testing.assert_allclose(
        np.median(found.distances / (np.abs(X[:, 1]) / X[:, 1].std())), 1.0, rtol=0.02
    )


def test_finds_errors_though_all_rows_have_one_label() -> None:
    X = np.random.default_rng(5).uniform(1.0, 2.0, (30, 4))
    found, _ = search(lambda points: (points.sum(axis=1) < 0).astype(int), X, domain_of(X))
    exact = X.sum(axis=1) / np.linalg.norm(X.std(axis=0))
    assert np.median(found.distances / exact) <= WITHIN


def test_budget_of_no_query_and_of_one() -> None:
    X = np.random.default_rng(6).standard_normal((20, 2))

    def predict(points: np.ndarray) -> np.ndarray:
        return (points[:, 0] > 0).astype(int)

    found, oracle = search(predict, X, domain_of(X), n_queries=0)
    assert oracle.n_queries == 0
    assert np.isinf(found.distances).all()
    found, oracle = search(predict, X, domain_of(X), n_queries=1)
    assert (found.queries == 1).all()
    assert np.isfinite(found.distances).all()  # the nearest row that is predicted otherwise


def test_more_queries_come_nearer() -> None:
    rng = np.random.default_rng(7)
    X, w = rng.standard_normal((80, 10)), rng.standard_normal(10)
    means = [
        search(lambda points: (points @ w > 0).astype(int), X, domain_of(X), n_queries=n)[
            0
        ].distances.mean()
        for n in (10, 60, 200, 500)
    ]
    assert means == sorted(means, reverse=True)
    assert means[-1] < 0.6 * means[0]
