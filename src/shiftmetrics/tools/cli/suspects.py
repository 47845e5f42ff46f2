"""Columns that are no scores and no features: ids, labels, weights, and numbers written so that they read as text.

The former would be measured as one more class, silently. So columns that look like one are refused until the user
names them.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, Literal

import numpy as np

Role = Literal["scores", "features"]

ID_NAMES = {
    "id", "ids", "idx", "index", "row", "row_id", "rowid", "key", "uuid", "guid", "name", "filename", "file",
}  # fmt: skip
LABEL_NAMES = {
    "label", "labels", "target", "targets", "y", "y_true", "truth", "ground_truth", "class", "category",
}  # fmt: skip
WEIGHT_NAMES = {"weight", "weights", "sample_weight", "sample_weights"}


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


def refuse_suspect_columns(frame: Any, argument: str, role: Role) -> None:
    """Raise a ValueError that names the first column that looks like an id, a label or a weight."""
    # an integer column among fractions is no score of a class
    kinds = [dtype.kind for dtype in frame.dtypes]
    n_fractional = kinds.count("f")
    for position, (name, kind) in enumerate(zip(frame.columns, kinds, strict=True)):
        suspect = _suspect_by_name(str(name), frame)
        column = frame.iloc[:, position]
        if suspect is None and kind not in "biuf":
            suspect = "a row id" if column.astype(str).is_unique else "a label"
        elif suspect is None and kind in "iu" and len(kinds) > 1 and len(frame) >= 3:
            among_fractions = role == "scores" and n_fractional == len(kinds) - 1
            suspect = _suspect_by_values(column.to_numpy(), among_fractions, len(kinds))
        if suspect is None:
            continue
        option = {"a row id": "--id", "a label": "--label", "a weight": "--weight"}[suspect]
        raise ValueError(
            f"{argument} must hold {role} only, got the column {str(name)!r}, which looks like {suspect}. "
            f"Say so with {option} {shlex.quote(str(name))}, or list the columns to take with --columns."
        )


def _suspect_by_name(name: str, frame: Any) -> str | None:
    # the name first: it says what a person meant
    plain = name.strip().lower().replace(" ", "_").replace("-", "_")
    if plain in ID_NAMES or plain.endswith("_id") or plain.startswith("unnamed:") or not plain:
        return "a row id"
    if plain == "y" and ("x" in frame.columns or "X" in frame.columns):  # coordinates
        return None
    if plain in LABEL_NAMES or plain.endswith("_label"):
        return "a label"
    return "a weight" if plain in WEIGHT_NAMES else None


def _suspect_by_values(values: Any, among_fractions: bool, n_columns: int) -> str | None:
    """Integers that count the rows are ids; among fractional scores, any integers are suspect."""
    low, high = int(values.min()), int(values.max())
    distinct = len(np.unique(values)) == len(values)
    if distinct and (among_fractions or high - low == len(values) - 1):
        return "a row id"
    # columns of classes are numbered from 0
    return "a label" if among_fractions and low >= 0 and 0 < high < n_columns else None
