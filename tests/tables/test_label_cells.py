"""Labels and ids as they are compared."""

import numpy as np

from shiftmetrics.tables.label_cells import as_strings, positions


def test_whole_floats_are_integers():
    assert as_strings(np.array([1.0, 2.0])).tolist() == ["1", "2"]


def test_unknown_ids_have_no_place():
    assert positions(np.array([3, 9]), np.array([5, 3])).tolist() == [1, -1]
