"""Kernel entropic novelty: golden numbers, and an oracle that shares nothing with it."""

import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import oracles
from calls import both_ways, novelty
from shiftmetrics.novelty.score.solution import CERTIFIED, EXACT

ROUTES = ("dense", "landmarks")
ANGLES = np.arange(8) * np.pi / 4
RING = np.c_[np.cos(ANGLES), np.sin(ANGLES)]


def two_samples(
    seed: int, n: int = 25, m: int = 18, columns: int = 2, shift: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)), rng.normal(size=(m, columns)) + shift


def ring(n: int, modes: list[int], seed: int) -> np.ndarray:
    """The geometry of the paper's figure 1: components of standard deviation 0.031 on the unit circle."""
    rng = np.random.default_rng(seed)
    return RING[rng.choice(modes, n)] + rng.normal(size=(n, 2)) * 0.031


def exact(
    x: np.ndarray, y: np.ndarray, bandwidth: float, eta: float = 1.0, **weights: np.ndarray
) -> np.ndarray:
    matrix = oracles.differential_kernel_matrix(
        x, y, lambda a, b: oracles.gaussian_kernel(a, b, bandwidth), eta, **weights
    )
    return oracles.novelty_eigenvalues(matrix, tolerance=1e-13)


# --- golden numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ROUTES)
@pytest.mark.parametrize("columns", [1, 2, 30])
def test_the_same_rows_have_no_novelty(method: str, columns: int) -> None:
    x = np.random.default_rng(0).normal(size=(300, columns))
    result = novelty(x, x[::-1], bandwidth=1.0, method=method)
    assert result.value == pytest.approx(0.0, abs=1e-9)
    assert result.score.reverse == pytest.approx(0.0, abs=1e-9)
    assert result.score.total == pytest.approx(0.0, abs=1e-9)
    assert result.new == ()
    assert "Nothing new shown" in result.headline()


@pytest.mark.parametrize("method", ROUTES)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_equal_far_clusters_that_the_reference_lacks_score_log_k(method: str, k: int) -> None:
    rng = np.random.default_rng(0)
    centers = 100.0 * np.eye(6)
    x = np.repeat(centers[:k], 20, axis=0) + rng.normal(size=(20 * k, 6)) * 1e-5
    y = centers[5] + rng.normal(size=(40, 6)) * 1e-5
    result = novelty(x, y, bandwidth=1.0, method=method)
    assert result.value == pytest.approx(math.log(k), abs=1e-7)
    assert result.score.total == pytest.approx(1.0, abs=1e-8)
    assert np.exp(result.value / result.score.total) == pytest.approx(k, abs=1e-6)


@pytest.mark.parametrize("method", ROUTES)
def test_far_points_score_log_n(method: str) -> None:
    result = novelty(100 * np.eye(12), -100 * np.eye(12)[:5], bandwidth=1.0, method=method)
    assert result.value == pytest.approx(math.log(12), abs=1e-12)
    assert result.score.total == pytest.approx(1.0, abs=1e-13)
    assert any("12 modes" in warning for warning in result.warnings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("novel", "value", "tolerance"), [([1, 5], 0.74, 0.01), ([1, 3, 5, 7], 1.40, 0.005)]
)
def test_figure_1_without_shared_modes(novel: list[int], value: float, tolerance: float) -> None:
    result = novelty(ring(5000, novel, 0), ring(5000, [0, 2, 4, 6], 1), bandwidth=0.4)
    assert result.value == pytest.approx(value, abs=tolerance)
    assert result.score.reverse == pytest.approx(1.40, abs=0.03)
    assert result.score.method == "landmarks"
    assert result.score.rank < 250
    assert result.error_bound < 1e-4
    assert result.status is CERTIFIED
    assert (result.score.eigenvalues[: len(novel)] > 0.15).all()
    assert (result.score.eigenvalues[len(novel) :] < 0.05).all()


@pytest.mark.slow
def test_figure_1_with_shared_modes() -> None:
    result = novelty(ring(5000, [0, 2, 1, 3, 5, 7], 0), ring(5000, [0, 2, 4, 6], 1), bandwidth=0.4)
    assert result.value == pytest.approx(0.94, abs=0.015)
    assert result.score.reverse == pytest.approx(0.84, abs=0.03)


@pytest.mark.parametrize("method", ROUTES)
@pytest.mark.parametrize(
    ("omega", "value", "reverse"),
    [
        ([1 / 6, 1 / 6, 0, 0, 1 / 6, 1 / 6, 1 / 6, 1 / 6], (2 / 3) * math.log(4), 0.8370),
        ([0.4, 0.4, 0, 0, 0.05, 0.05, 0.05, 0.05], 0.8217, 0.5 * math.log(2)),
    ],
)
def test_ideal_clusters_of_figure_1(
    method: str, omega: list[float], value: float, reverse: float
) -> None:
    """Column 3, and shared modes of 0.4: eigenvalues are max(omega - gamma, 0). Frequencies come in as weights."""
    gamma = np.array([0.25] * 4 + [0.0] * 4)
    clusters = 50.0 * np.eye(8)
    result = novelty(
        clusters,
        clusters,
        bandwidth=1.0,
        method=method,
        sample_weight=omega,
        reference_weight=gamma,
    )
    assert result.value == pytest.approx(value, abs=5e-5)
    assert result.score.reverse == pytest.approx(reverse, abs=5e-5)
    expected = np.sort(np.maximum(np.array(omega) - gamma, 0.0))[::-1]
    np.testing.assert_allclose(result.score.eigenvalues, expected[expected > 0], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_generalised_eigenproblem_agrees(seed: int) -> None:
    x, y = two_samples(seed, columns=3)
    eta, joint = 2.5, np.concatenate([x, y])
    root = np.sqrt(np.concatenate([np.full(len(x), 1 / len(x)), np.full(len(y), eta / len(y))]))
    G = root[:, None] * oracles.gaussian_kernel(joint, joint, 0.7) * root
    J = np.diag(np.concatenate([np.ones(len(x)), -np.ones(len(y))]))
    eigenvalues = scipy.linalg.eigh(J, G, type=2, eigvals_only=True)[::-1]
    result = both_ways(x, y, bandwidth=0.7, eta=eta)
    np.testing.assert_allclose(
        result.score.eigenvalues, eigenvalues[: len(result.score.eigenvalues)], rtol=0, atol=1e-12
    )


# --- against the oracle ----------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 25),
    m=st.integers(2, 25),
    columns=st.integers(1, 5),
    bandwidth=st.floats(0.05, 5.0),
    eta=st.sampled_from([1.0, 1.5, 10.0]),
    rtol=st.sampled_from([0.3, 1e-2, 1e-5, 1e-12, 0.0]),
    weighted=st.booleans(),
)
def test_both_routes_keep_their_certificate(
    seed: int,
    n: int,
    m: int,
    columns: int,
    bandwidth: float,
    eta: float,
    rtol: float,
    weighted: bool,
) -> None:
    x, y = two_samples(seed, n, m, columns)
    rng = np.random.default_rng(seed)
    a, b = (rng.uniform(0.1, 3.0, size=size) if weighted else np.ones(size) for size in (n, m))
    expected = oracles.novelty(exact(x, y, bandwidth, eta, weights=a, reference_weights=b))
    backwards = oracles.novelty(exact(y, x, bandwidth, eta, weights=b, reference_weights=a))
    for method in ROUTES:
        result = both_ways(
            x,
            y,
            bandwidth=bandwidth,
            eta=eta,
            method=method,
            rtol=rtol,
            sample_weight=a,
            reference_weight=b,
        )
        # The oracle itself, a non-symmetric eigenproblem, is right to some 1e-8 when rows nearly repeat.
        oracle_error = 1e-6
        assert result.value - 1e-9 <= expected + oracle_error
        assert expected <= result.value + result.error_bound + oracle_error
        assert result.score.reverse is not None
        assert result.score.reverse_error_bound is not None
        assert result.score.reverse - 1e-9 <= backwards + oracle_error
        assert backwards <= result.score.reverse + result.score.reverse_error_bound + oracle_error
        assert 0.0 <= result.value <= math.log(n) + 1e-12
        if method == "dense":
            assert result.value == pytest.approx(expected, abs=oracle_error)


@pytest.mark.parametrize("method", ROUTES)
@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-8, 0.0])
@pytest.mark.parametrize("eta", [1.0, 10.0])
def test_the_bound_holds_to_fifty_digits_where_rows_nearly_repeat(
    method: str, gap: float, eta: float
) -> None:
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 2))
    y = np.concatenate([x[:3] + gap * rng.normal(size=(3, 2)), rng.normal(size=(2, 2))])
    x[5] = x[4] + gap
    joint = [[mpmath.mpf(float(value)) for value in row] for row in np.concatenate([x, y])]
    with mpmath.workdps(50):
        rows = [
            [
                (mpmath.mpf(1) / 6 if j < 6 else -mpmath.mpf(eta) / 5)
                * mpmath.exp(-sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) / 2)
                for j, b in enumerate(joint)
            ]
            for a in joint
        ]
        eigenvalues = [
            mpmath.re(value) for value in mpmath.eig(mpmath.matrix(rows), left=False, right=False)
        ]
        expected = float(
            oracles_novelty(
                [value for value in eigenvalues if value > mpmath.mpf(10) ** -40], mpmath
            )
        )
    result = novelty(x, y, bandwidth=1.0, eta=eta, method=method)
    assert abs(result.value - expected) <= result.error_bound
    assert result.error_bound < 1e-3


def oracles_novelty(values: list, mpmath) -> object:
    """The oracle's sum, in many digits."""
    total = sum(values)
    return sum((value * mpmath.log(total / value) for value in values), mpmath.mpf(0))


@pytest.mark.slow
@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-7, 1e-12])
@pytest.mark.parametrize("eta", [1.0, 10.0])
def test_the_routes_agree_within_the_certificate(rtol: float, eta: float) -> None:
    rng = np.random.default_rng(0)
    x, y = (
        rng.normal(size=(400, 2)),
        np.r_[rng.normal(size=(250, 2)), rng.normal(size=(50, 2)) * 0.1 + 4],
    )
    full = both_ways(x, y, bandwidth=0.8, eta=eta, method="dense")
    short = both_ways(x, y, bandwidth=0.8, eta=eta, method="landmarks", rtol=rtol)
    assert short.score.rank < full.score.rank
    assert -full.error_bound <= full.value - short.value <= short.error_bound
    assert full.score.reverse is not None
    assert short.score.reverse is not None
    assert short.score.reverse_error_bound is not None
    assert full.score.reverse_error_bound is not None
    assert (
        -full.score.reverse_error_bound
        <= full.score.reverse - short.score.reverse
        <= short.score.reverse_error_bound
    )
    assert (short.status, full.status) == (CERTIFIED, EXACT)


@pytest.mark.slow
def test_the_bound_shrinks_with_the_tolerance() -> None:
    x, y = ring(500, [1, 5], 0), ring(500, [0, 2], 1)
    bounds = [
        novelty(x, y, bandwidth=0.4, method="landmarks", rtol=rtol).error_bound
        for rtol in (1e-2, 1e-5, 1e-8, 1e-12)
    ]
    assert (np.diff(bounds) < 0).all()
    assert bounds[-1] < 1e-4
