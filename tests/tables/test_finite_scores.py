"""Gaps and infinities are named by their row, also far behind the first block."""

import numpy as np
import pytest

from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.finite_scores import refuse_gaps


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("row", [0, 3, 399_999])
def test_the_row_and_the_column_are_named(value, row):
    scores = np.zeros((400_000, 3))
    scores[row, 1] = value
    with pytest.raises(
        UnreadableTableError, match=rf"got {value} in the column 'dog', row {row}\."
    ):
        refuse_gaps(scores, ["cat", "dog", "fox"], "old.csv")


def test_minus_infinity_is_a_probability_of_zero():
    scores = np.zeros((10, 2))
    scores[4, 0] = -np.inf
    refuse_gaps(scores, ["a", "b"], "old.csv")
    scores[4, 1] = -np.inf
    with pytest.raises(UnreadableTableError, match="row 4"):
        refuse_gaps(scores, ["a", "b"], "old.csv")
