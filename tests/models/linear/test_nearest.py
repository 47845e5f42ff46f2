"""Nearest errors of linear models with whole steps and flips, against enumeration."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from oracles import nearest_error_by_enumeration
from shiftmetrics import Resampling
from shiftmetrics.models import Perturbation, model_stability


@pytest.mark.parametrize("integer", [[0], [0, 1], [0, 1, 2]], ids=["one", "two", "three"])
def test_whole_steps_against_enumeration(integer: list[int]) -> None:
    rng = np.random.default_rng(1)
    width = max(len(integer), 2)
    X = rng.integers(0, 9, (30, width)).astype(float)
    y = (X @ [1.0, 0.6, 0.3][:width] + rng.normal(0, 1, 30) > 7).astype(int)
    model = LogisticRegression().fit(X, y)
    axes = [
        np.arange(0, 9) if column in integer else np.linspace(0, 8, 1601) for column in range(width)
    ]
    expected = nearest_error_by_enumeration(model.predict, X, y, axes, 1.0 / X.std(axis=0))
    result = model_stability(
        model, X, y, 0.9, theta2=np.inf, perturbation=Perturbation(integer=integer, bounds=(0, 8))
    )
    found = result.loss.distances
    reached = np.isfinite(expected)
    steps = (result.changed.codes - X)[:, integer]
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
    if len(integer) == 1:  # the grid of the other number is coarse
        assert result.kind == "exact"
        assert (found[reached] <= expected[reached] * (1 + 1e-9)).all()
        np.testing.assert_allclose(found[reached], expected[reached], atol=0.01)
    else:
        assert result.kind == "exact"
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-100)


@pytest.mark.parametrize("seed", range(4))
def test_steps_of_unlike_lengths_and_flips_against_enumeration(seed: int) -> None:
    """Five numbers, some with many short steps or without an effect, beside two categories: all ways are tried."""
    rng = np.random.default_rng(seed)
    n_steps = rng.integers(1, [3, 5, 12, 40, 90])
    X = pd.DataFrame({f"n{k}": rng.integers(0, most + 1, 40) for k, most in enumerate(n_steps)})
    effects = rng.normal(size=5) / n_steps
    X["site"] = rng.choice(["a", "b", "c"], 40)
    X["smoker"] = rng.choice(["yes", "no"], 40)
    score = X.iloc[:, :5] @ effects + 0.5 * (X["site"] == "b") + 0.3 * (X["smoker"] == "yes")
    y = (score + 0.3 * rng.normal(size=40) > score.median()).astype(int)
    encode = make_column_transformer((OneHotEncoder(), ["site", "smoker"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(X, y)
    result = model_stability(model, X, y, 0.9, theta2=np.inf, resampling=None)
    assert result.kind == "exact"

    def score_at(name: str, values: Any) -> Any:
        rows = pd.concat([X.iloc[:1]] * len(values), ignore_index=True)
        rows[name] = list(values)
        return model.decision_function(rows)

    for row in range(0, 40, 4):
        now = model.decision_function(X.iloc[[row]])[0]
        sign = -1.0 if now > 0.0 else 1.0
        ways = [(0.0, 0.0)]  # gain and squared distance, none as good and cheaper
        for name in X:
            values = np.unique(X[name])
            if name.startswith("n"):
                values = np.arange(X[name].min(), X[name].max() + 1)
                unit = 1.0 / X[name].std(ddof=0)
                squared = ((values - X[name][row]) * unit) ** 2
            else:
                fractions = X[name].value_counts(normalize=True)
                squared = (values != X[name][row]) * 2.0 / (1.0 - (fractions**2).sum())
            gains = sign * (score_at(name, values) - score_at(name, [X[name][row]]))
            both = [
                (squares + more, gain + added)
                for gain, squares in ways
                for added, more in zip(gains, squared, strict=True)
            ]
            ways = []
            for squares, gain in sorted(both, key=lambda way: (way[0], -way[1])):
                if not ways or gain > ways[-1][0] + 1e-12:
                    ways.append((gain, squares))
        reached = [squares for gain, squares in ways if gain >= abs(now) * (1.0 - 1e-10)]
        expected = min(reached, default=np.inf) ** 0.5
        if model.predict(X.iloc[[row]])[0] != y[row]:
            expected = 0.0
        np.testing.assert_allclose(result.loss.distances[row], expected, rtol=1e-9)


@pytest.mark.parametrize("n_whole", [2, 7])
def test_numbers_with_and_without_whole_steps(
    n_whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiftmetrics.models.linear import integer_steps

    rng = np.random.default_rng(2)
    X = np.concatenate(
        [rng.integers(0, 9, (60, n_whole)), rng.normal(size=(60, 2))], axis=1
    ).astype(float)
    slopes = np.linspace(1.0, 0.4, n_whole + 2)
    y = (X @ slopes + rng.normal(0, 1, 60) > np.median(X @ slopes)).astype(int)
    model = LogisticRegression().fit(X, y)
    options: dict[str, Any] = {"theta2": np.inf, "resampling": None}
    whole = model_stability(
        model, X, y, 0.6, perturbation=Perturbation(integer=range(n_whole)), **options
    )
    free = model_stability(model, X, y, 0.6, perturbation=Perturbation(integer=()), **options)
    steps = (whole.changed.codes - X)[:, :n_whole]
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
    assert free.kind == "exact"
    assert free.value <= whole.value
    # Not all ways: bounds from both sides, the lower one at least that of the relaxation.
    monkeypatch.setattr(integer_steps, "_MOST_WAYS", 16)
    fewer = model_stability(
        model, X, y, 0.6, perturbation=Perturbation(integer=range(n_whole)), **options
    )
    least = fewer.lower_bound
    if n_whole == 2:  # the rows that matter have few ways
        assert fewer.kind == "exact"
        least = fewer.value
    assert free.value * (1 - 1e-9) <= least <= whole.value * (1 + 1e-9)
    assert whole.value * (1 - 1e-9) <= fewer.value <= 1.2 * whole.value


def test_a_single_number_of_whole_steps_is_exact() -> None:
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(18, 90, 60), rng.normal(size=60)], axis=1).astype(float)
    y = (X[:, 0] + 10 * X[:, 1] > 50).astype(int)
    model = LogisticRegression().fit(X, y)
    result = model_stability(model, X, y, 0.5, perturbation=Perturbation(features=[0], integer=[0]))
    assert result.kind == "exact"
    axes = [np.arange(-300, 400), np.array([np.nan])]
    expected = nearest_error_by_enumeration(model.predict, X, y, axes, 1.0 / X.std(axis=0))
    np.testing.assert_allclose(result.loss.distances, expected, rtol=1e-9)


def test_steps_of_sgd_and_groups_of_rows(
    mixed_rows: Callable[..., tuple[pd.DataFrame, np.ndarray]],
) -> None:
    X, y = mixed_rows(80, 3)
    model = make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0))
    numbers = X[["age", "dose"]]
    model.fit(numbers, y)
    free = Perturbation(bounds=None, integer=())
    alone = model_stability(model, numbers, y, 1.0, loss="log_loss", perturbation=free)
    doubled = model_stability(
        model,
        pd.concat([numbers] * 2),
        np.tile(y, 2),
        1.0,
        loss="log_loss",
        perturbation=free,
        resampling=Resampling(groups=np.tile(np.arange(80), 2)),
    )
    assert doubled.value == pytest.approx(alone.value, rel=1e-6)
    assert doubled.standard_error == pytest.approx(alone.standard_error, rel=1e-3)
    assert alone.kind == "exact"


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_steps_that_end_in_a_tie_are_errors_where_the_model_says_so(
    n_classes: int, seed: int
) -> None:
    """Coefficients of whole numbers, 0 among them, on whole numbers: ties everywhere, which the first class wins."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (40, 3)).astype(float)
    y = rng.integers(0, n_classes, 40)
    model = LogisticRegression().fit(X, y)
    model.coef_ = rng.integers(-2, 3, model.coef_.shape).astype(float)
    model.intercept_ = rng.integers(-3, 4, model.intercept_.shape).astype(float)
    axes = [np.arange(4)] * 3
    expected = nearest_error_by_enumeration(model.predict, X, y, axes, np.ones(3))
    everything = Perturbation(cost="unit", integer=[0, 1, 2], bounds=(0, 3))
    threshold = 0.5 * (np.mean(expected == 0.0) + np.mean(np.isfinite(expected)))
    if threshold <= np.mean(expected == 0.0):
        return  # no sample can be made wrong
    result = model_stability(
        model, X, y, threshold, theta2=np.inf, perturbation=everything, resampling=None
    )
    assert result.kind == "exact"
    np.testing.assert_allclose(result.loss.distances, expected, atol=1e-9)


@pytest.mark.parametrize("loss", [0.0, 3.0])
def test_a_model_without_slopes_has_no_error_to_reach(loss: float) -> None:
    X = np.arange(6.0)[:, None]
    y = np.array([0, 0, 0, 1, 1, 0])
    model = LogisticRegression().fit(X, y)
    model.coef_[:] = 0.0
    model.intercept_[:] = -loss
    result = model_stability(model, X, y, 0.9, theta2=np.inf, resampling=None)
    assert result.status.code == "unattainable"
    np.testing.assert_array_equal(result.loss.distances, np.where(y == 0, np.inf, 0.0))
