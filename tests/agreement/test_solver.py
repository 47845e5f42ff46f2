"""The solve takes any source of statistics: shards, partitions, processes, each with the same answer."""

import functools
import operator

import numpy as np
import pytest

from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.agreement.scores import prepare_pairs
from shiftmetrics.agreement.solver import rounding_error, solve_agreement
from shiftmetrics.agreement.statistic import AgreementStatistic, evaluator, limits_of


@pytest.fixture
def samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(600, 4)) * 3
    return reference + rng.normal(size=(600, 4)) * 2, reference


def test_shards_solve_as_the_whole(samples: tuple[np.ndarray, np.ndarray]) -> None:
    scores, reference = samples
    shards = [
        prepare_pairs(scores[part], reference[part])
        for part in np.array_split(np.arange(600), [1, 100, 350])
    ]
    functions = [evaluator(shard) for shard in shards]

    def evaluate(betas: np.ndarray) -> AgreementStatistic:
        return functools.reduce(operator.add, (function(betas) for function in functions))

    limits = functools.reduce(operator.add, (limits_of(shard) for shard in shards))
    found = solve_agreement(evaluate, limits, prior=shards[0].prior)
    whole = posterior_agreement(scores, reference)
    assert found.converged
    assert found.value == pytest.approx(whole.value, abs=1e-12)
    assert found.x == pytest.approx(whole.beta, rel=1e-7)
    assert found.error_bound <= 1.001e-6


def test_passes_are_fewer_than_evaluations(samples: tuple[np.ndarray, np.ndarray]) -> None:
    pairs = prepare_pairs(*samples)
    sizes = []

    def evaluate(betas: np.ndarray) -> AgreementStatistic:
        sizes.append(len(betas))
        return evaluator(pairs)(betas)

    found = solve_agreement(evaluate, limits_of(pairs), prior=pairs.prior)
    assert sum(sizes) == found.n_evaluations
    assert len(sizes) == found.n_passes < found.n_evaluations
    again = solve_agreement(
        evaluate, limits_of(pairs), prior=pairs.prior, guesses=found.points.tolist()
    )
    assert again.n_passes <= 2
    assert again.value == pytest.approx(found.value, abs=1e-12)


def test_the_rounding_bound_covers_what_rounding_does(
    samples: tuple[np.ndarray, np.ndarray],
) -> None:
    scores, reference = (x.astype(np.longdouble) for x in samples)
    pairs = prepare_pairs(*samples)
    limits = limits_of(pairs)
    betas = np.array([0.0, 0.1, 1.0, 30.0, 1e3])
    found = evaluator(pairs)(betas)
    bound = rounding_error(betas, limits, pairs.prior)
    assert (np.diff(bound) > 0).all()
    a, b = (x - x.max(axis=1, keepdims=True) for x in (scores, reference))
    for j, beta in enumerate(betas):
        exact = []
        for part in (a + b, a, b):
            top = part.max(axis=1)
            total = np.sum(np.exp(np.longdouble(beta) * (part - top[:, None])), axis=1) / 4
            exact.append(np.mean(beta * top + np.log(total)))
        assert abs(found.pair[j] / 600 - exact[0]) <= bound[j]
        assert abs(found.single[j] / 600 - exact[1] - exact[2]) <= bound[j]
