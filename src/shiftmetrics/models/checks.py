"""What is refused before any solving: columns, cells, labels and predictions that do not fit each other."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray, is_table, to_numpy
from shiftmetrics._core.tables import check_labels
from shiftmetrics._core.validation import check_vector, describe, first_few
from shiftmetrics.models.outputs import call, class_scores, is_module, predicted_values
from shiftmetrics.models.rules import Decision
from shiftmetrics.models.table import CodedTable, frame_of

_MOST_TRIED = 256  # rows with missing cells
_MOST_AGAIN = 2000  # rows that are predicted once more
_ROUNDING = 1e-5  # relative; of values predicted twice


def columns_of(model: Any, X: Any) -> Any:
    """Return the columns of a table that the model was fitted on, in its order; others are left out.

    A model that was fitted on an array is left all of them.

    Raises
    ------
    ValueError
        If a column is missing, or their number differs; the first three are listed.
    """
    X = frame_of(X)
    known = getattr(model, "feature_names_in_", None)
    n_features = getattr(model, "n_features_in_", None)
    names = [] if known is None else list(known)
    if names and names != [f"Column_{place}" for place in range(len(names))] and is_table(X):
        columns = list(X.columns)
        missing = [name for name in names if name not in set(columns)]
        if missing:
            expected = "a table with the columns that the model was fitted on"
            got = first_few(missing)
            raise ValueError(
                describe("X", expected, f"none called {got}", f"It has {first_few(columns)}.")
            )
        return X if names == columns else X[names]
    shape = np.shape(X)
    if n_features is None or shape[1:] == (n_features,):
        return X
    got = f"shape {shape}"
    remedy = "Pass X.reshape(len(X), -1)." if len(shape) > 2 else ""
    raise ValueError(
        describe(
            "X", f"of shape (n_samples, {n_features}), as the model was fitted on", got, remedy
        )
    )


def check_missing_cells(model: Any, table: CodedTable) -> None:
    """Refuse missing cells that the model does not take, by its outputs for a row of each column that has some.

    Raises
    ------
    ValueError
        If the model raises an error for these rows but not for a complete one, or returns NaN; the columns are named.
    """
    codes = table.codes
    missing = np.isnan(codes)
    incomplete = missing.any(axis=1)
    if not incomplete.any():
        return
    columns = np.flatnonzero(missing.any(axis=0))
    tried = np.unique(missing[:, columns].argmax(axis=0))[:_MOST_TRIED]
    reason = None
    cause = "its output is NaN"
    try:
        if not any(np.isnan(part).any() for part in _outputs(model, table.decode(codes[tried]))):
            return
    except Exception as error:
        if not incomplete.all():  # an error that is not about missing cells is raised again
            _outputs(model, table.decode(codes[~incomplete][:1]))
        reason = error
        cause = str(error).strip().partition("\n")[0] or type(error).__name__
    counts = missing.sum(axis=0)
    shown = first_few(columns, show=lambda k: f"{counts[k]:,} in column {table.names[k]!r}")
    raise ValueError(
        describe(
            "X", f"free of missing cells for this {type(model).__name__}", shown,
            f"Put an imputer before it in a pipeline, or drop {int(incomplete.sum()):,} rows. "
            f"The model: {cause}",
        )
    ) from reason  # fmt: skip


def _outputs(model: Any, X: Any) -> list[FloatArray]:
    """Return the outputs of a model that are numbers."""
    methods = [
        getattr(model, name, None) for name in ("predict", "predict_proba", "decision_function")
    ]
    outputs = [np.asarray(method(X)) for method in methods if method is not None] or [
        call(model, X)
    ]
    return [output.astype(np.float64) for output in outputs if output.dtype.kind == "f"]


def check_targets(
    rule: Decision, y: Any, loss: str, table: CodedTable, levels: Mapping[int, Sequence[Any]]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return labels as positions among the classes of the model, and these; or values and None for a regression.

    Parameters
    ----------
    rule : Decision
        The model.
    y : array_like of shape (n_samples,) or (n_samples, 1)
        Labels or values.
    loss : str
        The loss.
    table : CodedTable
        The rows.
    levels : dict of int to sequence
        The categories that the model knows.

    Raises
    ------
    ValueError
        If labels are missing or unknown to the model, the loss does not fit the model, or its predictions are of
        another kind or length, missing, or not the same twice.
    """
    y = column_of(y)
    if loss == "squared":
        if hasattr(rule.model, "classes_"):
            raise ValueError(
                describe(
                    "loss",
                    "one of a classifier",
                    "'squared'",
                    'Use "zero_one", "hinge" or "log_loss".',
                )
            )
        _predicted(functools.partial(predicted_values, rule.model), table, levels)
        return check_vector(y, "y", length=len(table.codes)), None
    if _is_regressor(rule.model):
        raise ValueError(describe("loss", "'squared' for a regression", value=loss))
    labels = check_labels(y, "y", length=len(table.codes))
    seen = _predicted(rule.predict, table, levels)
    if hasattr(rule.model, "classes_"):
        classes = np.asarray(rule.model.classes_)
    elif is_module(rule.model):
        classes = np.arange(class_scores(rule.model, table.decode(table.codes[:1])).shape[1])
    else:
        classes = np.unique(labels)
        fractions = (
            seen.dtype.kind == "f" and labels.dtype.kind != "f" and (seen != np.rint(seen)).any()
        )
        if fractions or not np.isin(seen, classes).any():
            remedy = "Decision(model, threshold=0.5) reads a probability of the second class."
            _refuse_predictions(
                f"labels like those of y ({first_few(classes.tolist())})", seen, remedy
            )
        classes = np.unique(np.concatenate([seen, classes.astype(seen.dtype, copy=False)]))
    if (class_positions(seen, classes) < 0).any():
        _refuse_predictions(f"among its classes ({first_few(classes.tolist())})", seen)
    return known_positions(labels, classes), classes


def column_of(y: Any) -> npt.NDArray[Any]:
    """Return labels or values as a vector, also where they are a column."""
    column = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else to_numpy(y))
    if column.ndim == 2 and column.shape[1] == 1:
        return column[:, 0]
    return column


def known_positions(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> IntArray:
    """Return the position of each label among the classes of a model.

    Raises
    ------
    ValueError
        If the model does not know a label.
    """
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
    return positions


def _predicted(
    predict: Callable[[Any], npt.NDArray[Any]],
    table: CodedTable,
    levels: Mapping[int, Sequence[Any]],
) -> npt.NDArray[Any]:
    """Return what a model predicts for all rows, one label or finite value each, and the same when asked again."""
    try:
        seen = np.asarray(predict(table.decode(table.codes)))
    except Exception:
        for place, known in levels.items():
            new = list(table.columns[place].categories or ())[len(known) :]
            count = int((table.codes[:, place] >= len(known)).sum())
            if new and count:
                expected = f"of categories that the model knows in column {table.names[place]!r}"
                remedy = "Drop these rows, or fit the encoder with handle_unknown='ignore'."
                raise ValueError(
                    describe("X", expected, f"{first_few(new)} in {count} rows", remedy)
                ) from None
        raise
    if seen.shape != (len(table.codes),):
        raise ValueError(
            describe("model", f"one that predicts one label or value for each of {len(table.codes)} rows",
                     f"predictions of shape {seen.shape}")
        )  # fmt: skip
    seen = check_labels(seen, "predictions of the model")
    if seen.dtype.kind == "f" and not np.isfinite(seen).all():
        _refuse_predictions("finite", seen[~np.isfinite(seen)])
    rows = table.codes[:_MOST_AGAIN]
    first = seen if len(rows) == len(seen) else predict(table.decode(rows))
    again = predict(table.decode(rows))
    same = np.isclose(again, first, rtol=_ROUNDING) if seen.dtype.kind == "f" else again == first
    if not same.all():
        got = f"others for {int((~same).sum())} of {len(rows)} rows"
        raise ValueError(
            describe(
                "model",
                "one that predicts the same twice",
                got,
                "Is it random, or in training mode?",
            )
        )
    return seen


def _refuse_predictions(expected: str, seen: npt.NDArray[Any], remedy: str = "") -> None:
    raise ValueError(
        describe("predictions of the model", expected, first_few(np.unique(seen).tolist()), remedy)
    )


def class_positions(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> IntArray:
    """Return the position of each label among the classes, -1 where it is none of them."""
    order = np.argsort(classes, kind="stable")
    place = np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)
    found = order[place]
    return np.where(classes[found] == labels, found, -1).astype(np.int64)


def _is_regressor(model: Any) -> bool:
    if "sklearn" not in sys.modules or not hasattr(model, "get_params"):
        return False
    from sklearn.base import is_regressor

    return bool(is_regressor(model))
