"""Labels and ids as they are compared."""

import numpy as np
import pytest

from shiftmetrics._core.class_names import class_key
from shiftmetrics.tables.label_cells import as_strings, is_missing, positions


def test_whole_floats_are_integers():
    assert as_strings(np.array([1.0, 2.0])).tolist() == ["1", "2"]


def test_unknown_ids_have_no_place():
    assert positions(np.array([3, 9]), np.array([5, 3])).tolist() == [1, -1]


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, -2.0, 30.0]),
        np.array([1.0, np.nan, 2.5]),
        np.array([1e17, 2.0]),
        np.array([" a", "b ", "a"], dtype=object),
        np.array(["a", None, 1, 1.0, True, np.nan], dtype=object),
        np.array([]),
    ],
)
def test_strings_are_those_of_each_value_alone(values):
    alone = [class_key(value) for value in values.tolist()]
    assert as_strings(values).tolist() == alone
    missing = [
        value is None or value != value or (isinstance(value, str) and not value.strip())
        for value in values.tolist()
    ]
    assert is_missing(values).tolist() == missing


def test_blank_words_are_missing():
    for kind in (object, str):
        assert is_missing(np.array(["a", " ", ""], dtype=kind)).tolist() == [False, True, True]
