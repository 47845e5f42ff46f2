"""All routes on one footing: sizes, weights, what is chosen and why, and what is refused."""

import tracemalloc

import numpy as np
import pytest

from shiftmetrics.novelty import NoveltyStatus, kernel_entropic_novelty, routes
from shiftmetrics.novelty.factored import cholesky_bytes, cholesky_rank
from shiftmetrics.novelty.problem import METHODS

QUIET = {"n_permutations": 0, "progress": False}
GAUSSIAN = [method for method in METHODS if method != "cosine"]


def samples(seed: int, n: int, m: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
    x[: n // 2] += 3.0
    return x, y


@pytest.mark.parametrize("method", GAUSSIAN)
@pytest.mark.parametrize(("n", "m", "eta"), [(3, 900, 1.0), (700, 2, 1.0), (60, 400, 10.0)])
def test_very_unequal_sizes_and_a_large_eta_in_one_column(method: str, n: int, m: int, eta: float) -> None:
    x, y = samples(n, n, m, 1)
    exact = kernel_entropic_novelty(x, y, bandwidth=0.5, eta=eta, method="dense", reverse=True, **QUIET)
    result = kernel_entropic_novelty(
        x, y, bandwidth=0.5, eta=eta, method=method, reverse=True, n_frequencies=300, **QUIET
    )
    assert result.value == pytest.approx(exact.value, abs=result.error_bound + exact.error_bound)
    assert result.reverse == pytest.approx(
        exact.reverse, abs=result.reverse_error_bound + exact.reverse_error_bound
    )
    tolerance = 0.1 * (1.0 + eta) if method == "fourier" else 1e-7
    assert result.eigenvalues[0] == pytest.approx(exact.eigenvalues[0], abs=tolerance)


@pytest.mark.parametrize("method", GAUSSIAN)
def test_rows_without_weight_do_not_count(method: str) -> None:
    x, y = samples(0, 80, 60, 2)
    weights, reference_weights = np.ones(80), np.ones(60)
    weights[::3], reference_weights[:20] = 0.0, 0.0
    options = {"bandwidth": 1.0, "method": method, "n_frequencies": 100, **QUIET}
    weighted = kernel_entropic_novelty(
        x, y, sample_weight=weights, reference_weight=reference_weights, **options
    )
    fewer = kernel_entropic_novelty(x[weights > 0], y[20:], **options)
    assert weighted.value == pytest.approx(fewer.value, abs=1e-6)
    np.testing.assert_allclose(weighted.eigenvalues[:3], fewer.eigenvalues[:3], atol=1e-8)


@pytest.mark.parametrize("eta", [1.0, 3.0])
def test_the_eigensolvers_agree(eta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = samples(1, 260, 200, 12)
    options = {"bandwidth": 3.0, "method": "dense", "eta": eta, "reverse": True, "n_modes": 3, **QUIET}
    expected = kernel_entropic_novelty(x, y, **options)
    for rank in (1024, 50):  # all vectors at once, or the few that are wanted
        monkeypatch.setattr("shiftmetrics.novelty.factored.EAGER_RANK", rank)
        result = kernel_entropic_novelty(x, y, eigensolver="torch", **options)
        assert result.settings["eigensolver"] == "torch"
        assert result.value == pytest.approx(expected.value, abs=1e-12)
        assert result.reverse == pytest.approx(expected.reverse, abs=1e-12)
        for mode, other in zip(result.modes, expected.modes, strict=True):
            np.testing.assert_allclose(mode.membership, other.membership, atol=1e-6)
        np.testing.assert_allclose(result.point_novelty(y), expected.point_novelty(y), atol=1e-8)


@pytest.mark.parametrize("eigensolver", ["scipy", "torch"])
def test_a_score_alone_takes_the_place_of_the_factor_and_stays_the_same(
    eigensolver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if eigensolver == "torch":
        pytest.importorskip("torch")
    monkeypatch.setattr("shiftmetrics.novelty.factored.EAGER_RANK", 50)
    x, y = samples(1, 400, 300, 12)
    options = {"bandwidth": 3.0, "method": "dense", "eigensolver": eigensolver, **QUIET}
    for eta, reverse in ((1.0, True), (3.0, False), (3.0, True)):
        alone = kernel_entropic_novelty(x, y, eta=eta, reverse=reverse, n_modes=0, **options)
        beside = kernel_entropic_novelty(x, y, eta=eta, reverse=reverse, n_modes=3, **options)
        assert alone.value == pytest.approx(beside.value, abs=1e-12)
        assert alone.reverse == (pytest.approx(beside.reverse, abs=1e-12) if reverse else None)
        assert alone.error_bound == pytest.approx(beside.error_bound)
        assert alone.mode_count == pytest.approx(beside.mode_count)
        np.testing.assert_allclose(alone.point_novelty(y[:9]), beside.point_novelty(y[:9]), atol=1e-8)


@pytest.mark.parametrize("copies", [0, 10])
def test_the_dense_route_holds_two_matrices_and_blocks_of_them(copies: int) -> None:
    x, y = samples(1, 1100, 900, 30)
    x[:copies] = y[:copies]  # a singular kernel matrix, factored with pivots
    options = {"bandwidth": 4.0, "method": "dense", "n_permutations": 0, "progress": False}
    kernel_entropic_novelty(x[:50], y[:50], **options)  # imports
    tracemalloc.start()
    try:
        result = kernel_entropic_novelty(x, y, n_modes=3, **options)
        assert result.rank == 2000 - copies
        assert (
            tracemalloc.get_traced_memory()[1] < 24 * 2000**2
        )  # what is estimated, less than 20 bytes and more
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_the_pivoted_route_stays_within_its_limit() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 10_000, 3))
    tracemalloc.start()
    try:
        options = {"bandwidth": 0.7, "method": "cholesky", "memory_limit": 300 << 20, "n_modes": 3}
        result = kernel_entropic_novelty(x, y, **options, **QUIET)
        assert tracemalloc.get_traced_memory()[1] < 300 << 20
    finally:
        tracemalloc.stop()
    assert result.status is NoveltyStatus.RANK_LIMITED
    assert result.rank > 500


@pytest.mark.parametrize("n_rows", [10, 3000, 200_000])
@pytest.mark.parametrize("memory", [0, 100 << 20, 3 << 30])
def test_the_largest_rank_that_fits_is_the_last_whose_estimate_does(n_rows: int, memory: int) -> None:
    rank = cholesky_rank(n_rows, memory)
    assert 0 <= rank <= n_rows
    assert rank == 0 or cholesky_bytes(n_rows, rank) <= memory
    assert rank == n_rows or cholesky_bytes(n_rows, rank + 1) > memory


def test_a_missing_library_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = samples(2, 10, 10, 2)
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'shiftmetrics\[torch\]'"):
        kernel_entropic_novelty(x, y, bandwidth=1.0, eigensolver="torch")
    with pytest.raises(ValueError, match="eigensolver must be one of 'scipy', 'torch'"):
        kernel_entropic_novelty(x, y, bandwidth=1.0, eigensolver="numpy")


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a thousand rows too many for the dense route."""
    monkeypatch.setattr(routes, "_FEW_ROWS", 100)
    monkeypatch.setattr(routes, "_DENSE_ROWS", 500)


@pytest.mark.usefixtures("few_are_many")
def test_auto_chooses_by_what_landmarks_tell() -> None:
    x, y = samples(3, 500, 400, 2)
    low = kernel_entropic_novelty(x, y, bandwidth=1.0, **QUIET)
    assert low.method == "cholesky"
    assert "explain all 900 rows" in low.settings["reason"]
    x, y = samples(4, 500, 400, 6)
    middle = kernel_entropic_novelty(x, y, bandwidth=4.0, max_rank=150, **QUIET)
    assert middle.method == "landmarks"
    assert "150 landmarks leave out" in middle.settings["reason"]
    assert "the dense route would need" in middle.settings["reason"]
    x, y = samples(5, 500, 400, 40)
    high = kernel_entropic_novelty(x, y, bandwidth=4.0, max_rank=150, score_rows=100, **QUIET)
    assert (high.method, high.status, high.score_rows) == ("fourier", NoveltyStatus.SAMPLED, (100, 100))
    assert "too much for a certificate" in high.settings["reason"]
    other = kernel_entropic_novelty(
        x,
        y,
        kernel=lambda a, b: np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=-1) / 32),
        max_rank=150,
        **QUIET,
    )
    assert (other.method, other.status) == ("landmarks", NoveltyStatus.RANK_LIMITED)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "landmarks"}, r"method='landmarks' with max_rank=1024 needs .* Lower max_rank"),
        (
            {"method": "fourier", "n_frequencies": 9000},
            r"method='fourier' with n_frequencies=9000 .* Lower them",
        ),
        ({"method": "krylov", "n_modes": 900}, r"method='krylov' with 2000 rows needs .* Lower n_modes"),
        ({"method": "cosine", "kernel": "cosine"}, r"method='cosine' with 2000 rows needs .* memory_limit"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(arguments: dict, message: str) -> None:
    x, y = samples(6, 1000, 1000, 2)
    with pytest.raises(MemoryError, match=message):
        kernel_entropic_novelty(x, y, memory_limit=100 << 20, **QUIET, **arguments)
