"""Posterior agreement: golden numbers, an oracle on a dense grid, and invariances."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import oracles
from shiftmetrics import Computing
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.agreement.channel import SymmetricChannel
from shiftmetrics.comparison.ranking import has_collapsed

LOG2 = math.log(2)


def pairs(*groups: tuple[int, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Binary pairs from groups (count, margin, reference margin)."""
    return (
        oracles.binary_scores(*((count, margin) for count, margin, _ in groups)),
        oracles.binary_scores(*((count, margin) for count, _, margin in groups)),
    )


@pytest.mark.parametrize("margin", [1.0, 300.0, 1e-3, 1e6])
def test_binary_channel(margin: float) -> None:
    result = posterior_agreement(*pairs((700, margin, margin), (300, -margin, margin)))
    assert result.beta * margin == pytest.approx(1.49099631, abs=5e-9)
    assert result.beta * margin == pytest.approx(math.acosh(700 / 300), rel=1e-8)
    assert result.log_pa == pytest.approx(-610.864302, abs=5e-7)
    assert result.status.code == "converged"
    assert result.changes.disagreement == pytest.approx(0.3)
    assert result.equivalent_error == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize(
    ("k", "n", "contradicting"), [(3, 50, 10), (10, 40, 8), (10, 40, 30), (100, 200, 3)]
)
def test_symmetric_channel(k: int, n: int, contradicting: int) -> None:
    reference = np.zeros((n, k))
    reference[:, 0] = 7.0
    scores = reference.copy()
    scores[:contradicting] = 0.0
    scores[range(contradicting), 1 + np.arange(contradicting) % (k - 1)] = 7.0
    e = contradicting / n
    result = posterior_agreement(scores, reference)
    expected = math.log(k) + (1 - e) * math.log(1 - e) + e * math.log(e / (k - 1))
    assert result.value == pytest.approx(expected, abs=1e-12)
    assert result.value == pytest.approx(SymmetricChannel(k).capacity(e), abs=1e-12)
    assert result.equivalent_error == pytest.approx(e, abs=1e-6)
    assert result.normalized == pytest.approx(expected / math.log(k))


@pytest.mark.parametrize("agreeing", [500, 499, 100, 0])
def test_no_more_than_half_agreeing_is_chance(agreeing: int) -> None:
    result = posterior_agreement(*pairs((agreeing, 1, 1), (1000 - agreeing, -1, 1)))
    assert result.beta == 0.0
    assert result.value == 0.0
    assert result.log_pa == pytest.approx(-693.147, abs=5e-4)
    assert result.status.code == "no_agreement"
    assert result.status.ok
    assert result.equivalent_error == 0.5
    np.testing.assert_array_equal(result.per_sample, np.zeros(1000))


@pytest.mark.parametrize("k", [2, 3, 10])
def test_perfect_agreement(k: int) -> None:
    reference = np.random.default_rng(k).normal(size=(50, k))
    constant = np.zeros((50, k))
    constant[:, 1] = 0.3
    for scores, against in (
        (reference * np.arange(1, 51)[:, None], reference),
        (reference, reference.copy()),
        (constant, constant),
    ):
        result = posterior_agreement(scores, against)
        assert result.beta == math.inf
        assert result.value == pytest.approx(math.log(k), rel=1e-14)
        assert result.value <= math.log(k)
        assert result.log_pa == pytest.approx(0.0, abs=1e-12)
        assert result.log_pa <= 0.0
        assert result.status.code == "boundary"
        assert result.status.ok
        assert result.error_bound < 1e-6
        assert result.equivalent_error == pytest.approx(0.0, abs=1e-12)
        assert result.per_sample is not None
        assert result.per_sample == pytest.approx(np.full(50, math.log(k)))


def test_one_contradiction_among_faint_agreement() -> None:
    scores, reference = pairs((100, 0.09, 0.09), (1, -1, 1))
    result = posterior_agreement(scores, reference)
    assert result.beta == pytest.approx(30.66, abs=5e-3)
    assert result.log_pa == pytest.approx(-41.848, abs=5e-4)
    # Where a projected gradient method ends, and stays:
    assert posterior_agreement(scores, reference, beta=0.0).log_pa == pytest.approx(
        -70.008, abs=5e-4
    )


def test_margins_of_300() -> None:
    result = posterior_agreement(*pairs((60, 300, 300), (40, -300, 300)))
    assert result.beta == pytest.approx(0.00321, abs=5e-6)
    assert result.log_pa == pytest.approx(-67.301, abs=5e-4)


@pytest.mark.parametrize(
    ("faint", "value", "beta"),
    [(60, 0.419140, 0.07419), (400, 0.385882, 2.8802)],
    ids=["trap", "shoulder"],
)
def test_beta_zero_is_a_trap(faint: int, value: float, beta: float) -> None:
    """Scores (50, -50), (0.5, -0.5) and contradicting (5, -5): Adam from beta = 1 ends at 0."""
    scores, reference = pairs((100, 100, 100), (faint, 1, 1), (4, -10, 10))
    result = posterior_agreement(scores, reference)
    assert result.value == pytest.approx(value, abs=5e-7)
    assert result.beta == pytest.approx(beta, rel=1e-4)
    assert posterior_agreement(scores, reference, beta=0.0).value == 0.0


def test_several_local_maxima() -> None:
    scores, reference = pairs((100, 50, 50), (60, 1, 1), (1, -10, 10))
    result = posterior_agreement(scores, reference)
    assert result.value == pytest.approx(0.48714, abs=5e-6)
    assert result.beta == pytest.approx(
        2.26600471, rel=1e-7
    )  # from a root of the slope with 30 digits
    betas = np.linspace(0.05, 3.0, 200)
    values = [oracles.agreement(scores, reference, beta) for beta in betas]
    peaks = [i for i in range(1, 199) if values[i - 1] < values[i] > values[i + 1]]
    assert len(peaks) == 2
    assert betas[peaks[0]] == pytest.approx(0.17145, abs=0.01)
    assert values[peaks[0]] == pytest.approx(0.42891, abs=1e-4)


@pytest.mark.parametrize("scale", [0.1, 10.0, 1000.0, 1e-12, 1e12, 1e-200, 1e200, 1e-308, 1e307])
def test_any_common_scale(scale: float) -> None:
    scores, reference = oracles.noisy_pairs(0, 60, 4)
    expected = posterior_agreement(scores, reference)
    result = posterior_agreement(scores * scale, reference * scale)
    tolerance = 1e-12 if scale > 1e-300 else 1e-9  # subnormal numbers have lost digits
    assert result.value == pytest.approx(expected.value, abs=tolerance)
    assert result.status.code == "converged"
    if scale >= 1e-300:
        assert result.beta * scale == pytest.approx(expected.beta, rel=1e-7)
    assert np.isfinite(result.search.value).all()


def test_a_scale_whose_beta_no_float_holds() -> None:
    margins = np.full(10, 2e-311)
    result = posterior_agreement(np.where(np.arange(10) < 3, -margins, margins), margins)
    assert result.value == pytest.approx(SymmetricChannel(2).capacity(0.3), abs=1e-9)
    assert (
        result.beta == np.finfo(np.float64).max
    )  # true: 7e310; infinity would mean another status
    assert result.status.code == "converged"


@pytest.mark.parametrize(
    ("p", "log_pa"), [(0.3, -680.3), (0.5, -1000 * LOG2), (0.0, 0.0), (1.0, 0.0)]
)
def test_random_classifier(p: float, log_pa: float) -> None:
    """A permutation of its own labels, P(y = 1) = p, in the proportions of a large sample."""
    agreeing = round(1000 * (p**2 + (1 - p) ** 2))
    result = posterior_agreement(*pairs((agreeing, 1, 1), (1000 - agreeing, -1, 1)))
    assert result.log_pa == pytest.approx(log_pa, abs=0.05)


@pytest.mark.parametrize("seed", range(20))
def test_hard_inputs_are_certified_in_few_evaluations(seed: int) -> None:
    scores, reference = oracles.hard_pairs(seed)
    result = posterior_agreement(scores, reference, computing=Computing(atol=1e-6))
    assert result.status.ok
    assert result.error_bound <= 1.001e-6
    assert result.search.n_evaluations < 40
    assert result.search.n_evaluations == len(result.search.beta) - 1
    if math.isfinite(result.beta):
        assert oracles.agreement(scores, reference, result.beta) == pytest.approx(
            result.value, abs=1e-11
        )
    spread = max(np.ptp(scores, axis=1).max(), np.ptp(reference, axis=1).max())
    for beta in np.geomspace(1e-3 / spread, 1e7 / spread, 40):
        assert oracles.agreement(scores, reference, beta) <= result.value + result.error_bound


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_curve_lies_below_its_bounds(seed: int) -> None:
    scores, reference = oracles.hard_pairs(seed)
    result = posterior_agreement(scores, reference)
    beta, bound = result.search.beta, result.search.bound
    assert beta[0] == 0.0
    assert (np.diff(beta) > 0).all()
    ends = np.append(beta, 10 * beta[-1])
    for i in range(len(beta)):
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            inside = ends[i] + share * (ends[i + 1] - ends[i])
            assert oracles.agreement(scores, reference, inside) <= bound[i] + 1e-11
    assert bound.max() <= result.value + result.error_bound


@given(
    st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 12), st.sampled_from([0.1, 1.0, 10.0])
)
def test_no_beta_on_a_dense_grid_is_better(seed: int, k: int, n: int, noise: float) -> None:
    scores, reference = oracles.noisy_pairs(seed, n, k, noise)
    if seed % 3 == 0:
        scores, reference = np.round(scores), np.round(reference)
    result = posterior_agreement(scores, reference)
    # Of up to three tied pairs the agreement may be the same at all betas, of which no bound is tight: 1 case in 200.
    if not result.status.ok:
        assert seed % 3 == 0
        assert n <= 3
        assert result.error_bound < 1e-3
    grid = [oracles.agreement(scores, reference, beta) for beta in np.geomspace(1e-4, 1e4, 60)]
    assert max(grid) <= result.value + result.error_bound
    if 0.0 < result.beta < math.inf:
        assert oracles.agreement(scores, reference, result.beta) == pytest.approx(
            result.value, abs=1e-12
        )


def test_a_tighter_tolerance_is_kept() -> None:
    scores, reference = oracles.noisy_pairs(1, 200, 5)
    loose, tight = (
        posterior_agreement(scores, reference, computing=Computing(atol=atol))
        for atol in (1e-3, 1e-9)
    )
    assert tight.error_bound <= 1.1e-9
    assert loose.search.n_evaluations < tight.search.n_evaluations
    assert abs(loose.value - tight.value) <= loose.error_bound


def test_running_out_of_evaluations_is_said_with_an_honest_bound() -> None:
    scores, reference = oracles.noisy_pairs(1, 200, 5)
    full = posterior_agreement(scores, reference)
    for limit in (1, 2, 5):
        result = posterior_agreement(scores, reference, computing=Computing(max_iter=limit))
        assert result.status.code == "max_iter"
        assert not result.status.ok
        assert result.search.n_evaluations == limit
        assert (
            result.value
            <= full.value + full.error_bound
            <= result.value + result.error_bound + 1e-6
        )
        assert "max_iter" in result.summary()


def test_a_large_problem_starts_from_a_pilot() -> None:
    scores, reference = oracles.noisy_pairs(2, 9000, 3)
    order = np.argsort(reference[:, 0])  # ordered rows must not mislead the pilot
    result = posterior_agreement(scores[order], reference[order])
    assert result.status.code == "converged"
    assert result.error_bound <= 1.001e-6
    assert result.search.n_evaluations < 40
    assert result.value == pytest.approx(
        oracles.agreement(scores, reference, result.beta), abs=1e-10
    )
    for beta in result.beta * np.array([0.9, 0.99, 1.01, 1.1]):
        assert oracles.agreement(scores, reference, beta) < result.value


def test_the_pilot_may_be_wrong() -> None:
    """Each n-th row contradicts, the others agree: the guesses are poor, the answer is not."""
    margins = np.ones(8000)
    margins[::8] = -1.0
    result = posterior_agreement(margins, np.ones(8000))
    assert result.value == pytest.approx(SymmetricChannel(2).capacity(1 / 8), abs=1e-9)
    weights = np.ones(8000)
    weights[::8] = 0.0  # the pilot has no weight at all
    result = posterior_agreement(margins, np.ones(8000), sample_weight=weights)
    assert result.beta == math.inf


@pytest.mark.slow
def test_rounding_is_in_the_bound_at_large_margins_and_many_rows() -> None:
    margins = np.where(np.arange(1_000_000) % 10 == 0, -1e6, 1e6)
    result = posterior_agreement(
        margins, np.full(1_000_000, 1e6), computing=Computing(atol=1e-13, max_iter=60)
    )
    exact = SymmetricChannel(2).capacity(0.1)
    assert abs(result.value - exact) <= result.error_bound
    assert 1e-12 < result.error_bound < 1e-8
    assert result.status.ok


SCORES = hnp.arrays(
    np.float64,
    st.tuples(st.just(2), st.integers(1, 8), st.integers(2, 5)),
    elements=st.integers(-40, 40).map(lambda i: i / 4),
)


@given(SCORES, st.integers(0, 1000))
def test_invariances(both: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, reference = both
    n, k = scores.shape
    result = posterior_agreement(scores, reference)
    rows, classes = rng.permutation(n), rng.permutation(k)
    shifts = rng.integers(-100, 100, size=(2, n, 1)) / 4
    scale = 2.0 ** rng.integers(-5, 5)
    for other, factor in (
        (posterior_agreement(scores + shifts[0], reference + shifts[1]), 1.0),
        (posterior_agreement(reference, scores), 1.0),
        (posterior_agreement(scores * scale, reference * scale), scale),
        (posterior_agreement(scores[rows], reference[rows]), 1.0),
        (posterior_agreement(scores[:, classes], reference[:, classes]), 1.0),
        (posterior_agreement(np.repeat(scores, 3, axis=0), np.repeat(reference, 3, axis=0)), 1.0),
    ):
        assert abs(other.value - result.value) <= other.error_bound + result.error_bound
        assert other.normalized == pytest.approx(other.value / math.log(k))
        assert 0.0 <= other.value <= math.log(k)
        if result.value > 1e-3:
            assert (other.beta == math.inf) == (result.beta == math.inf)
            if abs(other.value - result.value) < 1e-14 and result.beta < 1e3:
                at_other = oracles.agreement(scores, reference, min(other.beta * factor, 1e6))
                assert at_other == pytest.approx(result.value, abs=2e-6)


@given(SCORES, st.integers(0, 1000))
def test_weights_are_repetitions(both: np.ndarray, seed: int) -> None:
    scores, reference = both
    counts = np.random.default_rng(seed).integers(0, 4, size=len(scores))
    counts[0] = 2
    weighted = posterior_agreement(scores, reference, sample_weight=counts)
    repeated = posterior_agreement(
        np.repeat(scores, counts, axis=0), np.repeat(reference, counts, axis=0)
    )
    assert abs(weighted.value - repeated.value) <= weighted.error_bound + repeated.error_bound
    assert weighted.status is repeated.status
    assert weighted.changes.disagreement == pytest.approx(repeated.changes.disagreement)
    assert weighted.effective_classes == pytest.approx(repeated.effective_classes)
    used = counts > 0  # at infinite beta a row of no weight may have minus infinity
    average = np.average(weighted.per_sample[used], weights=counts[used])
    assert average == pytest.approx(weighted.value, abs=1e-12)


def test_the_rows_average_to_the_value() -> None:
    scores, reference = oracles.noisy_pairs(11, 400, 5)
    result = posterior_agreement(scores, reference)
    assert result.per_sample is not None
    assert result.per_sample.dtype == np.float64
    assert result.per_sample.shape == (400,)
    assert result.per_sample.mean() == pytest.approx(result.value, abs=1e-13)
    expected = oracles.agreement_rows(scores, reference, result.beta).astype(float)
    np.testing.assert_allclose(result.per_sample, expected, rtol=0, atol=1e-12)


def test_collapse_is_told_by_the_most_frequent_class() -> None:
    rare, constant = np.array([0.97, 0.03]), np.array([1.0, 0.0])
    assert has_collapsed(constant)
    assert has_collapsed(constant, rare)
    assert not has_collapsed(rare)
    assert not has_collapsed(rare, np.array([0.95, 0.05]))
    assert has_collapsed(rare, np.array([0.5, 0.5]))
