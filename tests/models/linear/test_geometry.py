"""Linear models in the raw columns: flips, whole steps and bounds against enumeration, and labels that flip."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from oracles import valid_moves
from shiftmetrics import CandidateLoss, stability_criterion
from shiftmetrics.models import Perturbation, model_stability
from shiftmetrics.models.linear import LinearRoute
from shiftmetrics.models.reading.estimators import encoded_categories
from shiftmetrics.models.reading.model import problem_of

Mixed = tuple[Pipeline, pd.DataFrame, np.ndarray]


SLACK = {"region": 2.0, "smoker": 0.5}


def states(name: str) -> list[object]:
    return {"region": ["north", "south", "west"], "smoker": ["no", "yes"]}[name]


def test_flips_are_made_in_the_raw_columns(mixed: Mixed) -> None:
    model, X, y = mixed
    result = model_stability(
        model, X, y, 0.6, perturbation=Perturbation(cost={"region": 0.1, "smoker": 0.1})
    )
    moved = result.changed_rows()
    assert list(moved.columns) == list(X.columns)
    assert moved["region"].dtype == X["region"].dtype
    assert set(moved["smoker"]) <= {"no", "yes"}
    assert (result.kind, result.search.route) == ("exact", "linear")
    changed = (moved["region"] != X["region"]) | (moved["smoker"] != X["smoker"])
    assert changed.any(), "some rows flip"
    away = result.plan.distances > 0
    assert (model.predict(moved)[away] != y[away]).all()


@pytest.mark.parametrize(
    "cost", [dict.fromkeys(SLACK, 1.0), SLACK], ids=["one price", "two prices"]
)
def test_distances_are_those_of_every_combination_of_flips(
    mixed: Mixed, cost: dict[str, float]
) -> None:
    model, X, y = mixed
    moves = Perturbation(cost=cost, bounds={"age": (18, 90), "dose": (0, 4)}, integer=())
    result = model_stability(model, X, y, 0.9, theta2=np.inf, perturbation=moves)
    problem = problem_of(model, X, y, perturbation=moves)
    expected = np.full(len(X), np.inf)
    slopes = _slopes(model, X)
    for region, smoker in itertools.product(states("region"), states("smoker")):
        flipped = X.assign(
            region=pd.Categorical([region] * len(X), categories=states("region")), smoker=smoker
        )
        price = sum(
            cost[name] * (flipped[name].astype(str) != X[name].astype(str))
            for name in ("region", "smoker")
        )
        margins = model.decision_function(flipped) * np.where(y == "well", 1.0, -1.0)
        need = np.maximum(margins, 0.0)
        squared = _least_squared(problem, slopes, need, y)
        expected = np.minimum(expected, np.sqrt(squared + price))
    loss = result.loss
    assert loss is not None
    wrong = model.predict(X) != y
    np.testing.assert_allclose(loss.distances[~wrong], expected[~wrong], rtol=1e-7)


def _slopes(model: Pipeline, X: pd.DataFrame) -> np.ndarray:
    row = X.iloc[[0]].astype({"age": float})
    start = model.decision_function(row)
    return np.array(
        [
            (model.decision_function(row.assign(**{c: row[c] + 1.0})) - start)[0]
            for c in ("age", "dose")
        ]
    )


def _least_squared(
    problem: object, slopes: np.ndarray, need: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Two numbers within bounds: the age moves by a share found by bisection on the multiplier."""
    low, high = problem.domain.limits(problem.codes)
    unit = problem.domain.unit[:2]
    direction = np.where(y == "well", -1.0, 1.0)[:, None] * np.sign(slopes)
    room = (
        np.where(
            direction > 0, high[:, :2] - problem.codes[:, :2], problem.codes[:, :2] - low[:, :2]
        )
        / unit
    )
    power = np.abs(slopes) * unit
    squared = np.full(len(need), np.inf)
    for row in range(len(need)):
        if (power * room[row]).sum() < need[row]:
            continue
        left, right = 0.0, 1e6
        for _ in range(200):
            middle = 0.5 * (left + right)
            if (power * np.minimum(middle * power, room[row])).sum() < need[row]:
                left = middle
            else:
                right = middle
        squared[row] = (np.minimum(right * power, room[row]) ** 2).sum()
    return squared


@pytest.mark.parametrize("loss", ["zero_one", "hinge", "log_loss"])
def test_exact_answers_are_those_of_dense_candidates(mixed: Mixed, loss: str) -> None:
    model, X, y = mixed
    X, y = X.iloc[:25], y[:25]
    options = {
        "loss": loss,
        "perturbation": Perturbation(bounds={"age": (18, 90), "dose": (0, 4)}, integer=()),
    }
    exact = model_stability(model, X, y, 0.9, **options)
    assert exact.kind == "exact"
    problem = problem_of(model, X, y, **options)
    grid = np.array(
        list(itertools.product(np.linspace(18, 90, 73), np.linspace(0, 4, 41), range(3), range(2)))
    )
    losses, distances = [problem.losses(problem.codes, slice(None))], [np.zeros(len(X))]
    at_grid = np.stack([problem.losses(grid, np.full(len(grid), row)) for row in range(len(X))])
    away = np.stack([problem.domain.distances(grid, np.repeat(problem.codes[[row]], len(grid), axis=0))
                     for row in range(len(X))])  # fmt: skip
    loss_of = CandidateLoss(
        np.concatenate([np.stack(losses, axis=1), at_grid], axis=1),
        np.concatenate([np.stack(distances, axis=1), away], axis=1),
    )
    dense = stability_criterion(loss_of, 0.9).value
    assert exact.value <= dense * (1 + 1e-9)
    assert exact.value == pytest.approx(dense, rel=0.08 if loss == "zero_one" else 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["zero_one", "hinge", "log_loss", "squared"])
def test_places_have_the_distances_and_losses_they_are_said_to_have(
    mixed: Mixed, loss: str
) -> None:
    model, X, y = mixed
    if loss == "squared":
        y = 0.1 * X["age"].to_numpy() + (X["region"] == "west").to_numpy()
        model = make_pipeline(model[0], LinearRegression()).fit(
            X, y + np.random.default_rng(0).normal(size=len(y))
        )
    for moves in (
        Perturbation(),
        Perturbation(bounds=None, integer=()),
        Perturbation(cost=SLACK, immutable=["dose"]),
        Perturbation(features=["region"]),
    ):
        base = problem_of(model, X, y, loss=loss)
        threshold = 1.2 * base.losses(base.codes, slice(None)).mean()
        result = model_stability(model, X, y, threshold, loss=loss, perturbation=moves)
        problem = problem_of(model, X, y, loss=loss, perturbation=moves)
        assert valid_moves(problem.domain, result.changed.codes, problem.codes).all()
        distances = problem.domain.distances(result.changed.codes, problem.codes)
        np.testing.assert_allclose(distances, result.plan.distances, rtol=1e-5, atol=1e-8)
        losses = problem.losses(result.changed.codes, slice(None))
        np.testing.assert_allclose(losses, result.plan.losses, rtol=1e-6, atol=1e-8)
        if result.plan.splits is not None:
            start = problem.codes[result.plan.splits.rows]
            np.testing.assert_allclose(
                problem.domain.distances(result.changed.split_codes, start),
                result.plan.splits.distances,
                rtol=1e-5,
            )
            assert len(result.split_rows()) == len(result.plan.splits.rows)


def test_encoders_say_which_columns_are_categories(mixed: Mixed) -> None:
    model, X, y = mixed
    known = encoded_categories(model, list(X.columns))
    assert known == {2: ["north", "south", "west"], 3: ["no", "yes"]}
    codes = X.assign(
        region=X["region"].cat.codes.astype(int), smoker=(X["smoker"] == "yes").astype(int)
    )
    numbered = make_pipeline(
        make_column_transformer(
            (make_pipeline(OneHotEncoder()), slice(2, 3)),
            (OrdinalEncoder(), [3]),
            remainder="passthrough",
        ),
        StandardScaler(),
        LogisticRegression(),
    ).fit(codes, y)
    assert encoded_categories(numbered, list(codes.columns)) == {2: [0, 1, 2], 3: [0, 1]}
    result = model_stability(numbered, codes, y, 0.6)
    assert set(result.changed_rows()["region"]) <= {0, 1, 2}
    assert result.search.route == "linear"


def test_one_hot_columns_move_as_one(mixed: Mixed) -> None:
    _, X, y = mixed
    encoded = pd.get_dummies(X, columns=["region", "smoker"], dtype=float)
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(encoded, y)
    groups = {
        name: [c for c in encoded if c.startswith(f"{name}_")] for name in ("region", "smoker")
    }
    result = model_stability(
        plain, encoded, y, 0.6, perturbation=Perturbation(one_hot=list(groups.values()), integer=())
    )
    moved = result.changed_rows()
    assert (moved[groups["region"]].sum(axis=1) == 1.0).all()
    assert result.kind == "exact"
    free = model_stability(plain, encoded, y, 0.6, perturbation=Perturbation(integer=()))
    assert set(np.unique(result.changed_rows()[groups["smoker"]])) <= {0.0, 1.0}
    assert not set(np.unique(free.changed_rows()[groups["smoker"]])) <= {0.0, 1.0}


@pytest.mark.parametrize("loss", ["zero_one", "hinge"])
def test_many_prices_of_flips_are_joined_between_bounds(
    mixed: Mixed, loss: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiftmetrics.models.linear import geometry

    model, X, y = mixed
    options = {
        "loss": loss,
        "perturbation": Perturbation(cost={"region": 2.0, "smoker": 1.5}, integer=()),
        "theta2": np.inf,
    }
    exact = model_stability(model, X, y, 0.8, **options)
    assert exact.kind == "exact"
    monkeypatch.setattr(geometry, "_MOST_ALTERNATIVES", 1)
    joined = model_stability(model, X, y, 0.8, **options)
    low = joined.value if joined.lower_bound is None else joined.lower_bound
    assert low <= exact.value * (1 + 1e-9)
    assert exact.value <= joined.value * (1 + 1e-9)
    assert 0.5 * joined.value < low


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_smooth_losses_with_whole_steps_lie_between_bounds(mixed: Mixed, loss: str) -> None:
    model, X, y = mixed
    result = model_stability(
        model, X, y, 1.0, loss=loss, perturbation=Perturbation(integer=["age"], bounds="data")
    )
    assert result.kind == "upper_bound"
    assert 0.98 * result.value < result.lower_bound <= result.value
    assert (result.changed_rows()["age"] % 1 == 0).all()


def test_the_bound_of_several_classes_is_one(
    mixed_rows: Callable[..., tuple[pd.DataFrame, np.ndarray]],
) -> None:
    X, _ = mixed_rows(20, 5)
    rng = np.random.default_rng(0)
    y = np.array(["none", "mild", "grave"])[
        1 * (X["dose"] + rng.normal(size=20) > 1.5) + (X["age"] > 60)
    ]
    encode = make_column_transformer(
        (OneHotEncoder(), ["region", "smoker"]), (StandardScaler(), ["age", "dose"])
    )
    model = make_pipeline(encode, LogisticRegression(C=10.0)).fit(X, y)
    for bounds in (None, {"age": (18, 90), "dose": (0, 4)}):
        problem = problem_of(model, X, y, loss="log_loss", perturbation=Perturbation(bounds=bounds))
        answer = LinearRoute().worst_case(problem)
        grid = np.array(
            list(
                itertools.product(
                    np.linspace(18, 90, 37), np.linspace(0, 4, 21), range(3), range(2)
                )
            )
        )
        at_grid = np.stack([problem.losses(grid, np.full(len(grid), row)) for row in range(20)])
        start = np.repeat(problem.codes, len(grid), axis=0)
        away = problem.domain.distances(np.tile(grid, (20, 1)), start).reshape(20, -1)
        rows = slice(0, 20)
        assert (answer.lower.base(rows) >= answer.loss.base(rows)).all()
        for dual in (0.05, 0.5, 2.0, 10.0):
            bound = answer.lower.transform(dual, 0.4, rows)
            assert (bound.value >= (dual * at_grid - 0.4 * away**2).max(axis=1) - 1e-9).all()
            assert (bound.value >= answer.loss.transform(dual, 0.4, rows).value - 1e-9).all()
            np.testing.assert_allclose(
                bound.value, dual * bound.loss - 0.4 * bound.squared_distance, rtol=1e-9
            )
            ahead, behind = (
                answer.lower.transform(dual * (1 + e), 0.4, rows).value for e in (1e-6, -1e-6)
            )
            np.testing.assert_allclose((ahead - behind) / (2e-6 * dual), bound.loss, rtol=1e-4)
        result = model_stability(
            model, X, y, 1.5, loss="log_loss", perturbation=Perturbation(bounds=bounds)
        )
        assert 0.0 < result.lower_bound <= result.value
        if bounds is not None:  # the grid covers all there is, so that the search may not be worse
            still = answer.loss.base(rows)[:, None]
            candidates = CandidateLoss(np.hstack([still, at_grid]), np.hstack([0 * still, away]))
            assert result.value <= stability_criterion(candidates, 1.5).value * 1.001
    reach = answer.lower.reach(0.4, rows)
    assert (reach.loss >= at_grid.max(axis=1) - 1e-9).all()
    assert answer.lower.take(np.array([3, 1])).base(slice(0, 2))[1] == answer.lower.base(rows)[1]
