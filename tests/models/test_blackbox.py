"""Stability of anything that predicts, beside closed forms."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_moons
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from linear_samples import sample
from shiftmetrics.models import Perturbation, Search
from shiftmetrics.models.measures.stability import model_stability
from shiftmetrics.stability import (
    CandidateLoss,
    HingeLoss,
    LogisticLoss,
    SquaredLoss,
    ZeroOneLoss,
    stability_criterion,
)

FREE = Perturbation(bounds=None, integer=())


@pytest.mark.parametrize(
    ("loss", "threshold", "within"),
    [("zero_one", 0.4, 1.02), ("log_loss", 0.8, 1.01), ("hinge", 0.8, 1.02)],
)
def test_logistic_regression_as_a_black_box_comes_near_its_closed_form(
    loss: Any, threshold: float, within: float
) -> None:
    X, y = sample()
    model = LogisticRegression().fit(X, y)
    margins = (2 * y - 1) * model.decision_function(X)
    norm = np.linalg.norm(model.coef_ * X.std(axis=0))
    closed = {
        "zero_one": ZeroOneLoss(np.maximum(margins, 0.0) / norm),
        "log_loss": LogisticLoss(margins, norm),
        "hinge": HingeLoss(margins, norm),
    }[loss]
    exact = stability_criterion(closed, threshold).value
    result = model_stability(
        model, X, y, threshold, loss=loss, computing=Search(method="blackbox"), perturbation=FREE
    )
    assert result.kind == "upper_bound"
    assert result.search.route == "blackbox"
    assert exact * (1 - 1e-9) <= result.value <= within * exact
    assert result.search.n_queries <= 503 * len(X)  # and a few to look at the rows themselves
    if result.search.trace is not None:
        assert (np.diff(result.search.trace.values) <= 1e-12).all()


def test_regression_as_a_black_box() -> None:
    X, _ = sample(3)
    rng = np.random.default_rng(1)
    target = X @ np.array([1.0, -0.5, 0.2]) + rng.standard_normal(len(X))
    model = LinearRegression().fit(X, target)
    norm = np.linalg.norm(model.coef_ * X.std(axis=0))
    exact = stability_criterion(SquaredLoss(model.predict(X) - target, norm), 2.0).value
    result = model_stability(
        lambda rows: model.predict(rows), X, target, 2.0, loss="squared", perturbation=FREE
    )
    assert result.search.route == "blackbox"
    assert exact * (1 - 1e-9) <= result.value <= 1.02 * exact


def test_moved_rows_reach_the_risk_that_the_result_reports() -> None:
    X, y = sample()
    model = KNeighborsClassifier(7).fit(X, y)
    result = model_stability(model, X, y, 0.4)
    assert result.search.route == "blackbox"
    wrong = model.predict(result.changed_rows()) != y
    np.testing.assert_array_equal(wrong, result.plan.losses == 1.0)
    np.testing.assert_allclose(
        np.linalg.norm((result.changed_rows() - X) / X.std(axis=0), axis=1),
        result.plan.distances,
        atol=1e-12,
    )


def test_a_callable_sees_the_table_with_its_own_columns() -> None:
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, 120),
            "town": pd.Categorical(rng.choice(["a", "b", "c"], 120)),
            "smokes": rng.random(120) < 0.4,
            "weight": rng.normal(70.0, 10.0, 120),
        }
    )
    seen = []

    def predict(rows: pd.DataFrame) -> np.ndarray:
        assert list(rows.columns) == list(X.columns)
        assert isinstance(rows["town"].dtype, pd.CategoricalDtype)
        assert rows["town"].isin(["a", "b", "c"]).all()
        assert rows["smokes"].dtype == bool
        seen.append(len(rows))
        return np.where(
            rows["age"] / 20 + rows["smokes"] + (rows["town"] == "b") > 3.2, "dead", "alive"
        )

    y = predict(X)
    y[:6] = np.where(y[:6] == "dead", "alive", "dead")
    result = model_stability(
        predict,
        X,
        y,
        0.3,
        perturbation=Perturbation(integer=["age"]),
        computing=Search(n_queries=200),
    )
    moved = result.changed_rows()
    np.testing.assert_array_equal(predict(moved) != y, result.plan.losses == 1.0)
    assert (moved["age"] == moved["age"].round()).all()
    assert (moved["weight"] == X["weight"]).all()  # it does not matter, so nothing moves it
    assert max(seen) > 500  # all rows ask at once


@pytest.mark.slow
def test_pipelines_with_categories_flip_them_in_the_raw_columns() -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.standard_normal(150), "kind": rng.choice(["x", "y", "z"], 150)})
    y = (X["a"] + 2.0 * (X["kind"] == "x") + 0.3 * rng.standard_normal(150) > 0.5).astype(int)
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), ["a"])),
        KNeighborsClassifier(9),
    ).fit(X, y)
    result = model_stability(model, X, y, 0.5)
    moved = result.changed_rows()
    assert set(moved["kind"]) <= {"x", "y", "z"}
    frozen = model_stability(model, X, y, 0.5, perturbation=Perturbation(immutable=["kind"]))
    assert (frozen.changed_rows()["kind"] == X["kind"]).all()
    assert result.value <= frozen.value * 1.001


def test_other_rows_may_be_where_a_search_starts() -> None:
    X, y = sample(6)
    model = LogisticRegression().fit(X, y)
    ones = np.flatnonzero(model.predict(X) == 1)[:40]
    alone = model_stability(
        model.predict,
        X[ones],
        np.ones(40, dtype=int),
        0.5,
        perturbation=Perturbation(cost="unit", bounds=None),
        computing=Search(n_queries=12),
    )
    helped = model_stability(  # by rows of the other class, which count as starts alone
        model.predict,
        np.concatenate([X[ones], X]),
        np.concatenate([np.ones(40, dtype=int), model.predict(X)]),
        0.5,
        perturbation=Perturbation(cost="unit", bounds=None),
        sample_weight=np.repeat([1.0, 0.0], [40, len(X)]),
        computing=Search(n_queries=12),
    )
    assert helped.value < alone.value


def test_no_error_within_reach_is_said() -> None:
    X, _ = sample(2)
    result = model_stability(
        lambda rows: np.ones(len(rows), dtype=int), X, np.ones(len(X), dtype=int), 0.2
    )
    assert np.isinf(result.value)
    assert any("No error was found" in warning for warning in result.warnings)


def test_seeds_repeat() -> None:
    X, y = sample(8)
    model = KNeighborsClassifier(5).fit(X, y)
    first, second = (
        model_stability(model, X, y, 0.4, computing=Search(rng=1, n_queries=100)) for _ in range(2)
    )
    assert first.value == second.value
    np.testing.assert_array_equal(first.changed.codes, second.changed.codes)


def test_points_found_stand_where_the_result_says() -> None:
    X, y = sample(3)
    model = KNeighborsClassifier(15).fit(X, y)
    result = model_stability(model, X, y, 0.9, loss="log_loss", computing=Search(n_queries=150))
    moved = result.changed_rows()
    chance = np.maximum(model.predict_proba(moved)[np.arange(len(y)), y], np.finfo(float).eps)
    np.testing.assert_allclose(-np.log(chance), result.plan.losses, atol=1e-12)
    assert isinstance(result.loss, CandidateLoss)


def test_units_of_columns_do_not_matter() -> None:
    X, y = sample(4)
    scale, shift = np.array([1.0, 1e3, 1e-3, 8.0]), np.array([0.0, 5.0, -2.0, 100.0])
    model = KNeighborsClassifier(5).fit(X, y)
    first = model_stability(model.predict, X, y, 0.4, computing=Search(n_queries=120))
    other = model_stability(
        lambda rows: model.predict((rows - shift) / scale),
        X * scale + shift,
        y,
        0.4,
        computing=Search(n_queries=120),
    )
    np.testing.assert_allclose(
        other.value, first.value, rtol=0.02
    )  # but for what rounding tips over


def test_more_columns_to_move_in_cost_no_more() -> None:
    X, y = sample(5)
    model = LogisticRegression().fit(X, y)
    values = [
        model_stability(
            model.predict, X, y, 0.4, perturbation=Perturbation(features=list(range(k)))
        ).value
        for k in range(1, 5)
    ]
    assert all(later <= earlier * 1.02 for earlier, later in itertools.pairwise(values))


def test_losses_far_off_that_are_no_numbers_are_passed_over() -> None:
    X, _ = sample(3)
    y = X[:, 0]

    def predict(rows: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(np.abs(rows[:, 0]) > 20.0, np.nan, rows[:, 0] * 1.1)

    result = model_stability(predict, X, y, 0.05, loss="squared", computing=Search(n_queries=100))
    assert np.isfinite(result.value)
    assert np.isfinite(result.plan.losses).all()


@pytest.mark.parametrize(
    ("predict", "message"),
    [
        (lambda rows: np.zeros(3), "shape|one|rows|length|broadcast"),
        (lambda rows: np.zeros((len(rows), 2, 2)), "shape|label|dimension"),
    ],
)
def test_models_that_answer_nonsense_are_refused(predict: Any, message: str) -> None:
    X, y = sample(3)
    with pytest.raises((ValueError, TypeError), match=message):
        model_stability(predict, X, y, 0.4)


def nearest_on_a_grid(
    model: Any, X: np.ndarray, y: np.ndarray, levels: np.ndarray
) -> CandidateLoss:
    """Return, of the points of a fine grid, the nearest ones of each share of votes for the label."""
    sides = [np.linspace(X[:, k].min(), X[:, k].max(), 300) for k in (0, 1)]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    votes = model.predict_proba(grid)
    apart = np.sqrt((((grid[None] - X[:, None]) / X.std(axis=0)) ** 2).sum(axis=2))
    own = model.predict_proba(X)[np.arange(len(X)), y]
    losses = [-np.log(np.maximum(own, 1e-3))]
    distances = [np.zeros(len(X))]
    for level in levels:
        there = np.isclose(votes[:, y].T, level)
        losses.append(np.full(len(X), -np.log(max(level, 1e-3))))
        distances.append(np.maximum(np.where(there, apart, np.inf).min(axis=1), 1e-12))
    return CandidateLoss(np.stack(losses, axis=1), np.stack(distances, axis=1))


@pytest.mark.parametrize("seed", [0, 1])
def test_a_search_uses_its_queries_and_comes_near_brute_force(seed: int) -> None:
    X, y = make_moons(240, noise=0.35, random_state=seed)
    model = KNeighborsClassifier(15).fit(X[30:], y[30:])
    X, y = X[:30], y[:30]
    options: dict[str, Any] = {"theta2": np.inf, "resampling": None}
    known = nearest_on_a_grid(model, X, y, np.arange(16) / 15)
    best = stability_criterion(known, 1.5, **options).value
    search = Search(n_queries=5000, clip=1e-3, progress=False)
    found = model_stability(model, X, y, 1.5, loss="log_loss", computing=search, **options)
    assert found.value <= 1.03 * best
    assert 4500 <= found.search.n_queries / len(X) <= 5000
    errors = model_stability(
        model, X, y, 0.4, computing=Search(n_queries=5000, progress=False), **options
    )
    right = model.predict(X) == y
    assert errors.search.n_queries / len(X) >= 4000 * right.mean()
