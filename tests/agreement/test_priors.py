"""Priors of classes, by name or as numbers."""

import numpy as np
import pytest

from shiftmetrics.agreement.priors import check_prior, named_prior


def test_names_of_priors():
    assert named_prior("uniform") is None
    assert named_prior("predicted") == "predicted"
    assert named_prior([1.0, 3.0]) == [1.0, 3.0]
    with pytest.raises(ValueError, match="prior must be .*uniform"):
        named_prior("even")


def test_numbers_are_scaled_to_a_sum_of_one():
    assert check_prior(None, 4).tolist() == [0.25] * 4
    assert check_prior(np.array([1.0, 3.0, 0.0]), 3).tolist() == [0.25, 0.75, 0.0]
    for wrong in ([0.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, 2.0, 3.0]):
        with pytest.raises(ValueError, match="prior must"):
            check_prior(wrong, 2)
