"""Column generation: rounds go on while better points are found, and changed samples are predicted again."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from shiftmetrics import Computing
from shiftmetrics.models.measures.rounds import shifted_samples, solve_in_rounds
from shiftmetrics.models.measures.routes import find_worst_case
from shiftmetrics.models.reading.model import problem_of
from shiftmetrics.models.search.worst_case import WorstCase
from shiftmetrics.stability.losses import ZeroOneLoss

OPTIONS = {
    "theta1": 1.0,
    "theta2": 1.0,
    "divergence": "kl",
    "sample_weight": None,
    "resampling": None,
    "computing": Computing(progress=False),
}


@pytest.fixture(scope="module")
def linear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=80) > 0.0).astype(int)
    problem = problem_of(LogisticRegression().fit(X, y), X, y)
    return problem, find_worst_case(problem)[1]


def farther(found: WorstCase, factor: float) -> WorstCase:
    """Return a worst case whose errors are farther away than they are."""
    return replace(found, loss=ZeroOneLoss(factor * found.loss.distances, kind="upper_bound"))


def test_rounds_end_at_the_best_points_and_tell_their_way(linear) -> None:
    problem, exact = linear
    left = [exact, farther(exact, 1.5)]

    def refine(dual: float) -> WorstCase | None:
        assert dual > 0.0
        if not left:
            return None
        return replace(left.pop(), refine=refine)

    begin = replace(farther(exact, 2.0), refine=refine)
    solution = solve_in_rounds(problem, begin, 0.4, OPTIONS)
    direct = solve_in_rounds(problem, exact, 0.4, OPTIONS)
    assert direct.trace is None
    assert solution.solved.value == pytest.approx(direct.solved.value, rel=1e-9)
    values = solution.trace.values
    assert len(values) == 3
    assert values[0] > values[1] > values[2] == solution.solved.value
    # At its price each round knows a lower bound among the points of the next one.
    for value, gap, following in zip(values, solution.trace.gaps, values[1:], strict=False):
        assert gap >= 0.0
        assert value - gap <= following * (1.0 + 1e-9)


def test_bounds_that_meet_are_one_exact_value(linear) -> None:
    problem, exact = linear
    loose = farther(exact, 1.0)
    met = solve_in_rounds(problem, replace(loose, lower=exact.loss), 0.4, OPTIONS)
    assert met.solved.kind == "exact"
    assert met.lower_bound is None
    nearer = ZeroOneLoss(0.5 * exact.loss.distances, kind="lower_bound")
    apart = solve_in_rounds(problem, replace(loose, lower=nearer), 0.4, OPTIONS)
    assert apart.solved.kind == "upper_bound"
    assert 0.0 < apart.lower_bound < apart.solved.value


def test_changed_samples_are_errors_of_the_model_and_false_ones_are_refused(linear) -> None:
    problem, exact = linear
    solution = solve_in_rounds(problem, exact, 0.4, OPTIONS)
    places = shifted_samples(problem, solution, None)
    plan = solution.solved.plan.places()
    rows = plan["row"]
    np.testing.assert_array_equal(problem.losses(places, rows), plan["loss"])
    # Distances of half the true ones end before the boundary.
    false = farther(exact, 0.5)
    short = solve_in_rounds(problem, false, 0.4, OPTIONS)
    short = short._replace(
        found=replace(
            false,
            points=lambda of, _, __: (
                problem.codes[of]
                + 0.5 * (exact.points(of, exact.loss.distances[of], None) - problem.codes[of])
            ),
        )
    )
    with pytest.raises(ValueError, match="predicts samples alike"):
        shifted_samples(problem, short, None)
