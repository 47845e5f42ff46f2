"""The two theorems of the paper (arXiv:2402.17287): eigenvalues near the frequencies of well-separated modes.

Both are stated for any distribution, so they hold for the empirical one, with each component's own frequency, mean
and total variance.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calls import novelty


def mixture(
    rng: np.random.Generator, k: int, columns: int, separation: float, spread: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of k components, each with at least two rows, and the component of each."""
    labels = np.concatenate([np.repeat(np.arange(k), 2), rng.integers(k, size=40)])
    centers = rng.normal(size=(k, columns)) * separation
    scales = spread * rng.uniform(0.2, 1.0, size=k)
    return centers[labels] + rng.normal(size=(len(labels), columns)) * scales[labels][
        :, None
    ], labels


def components(
    rows: np.ndarray, labels: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Frequency, mean and total variance of each component."""
    parts = [rows[labels == label] for label in range(k)]
    means = np.array([part.mean(axis=0) for part in parts])
    variances = np.array(
        [((part - mean) ** 2).sum(axis=1).mean() for part, mean in zip(parts, means, strict=True)]
    )
    return np.array([len(part) / len(rows) for part in parts]), means, variances


CASES = {
    "seed": st.integers(0, 2**32 - 1),
    "k": st.integers(1, 5),
    "columns": st.integers(1, 4),
    "separation": st.floats(0.0, 20.0),
    "spread": st.floats(0.0, 0.5),
}


@pytest.mark.slow
@given(**CASES)
def test_theorem_1(seed: int, k: int, columns: int, separation: float, spread: float) -> None:
    rng = np.random.default_rng(seed)
    x, labels = mixture(rng, k, columns, separation, spread)
    omega, means, variances = components(x, labels, k)
    order = np.argsort(-omega)
    omega, means, variances = omega[order], means[order], variances[order]
    # A reference that nothing is alike to leaves C_X alone.
    result = novelty(x, x[:2] + 1e4, bandwidth=1.0)
    eigenvalues = np.zeros(k)
    eigenvalues[: min(k, len(result.score.eigenvalues))] = result.score.eigenvalues[:k]
    bound = 4 * (omega * variances).sum() + 16 * sum(
        omega[i] * np.exp(-((means[i] - means[j]) ** 2).sum())
        for i in range(1, k)
        for j in range(i)
    )
    assert ((eigenvalues - omega) ** 2).sum() <= bound + 1e-9


@pytest.mark.slow
@given(eta=st.sampled_from([1.0, 2.0, 10.0]), **CASES)
def test_theorem_2(
    eta: float, seed: int, k: int, columns: int, separation: float, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    x, labels = mixture(rng, k, columns, separation, spread)
    omega, means, variances = components(x, labels, k)
    # The reference has the same modes, moved a little, with frequencies of its own.
    reference_labels = np.concatenate([np.arange(k), rng.integers(rng.integers(1, k + 1), size=50)])
    moves = rng.normal(size=(k, columns)) * spread
    y = means[reference_labels] + moves[reference_labels]
    y = y + rng.normal(size=y.shape) * spread * 0.5
    gamma, reference_means, reference_variances = components(y, reference_labels, k)
    order = np.argsort(-(omega - eta * gamma))
    omega, gamma, means, reference_means = (
        part[order] for part in (omega, gamma, means, reference_means)
    )
    variances = np.maximum(variances, reference_variances)[order]
    result = novelty(x, y, bandwidth=1.0, eta=eta)
    eigenvalues = np.zeros(k)
    eigenvalues[: min(k, len(result.score.eigenvalues))] = result.score.eigenvalues[:k]
    deltas = ((reference_means - means) ** 2).sum(axis=1)
    bound = 8 * (omega * deltas + (omega + eta**2 * gamma) * variances).sum() + 16 * (
        1 + eta
    ) * sum(
        (omega[i] + eta * gamma[i])
        * np.exp(-((reference_means[i] - reference_means[j]) ** 2).sum())
        for i in range(1, k)
        for j in range(i)
    )
    assert ((eigenvalues - np.maximum(omega - eta * gamma, 0.0)) ** 2).sum() <= bound + 1e-9


def test_the_bounds_are_tight_enough_to_fail() -> None:
    """Well-separated, tight modes: the bound of theorem 1 is small, so the eigenvalues are the frequencies."""
    rng = np.random.default_rng(0)
    x = np.repeat(np.eye(3) * 30, [50, 30, 20], axis=0) + rng.normal(size=(100, 3)) * 1e-4
    result = novelty(x, x[:2] + 1e4, bandwidth=1.0)
    np.testing.assert_allclose(result.score.eigenvalues[:3], [0.5, 0.3, 0.2], atol=1e-6)
    assert result.value == pytest.approx(-sum(p * np.log(p) for p in (0.5, 0.3, 0.2)), abs=1e-4)
