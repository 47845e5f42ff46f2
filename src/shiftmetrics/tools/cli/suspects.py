"""Columns that are no scores and no features: ids, labels and weights that slipped in among them.

They would be measured as one more class, silently. So columns that look like one are refused until the user names
them.
"""

from __future__ import annotations

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


def refuse_suspect_columns(frame: Any, argument: str, role: Role) -> None:
    """Raise a ValueError that names the first column that looks like an id, a label or a weight."""
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position]
        kind = (
            _suspect_by_name(str(name), frame)
            or _suspect_text(column)
            or _suspect_by_values(frame, column, role)
        )
        if kind is None:
            continue
        option = {"a row id": "--id", "a label": "--label", "a weight": "--weight"}[kind]
        raise ValueError(
            f"{argument} must hold {role} only, got the column {str(name)!r}, which looks like {kind}. "
            f"Say so with {option} {shlex.quote(str(name))}, or list the columns to take with --columns."
        )


def _suspect_by_name(name: str, frame: Any) -> str | None:
    plain = name.strip().lower().replace(" ", "_").replace("-", "_")
    if plain in ID_NAMES or plain.endswith("_id") or plain.startswith("unnamed:") or not plain:
        return "a row id"
    if plain == "y" and {"x", "X"} & set(frame.columns):  # coordinates
        return None
    if plain in LABEL_NAMES or plain.endswith("_label"):
        return "a label"
    return "a weight" if plain in WEIGHT_NAMES else None


def _suspect_text(column: Any) -> str | None:
    """Words are ids where all differ, and labels where they repeat; numbers with a few slips are neither."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) or pd.to_numeric(column, errors="coerce").notna().mean() > 0.5:
        return None
    return "a row id" if column.nunique() == len(column) else "a label"


def _suspect_by_values(frame: Any, column: Any, role: Role) -> str | None:
    """Whole numbers that count the rows are ids; among fractional scores, any whole numbers are suspect."""
    values = column.to_numpy()
    if values.dtype.kind not in "iu" or len(values) < 3 or frame.shape[1] < 2:
        return None
    distinct = len(np.unique(values)) == len(values)
    counts_rows = distinct and int(values.max()) - int(values.min()) == len(values) - 1
    others = [dtype.kind for other, dtype in frame.dtypes.items() if other != column.name]
    among_fractions = role == "scores" and set(others) == {"f"}
    if counts_rows or (distinct and among_fractions):
        return "a row id"
    is_class = values.min() >= 0 and 0 < values.max() < frame.shape[1]
    return "a label" if among_fractions and is_class else None
