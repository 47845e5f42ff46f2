"""Errors of several values together, against correlations and counts by hand."""

import numpy as np
import pytest

from shiftmetrics._core.confidence import ResamplingUnits
from shiftmetrics._core.result import Interval
from shiftmetrics.comparison.joint_errors import (
    normal_errors,
    simultaneous_p_values,
    weights_of_resample,
)


def test_errors_have_the_correlation_of_the_influences_and_reach_the_intervals():
    rng = np.random.default_rng(0)
    influence = rng.normal(size=(50, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0, 0, 1]])
    values = np.array([1.0, 2.0, 3.0])
    intervals = [
        Interval(low=value - 0.5, high=value + 2.0, confidence_level=0.9) for value in values
    ]
    errors = normal_errors(influence, values, intervals, seed=1)
    sides = np.where(errors < 0.0, 0.5, 2.0)
    # Undone, the stretching leaves normal errors of the correlation of the influences.
    scaled = influence / np.linalg.norm(influence, axis=0)
    np.testing.assert_allclose(
        np.corrcoef(errors / sides, rowvar=False), scaled.T @ scaled, atol=0.03
    )
    assert (errors < -0.5).mean(axis=0) == pytest.approx(0.05, abs=0.01)
    assert (errors > 2.0).mean(axis=0) == pytest.approx(0.05, abs=0.01)
    np.testing.assert_array_equal(errors, normal_errors(influence, values, intervals, seed=1))


def test_a_value_whose_error_is_not_known_has_none():
    known = Interval(low=0.0, high=2.0, confidence_level=0.9)
    unknown = Interval(low=-np.inf, high=np.inf, confidence_level=0.9)
    errors = normal_errors(np.eye(2), np.ones(2), [known, unknown], seed=0)
    assert np.isfinite(errors[:, 0]).all()
    assert not np.isfinite(errors[:, 1]).any()


def test_simultaneous_p_values_are_a_count_of_largest_deviations():
    rng = np.random.default_rng(0)
    resamples = np.array([0.5, 0.0, 1.0]) + rng.normal(size=(200, 3)) * [0.3, 0.2, 0.4]
    values = np.array([0.5, 0.0, 1.0])
    found, largest = simultaneous_p_values(values, resamples)
    errors = resamples.std(axis=0)
    for value, error, p_value in zip(values, errors, found, strict=True):
        count = 0
        for resample in resamples:
            deviations = abs(resample - resamples.mean(axis=0)) / errors
            count += deviations.max() >= abs(value) / error
        assert p_value == pytest.approx((1 + count) / 201)
    assert found[1] == 1.0
    assert len(largest) == 200
    # An error that is not known is infinite: nothing is told.
    unknown = simultaneous_p_values(values, resamples, np.array([np.inf, 1.0, 1.0]))[0]
    assert unknown[0] == 1.0


def test_resamples_are_told_apart_by_number_and_repeat():
    units = ResamplingUnits(n_rows=6, n_units=4, codes=np.array([0, 0, 1, 2, 3, 3]))
    rows, others = weights_of_resample(7, 2, units, 5)
    again = weights_of_resample(7, 2, units, 5)
    np.testing.assert_array_equal(rows, again[0])
    assert rows[0] == rows[1] != rows[2]
    assert others.shape == (5,)
    other = weights_of_resample(7, 3, units, 5)
    assert not np.isin(rows, other[0]).any()
    assert not np.isin(others, other[1]).any()
    assert not np.isin(rows, others).any()
