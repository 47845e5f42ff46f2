"""The result of sums on a grid of betas: against the certified solver, at the ends of the grid."""

import itertools
import json
import math
from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from optional import torch
from shiftmetrics import Computing
from shiftmetrics._core.result import Result
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.agreement.grid import BETA_RANGE, grid_betas, grid_result, grid_statistic
from shiftmetrics.agreement.scores import batch_pairs

B = oracles.binary_scores


def on_grid(batches, *, beta_range=BETA_RANGE, prior=None, kind="scores", floor=None):
    """Return the result of batches that pass by once."""
    betas, total = grid_betas(*beta_range), None
    for batch in batches:
        pairs = batch_pairs(*batch, kind=kind, prior=prior, floor=floor, n_classes=None)
        part = grid_statistic(pairs, betas)
        total = part if total is None else total + part
    return grid_result(total, betas, pairs.prior, kind=kind, floor=floor, uniform=prior is None)


def channel(k: int, n: int, error: float) -> tuple[np.ndarray, np.ndarray]:
    """All scores 3 at one class and 0 elsewhere, a share of them at another class: the hardest to interpolate."""
    reference = np.zeros((n, k))
    reference[:, 0] = 3.0
    scores = reference.copy()
    scores[: round(error * n)] = np.roll(scores[: round(error * n)], 1, axis=1)
    return scores, reference


def gaussian(k: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    reference = scale * rng.normal(size=(500, k))
    return reference + 0.5 * scale * rng.normal(size=reference.shape), reference


CASES = {
    "binary channel": (B((700, 1), (300, -1)), B((1000, 1))),
    "two maxima": (B((100, 50), (60, 1), (1, -10)), B((100, 50), (60, 1), (1, 10))),
    "shoulder": (B((100, 50), (400, 0.5), (4, -5)), B((100, 50), (400, 0.5), (4, 5))),
    "one contradiction": (B((100, 0.09), (1, -1)), B((100, 0.09), (1, 1))),
    "margin 300": (B((60, 300), (40, -300)), B((100, 300))),
    "ten classes": gaussian(10, 1.0),
    "hundred classes": gaussian(100, 5.0),
    "thousand classes": gaussian(1000, 0.3),
    **{f"hard {seed}": oracles.hard_pairs(seed) for seed in range(12)},
}


@pytest.mark.parametrize("name", CASES)
def test_the_certified_maximum_is_met(name: str) -> None:
    exact = posterior_agreement(*CASES[name], computing=Computing(atol=1e-10))
    result = on_grid([CASES[name]])
    assert result.status.code == "converged"
    assert abs(result.value - exact.value) < 1e-8  # asked for: 7e-7 with 64 points over 10 decades
    assert abs(result.value - exact.value) <= result.error_bound + exact.error_bound
    assert result.error_bound < 1e-5
    assert result.beta == pytest.approx(exact.beta, rel=1e-3)
    for field in ("changes.disagreement", "effective_classes", "n_samples", "n_classes"):
        assert attrgetter(field)(result) == pytest.approx(attrgetter(field)(exact), rel=1e-9)
    assert result.equivalent_error == pytest.approx(exact.equivalent_error, abs=1e-6)
    assert result.log_pa == pytest.approx(exact.log_pa, abs=1e-4)


@pytest.mark.parametrize("k", [10, 100, 1000])
def test_the_error_estimate_covers_many_equal_scores(k: int) -> None:
    pair = channel(k, 200, 0.2)
    exact = posterior_agreement(*pair, computing=Computing(atol=1e-10))
    streamed = on_grid([pair])
    assert abs(streamed.value - exact.value) <= streamed.error_bound
    assert abs(streamed.value - exact.value) < 1e-4


@given(seed=st.integers(0, 50), cuts=st.lists(st.integers(1, 299), max_size=4))
def test_batches_do_not_matter(seed: int, cuts: list[int]) -> None:
    scores, reference = oracles.hard_pairs(seed)
    ends = sorted({0, len(scores), *cuts})
    grid = (1e-3, 1e3)
    parts = [(scores[i:j], reference[i:j]) for i, j in itertools.pairwise(ends)]
    whole, split = on_grid([(scores, reference)], beta_range=grid), on_grid(parts, beta_range=grid)
    assert split.value == pytest.approx(whole.value, abs=1e-12)
    assert split.beta == pytest.approx(whole.beta, rel=1e-5)


def test_torch_lists_and_probabilities() -> None:
    scores, reference = CASES["ten classes"]
    expected = on_grid([(scores, reference)]).value
    assert on_grid([(torch.tensor(scores), torch.tensor(reference))]).value == expected
    assert on_grid([(scores.tolist(), reference.tolist())]).value == expected
    p, q = (torch.softmax(torch.tensor(s), dim=1).numpy() for s in (scores, reference))
    assert on_grid([(p, q)], kind="probabilities").value == pytest.approx(expected, abs=1e-9)
    p[0] = np.eye(10)[3]
    with pytest.raises(ValueError, match="floor must be given where probabilities are 0"):
        on_grid([(p, q)], kind="probabilities")
    exact = posterior_agreement(p, q, kind="probabilities", floor=1e-4)
    streamed = on_grid([(p, q)], kind="probabilities", floor=1e-4)
    assert streamed.value == pytest.approx(exact.value, abs=1e-6)


# --- the ends --------------------------------------------------------------------------------------------


def test_agreement_without_contradiction_is_a_limit() -> None:
    reference = CASES["ten classes"][1]
    result = on_grid([(2.0 * reference, reference)])
    assert result.status.code == "boundary"
    assert (result.value, result.beta) == (pytest.approx(math.log(10)), math.inf)
    ties = np.array([[1.0, 1.0, 0.0]])
    exact = posterior_agreement(ties, ties)
    assert on_grid([(ties, ties)]).value == pytest.approx(exact.value, abs=1e-12)


def test_no_agreement_and_flat_scores() -> None:
    scores = CASES["ten classes"][0]
    for pair in ((scores, -scores), (0.0 * scores, scores), (0.0 * scores, 0.0 * scores)):
        result = on_grid([pair])
        assert result.status.code == "no_agreement"
        assert (result.value, result.beta, result.normalized) == (0.0, 0.0, 0.0)


def test_a_collapsed_model_scores_nothing_with_its_prior() -> None:
    scores = np.tile([5.0, 0.0, 0.0], (20, 1))
    assert on_grid([(scores, scores)]).value == pytest.approx(math.log(3))
    result = on_grid([(scores, scores)], prior=[1.0, 0.0, 0.0])
    assert result.value == 0.0
    assert result.effective_classes == pytest.approx(1.0)


@pytest.mark.parametrize(("factor", "status"), [(1e-7, "above_grid"), (1e8, "below_grid")])
def test_beta_outside_the_grid_is_said_with_the_remedy(factor: float, status: str) -> None:
    scores, reference = CASES["hard 1"]
    exact = posterior_agreement(scores, reference).value
    result = on_grid([(factor * scores, factor * reference)])
    assert str(result.status) == status
    assert not result.status.ok
    assert result.value < exact <= result.value + result.error_bound
    assert "beta_range" in result.summary()
    grid = (1e-3 / factor, 1e3 / factor)  # the remedy
    remedied = on_grid([(factor * scores, factor * reference)], beta_range=grid)
    assert remedied.status.ok
    assert remedied.value == pytest.approx(exact, abs=1e-6)


# --- result and bad input --------------------------------------------------------------------------------


def test_result_round_trips_and_reads() -> None:
    result = on_grid([CASES["binary channel"]])
    text = result.to_json()
    assert json.loads(text)["status"]["code"] == "converged"
    assert Result.from_json(text).equals(result)
    assert "flipping 30 % of them" in result.summary()
