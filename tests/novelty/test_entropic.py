"""Kernel entropic novelty: golden numbers, identities, invariances, and two routes to one number."""

import math
from types import ModuleType

import array_api_strict
import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
from shiftmetrics.novelty import NoveltyResult, NoveltyStatus, kernel_entropic_novelty
from shiftmetrics.novelty.kernels import GaussianKernel

ROUTES = ("dense", "cholesky")
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
    result = kernel_entropic_novelty(x, x[::-1], bandwidth=1.0, method=method)
    assert result.value == pytest.approx(0.0, abs=1e-9)
    assert result.reverse == pytest.approx(0.0, abs=1e-9)
    assert result.total == pytest.approx(0.0, abs=1e-9)
    assert result.modes == ()
    assert "nothing in the test sample is in excess" in result.headline()


@pytest.mark.parametrize("method", ROUTES)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_equal_far_clusters_that_the_reference_lacks_score_log_k(method: str, k: int) -> None:
    rng = np.random.default_rng(0)
    centers = 100.0 * np.eye(6)
    x = np.repeat(centers[:k], 20, axis=0) + rng.normal(size=(20 * k, 6)) * 1e-5
    y = centers[5] + rng.normal(size=(40, 6)) * 1e-5
    result = kernel_entropic_novelty(x, y, bandwidth=1.0, method=method)
    assert result.value == pytest.approx(math.log(k), abs=1e-7)
    assert result.total == pytest.approx(1.0, abs=1e-8)
    assert result.effective_modes == pytest.approx(k, abs=1e-6)


@pytest.mark.parametrize("method", ROUTES)
def test_far_points_score_log_n(method: str) -> None:
    result = kernel_entropic_novelty(100 * np.eye(12), -100 * np.eye(12)[:5], bandwidth=1.0, method=method)
    assert result.value == pytest.approx(math.log(12), abs=1e-12)
    assert result.total == pytest.approx(1.0, abs=1e-13)
    assert any("mode of its own" in warning for warning in result.warnings)


@pytest.mark.parametrize(("novel", "value", "tolerance"), [([1, 5], 0.74, 0.01), ([1, 3, 5, 7], 1.40, 0.005)])
def test_figure_1_without_shared_modes(novel: list[int], value: float, tolerance: float) -> None:
    result = kernel_entropic_novelty(ring(5000, novel, 0), ring(5000, [0, 2, 4, 6], 1), bandwidth=0.4)
    assert result.value == pytest.approx(value, abs=tolerance)
    assert result.reverse == pytest.approx(1.40, abs=0.03)
    assert result.method == "cholesky"
    assert result.rank < 250
    assert result.error_bound < 1e-4
    assert result.status is NoveltyStatus.CERTIFIED
    assert (result.eigenvalues[: len(novel)] > 0.15).all()
    assert (result.eigenvalues[len(novel) :] < 0.05).all()


def test_figure_1_with_shared_modes() -> None:
    result = kernel_entropic_novelty(
        ring(5000, [0, 2, 1, 3, 5, 7], 0), ring(5000, [0, 2, 4, 6], 1), bandwidth=0.4
    )
    assert result.value == pytest.approx(0.94, abs=0.015)
    assert result.reverse == pytest.approx(0.84, abs=0.03)


@pytest.mark.parametrize("method", ROUTES)
@pytest.mark.parametrize(
    ("omega", "value", "reverse"),
    [
        ([1 / 6, 1 / 6, 0, 0, 1 / 6, 1 / 6, 1 / 6, 1 / 6], (2 / 3) * math.log(4), 0.8370),
        ([0.4, 0.4, 0, 0, 0.05, 0.05, 0.05, 0.05], 0.8217, 0.5 * math.log(2)),
    ],
)
def test_ideal_clusters_of_figure_1(method: str, omega: list[float], value: float, reverse: float) -> None:
    """Column 3, and shared modes of 0.4: eigenvalues are max(omega - gamma, 0). Frequencies come in as weights."""
    gamma = np.array([0.25] * 4 + [0.0] * 4)
    clusters = 50.0 * np.eye(8)
    result = kernel_entropic_novelty(
        clusters, clusters, bandwidth=1.0, method=method, sample_weight=omega, reference_weight=gamma
    )
    assert result.value == pytest.approx(value, abs=5e-5)
    assert result.reverse == pytest.approx(reverse, abs=5e-5)
    expected = np.sort(np.maximum(np.array(omega) - gamma, 0.0))[::-1]
    np.testing.assert_allclose(result.eigenvalues, expected[expected > 0], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_generalised_eigenproblem_agrees(seed: int) -> None:
    x, y = two_samples(seed, columns=3)
    eta, joint = 2.5, np.concatenate([x, y])
    root = np.sqrt(np.concatenate([np.full(len(x), 1 / len(x)), np.full(len(y), eta / len(y))]))
    G = root[:, None] * oracles.gaussian_kernel(joint, joint, 0.7) * root
    J = np.diag(np.concatenate([np.ones(len(x)), -np.ones(len(y))]))
    eigenvalues = scipy.linalg.eigh(J, G, type=2, eigvals_only=True)[::-1]
    result = kernel_entropic_novelty(x, y, bandwidth=0.7, eta=eta, reverse=True)
    np.testing.assert_allclose(result.eigenvalues, eigenvalues[: len(result.eigenvalues)], rtol=0, atol=1e-12)


# --- against the oracle ----------------------------------------------------------------------------------


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
    seed: int, n: int, m: int, columns: int, bandwidth: float, eta: float, rtol: float, weighted: bool
) -> None:
    x, y = two_samples(seed, n, m, columns)
    rng = np.random.default_rng(seed)
    a, b = (rng.uniform(0.1, 3.0, size=size) if weighted else np.ones(size) for size in (n, m))
    expected = oracles.novelty(exact(x, y, bandwidth, eta, weights=a, reference_weights=b))
    backwards = oracles.novelty(exact(y, x, bandwidth, eta, weights=b, reference_weights=a))
    for method in ROUTES:
        result = kernel_entropic_novelty(
            x,
            y,
            bandwidth=bandwidth,
            eta=eta,
            method=method,
            rtol=rtol,
            reverse=True,
            sample_weight=a,
            reference_weight=b,
        )
        # The oracle itself, a non-symmetric eigenproblem, is right to some 1e-8 when rows nearly repeat.
        oracle_error = 1e-6
        assert result.value - 1e-9 <= expected + oracle_error
        assert expected <= result.value + result.error_bound + oracle_error
        assert result.reverse is not None
        assert result.reverse_error_bound is not None
        assert result.reverse - 1e-9 <= backwards + oracle_error
        assert backwards <= result.reverse + result.reverse_error_bound + oracle_error
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
        eigenvalues = [mpmath.re(value) for value in mpmath.eig(mpmath.matrix(rows), left=False, right=False)]
        expected = float(
            oracles_novelty([value for value in eigenvalues if value > mpmath.mpf(10) ** -40], mpmath)
        )
    result = kernel_entropic_novelty(x, y, bandwidth=1.0, eta=eta, method=method)
    assert abs(result.value - expected) <= result.error_bound
    assert result.error_bound < 1e-3


def oracles_novelty(values: list, mpmath) -> object:
    """The oracle's sum, in many digits."""
    total = sum(values)
    return sum((value * mpmath.log(total / value) for value in values), mpmath.mpf(0))


@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-7, 1e-12])
@pytest.mark.parametrize("eta", [1.0, 10.0])
def test_the_routes_agree_within_the_certificate(rtol: float, eta: float) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 2)), np.r_[rng.normal(size=(250, 2)), rng.normal(size=(50, 2)) * 0.1 + 4]
    full = kernel_entropic_novelty(x, y, bandwidth=0.8, eta=eta, method="dense", reverse=True)
    short = kernel_entropic_novelty(x, y, bandwidth=0.8, eta=eta, method="cholesky", reverse=True, rtol=rtol)
    assert short.rank < full.rank
    assert -full.error_bound <= full.value - short.value <= short.error_bound
    assert full.reverse is not None
    assert short.reverse is not None
    assert short.reverse_error_bound is not None
    assert full.reverse_error_bound is not None
    assert -full.reverse_error_bound <= full.reverse - short.reverse <= short.reverse_error_bound
    assert (short.status, full.status) == (NoveltyStatus.CERTIFIED, NoveltyStatus.EXACT)


def test_the_bound_shrinks_with_the_tolerance() -> None:
    x, y = ring(500, [1, 5], 0), ring(500, [0, 2], 1)
    bounds = [
        kernel_entropic_novelty(x, y, bandwidth=0.4, method="cholesky", rtol=rtol).error_bound
        for rtol in (1e-2, 1e-5, 1e-8, 1e-12)
    ]
    assert (np.diff(bounds) < 0).all()
    assert bounds[-1] < 1e-4


# --- identities and invariances --------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 30),
    m=st.integers(2, 30),
    eta=st.floats(1.0, 20.0),
    bandwidth=st.floats(0.1, 3.0),
    method=st.sampled_from(ROUTES),
)
def test_eigenvalues_are_excess_frequencies(
    seed: int, n: int, m: int, eta: float, bandwidth: float, method: str
) -> None:
    x, y = two_samples(seed, n, m)
    result = kernel_entropic_novelty(
        x, y, eta=eta, bandwidth=bandwidth, method=method, n_modes=100, reverse=True
    )
    assert len(result.modes) <= len(result.eigenvalues)
    for mode, eigenvalue in zip(result.modes, result.eigenvalues, strict=False):
        assert mode.eigenvalue == eigenvalue
        assert eigenvalue == pytest.approx(mode.frequency - eta * mode.reference_frequency, abs=1e-10)
    assert result.total == pytest.approx(result.eigenvalues.sum(), abs=1e-12)
    novelty = result.point_novelty(x).mean() - eta * result.point_novelty(y).mean()
    assert novelty == pytest.approx(result.total, abs=1e-7)


@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 30), m=st.integers(2, 30), method=st.sampled_from(ROUTES)
)
def test_gained_and_lost_weight_balance(seed: int, n: int, m: int, method: str) -> None:
    """S+ - S- = 1 - eta: at eta = 1 what is gained is lost elsewhere."""
    x, y = two_samples(seed, n, m)
    result = kernel_entropic_novelty(x, y, bandwidth=0.7, method=method)
    assert result.reverse_eigenvalues is not None
    assert result.eigenvalues.sum() - result.reverse_eigenvalues.sum() == pytest.approx(0.0, abs=1e-9)
    turned = kernel_entropic_novelty(y, x, bandwidth=0.7, method=method)
    assert turned.value == pytest.approx(result.reverse, abs=1e-7)
    assert turned.reverse == pytest.approx(result.value, abs=1e-7)


@pytest.mark.parametrize("method", ROUTES)
def test_the_order_of_rows_is_irrelevant(method: str) -> None:
    x, y = two_samples(0, 200, 150)
    rng = np.random.default_rng(1)
    first = kernel_entropic_novelty(x, y, method=method)
    second = kernel_entropic_novelty(
        rng.permutation(x), rng.permutation(y), method=method, bandwidth=first.bandwidth
    )
    assert abs(first.value - second.value) <= max(first.error_bound, second.error_bound)
    assert first.value == pytest.approx(second.value, abs=1e-8)


@pytest.mark.parametrize("method", ROUTES)
@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.floats(1e-3, 1e3),
    offset=st.floats(-1e3, 1e3),
    turn=st.floats(0, 6),
)
def test_moving_turning_and_scaling_both_samples_changes_nothing(
    method: str, seed: int, scale: float, offset: float, turn: float
) -> None:
    x, y = two_samples(seed)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    first = kernel_entropic_novelty(x, y, bandwidth=0.6, method=method)
    second = kernel_entropic_novelty(
        scale * (x @ rotation) + offset, scale * (y @ rotation) + offset, bandwidth=0.6 * scale, method=method
    )
    assert second.value == pytest.approx(first.value, abs=1e-7)


@pytest.mark.parametrize("method", ROUTES)
def test_integer_weights_are_repeated_rows(method: str) -> None:
    x, y = two_samples(3)
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, size=len(x)), rng.integers(0, 4, size=len(y))
    weighted = kernel_entropic_novelty(
        x, y, bandwidth=0.8, eta=2.0, method=method, sample_weight=a, reference_weight=b, reverse=True
    )
    repeated = kernel_entropic_novelty(
        np.repeat(x, a, axis=0), np.repeat(y, b, axis=0), bandwidth=0.8, eta=2.0, method=method, reverse=True
    )
    assert weighted.value == pytest.approx(repeated.value, abs=1e-7)
    assert weighted.reverse == pytest.approx(repeated.reverse, abs=1e-7)
    np.testing.assert_allclose(weighted.eigenvalues[:5], repeated.eigenvalues[:5], atol=1e-9)


def test_novelty_falls_with_eta() -> None:
    x, y = two_samples(0, 300, 200)
    totals = [kernel_entropic_novelty(x, y, bandwidth=1.0, eta=eta).total for eta in (1.0, 1.5, 3.0, 10.0)]
    assert (np.diff(totals) < 0).all()


# --- kernels and libraries -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ROUTES)
def test_every_way_to_give_a_kernel_gives_the_same(method: str) -> None:
    x, y = two_samples(5, columns=4)
    joint = np.concatenate([x, y])
    matrix = GaussianKernel(0.9)(joint, joint)
    first = kernel_entropic_novelty(x, y, bandwidth=0.9, method=method)
    for second in (
        kernel_entropic_novelty(x, y, kernel=GaussianKernel(0.9), method=method),
        kernel_entropic_novelty(matrix[: len(x)], matrix[len(x) :], kernel="precomputed", method=method),
        kernel_entropic_novelty(torch.asarray(x), torch.asarray(y), bandwidth=0.9, method=method),
        kernel_entropic_novelty(x.tolist(), y.tolist(), bandwidth=0.9, method=method),
    ):
        assert second.value == pytest.approx(first.value, abs=1e-10)
        assert second.reverse == pytest.approx(first.reverse, abs=1e-10)
    assert first.bandwidth == 0.9
    assert second.kernel == "gaussian"


@pytest.mark.parametrize("method", ROUTES)
def test_the_cosine_kernel_is_a_problem_of_the_columns(method: str) -> None:
    x, y = two_samples(0, 200, 150, columns=4)
    result = kernel_entropic_novelty(x, y, kernel="cosine", method=method)
    unit = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in (x, y)]
    eigenvalues = np.linalg.eigvalsh(unit[0].T @ unit[0] / 200 - unit[1].T @ unit[1] / 150)[::-1]
    np.testing.assert_allclose(result.eigenvalues, eigenvalues[eigenvalues > 0], atol=1e-12)
    assert result.rank == 4
    assert result.bandwidth is None


def test_a_kernel_with_another_diagonal_is_normalised_and_this_is_said() -> None:
    x, y = two_samples(0)
    first = kernel_entropic_novelty(x, y, kernel=lambda a, b: 3.0 * GaussianKernel(0.9)(a, b))
    assert first.value == pytest.approx(kernel_entropic_novelty(x, y, bandwidth=0.9).value, abs=1e-10)
    assert any("divided by the roots of its diagonal" in warning for warning in first.warnings)


@pytest.mark.parametrize("method", ["auto", *ROUTES])
def test_a_kernel_that_is_not_semidefinite_is_a_status(method: str) -> None:
    x, y = two_samples(0)

    def far(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """1 - |x - y| / 2: not positive semidefinite in the plane."""
        return 1.0 - np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=-1)) / 2.0

    result = kernel_entropic_novelty(x, y, kernel=far, method=method)
    assert result.status is NoveltyStatus.INDEFINITE
    assert not result.status.ok
    assert result.error_bound == math.inf
    assert math.isfinite(result.value)
    assert "not positive semidefinite" in result.summary()


@pytest.mark.parametrize("method", ROUTES)
@pytest.mark.parametrize("kernel", ["gaussian", "cosine"])
@pytest.mark.parametrize("library", [torch, array_api_strict], ids=["torch", "strict"])
def test_array_libraries_agree_from_end_to_end(method: str, kernel: str, library: ModuleType) -> None:
    x, y = two_samples(0, 60, 50, columns=5)
    expected = kernel_entropic_novelty(x, y, method=method, kernel=kernel)
    found = kernel_entropic_novelty(library.asarray(x), library.asarray(y), method=method, kernel=kernel)
    assert found.value == pytest.approx(expected.value, abs=1e-12)
    assert found.bandwidth == expected.bandwidth
    np.testing.assert_allclose(
        found.modes[0].score(library.asarray(x)), expected.modes[0].score(x), rtol=0, atol=1e-11
    )
    np.testing.assert_allclose(
        found.point_novelty(library.asarray(y)), expected.point_novelty(y), rtol=0, atol=1e-9
    )


def test_array_libraries_and_dtypes_agree() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, size=(60, 3)), rng.integers(1, 7, size=(50, 3))
    expected = kernel_entropic_novelty(x, y)
    for dtype in ("float16", "float32", "int32", "uint8"):
        assert kernel_entropic_novelty(x.astype(dtype), y.astype(dtype)).value == pytest.approx(
            expected.value
        )
    found = kernel_entropic_novelty(torch.asarray(x), torch.asarray(y))
    assert found.value == pytest.approx(expected.value, abs=1e-10)
    assert found.bandwidth == expected.bandwidth


# --- routes, memory, statuses ----------------------------------------------------------------------------


def test_auto_says_why() -> None:
    x, y = two_samples(0)
    few = kernel_entropic_novelty(x, y)
    assert (few.method, few.settings["reason"]) == (
        "dense",
        "43 rows are few enough to factor the whole matrix",
    )
    wide = kernel_entropic_novelty(ring(800, [1], 0), ring(800, [0], 1), bandwidth=0.4)
    assert wide.method == "cholesky"
    assert "pivots explain all 1600 rows" in wide.settings["reason"]
    asked = kernel_entropic_novelty(x, y, method="cholesky")
    assert asked.settings["reason"] == "asked for"


def test_auto_goes_dense_when_the_rank_is_full() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(700, 40)), rng.normal(size=(600, 40))
    result = kernel_entropic_novelty(x, y, bandwidth=4.0)
    assert (result.method, result.rank, result.status) == ("dense", 1300, NoveltyStatus.EXACT)
    assert "325 pivots were not enough, and 1300 rows fit in memory" in result.settings["reason"]


def test_auto_gives_a_bound_when_nothing_fits() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1200, 12)), rng.normal(size=(1000, 12)) + 0.3
    exactly = kernel_entropic_novelty(x, y, bandwidth=6.0, method="dense")
    short = kernel_entropic_novelty(x, y, bandwidth=6.0, memory_limit=88 << 20)
    assert short.method == "cholesky"
    assert "but the dense route would need" in short.settings["reason"]
    assert short.status is NoveltyStatus.RANK_LIMITED
    assert not short.status.ok
    assert short.value <= exactly.value <= short.value + short.error_bound
    assert "lower bound" in short.summary()


def test_a_rank_limit_is_a_lower_bound() -> None:
    x, y = two_samples(0, 300, 200)
    exactly = kernel_entropic_novelty(x, y, bandwidth=0.5, method="dense")
    values = []
    for rank in (5, 20, 60):
        result = kernel_entropic_novelty(x, y, bandwidth=0.5, method="cholesky", max_rank=rank)
        assert result.rank == rank
        assert result.status is NoveltyStatus.RANK_LIMITED
        assert result.value <= exactly.value <= result.value + result.error_bound
        values.append(result.value)
    assert values == sorted(values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"method": "dense"},
            r"method='dense' with 3000 rows needs .* MiB .* got a limit of 97.66 MiB. Choose",
        ),
        ({"method": "cholesky", "max_rank": 3000}, r"max_rank=3000 with 3000 rows needs .* Lower max_rank"),
        (
            {"method": "cholesky", "memory_limit": 64 << 20},
            r"method='cholesky' with 3000 rows needs .* fewer rows",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_tried(arguments: dict, message: str) -> None:
    x = np.random.default_rng(0).normal(size=(1500, 2))
    with pytest.raises(MemoryError, match=message):
        kernel_entropic_novelty(x, x, **{"bandwidth": 1.0, "memory_limit": 100_000 << 10, **arguments})


def test_a_sum_of_many_modes_does_not_depend_on_how_many_are_described() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(700, 30)), rng.normal(size=(500, 30))
    some = kernel_entropic_novelty(x, y, bandwidth=3.0, n_modes=4)
    none = kernel_entropic_novelty(x, y, bandwidth=3.0, n_modes=0)
    assert none.modes == ()
    assert none.value == pytest.approx(some.value, abs=1e-12)
    # Too large to keep all eigenvectors: points are scored by a second decomposition.
    novelty = some.point_novelty(x).mean() - some.point_novelty(y).mean()
    assert novelty == pytest.approx(some.total, abs=1e-9)


# --- what is reported ------------------------------------------------------------------------------------


def test_the_degenerate_bandwidths_are_flagged() -> None:
    x, y = two_samples(0, 100, 100)
    narrow = kernel_entropic_novelty(x, y, bandwidth=1e-3)
    assert narrow.value == pytest.approx(math.log(100), abs=1e-6)
    assert sum("a mode of its own" in warning for warning in narrow.warnings) == 2
    wide = kernel_entropic_novelty(x, y, bandwidth=1e3)
    assert wide.value == pytest.approx(0.0, abs=1e-4)
    assert any("nearly alike" in warning for warning in wide.warnings)
    middle = kernel_entropic_novelty(x, y, bandwidth=0.3)
    assert any("few rows, 100, for its" in warning for warning in middle.warnings)
    assert kernel_entropic_novelty(x, y, bandwidth=1.5).warnings == ()


def test_two_far_points_are_no_degenerate_bandwidth() -> None:
    x, y = np.zeros((50, 2)), np.ones((50, 2))
    result = kernel_entropic_novelty(x, y, bandwidth=0.1)
    assert result.total == pytest.approx(1.0)
    assert result.value == pytest.approx(0.0, abs=1e-12)
    assert result.warnings == ()


@pytest.mark.parametrize("method", ROUTES)
def test_constant_rows_are_no_news(method: str) -> None:
    result = kernel_entropic_novelty(np.ones((9, 3)), np.ones((7, 3)), method=method)
    assert (result.value, result.total, result.modes) == (0.0, 0.0, ())
    assert "nothing in the test sample is in excess" in result.summary()
    assert any("nearly alike" in warning for warning in result.warnings)
    assert result.effective_modes == 0.0


def test_the_summary_reads_like_a_sentence() -> None:
    result = kernel_entropic_novelty(ring(400, [1, 5], 0), ring(400, [0, 2], 1), bandwidth=0.4)
    lines = result.summary().splitlines()
    assert lines[0].startswith("Kernel entropic novelty: 0.69")
    assert "2 modes stand out: 97.6 % of the test sample is in excess of the reference" in lines[0]
    assert lines[1].startswith("The reference against the test sample: 0.7")
    assert lines[2].startswith("Mode 1: ")
    assert lines[3].startswith("Lost mode 1: ")
    assert lines[4].startswith("Higher is more novel. The numerical error is at most ")
    plain = kernel_entropic_novelty(
        ring(400, [1, 5], 0), ring(400, [0, 2], 1), bandwidth=0.4, n_permutations=0
    )
    assert plain.headline().startswith("Kernel entropic novelty: 0.7")
    assert "of the test sample is in excess of the reference, spread like 2.1" in plain.headline()
    tenfold = kernel_entropic_novelty(ring(400, [1, 5], 0), ring(400, [0, 2], 1), bandwidth=0.4, eta=10)
    assert "the reference taken 10 times" in tenfold.headline()
    assert tenfold.reverse is None


def test_the_reverse_comes_when_asked_for() -> None:
    x, y = two_samples(0)
    assert kernel_entropic_novelty(x, y, bandwidth=1.0).reverse is not None
    assert kernel_entropic_novelty(x, y, bandwidth=1.0, reverse=False).reverse is None
    assert kernel_entropic_novelty(x, y, bandwidth=1.0, eta=2.0).reverse is None
    asked = kernel_entropic_novelty(x, y, bandwidth=1.0, eta=2.0, reverse=True)
    turned = kernel_entropic_novelty(y, x, bandwidth=1.0, eta=2.0)
    assert asked.reverse == pytest.approx(turned.value, abs=1e-8)


def test_settings_hold_all_arguments() -> None:
    x, y = two_samples(0)
    result = kernel_entropic_novelty(x, y, eta=2, rng=7)
    for name in (
        "eta",
        "kernel",
        "bandwidth",
        "method",
        "rtol",
        "max_rank",
        "reverse",
        "n_modes",
        "rng",
        "versions",
    ):
        assert name in result.settings
    assert result.settings["rng"] == 7
    assert result.settings["bandwidth_choice"]["rule"] == "variance"
    assert result.settings["bandwidth_choice"]["value"] == result.bandwidth
    assert (result.n_samples, result.n_reference) == (25, 18)


def test_a_result_travels_through_json(tmp_path) -> None:
    x, y = two_samples(0)
    result = kernel_entropic_novelty(x, y)
    for back in (
        NoveltyResult.from_json(result.to_json()),
        NoveltyResult.from_json(tmp_path / "r.json") if result.to_json(tmp_path / "r.json") else None,
    ):
        assert back is not None
        assert back.equals(result)
        assert back.modes[0].top(3).tolist() == result.modes[0].top(3).tolist()
        with pytest.raises(ValueError, match="got one read from a file"):
            back.point_novelty(x)
    frame = result.to_frame()
    assert frame.loc[0, "value"] == result.value
    assert frame.loc[0, "method"] == "dense"


def test_results_are_read_only_and_inputs_unchanged() -> None:
    x, y = two_samples(0)
    before = x.copy(), y.copy()
    result = kernel_entropic_novelty(x, y)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])
    for array in (result.eigenvalues, result.modes[0].exemplars, result.modes[0].membership):
        assert array is not None
        assert not array.flags.writeable
