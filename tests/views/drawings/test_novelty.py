"""The spectrum of novelty, drawn."""

import numpy as np
import pytest

from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.views import plot

RNG = np.random.default_rng(0)
NOVELTY = kernel_entropic_novelty(
    RNG.normal(size=(40, 2)) + 2, RNG.normal(size=(50, 2)), bandwidth=1.0
)


@pytest.mark.filterwarnings("ignore:.*deprecated - use")  # of pyparsing, under old matplotlib
@pytest.mark.filterwarnings("error")
def test_two_samples_of_the_same_rows_have_an_empty_spectrum():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    ax = plot(kernel_entropic_novelty(rows, rows, bandwidth=1.0), kind="spectrum")
    # Some versions of LAPACK leave eigenvalues of the size of rounding.
    assert all(abs(bar.get_height()) < 1e-12 for bar in ax.patches)
    assert ax.patches or ax.get_legend() is None


@pytest.mark.filterwarnings("error")
def test_a_spectrum_without_a_positive_eigenvalue_has_no_legend():
    rows = np.random.default_rng(0).normal(size=(30, 2))
    result = kernel_entropic_novelty(rows, rows, eta=10.0, bandwidth=1.0)
    ax = result.plot()
    assert len(result.score.eigenvalues) == 0
    assert len(ax.patches) == 0
    assert ax.get_legend() is None


def test_the_spectrum_shows_gain_and_loss():
    axes = plot(NOVELTY, n_eigenvalues=5)
    heights = np.array([bar.get_height() for bar in axes.patches])
    np.testing.assert_allclose(heights[:5], NOVELTY.score.eigenvalues[:5])
    np.testing.assert_allclose(-heights[5:], NOVELTY.score.reverse_eigenvalues[:5])
