"""What is refused before any solving: columns, cells, labels and predictions that do not fit each other."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import is_array_api_obj

from shiftmetrics._core.arrays import IntArray, as_array, is_table
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.options import check_memory, check_memory_limit
from shiftmetrics._core.tables import check_labels, labels_to_numpy
from shiftmetrics._core.validation import check_vector, first_few
from shiftmetrics.models.domain.perturbation import Search
from shiftmetrics.models.domain.table import CodedTable, frame_of_samples
from shiftmetrics.models.reading.estimators import is_module
from shiftmetrics.models.reading.outputs import asking, call, predicted_values, scores_of_classes
from shiftmetrics.models.reading.rules import Decision

SAMPLE_BYTES = 500
CELL_BYTES = 160
NETWORK_CELL_BYTES = 400
"""What a search holds for each row, and for each of its cells: codes, the rows found, and steps towards them.

Measured on linear models and trees with 9 to 30 columns; on networks 360 to 390 bytes a cell, with 50,000 to 400,000
cells in 100 columns, for errors. Other losses take more as points are found, and end when these take the limit.
"""

_MOST_TRIED = 256  # rows with missing cells
_MOST_AGAIN = 2000  # rows that are predicted once more
_ROUNDING = 1e-5  # relative; of values predicted twice

Categories = Mapping[int, Sequence[Any]]
"""By position, the categories of a column that a model knows."""


def columns_of(model: Any, X: Any) -> Any:
    """Return the columns of a table that the model was fitted on, in its order; others are left out.

    A model that was fitted on an array is left all of them.

    Raises
    ------
    ValueError
        If a column is missing, or their number differs; the first three are listed.
    """
    X = frame_of_samples(X)
    if not isinstance(X, np.ndarray) and is_array_api_obj(X):
        as_array(X, "X")  # tensors that hold no numbers are refused
    names = list(getattr(model, "feature_names_in_", []))
    has_own_names = names != [f"Column_{place}" for place in range(len(names))]  # of LightGBM
    if is_table(X) and has_own_names:
        columns = list(X.columns)
        # Boosters know columns that are called by numbers by their digits.
        called = {str(label): label for label in columns}
        missing = [name for name in map(str, names) if name not in called]
        if missing:
            expected = "a table with the columns that the model was fitted on"
            got = f"none called {first_few(missing)}"
            raise ArgumentValueError("X", expected, got, f"It has {first_few(columns)}.")
        held = [called[str(name)] for name in names]
        if held == columns:
            return X
        return X[held]
    # Models of CatBoost that were loaded from a file say 0.
    n_features = getattr(model, "n_features_in_", None) or None
    try:
        shape = np.shape(X)
    except ValueError as error:  # rows of different lengths
        expected = "a table, or an array of shape (n_samples, n_features)"
        got = f"a {type(X).__name__} of which no array can be made"
        raise ArgumentTypeError("X", expected, got) from error
    if not isinstance(shape, tuple):  # what has a function called shape
        raise ArgumentTypeError("X", "a table or an array", type(X).__name__)
    if n_features is None or shape[1:] == (n_features,):
        return X
    expected = f"of shape (n_samples, {n_features}), as the model was fitted on"
    remedy = ""
    if len(shape) > 2:
        remedy = "Pass X.reshape(len(X), -1)."
    raise ArgumentValueError("X", expected, f"shape {shape}", remedy)


def check_fits_in_memory(model: Any, X: Any, search: Search) -> None:
    """Refuse a table on which a search would hold more than the memory limit.

    Raises
    ------
    MemoryError
        With both figures.
    """
    n_samples, *row_shape = np.shape(X)
    cell_bytes = CELL_BYTES
    if is_module(model):
        cell_bytes = NETWORK_CELL_BYTES
    sample_bytes = SAMPLE_BYTES + cell_bytes * math.prod(row_shape)
    needed = n_samples * sample_bytes
    remedy = "Take fewer rows, or pass them as a Dask collection or parquet files, which are read in chunks."
    limit = check_memory_limit(search.memory_limit)
    check_memory(needed, limit, f"X, of {n_samples} rows,", remedy)


def check_missing_cells(model: Any, table: CodedTable) -> None:
    """Refuse missing cells that the model does not take, by its outputs for a row of each column that has some.

    Raises
    ------
    ValueError
        If the model raises an error for these rows but not for a complete one, or returns NaN; the columns are named.
    """
    missing = np.isnan(table.codes)
    complete = np.flatnonzero(~missing.any(axis=1))
    if len(complete) == len(missing):
        return
    # The first row with a gap, for each column; for columns without any it is the first row of all.
    tried = np.unique(missing.argmax(axis=0))[:_MOST_TRIED]
    reason = None
    cause = "its output is NaN"
    try:
        if not _returns_nan(model, table.decode(table.codes[tried])):
            return
    except Exception as error:
        # An error that is not about missing cells is raised again by a complete row.
        if complete.size:
            _returns_nan(model, table.decode(table.codes[complete[:1]]))
        reason = error
        first_line = str(error).strip().partition("\n")[0]
        cause = first_line or type(error).__name__
    counts = missing.sum(axis=0)
    expected = f"free of missing cells for this {type(model).__name__}"
    columns = np.flatnonzero(counts)
    got = first_few(columns, show=lambda k: f"{counts[k]:,} in column {table.names[k]!r}")
    n_rows = len(missing) - len(complete)
    remedy = f"Put an imputer before it in a pipeline, or drop {n_rows:,} rows. The model: {cause}"
    raise ArgumentValueError("X", expected, got, remedy) from reason


def _returns_nan(model: Any, X: Any) -> bool:
    """Return True if an output of a model is NaN."""
    names = ("predict", "predict_proba", "decision_function")
    methods = [getattr(model, name) for name in names if hasattr(model, name)]
    outputs = [np.asarray(method(X)) for method in methods]
    outputs = outputs or [call(model, X)]
    return any(np.isnan(output).any() for output in outputs if output.dtype.kind == "f")


def check_targets(
    rule: Decision, y: Any, loss: str, table: CodedTable, known: Categories
) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return labels as positions among the classes of the model, and these; or values and None for a regression.

    Parameters
    ----------
    rule : Decision
        The model.
    y : array_like of shape (n_samples,) or (n_samples, 1), or None
        Labels or values; None for the model's own predictions.
    loss : str
        The loss.
    table : CodedTable
        The rows.
    known : dict of int to sequence
        The categories that the model knows.

    Raises
    ------
    ValueError
        If labels are missing or unknown to the model, the loss does not fit the model, or its predictions are of
        another kind or length, missing, or not the same twice.
    """
    classifies = len(getattr(rule.model, "classes_", ())) > 0  # regressions of CatBoost have none
    predict = rule.predict
    if loss == "squared":
        if classifies:
            remedy = 'Use "zero_one", "hinge" or "log_loss".'
            raise ArgumentValueError("loss", "one of a classifier", "'squared'", remedy)
        predict = functools.partial(predicted_values, rule.model)
    elif is_declared_regressor(rule.model):
        raise ArgumentValueError("loss", "'squared' for a regression", value=loss)
    predictions = _predicted(predict, table, known)
    if y is None:
        y = predictions
    else:
        y = column_of(y)
    if loss == "squared":
        return targets_of(y, None, len(predictions)), None
    # In order of trust: classes that the model names, as many as a network has scores, or those
    # that predictions and labels hold.
    if classifies:
        classes = np.asarray(rule.model.classes_)
    elif is_module(rule.model):
        scores = scores_of_classes(rule.model, table.decode(table.codes[:1]))
        classes = np.arange(scores.shape[1])
    else:
        classes = _classes_of_both(predictions, check_labels(y, "y", length=len(predictions)))
    if (class_positions(predictions, classes) < 0).any():
        expected = f"among its classes ({first_few(classes.tolist())})"
        raise _unfit_predictions(expected, predictions)
    return targets_of(y, classes, len(predictions)), classes


def targets_of(
    y: npt.NDArray[Any], classes: npt.NDArray[Any] | None, length: int | None = None
) -> npt.NDArray[Any]:
    """Return labels as positions among the classes of a model, or values where it has none.

    Raises
    ------
    ValueError
        If the model does not know a label, or a value is missing or infinite.
    """
    if classes is None:
        return check_vector(y, "y", length=length)
    labels = check_labels(y, "y", length=length)
    positions = class_positions(labels, classes)
    unknown = positions < 0
    if unknown.any():
        expected = f"labels that the model knows ({first_few(classes.tolist())})"
        got = f"{first_few(np.unique(labels[unknown]).tolist())} in {int(unknown.sum())} rows"
        remedy = "Drop these rows, or fit the model on them."
        raise ArgumentValueError("y", expected, got, remedy)
    return positions


def _classes_of_both(predictions: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the classes of a model that does not name them: what it predicts, and the labels.

    Either may lack some classes of the other, but not both: then they are labels of two kinds, such as 0/1 and 1/2.
    """
    classes = np.unique(labels)
    expected = f"labels like those of y ({first_few(classes.tolist())})"
    numbers = predictions.dtype.kind == "f" and labels.dtype.kind != "f"
    if numbers and (predictions != np.rint(predictions)).any():
        remedy = "Decision(model, threshold=0.5) reads a probability of the second class."
        raise _unfit_predictions(expected, predictions, remedy)
    foreign = ~np.isin(predictions, classes)
    unseen = ~np.isin(classes, predictions)
    if foreign.all() or (foreign.any() and unseen.any()):
        raise _unfit_predictions(expected, predictions, "Code predictions and y alike.")
    known = classes.astype(predictions.dtype, copy=False)
    return np.unique(np.concatenate([predictions, known]))


def column_of(y: Any) -> npt.NDArray[Any]:
    """Return labels or values as a vector, also where they are a column."""
    column = labels_to_numpy(y, "y")
    if column.ndim == 2 and column.shape[1] == 1:
        return column[:, 0]
    return column


def class_positions(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> IntArray:
    """Return the position of each label among the classes, -1 where it is none of them."""
    order = np.argsort(classes, kind="stable")
    place = np.searchsorted(classes, labels, sorter=order)
    found = order[np.minimum(place, len(classes) - 1)]
    return np.where(classes[found] == labels, found, -1).astype(np.int64)


def _predicted(
    predict: Callable[[Any], npt.NDArray[Any]], table: CodedTable, known: Categories
) -> npt.NDArray[Any]:
    """Return what a model predicts for all rows: one label or finite value each, and the same when asked again."""
    n_samples = len(table.codes)
    try:
        predictions = np.asarray(predict(table.decode(table.codes)))
    except Exception as error:
        _refuse_new_categories(table, known, error)
        raise
    if predictions.shape != (n_samples,):
        expected = f"one that predicts one label or value for each of {n_samples} rows"
        raise ArgumentValueError("model", expected, f"predictions of shape {predictions.shape}")
    predictions = check_labels(predictions, "predictions of the model")
    if predictions.dtype.kind == "f":
        infinite = predictions[~np.isfinite(predictions)]
        if infinite.size:
            raise _unfit_predictions("finite", infinite)
    # Some rows are predicted again, both times with the same other rows.
    rows = table.decode(table.codes[:_MOST_AGAIN])
    first = predictions
    if n_samples > _MOST_AGAIN:
        first = predict(rows)
    again = predict(rows)
    check_same(again, first)
    return predictions


def check_same(again: npt.NDArray[Any], first: npt.NDArray[Any]) -> None:
    """Refuse a model that predicts something else for the same rows.

    Raises
    ------
    ValueError
        If predictions differ, those of values by more than rounding.
    """
    if first.dtype.kind == "f":
        same = np.isclose(again, first, rtol=_ROUNDING)
    else:
        same = again == first
    if not same.all():
        got = f"different predictions for {int((~same).sum())} of {len(same)} rows"
        remedy = "Is it random, in training mode, or does a call change it?"
        raise ArgumentValueError("model", "a deterministic model", got, remedy)


def _refuse_new_categories(table: CodedTable, known: Categories, error: Exception) -> None:
    """Raise an error that names the categories which a model does not know, if that is why it failed."""
    for place, categories in known.items():
        new = list(table.columns[place].categories or ())[len(categories) :]
        count = int((table.codes[:, place] >= len(categories)).sum())
        if new and count:
            expected = f"of categories that the model knows in column {table.names[place]!r}"
            got = f"{first_few(new)} in {count} rows"
            remedy = "Drop these rows, or fit an encoder that ignores unknown categories (handle_unknown)."
            raise ArgumentValueError("X", expected, got, remedy) from error


def _unfit_predictions(
    expected: str, predictions: npt.NDArray[Any], remedy: str = ""
) -> ValueError:
    got = first_few(np.unique(predictions).tolist())
    return ArgumentValueError("predictions of the model", expected, got, remedy)


def is_declared_regressor(model: Any) -> bool:
    """Return True for an estimator that says of itself that it predicts amounts."""
    if "sklearn" not in sys.modules or not hasattr(model, "get_params"):
        return False
    from sklearn.base import is_regressor

    try:
        return bool(is_regressor(model))
    except Exception:  # whatever its tags raise: its outputs say what it is
        return False


def decides_by_probability(rule: Decision, y: Any, table: CodedTable) -> bool:
    """Return True if what a model without classes predicts is the probability of the second of the labels 0 and 1."""
    model = rule.model
    silent = hasattr(model, "predict") and rule.threshold is None and rule.response is None
    if not silent or hasattr(model, "classes_") or y is None or is_declared_regressor(model):
        return False
    labels = column_of(y)
    if labels.dtype.kind not in "biuf" or not np.isin(labels, (0, 1)).all():
        return False
    with asking(model):
        predicted = np.asarray(model.predict(table.decode(table.codes)))
    # One a row, or a column of them, as networks of Keras return.
    is_vector = predicted.shape in ((len(table.codes),), (len(table.codes), 1))
    if predicted.dtype.kind != "f" or not is_vector:
        return False
    inside = (predicted >= 0.0) & (predicted <= 1.0)
    whole = predicted == np.rint(predicted)
    return bool(inside.all() and not whole.all())
