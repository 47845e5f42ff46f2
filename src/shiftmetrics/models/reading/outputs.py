"""Read a fitted model: the steps of its pipeline, the categories of its encoders, and its outputs for rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, to_float64, to_numpy
from shiftmetrics._core.validation import describe

LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
"""What rounding leaves of 1 minus a probability, as in scikit-learn's ``log_loss``."""
_BATCH_NUMBERS = 2**20
_PROBABILITY_ERROR = 1e-3

# The steps of a pipeline.


def steps_of(model: Any, *, last: bool = False) -> Iterator[Any]:
    """Yield the steps of a pipeline; ``last`` includes the final one, or the model itself where it is no pipeline."""
    model = getattr(model, "best_estimator_", model)  # the model inside a search over parameters
    steps = getattr(model, "steps", None)
    if steps is None:
        if last:
            yield model
        return
    if not last:
        steps = steps[:-1]
    for _, step in steps:
        if step is not None and not isinstance(step, str):  # "passthrough"
            yield from steps_of(step, last=True)


def last_step(model: Any) -> Any:
    """Return the estimator at the end of a fitted pipeline or search, or the model itself."""
    *_, last = steps_of(model, last=True)
    return last


def encoded_categories(model: Any, names: Sequence[Any]) -> dict[int, list[Any]]:
    """Return the categories of the columns that encoders in the first step of a pipeline take, by position.

    Encoders are transformers with ``categories_``, such as `sklearn.preprocessing.OneHotEncoder`, alone, in a
    pipeline of their own, in a `ColumnTransformer`, or inside histogram gradient boosting.

    Parameters
    ----------
    model : object
        A fitted model; anything but a pipeline of scikit-learn has none.
    names : sequence
        Labels of the columns of the table.
    """
    first = next(steps_of(model), getattr(last_step(model), "_preprocessor", None))
    found: dict[int, list[Any]] = {}
    for transformer, columns in _transformers(first, names):
        for step in steps_of(transformer, last=True):
            categories = getattr(step, "categories_", None)
            if categories is None:
                continue
            if len(categories) == len(columns):
                for place, known in zip(columns, categories, strict=True):
                    # without the category of missing cells
                    listed = np.asarray(known).tolist()
                    found[place] = [v for v in listed if v is not None and v == v]
            break
    return found


def _transformers(step: Any, names: Sequence[Any]) -> Iterator[tuple[Any, list[int]]]:
    """Yield each transformer of a step with the positions of its columns."""
    import pandas as pd

    if step is None:
        return
    if not hasattr(step, "transformers_"):
        yield step, list(range(len(names)))
        return
    positions = pd.DataFrame([range(len(names))], columns=list(names))
    for _, transformer, columns in step.transformers_:
        if isinstance(transformer, str):  # "drop", "passthrough"
            continue
        ends = np.ravel(columns).tolist()
        if isinstance(columns, slice):
            ends = [columns.start, columns.stop]
        if any(isinstance(end, str) for end in ends):
            chosen = positions.loc[:, columns]
        else:
            chosen = positions.iloc[:, columns]
        yield transformer, np.ravel(chosen).tolist()


# Networks.


def is_module(model: Any) -> bool:
    """Return True if a model is a torch module, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def is_network(model: Any) -> bool:
    """Return True if a model is a torch module, or a fitted estimator that holds one as ``module_``."""
    return is_module(model) or is_module(getattr(model, "module_", None))


def ends_in_network(model: Any) -> bool:
    """Return True if a model, or the last step of its pipeline, is a network of torch or of scikit-learn."""
    final = last_step(model)
    return is_network(final) or hasattr(final, "coefs_")


def batch_size(n_features: int) -> int:
    """Return how many rows a network sees at once: layers of images hold many times their pixels."""
    return max(16, min(8192, _BATCH_NUMBERS // max(n_features, 1)))


def check_scores(module: Any, X: Any) -> None:
    """Refuse a torch module whose outputs for these rows are probabilities, as after a sigmoid or softmax.

    Raises
    ------
    ValueError
        If all outputs are in [0, 1] and those of each row, where there are several, sum to 1.
    """
    outputs = to_float64(call(module, X))
    are_probabilities = outputs.min() >= 0.0 and outputs.max() <= 1.0
    if outputs.ndim > 1 and outputs.shape[1] > 1:
        off = np.abs(outputs.sum(axis=1) - 1.0).max()
        are_probabilities = are_probabilities and off < _PROBABILITY_ERROR
    if are_probabilities:
        expected = "a network of scores (logits)"
        remedy = (
            "Leave out its last layer, nn.Sigmoid or nn.Softmax; "
            "or pass a function that returns its outputs, with Decision(function, threshold=0.5)."
        )
        raise ValueError(describe("model", expected, "outputs that are probabilities", remedy))


# Outputs for rows.


def call(model: Any, X: Any) -> npt.NDArray[Any]:
    """Return the output of a callable or a torch module for rows: labels or values, or a matrix of scores."""
    if not is_module(model):
        output = np.asarray(to_numpy(model(X)))
        if output.ndim == 0:
            expected = "a callable that returns one label, or scores, for each row"
            raise TypeError(describe("model", expected, value=output.tolist()))
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
    with evaluation_mode(model), torch.no_grad():
        for start in range(0, max(len(rows), 1), size):
            output = model(rows[start : start + size])
            parts.append(np.asarray(to_numpy(output)))
    return np.concatenate(parts)


def predicted_labels(model: Any, X: Any) -> npt.NDArray[Any]:
    """Return the predicted label of each row, of shape (n,).

    The output of a callable of shape (n, n_classes) counts as scores of the classes 0, 1, ...; one column of
    scores of a torch module is the margin of class 1.
    """
    if hasattr(model, "predict"):
        labels = np.asarray(to_numpy(model.predict(X)))
        if labels.ndim == 2 and labels.shape[1] == 1:
            return labels.ravel()
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
        predicted = model.predict(X)
    else:
        predicted = call(model, X)
    output = to_float64(predicted)
    if output.ndim == 2 and output.shape[1] == 1:
        output = output[:, 0]
    if output.ndim != 1:
        expected = "a regression with one value for each row"
        got = f"an output of shape {output.shape}"
        raise ValueError(describe("model", expected, got))
    return output


def class_scores(model: Any, X: Any) -> FloatArray:
    """Return scores of shape (n, n_classes); with two classes one margin counts for the second, the first has 0.

    Raises
    ------
    ValueError
        If the model has none.
    """
    if hasattr(model, "decision_function"):
        scores = to_float64(model.decision_function(X))
    elif hasattr(model, "predict"):
        got = "'hinge', and a model without decision_function"
        remedy = 'Use loss="zero_one" or "log_loss".'
        raise ValueError(describe("loss", "one that the model has", got, remedy))
    else:
        scores = to_float64(call(model, X))
        if scores.ndim == 1 and not is_module(model):
            expected = "a callable that returns scores of shape (n, n_classes)"
            raise ValueError(describe("model", expected, "one value a row"))
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
        probabilities = to_float64(model.predict_proba(X))
        return np.asarray(np.log(np.maximum(probabilities, clip)))
    if not is_module(model):
        got = "'log_loss', and a model without predict_proba"
        remedy = 'Use loss="zero_one" or "hinge".'
        raise ValueError(describe("loss", "one that the model has", got, remedy))
    from scipy.special import log_softmax

    return np.asarray(log_softmax(class_scores(model, X), axis=1))


def least_probability(model: Any) -> float:
    """Return the least probability that a model can tell from 0.

    An average of trees counts votes: half of one. A single tree counts training rows: half of one. Any other model
    has what rounding leaves.
    """
    final = last_step(model)
    module = type(final).__module__
    if module.startswith("sklearn.ensemble._forest"):
        return 0.5 / len(final.estimators_)
    if module.startswith("sklearn.tree"):
        return 0.5 / int(final.tree_.n_node_samples[0])
    return LEAST_PROBABILITY


def check_model(model: Any) -> None:
    """Refuse an object that is no fitted model.

    Raises
    ------
    TypeError
        If it neither predicts nor can be called.
    ValueError
        If it is a scikit-learn estimator that was not fitted.
    """
    expected = "a fitted model with predict, or a callable"
    if isinstance(model, type):
        raise TypeError(describe("model", expected, f"the class {model.__name__}"))
    if not (hasattr(model, "predict") or callable(model)):
        raise TypeError(describe("model", expected, type(model).__name__))
    if "sklearn" in sys.modules and hasattr(model, "get_params") and hasattr(model, "fit"):
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        try:
            check_is_fitted(model)
        except NotFittedError as error:
            got = f"a {type(model).__name__} that is not"
            raise ValueError(describe("model", "fitted", got, "Call fit first.")) from error
