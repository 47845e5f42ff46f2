"""Changes of correlations: found where they are, undone, and told apart from new modes."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from shiftmetrics import kernel_entropic_novelty
from shiftmetrics._core.options import Computing
from shiftmetrics.novelty import NoveltyResampling
from shiftmetrics.novelty.modes.changed_correlations import correlated, correlation_changes

NAMES = tuple("abcd")
QUIET = Computing(progress=False)


def normal(seed, n, correlation, width=4):
    covariance = np.eye(width)
    covariance[0, 1] = covariance[1, 0] = correlation
    return np.random.default_rng(seed).multivariate_normal(np.zeros(width), covariance, n)


def answer(sample, reference):
    return kernel_entropic_novelty(
        sample, reference, resampling=NoveltyResampling(rng=0), computing=QUIET
    )


def test_a_changed_pair_is_named_with_both_rank_correlations():
    reference, sample = normal(0, 400, 0.0), normal(1, 300, 0.7)
    (change,) = correlation_changes(sample, reference, NAMES, 0.01)
    assert change.names == ("a", "b")
    assert change.before == pytest.approx(spearmanr(reference[:, 0], reference[:, 1])[0])
    assert change.after == pytest.approx(spearmanr(sample[:, 0], sample[:, 1])[0])
    assert change.in_words() == (
        f"correlation of a and b {change.after:.2f}, was {change.before:.2f}".replace(
            "-0.00", "0.00"
        )
    )


def test_one_source_changes_no_correlation():
    """At 5 % for all pairs together; of 400 trials 20 are expected at most, and 34 have a chance of 1 in 1,000."""
    said = [
        bool(
            correlation_changes(
                normal(2 * seed, 60, 0.5), normal(2 * seed + 1, 90, 0.5), NAMES, 0.05
            )
        )
        for seed in range(400)
    ]
    assert sum(said) <= 34


def test_skewed_values_of_one_source_change_no_correlation():
    said = [
        bool(
            correlation_changes(
                np.exp(2 * normal(2 * seed, 60, 0.5)),
                np.exp(2 * normal(2 * seed + 1, 90, 0.5)),
                NAMES,
                0.05,
            )
        )
        for seed in range(400)
    ]
    assert sum(said) <= 34


def test_the_reference_gets_the_correlation_of_the_sample_and_nothing_else_changes():
    reference, sample = normal(0, 4000, 0.0), normal(1, 4000, 0.7)
    both = np.concatenate([sample, reference])
    in_test = np.arange(8000) < 4000
    changes = correlation_changes(sample, reference, NAMES, 0.01)
    undone = correlated(both, in_test, NAMES, changes)
    np.testing.assert_array_equal(undone[in_test], sample)
    np.testing.assert_array_equal(undone[:, 2:], both[:, 2:])
    expected = np.corrcoef(sample[:, :2].T)[0, 1]
    assert np.corrcoef(undone[~in_test][:, :2].T)[0, 1] == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("values", [np.zeros(50), np.tile([0.0, 1.0], 25)])
def test_constants_and_categories_have_no_correlation(values):
    sample = np.column_stack([values, np.arange(50.0)])
    assert correlation_changes(sample, sample[::-1], NAMES[:2], 0.05) == ()


def test_copies_of_a_column_are_no_error():
    column = np.random.default_rng(0).normal(size=300)
    other = np.random.default_rng(1).normal(size=300)
    sample = np.column_stack([column, column])
    reference = np.column_stack([column, other])
    both = np.concatenate([sample, reference])
    in_test = np.arange(600) < 300
    changes = correlation_changes(sample, reference, NAMES[:2], 0.05)
    assert np.isfinite(correlated(both, in_test, NAMES[:2], changes)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(0.0, 0.8), (0.8, 0.0), (-0.5, 0.5)])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_change_of_correlation_is_called_by_its_name(before, after, seed):
    result = answer(normal(2 * seed, 400, after), normal(2 * seed + 1, 400, before))
    assert result.new == ()
    assert result.missing == ()
    assert result.changes.correlations[0].names == ("column 0", "column 1")
    assert "Something differs" in result.headline()
    assert "correlation of column 0 and column 1" in result.headline()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_mode_on_the_diagonal_is_new_although_it_changes_the_correlation(seed):
    reference, sample = normal(2 * seed, 400, 0.0), normal(2 * seed + 1, 400, 0.0)
    sample[:60, :2] = 4.0 + 0.4 * sample[:60, :2]
    result = answer(sample, reference)
    assert len(result.new) >= 1
    assert result.changes.correlations == ()
    members = result.new[0].members()
    assert (members < 60).mean() > 0.9
