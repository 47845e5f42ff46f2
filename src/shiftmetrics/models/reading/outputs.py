"""What a fitted model says of rows: labels, values, scores and log-probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, to_float64, to_numpy
from shiftmetrics._core.exceptions import (
    ArgumentError,
    ArgumentTypeError,
    ArgumentValueError,
    Setting,
    Wording,
)
from shiftmetrics.models.reading.estimators import LEAST_PROBABILITY, is_module, libraries_of

_BATCH_NUMBERS = 2**20
_PROBABILITY_ERROR = 1e-3
_MOST_CHARACTERS = 120  # of the message of another library


@contextmanager
def asking(model: Any) -> Iterator[None]:
    """Turn an error that a model raises for rows into one that says so, and what to do.

    Raises
    ------
    ValueError
        If the model raised an error that is not about an argument of this package, nor about memory.
    """
    try:
        yield
    except (ArgumentError, MemoryError):
        raise
    except Exception as error:
        first_line = str(error).strip().partition("\n")[0][:_MOST_CHARACTERS]
        got = f"a {type(model).__name__} that raises {type(error).__name__}: {first_line}"
        remedy = (
            "Does it predict X itself? If only changed rows fail, keep columns where it knows them: "
            "Perturbation(bounds=..., immutable=...)."
        )
        width = _width_of_skorch(model)
        if width:
            remedy = (
                f"A network of skorch takes rows as it was fitted: np.asarray(X, dtype={width!r})."
            )
        expected = "one that predicts all rows within the bounds"
        raise ArgumentValueError("model", expected, got, remedy) from error


def _width_of_skorch(model: Any) -> str:
    """Return the dtype of the network in a model of skorch, "" for any other model."""
    module: Any = getattr(model, "module_", None)
    if "skorch" not in libraries_of(model) or not is_module(module):
        return ""
    like = next(module.parameters(), None)
    return str(getattr(like, "dtype", "torch.float32")).removeprefix("torch.")


def batch_size(n_features: int) -> int:
    """Return how many rows a network sees at once: layers of images hold many times their pixels."""
    return max(16, min(8192, _BATCH_NUMBERS // max(n_features, 1)))


def are_probabilities(outputs: FloatArray) -> bool:
    """Return True if outputs are in [0, 1], and those of each row, where there are several, sum to 1."""
    inside = outputs.min() >= 0.0 and outputs.max() <= 1.0
    if outputs.ndim > 1 and outputs.shape[1] > 1:
        off = np.abs(outputs.sum(axis=1) - 1.0).max()
        inside = inside and off < _PROBABILITY_ERROR
    return bool(inside)


def refuse_probabilities(module: Any, X: Any) -> None:
    """Refuse a torch module whose outputs for these rows are probabilities, as after a sigmoid or softmax.

    Raises
    ------
    ValueError
        If all outputs are in [0, 1] and those of each row, where there are several, sum to 1.
    """
    if are_probabilities(to_float64(call(module, X))):
        expected = "a network of scores (logits)"
        remedy = (
            "Leave out its last layer, nn.Sigmoid or nn.Softmax; "
            "or pass a function that returns its outputs, with Decision(function, threshold=0.5)."
        )
        raise ArgumentValueError("model", expected, "outputs that are probabilities", remedy)


def call(model: Any, X: Any) -> npt.NDArray[Any]:
    """Return the output of a callable or a torch module for rows: labels or values, or a matrix of scores."""
    if not is_module(model):
        with asking(model):
            output = np.asarray(to_numpy(model(X)))
        if output.ndim == 0:
            expected = "a callable that returns one label, or scores, for each row"
            raise ArgumentTypeError("model", expected, value=output.tolist())
        return output
    import torch

    from shiftmetrics.attacks.model import evaluation_mode

    # In the dtype and on the device of the parameters, a batch at a time.
    rows = torch.as_tensor(np.array(X, dtype=np.float64))
    like = next(model.parameters(), None)
    if like is None:
        rows = rows.to(torch.get_default_dtype())
    else:
        rows = rows.to(like)
    size = batch_size(rows[:1].numel())
    parts = []
    with asking(model), evaluation_mode(model), torch.no_grad():
        for start in range(0, max(len(rows), 1), size):
            output = model(rows[start : start + size])
            parts.append(np.asarray(to_numpy(output)))
    return np.concatenate(parts)


def matrix_of(rows: Any) -> FloatArray:
    """Return what a step puts out, an array, a sparse matrix or a table of any library, as a matrix of float64."""
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    if hasattr(rows, "iloc"):  # pandas, whose nullable columns need a mark for missing cells
        return np.asarray(rows.to_numpy(dtype=np.float64, na_value=np.nan))
    if hasattr(rows, "to_numpy"):
        rows = rows.to_numpy()
    return np.asarray(rows, dtype=np.float64)


def matrix_with_gaps(rows: Any) -> FloatArray:
    """Return a sparse matrix as one of float64, with NaN in the cells that it does not keep."""
    kept = rows.tocoo()
    matrix = np.full(kept.shape, np.nan)
    matrix[kept.row, kept.col] = kept.data
    return matrix


def cells_of_column(rows: Any, place: int) -> list[Any]:
    """Return the cells of one column of a table or an array, each as it is: integers stay integers."""
    if hasattr(rows, "iloc"):
        return list(rows.iloc[:, place].tolist())
    return list(np.asarray(rows)[:, place].tolist())


def predicted_labels(model: Any, X: Any) -> npt.NDArray[Any]:
    """Return the predicted label of each row, of shape (n,).

    The output of a callable of shape (n, n_classes) counts as scores of the classes 0, 1, ...; one column of
    scores of a torch module is the margin of class 1.
    """
    if hasattr(model, "predict"):
        with asking(model):
            labels = np.asarray(to_numpy(model.predict(X)))
        if labels.ndim == 2 and labels.shape[1] == 1:
            return labels.ravel()
        # A model that names no classes may predict the probability of each.
        is_matrix = labels.ndim == 2 and labels.dtype.kind == "f" and labels.size > 0
        if is_matrix and not hasattr(model, "classes_") and are_probabilities(labels):
            return np.asarray(labels.argmax(axis=1))
        return labels
    # A matrix of scores: the first of the highest ones counts, as in NumPy.
    output = call(model, X)
    if output.ndim == 2 and output.shape[1] > 1:
        return np.asarray(output.argmax(axis=1))
    output = output.reshape(len(output))
    if is_module(model):
        return (output > 0.0).astype(np.int64)
    return output


def predicted_values(model: Any, X: Any) -> FloatArray:
    """Return the predicted value of each row of a regression, of shape (n,)."""
    if hasattr(model, "predict"):
        with asking(model):
            predicted = model.predict(X)
    else:
        predicted = call(model, X)
    output = to_float64(predicted)
    if output.ndim == 2 and output.shape[1] == 1:
        output = output[:, 0]
    if output.ndim != 1:
        expected = "a regression with one value for each row"
        got = f"an output of shape {output.shape}"
        raise ArgumentValueError("model", expected, got)
    return output


def scores_of_classes(model: Any, X: Any) -> FloatArray:
    """Return scores of shape (n, n_classes); with two classes one margin counts for the second, the first has 0.

    Raises
    ------
    ValueError
        If the model has none.
    """
    if hasattr(model, "decision_function"):
        with asking(model):
            scores = to_float64(model.decision_function(X))
    elif hasattr(model, "predict"):
        got = "'hinge', and a model without decision_function"
        remedy = Wording("Use ", Setting("loss", "zero_one"), ".")
        if hasattr(model, "predict_proba"):
            remedy = Wording(
                "Use ", Setting("loss", "zero_one"), " or ", Setting("loss", "log_loss"), "."
            )
        raise ArgumentValueError("loss", "one that the model has", got, remedy)
    else:
        scores = to_float64(call(model, X))
        if scores.ndim == 1 and not is_module(model):
            expected = "a callable that returns scores of shape (n, n_classes)"
            raise ArgumentValueError("model", expected, "one value a row")
    # One margin is the lead of the second class.
    if scores.ndim == 1 or scores.shape[1] == 1:
        margin = scores.reshape(len(scores))
        return np.stack([np.zeros_like(margin), margin], axis=1)
    return scores


def class_log_probabilities(model: Any, X: Any, clip: float = LEAST_PROBABILITY) -> FloatArray:
    """Return log-probabilities of shape (n, n_classes); a probability below ``clip`` counts as that.

    Raises
    ------
    ValueError
        If the model has no probabilities.
    """
    if hasattr(model, "predict_proba"):
        with asking(model):
            probabilities = to_float64(model.predict_proba(X))
        if probabilities.ndim == 1:  # of the second class alone
            probabilities = np.stack([1.0 - probabilities, probabilities], axis=1)
        return np.asarray(np.log(np.maximum(probabilities, clip)))
    if not is_module(model):
        got = "'log_loss', and a model without predict_proba"
        remedy = Wording("Use ", Setting("loss", "zero_one"), ".")
        if hasattr(model, "decision_function") or not hasattr(model, "predict"):
            remedy = Wording(
                "Use ", Setting("loss", "zero_one"), " or ", Setting("loss", "hinge"), "."
            )
        raise ArgumentValueError("loss", "one that the model has", got, remedy)
    from scipy.special import log_softmax

    return np.asarray(log_softmax(scores_of_classes(model, X), axis=1))
