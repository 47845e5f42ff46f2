"""Feature maps: landmarks with their error bound, and the columns of the cosine kernel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calls
from calls import eigenmodes
from optional import torch
from shiftmetrics.novelty.score import routes
from shiftmetrics.novelty.score.basis import PivotBasis
from shiftmetrics.novelty.score.factor import pivoted_factor
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import GaussianKernel
from shiftmetrics.novelty.score.solution import CERTIFIED, EXACT, RANK_LIMITED


def novelty(features, reference, **options):
    return calls.novelty(features, reference, **options)


def samples(seed: int, n: int, m: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)), rng.normal(size=(m, columns)) + 0.5


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    columns=st.integers(1, 6),
    bandwidth=st.floats(0.1, 10.0),
    max_rank=st.integers(1, 70),
    eta=st.sampled_from([1.0, 2.5, 10.0]),
)
def test_the_exact_value_lies_within_the_certificate(
    seed: int, columns: int, bandwidth: float, max_rank: int, eta: float
) -> None:
    x, y = samples(seed, 40, 25, columns)
    exact = calls.both_ways(x, y, bandwidth=bandwidth, eta=eta, method="dense")
    result = calls.both_ways(
        x, y, bandwidth=bandwidth, eta=eta, method="landmarks", n_landmarks=max_rank
    )
    slack = exact.error_bound + 1e-9
    assert result.value - slack <= exact.value + result.error_bound
    assert exact.value <= result.value + result.error_bound + slack
    assert (
        abs(exact.score.reverse - result.score.reverse) <= result.score.reverse_error_bound + slack
    )
    k = min(len(exact.score.eigenvalues), len(result.score.eigenvalues))
    assert (result.score.eigenvalues[:k] <= exact.score.eigenvalues[:k] + 1e-7).all()


@pytest.mark.slow
def test_all_rows_as_landmarks_are_exact_and_few_are_not() -> None:
    x, y = samples(0, 300, 200, 2)
    exact = novelty(x, y, bandwidth=0.8, method="dense")
    full = novelty(x, y, bandwidth=0.8, method="landmarks")
    assert full.value == pytest.approx(exact.value, abs=1e-8)
    assert full.status is CERTIFIED
    few = novelty(x, y, bandwidth=0.8, method="landmarks", n_landmarks=4)
    assert (few.score.rank, few.status) == (4, RANK_LIMITED)
    assert few.value < exact.value <= few.value + few.error_bound


@pytest.mark.slow
def test_landmarks_of_a_part_serve_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than landmarks are chosen from: all others meet them in the pass alone."""
    x, y = samples(1, 9000, 6000, 2)
    result = novelty(x, y, bandwidth=1.0, method="landmarks")
    monkeypatch.setattr(routes, "_PILOT_ROWS", 20_000)
    exact = novelty(x, y, bandwidth=1.0, method="landmarks")
    assert exact.error_bound < 1e-4
    assert result.score.rank < 400
    assert result.value == pytest.approx(exact.value, abs=result.error_bound)
    assert result.error_bound < 2e-3
    np.testing.assert_allclose(result.score.eigenvalues[:5], exact.score.eigenvalues[:5], atol=1e-9)
    np.testing.assert_allclose(
        eigenmodes(result)[0].membership, eigenmodes(exact)[0].membership, atol=1e-6
    )
    np.testing.assert_array_equal(eigenmodes(result)[0].top(5), eigenmodes(exact)[0].top(5))


def test_weights_are_repeated_rows() -> None:
    x, y = samples(2, 60, 40, 3)
    counts = np.random.default_rng(0).integers(0, 4, size=60)
    repeated = novelty(np.repeat(x, counts, axis=0), y, bandwidth=1.0, method="landmarks")
    weighted = novelty(x, y, bandwidth=1.0, method="landmarks", sample_weight=counts)
    assert weighted.value == pytest.approx(repeated.value, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["function", "torch"])
def test_every_way_to_give_a_kernel(way: str) -> None:
    x, y = samples(3, 120, 80, 3)
    expected = novelty(x, y, bandwidth=1.5, method="landmarks")
    kernel = GaussianKernel(1.5)
    if way == "function":
        result = novelty(x, y, kernel=lambda a, b: kernel(a, b), method="landmarks")
    else:
        result = novelty(torch.asarray(x), torch.asarray(y), bandwidth=1.5, method="landmarks")
    assert result.value == pytest.approx(expected.value, abs=1e-6)


def test_landmarks_are_reproducible_and_know_what_they_leave_out() -> None:
    x, y = samples(5, 50, 50, 2)
    gram = Gram(x, y, GaussianKernel(1.0))
    factors = [pivoted_factor(gram, np.full(100, 0.01), max_rank=9, rtol=1e-12) for _ in range(2)]
    first, second = (
        PivotBasis(gram, "landmarks", gram.take(factor.pivots), factor.values[factor.pivots])
        for factor in factors
    )
    np.testing.assert_array_equal(first.at(x), second.at(x))
    assert first.size == 9
    values, rest = first.coordinates(slice(0, 50))
    np.testing.assert_allclose((values**2).sum(axis=1) + rest, 1.0, atol=1e-13)
    assert rest.min() > -1e-12
    with pytest.raises(ValueError, match="points must be of 2 columns"):
        first.membership(np.ones((3, 5)), np.ones((9, 1)))


# --- the columns of the cosine kernel ----------------------------------------------------------------------


def angles(seed: int, n: int, m: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)) + 0.3, rng.normal(size=(m, columns)) @ np.diag(
        np.linspace(0.2, 2, columns)
    )


@pytest.mark.slow
@pytest.mark.parametrize("eta", [1.0, 4.0])
def test_columns_and_rows_give_the_same(eta: float) -> None:
    x, y = angles(0, 80, 60, 7)
    options = {"kernel": "cosine", "eta": eta}
    exact = calls.both_ways(x, y, method="dense", **options)
    result = calls.both_ways(x, y, method="cosine", **options)
    assert (result.score.method, result.score.rank, result.status) == ("cosine", 7, EXACT)
    assert result.value == pytest.approx(exact.value, abs=1e-9)
    assert result.score.reverse == pytest.approx(exact.score.reverse, abs=1e-9)
    assert result.error_bound < 1e-9
    np.testing.assert_allclose(
        result.score.eigenvalues,
        exact.score.eigenvalues[: len(result.score.eigenvalues)],
        atol=1e-12,
    )
    np.testing.assert_allclose(
        eigenmodes(result)[0].membership, eigenmodes(exact)[0].membership, atol=1e-9
    )
    np.testing.assert_allclose(
        eigenmodes(result)[0].score(y), eigenmodes(exact)[0].reference_membership, atol=1e-9
    )


def test_auto_takes_the_columns_where_there_are_fewer() -> None:
    x, y = angles(1, 30, 20, 5)
    narrow = novelty(x, y, kernel="cosine")
    assert (narrow.score.method, narrow.settings["reason"]) == (
        "cosine",
        "the cosine kernel is exact in 5 columns",
    )
    x, y = angles(1, 10, 8, 40)
    assert novelty(x, y, kernel="cosine").score.method == "dense"


def test_weights_and_tensors_of_single_precision() -> None:
    x, y = angles(2, 40, 30, 4)
    counts = np.random.default_rng(0).integers(0, 3, size=40)
    weighted = novelty(torch.asarray(x), torch.asarray(y), kernel="cosine", sample_weight=counts)
    repeated = novelty(np.repeat(x, counts, axis=0), y, kernel="cosine")
    assert weighted.value == pytest.approx(repeated.value, abs=1e-10)
    single = novelty(x.astype(np.float32), y.astype(np.float32), kernel="cosine")
    assert single.value == pytest.approx(novelty(x, y, kernel="cosine").value, abs=1e-5)


def test_lengths_do_not_matter_even_extreme_ones() -> None:
    x, y = angles(3, 20, 20, 3)
    expected = novelty(x, y, kernel="cosine").value
    lengths = 10.0 ** np.random.default_rng(0).uniform(-200, 200, size=(20, 1))
    result = novelty(x * lengths, y, kernel="cosine")
    assert result.value == pytest.approx(expected, abs=1e-9)


def test_rows_without_direction_and_other_kernels_are_refused() -> None:
    x, y = angles(4, 20, 20, 3)
    with pytest.raises(
        ValueError, match="kernel must be 'cosine' with method=\"cosine\", got 'gaussian'"
    ):
        novelty(x, y, method="cosine")
    with pytest.raises(ValueError, match="points must be free of rows of zeros.* row 1"):
        novelty(x, y, kernel="cosine").point_novelty([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
