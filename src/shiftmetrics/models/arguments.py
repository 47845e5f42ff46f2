"""What users hand over, checked: the columns that the model was fitted on, the labels that it knows, the loss."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, is_table
from shiftmetrics._core.labels import check_labels
from shiftmetrics._core.validation import check_vector, describe, first_few
from shiftmetrics.models.outputs import call, class_scores, is_module, predicted_labels
from shiftmetrics.models.question import LossName, class_positions
from shiftmetrics.models.table import Table

_MOST_ASKED = 256
"""Rows with missing cells that a model is tried on."""


def check_columns(model: Any, X: Any) -> None:
    """Refuse a table whose columns are not those that the model was fitted on, in their order.

    Raises
    ------
    ValueError
        If a column is missing, too many, or stands elsewhere; the first three differences are listed.
    """
    known = getattr(model, "feature_names_in_", None)
    if known is None or not is_table(X):
        n_features = getattr(model, "n_features_in_", None)
        shape = np.shape(X)
        if n_features is not None and len(shape) == 2 and shape[1] != n_features:
            raise ValueError(
                describe("X", f"of {n_features} columns, as the model was fitted on", f"{shape[1]} columns")
            )
        if n_features is not None and len(shape) > 2:
            raise ValueError(
                describe(
                    "X", f"of shape (n_samples, {n_features}), as the model was fitted on", f"shape {shape}",
                    "Pass X.reshape(len(X), -1).",
                )
            )  # fmt: skip
        return
    expected, got = list(known), list(X.columns)
    if expected == got:
        return
    missing = [name for name in expected if name not in set(got)]
    extra = [name for name in got if name not in set(expected)]
    if missing or extra:
        parts = [f"without {first_few(missing)}"] if missing else []
        parts += [f"with {first_few(extra)}, unknown to the model"] if extra else []
        text, remedy = " and ".join(parts), "Give the table that the model predicts on."
    else:
        moved = [
            f"{there!r} where {here!r} was (column {place})"
            for place, (here, there) in enumerate(zip(expected, got, strict=True))
            if here != there
        ]
        text, remedy = first_few(moved, show=str), "Pass X[list(model.feature_names_in_)]."
    raise ValueError(
        describe("X", "a table with the columns that the model was fitted on, in their order", text, remedy)
    )


def check_missing_cells(model: Any, table: Table, codes: FloatArray, argument: str = "X") -> None:
    """Refuse missing cells where the model does: it is asked about one row for each column that has some.

    Raises
    ------
    ValueError
        If the model raises an error for these rows but not for complete ones, or answers NaN; the columns are named.
    """
    missing = np.isnan(codes)
    incomplete = missing.any(axis=1)
    if not incomplete.any():
        return
    columns = np.flatnonzero(missing.any(axis=0))
    asked = np.unique(missing[:, columns].argmax(axis=0))[:_MOST_ASKED]
    said = ""
    try:
        if not any(np.isnan(part).any() for part in _answers(model, table.decode(codes[asked]))):
            return
        said = "it answers NaN"
    except Exception as error:
        if not incomplete.all():
            _answers(
                model, table.decode(codes[~incomplete][:1])
            )  # raises where this is not about missing cells
        said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        reason: Exception | None = error
    else:
        reason = None
    counts = missing.sum(axis=0)
    shown = ", ".join(f"{counts[column]:,} in column {table.names[column]!r}" for column in columns[:3])
    more = f" and some in {len(columns) - 3} more" if len(columns) > 3 else ""
    raise ValueError(
        describe(
            argument, f"free of missing cells for this {type(model).__name__}", f"{shown}{more}",
            f"Put an imputer before it in a pipeline, or drop {int(incomplete.sum()):,} rows. "
            f"The model says: {said}",
        )
    ) from reason  # fmt: skip


def _answers(model: Any, X: Any) -> list[FloatArray]:
    """Return what a model answers, as far as it is numbers."""
    ways = [getattr(model, name, None) for name in ("predict", "predict_proba", "decision_function")]
    answers = [np.asarray(way(X)) for way in ways if way is not None] or [call(model, X)]
    return [answer.astype(np.float64) for answer in answers if answer.dtype.kind == "f"]


def check_targets(
    model: Any, X: Any, y: Any, loss: LossName, table: Table
) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return labels as positions among the classes of the model, and these; or values and None for a regression.

    Raises
    ------
    ValueError
        If labels are missing, or unknown to the model, or the loss does not fit the model.
    """
    if loss == "squared":
        if hasattr(model, "classes_"):
            raise ValueError(
                describe("loss", "one of a classifier", "'squared'", 'Use "zero_one", "hinge" or "log_loss".')
            )
        return check_vector(y, "y", length=table.n_samples), None
    if _is_regressor(model):
        raise ValueError(describe("loss", "'squared' for a regression", repr(loss)))
    labels = check_labels(y, "y", length=table.n_samples)
    if hasattr(model, "classes_"):
        classes = np.asarray(model.classes_)
    elif is_module(model):
        classes = np.arange(class_scores(model, table.decode(table.codes[:1])).shape[1])
    else:
        seen = predicted_labels(model, table.decode(table.codes))
        classes = np.unique(np.concatenate([seen, labels.astype(seen.dtype, copy=False)]))
    positions = class_positions(labels, classes)
    if (positions < 0).any():
        unknown = np.unique(labels[positions < 0]).tolist()
        raise ValueError(
            describe(
                "y", f"labels that the model knows ({first_few(classes.tolist())})",
                f"{first_few(unknown)} in {int((positions < 0).sum())} rows",
                "Drop these rows, or fit the model on them.",
            )
        )  # fmt: skip
    return positions, classes


def _is_regressor(model: Any) -> bool:
    if "sklearn" not in sys.modules or not hasattr(model, "get_params"):
        return False
    from sklearn.base import is_regressor

    return bool(is_regressor(model))
