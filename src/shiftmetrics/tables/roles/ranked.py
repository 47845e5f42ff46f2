"""The best answers of each row side by side, with their scores: ``top1_label``, ``top1_prob``, ``top2_label``, ..."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.tables.evidence import TableEvidence

FEWEST_ROWS = 10
"""Rows from which on columns that never change their order are ranked, and no scores of classes."""


def numbered_groups(names: Sequence[str]) -> list[list[str]]:
    """Return the names that differ in one number alone, in the order of that number, for each such set."""
    groups: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for name in names:
        part = re.fullmatch(r"(\D*)(\d+)(\D*)", name)
        if part is not None:
            groups.setdefault((part[1], part[3]), []).append((int(part[2]), name))
    return [[name for _, name in sorted(group)] for group in groups.values() if len(group) > 1]


def first_of_ranked(tables: Sequence[TableEvidence], names: Sequence[str]) -> str | None:
    """Return the best of columns of answers that are ranked: numbered, and in no row two of them alike."""
    groups = numbered_groups(names)
    if len(groups) != 1 or len(groups[0]) != len(names):
        return None
    for table in tables:
        if table.n_rows < FEWEST_ROWS:
            return None
        rows = zip(*(table.columns[name].words for name in names), strict=True)
        if any(len(set(row)) < len(names) for row in rows):
            return None
    return groups[0][0]


def ranked_scores(tables: Sequence[TableEvidence], names: Sequence[str]) -> set[str]:
    """Return numbered columns of numbers that never increase from one to the next, in any row of any file."""
    found: set[str] = set()
    for group in numbered_groups(names):
        if all(_never_increases(table, group) for table in tables):
            found |= set(group)
    return found


def _never_increases(table: TableEvidence, group: Sequence[str]) -> bool:
    """Return True if each column is at most the one before it, in all rows of one file."""
    if not all(name in table.columns for name in group):
        return False
    if not all(table.columns[name].is_fractional for name in group[:1]):
        return False
    return never_increase(table.numeric(group))


def never_increase(scores: FloatArray) -> bool:
    """Return True if each column is at most the one before it, in all rows; False where there are few rows."""
    if len(scores) < FEWEST_ROWS:
        return False
    # The first rows decide for nearly every table; a million rows are looked at only where they do not.
    return all(
        bool((np.diff(rows, axis=1) <= 0.0).all()) for rows in (scores[:FEWEST_ROWS], scores)
    )
