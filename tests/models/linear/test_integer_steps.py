"""The nearest error by integer steps: against the enumeration of all steps."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from shiftmetrics.models import Perturbation
from shiftmetrics.models.linear import integer_steps
from shiftmetrics.models.linear.geometry import Geometry
from shiftmetrics.models.linear.integer_steps import IntegerSteps
from shiftmetrics.models.linear.nearest_plan import NearestPlan
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.reading.model import problem_of

HIGHEST = 8


@pytest.fixture(params=[2, 3])
def case(request: pytest.FixtureRequest) -> SimpleNamespace:
    """Return the search of all rows past the only rival of two classes, with integers alone."""
    rng = np.random.default_rng(request.param)
    X = rng.integers(0, HIGHEST + 1, (40, request.param)).astype(float)
    y = (X @ np.array([1.0, -0.7, 0.4])[: request.param] + rng.normal(size=40) > 2.0).astype(int)
    model = LogisticRegression().fit(X, y)
    moves = Perturbation(cost="unit", integer=range(request.param), bounds=(0, HIGHEST))
    problem = problem_of(model, X, y, perturbation=moves)
    scores = AdditiveScores.of(problem)
    assert scores is not None
    geometry = Geometry(problem, scores)
    (rival,) = geometry.rivals()
    plan = next(iter(geometry.plans(rival)))
    best = NearestPlan.unknown(geometry)
    need = np.maximum(-rival.gap, 0.0)
    steps = IntegerSteps(best, geometry, 0, rival, plan, need, np.arange(40))
    return SimpleNamespace(X=X, y=y, model=model, best=best, steps=steps, unit=problem.domain.unit)


def enumerated(case: SimpleNamespace) -> np.ndarray:
    """Return the least distance of each row to a point that the model gets wrong."""
    everywhere = itertools.product(range(HIGHEST + 1), repeat=case.X.shape[1])
    points = np.array(list(everywhere), dtype=float)
    predicted = case.model.predict(points)
    found = []
    for row, label in zip(case.X, case.y, strict=True):
        distances = np.sqrt((((points - row) / case.unit) ** 2).sum(axis=1))
        found.append(distances[predicted != label].min())
    return np.array(found)


def test_all_ways_together_give_the_nearest_error(case: SimpleNamespace) -> None:
    case.steps.round_relaxed()
    expected = enumerated(case)
    assert (case.best.distance >= expected - 1e-9).all(), "a rounded way is a way"
    assert case.steps.try_all().all()
    np.testing.assert_allclose(case.best.distance, expected, atol=1e-9)


def test_too_many_ways_are_admitted(case: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_steps, "_MOST_WAYS", 1)
    case.steps.round_relaxed()
    complete = case.steps.try_all()
    expected = enumerated(case)
    assert not complete.all()
    np.testing.assert_allclose(case.best.distance[complete], expected[complete], atol=1e-9)
    assert (case.best.distance >= expected - 1e-9).all()
