"""Rows or columns of an object of objects."""

from __future__ import annotations

import pytest

from shiftmetrics.tables.readers.orientation import are_rows


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # cells of one row are of several kinds
        ({"r1": {"word": "a", "p": 0.5}, "r2": {"word": "b", "p": 0.25}}, True),
        ({"word": {"r1": "a", "r2": "b"}, "p": {"r1": 0.5, "r2": 0.25}}, False),
        # rows of probabilities add up to 1
        ({"r1": {"a": 0.5, "b": 0.5}, "r2": {"a": 0.25, "b": 0.75}}, True),
        ({"a": {"r1": 0.5, "r2": 0.25}, "b": {"r1": 0.5, "r2": 0.75}}, False),
        ({"a": {"r1": 2.0, "r2": 0.25}, "b": {"r1": 0.5, "r2": 0.75}}, None),
        # many objects of a few words
        ({f"r{place}": {"a": "x", "b": "y"} for place in range(10)}, True),
        ({f"r{place}": {"a": "x", "b": "y"} for place in range(9)}, None),
        ({f"r{place}": {"a": 3, "b": 4} for place in range(10)}, None),
    ],
)
def test_rows_or_columns(found, expected):
    inner = list(next(iter(found.values())))
    assert are_rows(list(found.values()), inner) is expected
