"""Long tables of scores, with a row for each class of each sample, as one row a sample.

R's ``pivot_longer`` and the ``melt`` of pandas write ``row, class, probability``. A table is one where each sample
has each class once and the scores of each sample add up to 1 or 100: others with repeated ids stay as they are.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics.tables.cells import Cells

if TYPE_CHECKING:
    import pandas as pd

MOST_CLASSES = 1000
MOST_COLUMNS = 30
"""A wider table is none of a class and its score in each row."""

MOST_NUMBERS = 3
"""Columns of fractions: the score, and some that belong to the sample. One look at each large table is enough."""

FEWEST_ROWS = 4

TOTALS = (1.0, 100.0)
ROUNDING = 0.01
"""By how much the rounded scores of a sample may miss their total, as a fraction of it."""


def with_one_row_a_sample(cells: Cells) -> Cells:
    """Return a long table of scores with a column for each class, and any other table as it is."""
    # Columns of an array have no names that could say what they are.
    if cells.values is not None and cells.table is None:
        return cells
    frame = cells.frame
    n_numbers = sum(dtype.kind == "f" for dtype in frame.dtypes)
    if not 3 <= frame.shape[1] <= MOST_COLUMNS or not 1 <= n_numbers <= MOST_NUMBERS:
        return cells
    if len(frame) < FEWEST_ROWS:
        return cells
    found = _found_columns(frame)
    if found is None:
        return cells
    sample, label, score = found
    labels = frame[label].astype(str)
    classes = list(dict.fromkeys(labels))
    others = [name for name in frame.columns if name not in (label, score)]
    if set(classes) & set(others):
        return cells
    codes, _ = _codes(frame[sample])
    # Only the score differs within a sample, so that any of its rows has all the rest.
    first = frame[others].iloc[np.unique(codes, return_index=True)[1]].reset_index(drop=True)
    places = np.searchsorted(sorted(classes), labels.to_numpy(dtype=object))
    wide = np.empty((len(first), len(classes)))
    wide[codes, places] = frame[score].to_numpy(dtype=float)
    for place, name in enumerate(sorted(classes)):
        first[name] = wide[:, place]
    return dataclasses.replace(
        cells,
        table=first,
        written=cells.written & set(others),
        index=tuple(name for name in cells.index if name in others),
        levels={name: part for name, part in cells.levels.items() if name in others},
        notes=(*cells.notes, f"the rows of each {sample} are one, with a column for each {label}"),
    )


def _found_columns(frame: pd.DataFrame) -> tuple[str, str, str] | None:
    """Return the columns of samples, classes and scores; None where there are none, or several."""
    counted = {}
    for name in frame.columns:
        codes, n_distinct = _codes(frame[name])
        if n_distinct < 2 or codes.min(initial=0) < 0:
            # one value, or gaps: neither samples nor classes
            continue
        # Where samples and classes are crossed, each value of either stands equally often.
        if len(frame) == n_distinct * int(np.bincount(codes).max()):
            counted[name] = (codes, n_distinct)
    found = []
    for label, (classes, n_classes) in counted.items():
        if n_classes > MOST_CLASSES or frame[label].dtype.kind == "f":
            continue
        for sample, (codes, n_samples) in counted.items():
            if sample == label or n_samples * n_classes != len(frame):
                continue
            if len(np.unique(codes * n_classes + classes)) != len(frame):
                continue
            # Every pair of a sample and a class stands once; what is left has to be one score.
            scores = _scores(frame, codes, n_samples, {sample, label})
            if scores is not None:
                found.append((sample, label, scores))
    return found[0] if len(found) == 1 else None


def _scores(frame: pd.DataFrame, codes: object, n_samples: int, taken: set[str]) -> str | None:
    """Return the one column that differs within the samples, if it adds up to a total in each of them."""
    codes = np.asarray(codes)
    changing = []
    for name in frame.columns:
        if name in taken:
            continue
        values, n_values = _codes(frame[name])
        pairs = np.unique(codes * (n_values + 1) + values)
        if len(pairs) > n_samples:
            changing.append(name)
    if len(changing) != 1 or frame[changing[0]].dtype.kind != "f":
        return None
    values = frame[changing[0]].to_numpy(dtype=float)
    if not np.isfinite(values).all() or values.min() < 0.0:
        return None
    totals = np.bincount(codes, weights=values)
    is_total = any(bool((np.abs(totals - total) <= ROUNDING * total).all()) for total in TOTALS)
    return changing[0] if is_total else None


def _codes(column: pd.Series) -> tuple[np.ndarray, int]:
    """Return the distinct values of a column as codes, in the order in which they come; -1 for a gap."""
    import pandas as pd

    codes, distinct = pd.factorize(column)
    return np.asarray(codes, dtype=np.int64), len(distinct)
