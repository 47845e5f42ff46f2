"""Labels as one column of zeros and ones for each class become one column of the names of these columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence

ONE_HOT_NAME = "label"
"""What the column of labels is called."""


def without_one_hot(labels: TableEvidence) -> TableEvidence:
    """Return a table of labels in which columns of zeros and ones, one 1 a row, are one column of labels.

    Tables with any other column that may hold labels are returned as they are.
    """
    import pandas as pd

    bits = [name for name, column in labels.columns.items() if _holds_bits(column)]
    others = [column for name, column in labels.columns.items() if name not in bits]
    if len(bits) < 2 or not all(column.is_distinct for column in others):
        return labels
    block = labels.numeric(bits)
    if not labels.n_rows or not (block.sum(axis=1) == 1.0).all():
        return labels
    words = pd.Series(np.array(bits, dtype=object)[block.argmax(axis=1)], dtype=object)
    columns = {column.name: column for column in others}
    columns[ONE_HOT_NAME] = ColumnEvidence(
        name=ONE_HOT_NAME, typed=words, raw=words, place=len(columns)
    )
    return replace(labels, columns=columns)


def _holds_bits(column: ColumnEvidence) -> bool:
    """Return True for zeros and ones, or Booleans, without gaps."""
    if column.numbers is None or bool(column.is_missing.any()):
        return False
    return bool(((column.numbers == 0.0) | (column.numbers == 1.0)).all())
