"""Columns that are no scores and no features: ids, labels, weights, and numbers written so that they read as text.

Those with the name of an id or a label are taken for what they are, and it is said. Others that look like one are
refused until the user names them: they would be measured as one more class, silently.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, Literal

import numpy as np

from shiftmetrics.decisions.predictions.columns import (
    is_fractional,
    looks_like_id,
    looks_like_label,
    names_rows,
)

Role = Literal["scores", "features"]

WEIGHT_NAMES = {"weight", "weights", "sample_weight", "sample_weights"}

_MOST_UNLIKE = 30.0
"""Times as wide as the median column, from which a column has another unit."""

_NUMBER = r"[-+]?\d*[.,]?\d+(?:[eE][-+]?\d+)?"
FORMS = {
    r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?": "Write thousands without a mark; for a decimal comma give --decimal ,",
    r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?": "For a decimal comma give --decimal ,",
    r"[-+]?\d+\.\d+": "For a decimal point leave out --decimal.",
    rf"{_NUMBER}\s*%": "Write percentages as plain numbers.",
    r"\d{4}-\d\d?-\d\d?.*|\d\d?([./-])\d\d?\1\d{2,4}.*": "Turn dates into numbers, such as days, or leave them out.",
    rf"{_NUMBER}(?:[;|\s]+{_NUMBER})+": "Say what stands between cells with --sep.",
}
"""How numbers that are read as text may be written, and what reads them."""


def refuse_text(frame: Any, argument: str, *, among_numbers: bool = False) -> None:
    """Raise a ValueError at the first cell that is no number, which says where it is and what reads it.

    With ``among_numbers``, columns of words alone pass.
    """
    import pandas as pd

    for position in np.flatnonzero([dtype.kind not in "biuf" for dtype in frame.dtypes]):
        column = frame.iloc[:, position]
        # the first cell that does not read as a number is named
        is_text = column.map(lambda cell: isinstance(cell, str))
        numbers = pd.to_numeric(column.where(is_text), errors="coerce")
        bad = np.flatnonzero(is_text & numbers.isna())
        if not len(bad):
            continue
        cell = str(column.iloc[bad[0]]).strip()
        remedy = next((text for form, text in FORMS.items() if re.fullmatch(form, cell)), None)
        if among_numbers and remedy is None and len(bad) > len(column) / 2:
            continue
        raise ValueError(
            f"{argument} must hold numbers, got {cell[:60]!r} in column {str(frame.columns[position])!r}, row "
            f"{bad[0]}. {remedy or 'Correct or leave out such cells.'}"
        )


def find_id(frame: Any) -> str | None:
    """Return the first column with the name of an id whose values are distinct, or else of words that are."""
    for name in frame.columns:
        if looks_like_id(name) and frame[name].is_unique and not is_fractional(frame[name]):
            return str(name)
    return next((str(name) for name in frame.columns if names_rows(frame[name])), None)


def find_label(frame: Any) -> str | None:
    """Return the first column with the name of a label that holds no fractions."""
    for name in frame.columns:
        is_label = looks_like_label(name) and not _is_coordinate(name, frame)
        if is_label and not is_fractional(frame[name]):
            return str(name)
    return None


def _is_coordinate(name: str, frame: Any) -> bool:
    """Return True for y beside x."""
    return name in ("y", "Y") and ("x" in frame.columns or "X" in frame.columns)


def refuse_suspect_columns(frame: Any, argument: str, role: Role) -> None:
    """Raise a ValueError that names the first column that looks like an id, a label or a weight."""
    # an integer column among fractions is no score of a class
    kinds = [dtype.kind for dtype in frame.dtypes]
    n_fractional = kinds.count("f")
    for position, (name, kind) in enumerate(zip(frame.columns, kinds, strict=True)):
        column = frame.iloc[:, position]
        suspect = None
        if name.strip().lower() in WEIGHT_NAMES:
            suspect = "a weight"
        elif kind not in "biuf":
            suspect = "a row id" if column.astype(str).is_unique else "a label"
        elif looks_like_id(name):
            suspect = "a row id"
        elif looks_like_label(name) and not _is_coordinate(name, frame):
            suspect = "a label"
        elif kind in "iu" and len(kinds) > 1 and len(frame) >= 3:
            among_fractions = role == "scores" and n_fractional == len(kinds) - 1
            suspect = _suspect_by_values(column.to_numpy(), among_fractions, len(kinds))
        if suspect is None:
            continue
        option = {"a row id": "--id", "a label": "--label", "a weight": "--weight"}[suspect]
        remedy = (
            f"Say so with {option} {shlex.quote(name)}, or list the columns to take with --columns."
        )
        if role == "scores" and len(kinds) == 1:
            remedy = "For predicted classes without scores there is `shiftmetrics diff REFERENCE SHIFTED`."
        raise ValueError(
            f"{argument} must hold {role} only, got the column {name!r}, which looks like {suspect}. {remedy}"
        )
    if role == "scores" and (reason := _unlike_scores(frame)) is not None:
        raise ValueError(
            f"{argument} must hold scores of classes, got columns that look like the rows of a data set: {reason}. "
            "Write the model's probabilities, or give the model: agreement SHIFTED REFERENCE --model FILE."
        )


def _unlike_scores(frame: Any) -> str | None:
    """Return why columns are no scores of classes, which have one unit; None where they may be."""
    values = frame.to_numpy(dtype=np.float64)
    if values.shape[1] < 3 or len(values) < 3 or not np.isfinite(values).all():
        return None
    # Probabilities of rare classes spread less than others, and votes are whole numbers of one sum.
    if values.min() >= 0.0 and values.max() <= 1.0:
        return None
    sums = values.sum(axis=1)
    if (values == np.round(values)).all() and np.ptp(sums) > 0.0:
        return "whole numbers in every column"
    spreads = values.std(axis=0)
    # classes that are never predicted may have one score in all rows
    varying = spreads[spreads > 0.0]
    if not len(varying):
        return None
    times = spreads.max() / np.median(varying)
    if times > _MOST_UNLIKE:
        widest = frame.columns[int(spreads.argmax())]
        return f"{widest!r} spreads {times:.0f} times as wide as others"
    return None


def _suspect_by_values(values: Any, among_fractions: bool, n_columns: int) -> str | None:
    """Integers that count the rows are ids; among fractional scores, any integers are suspect."""
    low = int(values.min())
    high = int(values.max())
    distinct = len(np.unique(values)) == len(values)
    if distinct and (among_fractions or high - low == len(values) - 1):
        return "a row id"
    # columns of classes are numbered from 0
    return "a label" if among_fractions and low >= 0 and 0 < high < n_columns else None
