"""Pairwise novelty as a heat map, and its ranks: what the numbers are, stands in the drawing."""

import numpy as np
import pytest

from shiftmetrics.novelty import novelty_table
from shiftmetrics.views import plot


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    samples = {
        name: {"plain": rng.normal(size=(30, 2)) + shift, "wide": rng.normal(size=(30, 3)) + shift}
        for name, shift in (("a", 0.0), ("b", 1.0), ("c", 4.0))
    }
    return novelty_table(samples, bandwidths=[1.0, 2.0], n_draws=3, rng=0)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_the_map_prints_the_excess_of_its_setting(table):
    ax = table.plot(feature_set="wide", bandwidth=0)
    printed = {text.get_position()[::-1]: text.get_text() for text in ax.texts}
    assert printed[(2, 0)] == f"{table.excess[1, 0, 2, 0]:.2f}"
    assert printed[(0, 3)] == f"{table.row_means[1, 0, 0]:.2f}"
    assert (1, 1) not in printed
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c", "mean"]
    assert plot(table, ax) is ax


def test_ranks_have_a_line_for_each_sample_and_feature_set(table):
    ax = plot(table, kind="ranks")
    assert len(ax.containers) == 3 * 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    heights = np.array([container.lines[0].get_ydata() for container in ax.containers[:2]])
    np.testing.assert_array_equal(heights, table.ranks[:, :, 0])
    low, high = ax.get_ylim()
    assert low > high  # the first rank is on top
