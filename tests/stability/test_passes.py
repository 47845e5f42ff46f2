"""The seam to the data: shards, processes and packed messages lead to the answer of the whole."""

import functools
import operator
import pickle

import numpy as np
import pytest

from shiftmetrics._core.blocks import Statistic
from shiftmetrics.stability import CandidateLoss, HingeLoss, ZeroOneLoss, stability_criterion
from shiftmetrics.stability.divergence import divergence_of
from shiftmetrics.stability.dual import Dual
from shiftmetrics.stability.losses import Loss
from shiftmetrics.stability.passes import Gather, Kernel
from shiftmetrics.stability.plan import PlanPass, PlanStatistic
from shiftmetrics.stability.solution import least_cost


def over_shards(shards: list[tuple[Loss, np.ndarray]]) -> Gather:
    """Send each kernel to every shard as bytes, and add up what comes back as packed vectors."""

    def worker(message: bytes, loss: Loss, weights: np.ndarray) -> tuple[Statistic, np.ndarray]:
        kernel: Kernel = pickle.loads(message)
        statistic = kernel(loss, weights, slice(0, loss.n_samples))
        return statistic, statistic.pack()

    def gather(kernel: Kernel) -> Statistic:
        replies = [worker(pickle.dumps(kernel), *shard) for shard in shards]
        form = replies[0][0]
        return functools.reduce(operator.add, [form.unpack(packed) for _, packed in replies])

    return gather


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
@pytest.mark.parametrize(("theta1", "theta2"), [(0.4, 0.4), (0.2, np.inf), (np.inf, 0.3)])
@pytest.mark.parametrize("kind", ["hinge", "zero_one", "candidate"])
def test_shards_lead_to_the_answer_of_the_whole(
    loss_of, between, kind, theta1, theta2, divergence
) -> None:
    loss, rng = loss_of(kind, 1, 90), np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, 90)
    weights /= weights.mean()
    threshold = between(loss, theta1, theta2, 0.5)
    expected = stability_criterion(
        loss, threshold, theta1=theta1, theta2=theta2, divergence=divergence, sample_weight=weights
    )
    cuts = [np.arange(0, 7), np.arange(7, 60), np.arange(60, 90)]
    gather = over_shards([(loss.take(cut), weights[cut]) for cut in cuts])
    dual = Dual(gather, theta1, divergence_of(divergence, theta2))
    solution = least_cost(dual, threshold)
    plan = gather(PlanPass(solution.parts, dual.divergence))
    assert isinstance(plan, PlanStatistic)
    assert plan.mean("loss") == pytest.approx(expected.plan.risk, rel=1e-9)
    assert plan.mean("squared_distance") == pytest.approx(
        expected.slopes.theta1, rel=1e-5, abs=1e-12
    )
    assert solution.bound == pytest.approx(expected.value, rel=1e-9, abs=1e-12)


def test_losses_travel_between_processes() -> None:
    candidates = CandidateLoss([[0.0, 1.0]], [[0.0, 0.5]]).appended([2.0], [0.7])
    for loss in (HingeLoss([0.5, 1.5], 1.2), ZeroOneLoss([0.0, np.inf]), candidates):
        copy = pickle.loads(pickle.dumps(loss))
        assert type(copy) is type(loss)
        assert stability_criterion(copy, 0.9).value == stability_criterion(loss, 0.9).value


def test_large_candidate_arrays_are_never_copied_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    n, m = 20_000, 20
    losses = rng.random((n, m)).astype(np.float32)
    distances = rng.uniform(0.1, 1.0, (n, m)).astype(np.float32)
    distances[:, 0] = 0.0
    import tracemalloc

    tracemalloc.start()
    result = stability_criterion(CandidateLoss(losses, distances), 0.9)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.status.code == "converged"
    assert (
        peak < 3 * losses.size * 8
    )  # several float64 copies of both arrays would be six times as much
