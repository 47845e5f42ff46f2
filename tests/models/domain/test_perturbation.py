"""What users say of the moves: columns and groups that are none are refused."""

import numpy as np
import pytest

from shiftmetrics.models.domain.perturbation import Perturbation


@pytest.mark.parametrize("columns", [np.array(1.0), b"ab", 1.5])
def test_columns_that_are_none_are_refused(columns) -> None:
    with pytest.raises(TypeError, match="Columns must be given by names or positions"):
        Perturbation(features=columns)


@pytest.mark.parametrize("groups", [{"region": ["north", "south"]}, "region"])
def test_groups_of_columns_come_in_a_sequence(groups) -> None:
    with pytest.raises(TypeError, match=r"one_hot must be a sequence of groups.*list"):
        Perturbation(one_hot=groups)
