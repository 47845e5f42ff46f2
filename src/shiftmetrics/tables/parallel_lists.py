"""Labels in one list and their scores in another one: pairs, which go by their label and never by their place.

Classifiers that sort their answers write such rows, ``{"labels": ["b", "a"], "scores": [0.7, 0.3]}``, with the labels
in another order in each row.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def paired(labels: Any, scores: Any) -> dict[str, Any] | None:
    """Return scores by their label; None where these are no lists of distinct words and of as many numbers."""
    labels = _as_list(labels)
    scores = _as_list(scores)
    if labels is None or scores is None or len(labels) != len(scores) or not labels:
        return None
    are_words = all(isinstance(label, str) for label in labels)
    if not are_words or len(set(labels)) < len(labels):
        return None
    if not all(_is_number(score) for score in scores):
        return None
    return dict(zip(labels, scores, strict=True))


def pairs_of_object(cell: Mapping[Any, Any]) -> dict[str, Any] | None:
    """Return the pairs of an object that holds a list of labels and one of scores.

    A further list may hold the numbers of the labels, as words.
    """
    lists = [None if isinstance(value, str) else _as_list(value) for value in cell.values()]
    scores = [part for part in lists if part and all(map(_is_number, part))]
    words = [part for part in lists if part and all(isinstance(word, str) for word in part)]
    if len(scores) != 1 or len(words) + 1 != len(lists):
        return None
    if len(words) > 1:
        words = [part for part in words if not all(word.isdigit() for word in part)]
    return paired(words[0], scores[0]) if len(words) == 1 else None


def with_pairs(frame: pd.DataFrame) -> tuple[pd.DataFrame, str | None]:
    """Return a table in which a column of lists of labels and one of lists of scores are one column of objects.

    Returns
    -------
    frame : DataFrame
    name : str or None
        The column of objects, which has the name of the scores; None where there is no such pair of columns.
    """
    import pandas as pd

    nested = [name for name in frame.columns if _may_hold_lists(frame[name])]
    if len(nested) < 2:
        return frame, None
    found = []
    for labels in nested:
        for scores in nested:
            if labels == scores:
                continue
            pairs = _all_paired(frame[labels], frame[scores])
            if pairs is not None:
                found.append((labels, scores, pairs))
    # Two pairs of columns that share one of them would be a guess.
    if len(found) != 1:
        return frame, None
    labels, scores, pairs = found[0]
    changed = frame.drop(columns=labels)
    changed[scores] = pd.Series(pairs, dtype=object, index=frame.index)
    return changed, scores


def _all_paired(labels: pd.Series, scores: pd.Series) -> list[dict[str, Any]] | None:
    """Return the pairs of all rows; None where some row has none."""
    found = []
    for own, theirs in zip(labels, scores, strict=True):
        pairs = paired(own, theirs)
        if pairs is None:
            return None
        found.append(pairs)
    return found or None


def _may_hold_lists(column: pd.Series) -> bool:
    """Return True if the first cell is a list, or a text of one."""
    return column.dtype.kind not in "iufbMm" and len(column) > 0 and _is_list_like(column.iloc[0])


def _is_list_like(cell: Any) -> bool:
    """Return True for a list, and for a text in brackets."""
    if isinstance(cell, str):
        return cell.strip().startswith("[")
    return isinstance(cell, list | tuple | np.ndarray)


def _as_list(cell: Any) -> list[Any] | None:
    """Return a cell as a list; None for others."""
    if isinstance(cell, np.ndarray):
        return list(cell.tolist())
    if isinstance(cell, list | tuple):
        return list(cell)
    if not isinstance(cell, str) or not _is_list_like(cell):
        return None
    # As JSON writes a list, or as Python prints one.
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(cell.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return list(found) if isinstance(found, list | tuple) else None
    return None


def _is_number(value: Any) -> bool:
    """Return True for a number that is no Boolean."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
