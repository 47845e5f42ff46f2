"""Whether the objects in an object of JSON are its rows or its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MANY_ROWS = 5
"""Times as many objects as keys, from which objects of words and lists are rows."""


def are_rows(values: list[Mapping[str, Any]], inner: list[str]) -> bool | None:
    """Return True if objects are rows, False if they are columns: these are of one kind, and rows add up to 1."""
    across = [[value.get(key) for value in values] for key in inner]
    within = [list(value.values()) for value in values]
    if _of_one_kind(across) != _of_one_kind(within):
        return _of_one_kind(across)
    if _add_up(across) != _add_up(within):
        return _add_up(within)
    # Cells that are no scores: a table has more rows than columns.
    if len(values) >= MANY_ROWS * len(inner) and not _has_numbers(within):
        return True
    return None


def _has_numbers(groups: list[list[Any]]) -> bool:
    return any(isinstance(cell, (int, float)) for cells in groups for cell in cells)


def _of_one_kind(groups: list[list[Any]]) -> bool:
    kinds = [{type(cell) for cell in cells if cell is not None} for cells in groups]
    return all(len(found - {int} if float in found else found) <= 1 for found in kinds)


def _add_up(groups: list[list[Any]]) -> bool:
    """Return True if the cells of each group are numbers that add up to 1, as probabilities do."""
    numbers = all(isinstance(cell, (int, float)) for cells in groups for cell in cells)
    return numbers and all(abs(sum(cells) - 1) < 1e-3 for cells in groups)
