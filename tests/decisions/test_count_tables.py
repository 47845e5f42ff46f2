"""P-values that hold together, and tables of counts, against their definitions."""

import numpy as np
import pytest
from scipy import stats

from shiftmetrics.decisions.count_tables import holm, one_distribution, rare_together


def test_holm_against_the_definition():
    p_values = np.array([0.01, 0.04, 0.03, 0.5])
    np.testing.assert_allclose(holm(p_values), [0.04, 0.09, 0.09, 0.5])
    assert holm(np.array([])).size == 0


def test_holm_counts_the_least_p_value_once_for_each_question():
    assert holm(np.array([0.01, 0.02])).tolist() == pytest.approx([0.02, 0.02])
    assert holm(np.array([0.3, 0.001, 0.002])).tolist() == pytest.approx([0.3, 0.003, 0.004])


def test_levels_of_fewer_than_five_expected_samples_share_a_cell():
    # Of 40 and 40 samples a level of 10 has 5 expected, and one of 9 has 4.5.
    table = np.array([[20, 10, 5, 3, 2], [27, 0, 4, 4, 5]])
    assert rare_together(table).tolist() == [[20, 10, 10], [27, 0, 13]]
    assert rare_together(np.array([[30, 0, 10], [30, 0, 10]])).tolist() == [[30, 10], [30, 10]]


def test_the_test_fits_the_number_of_cells():
    three = np.array([[20, 10, 10], [27, 0, 13]])
    assert one_distribution(three) == pytest.approx(stats.chi2_contingency(three).pvalue)
    two = np.array([[3, 40], [12, 30]])
    assert one_distribution(two) == pytest.approx(stats.fisher_exact(two).pvalue)
    assert one_distribution(np.array([[40], [30]])) == 1.0


def test_the_test_of_several_cells_is_that_of_contingency_tables():
    rng = np.random.default_rng(0)
    for _ in range(50):
        sizes = rng.integers(20, 5_000, 2)
        chances = rng.dirichlet(np.ones(rng.integers(3, 12)), 2)
        chances[1] = chances[rng.integers(0, 2)]
        cells = np.array([rng.multinomial(n, p) for n, p in zip(sizes, chances, strict=True)])
        cells = cells[:, cells.sum(axis=0) > 0]
        expected = stats.chi2_contingency(cells, correction=False).pvalue
        assert one_distribution(cells) == pytest.approx(expected, rel=1e-9, abs=1e-300)
