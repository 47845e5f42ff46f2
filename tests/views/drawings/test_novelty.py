"""Pairwise novelty as a heat map: what the numbers are, stands in the drawing."""

import numpy as np
import pytest

from shiftmetrics.novelty import kernel_entropic_novelty, novelty_table
from shiftmetrics.views import plot


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    samples = {name: rng.normal(size=(40, 3)) + shift for name, shift in (("a", 0.0), ("b", 1.0), ("c", 4.0))}
    return novelty_table(samples, bandwidth=2.0)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_the_map_prints_the_shares_of_all_pairs(table):
    ax = table.plot()
    printed = {text.get_position()[::-1]: text.get_text() for text in ax.texts}
    assert printed[(2, 0)] == f"{100 * table.shares[2, 0]:.0f} %"
    assert printed[(0, 3)] == f"{100 * table.row_means[0]:.0f} %"
    assert (1, 1) not in printed
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c", "mean"]
    assert plot(table, ax) is ax


@pytest.mark.filterwarnings("error")
def test_two_samples_of_the_same_rows_have_an_empty_spectrum():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    ax = plot(kernel_entropic_novelty(rows, rows, bandwidth=1.0), kind="spectrum")
    assert ax.get_legend() is None
