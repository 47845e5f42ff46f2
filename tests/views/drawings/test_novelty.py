"""The spectrum of novelty, drawn."""

import numpy as np
import pytest

from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.views import plot


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.filterwarnings("ignore:.*deprecated - use")  # of pyparsing, under old matplotlib
@pytest.mark.filterwarnings("error")
def test_two_samples_of_the_same_rows_have_an_empty_spectrum():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    ax = plot(kernel_entropic_novelty(rows, rows, bandwidth=1.0), kind="spectrum")
    # Some versions of LAPACK leave eigenvalues of the size of rounding.
    assert all(abs(bar.get_height()) < 1e-12 for bar in ax.patches)
    assert ax.patches or ax.get_legend() is None
