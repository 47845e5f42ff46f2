"""What sets a mode apart: the columns that were shifted, and the known mode that is nearest."""

import numpy as np
import pytest

from shiftmetrics.novelty.modes.contrast import areas_under_roc, contrasts, nearest_known


def test_the_shifted_column_is_named_first_with_its_gap() -> None:
    rng = np.random.default_rng(0)
    known = rng.normal(size=(300, 4))
    members = rng.normal(size=(60, 4))
    members[:, 2] += 6.0
    found = contrasts(members, known, ("a", "b", "c", "d"), None)
    first = found[0]
    assert first.name == "c"
    assert first.inside == pytest.approx(members[:, 2].mean())
    assert first.outside == pytest.approx(known[:, 2].mean())
    spread = np.concatenate([members, known])[:, 2].std()
    assert first.gap == pytest.approx((first.inside - first.outside) / spread)
    assert first.auc > 0.99
    # each column is beside those before it, and none is named twice
    assert len({contrast.name for contrast in found}) == len(found)


def test_nothing_sets_apart_what_does_not_vary() -> None:
    constant = np.ones((5, 2))
    assert contrasts(constant, constant, ("a", "b"), None) == ()
    assert contrasts(constant[:0], constant, ("a", "b"), None) == ()


def test_the_nearest_known_mode_is_that_around_the_members() -> None:
    rng = np.random.default_rng(1)
    places = np.repeat([[0.0, 0.0], [20.0, 0.0]], 100, axis=0)
    known = places + rng.normal(size=(200, 2))
    members = np.array([[17.0, 4.0], [18.0, 5.0]])
    nearest = nearest_known(members, known)
    assert len(nearest)
    assert (nearest >= 100).all()
    # few known samples are one mode
    np.testing.assert_array_equal(nearest_known(members, known[:30]), np.arange(30))


def test_areas_count_ties_by_half() -> None:
    values = np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 1.0], [0.0, 4.0]])
    labels = np.array([True, True, False, False])
    # pairs of a labelled and another: 1 > 2 no, 1 > 0 yes, 2 = 2 half, 2 > 0 yes; 3 > 1, 2 > 1
    np.testing.assert_allclose(areas_under_roc(values, labels), [2.5 / 4, 2.0 / 4])
