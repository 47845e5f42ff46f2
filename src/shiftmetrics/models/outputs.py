"""Read a fitted model: the steps of its pipeline, the categories of its encoders, and its outputs for rows."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, to_float64, to_numpy
from shiftmetrics._core.validation import describe


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
    if first is None:
        return {}
    found: dict[int, list[Any]] = {}
    for transformer, columns in _parts(first, names):
        encoder = next(
            (step for step in steps_of(transformer, last=True) if hasattr(step, "categories_")),
            None,
        )
        if encoder is None or len(encoder.categories_) != len(columns):
            continue
        for place, categories in zip(columns, encoder.categories_, strict=True):
            known = np.asarray(categories).tolist()
            found[place] = [
                value for value in known if value is not None and value == value
            ]  # not missing
    return found


def steps_of(model: Any, *, last: bool = False) -> Iterator[Any]:
    """Yield the steps of a pipeline; ``last`` includes the final one, or the model itself where it is no pipeline."""
    model = getattr(model, "best_estimator_", model)  # the model inside a search over parameters
    steps = getattr(model, "steps", None)
    if steps is None:
        if last:
            yield model
        return
    for _, step in steps if last else steps[:-1]:
        if step is None or isinstance(step, str):  # "passthrough"
            continue
        yield from steps_of(step, last=True)


def last_step(model: Any) -> Any:
    """Return the estimator at the end of a fitted pipeline or search, or the model itself."""
    model = getattr(model, "best_estimator_", model)
    steps = getattr(model, "steps", None)
    return last_step(steps[-1][1]) if steps else model


def _parts(step: Any, names: Sequence[Any]) -> Iterator[tuple[Any, list[int]]]:
    """Yield each transformer of a step with the positions of its columns."""
    import pandas as pd

    if not hasattr(step, "transformers_"):
        yield step, list(range(len(names)))
        return
    positions = pd.DataFrame([range(len(names))], columns=list(names))
    for _, transformer, columns in step.transformers_:
        if isinstance(transformer, str):  # "drop", "passthrough"
            continue
        ends = (columns.start, columns.stop) if isinstance(columns, slice) else np.ravel(columns)
        by_name = any(isinstance(end, str) for end in ends)
        chosen = positions.loc[:, columns] if by_name else positions.iloc[:, columns]
        yield transformer, np.ravel(chosen).tolist()


_BATCH_NUMBERS = 2**20
_PROBABILITY_ERROR = 1e-3
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
"""What rounding leaves of 1 minus a probability, as in scikit-learn's ``log_loss``."""


def is_module(model: Any) -> bool:
    """Return True if a model is a torch module, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def is_network(model: Any) -> bool:
    """Return True if a model is a torch module, or a fitted estimator that holds one as ``module_``."""
    return is_module(model) or is_module(getattr(model, "module_", None))


def ends_in_network(model: Any) -> bool:
    """Return True if a model is a network of scikit-learn, or a pipeline that ends in a network."""
    final = last_step(model)
    perceptrons = sys.modules.get("sklearn.neural_network")
    if perceptrons is not None and isinstance(
        final, perceptrons.MLPClassifier | perceptrons.MLPRegressor
    ):
        return True
    return final is not model and is_network(final)


def check_model(model: Any) -> None:
    """Refuse an object that is no fitted model.

    Raises
    ------
    TypeError
        If it neither predicts nor can be called.
    ValueError
        If it is a scikit-learn estimator that was not fitted.
    """
    if isinstance(model, type) or not (hasattr(model, "predict") or callable(model)):
        got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise TypeError(describe("model", "a fitted model with predict, or a callable", got))
    if "sklearn" in sys.modules and hasattr(model, "get_params") and hasattr(model, "fit"):
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        try:
            check_is_fitted(model)
        except NotFittedError as error:
            raise ValueError(
                describe(
                    "model", "fitted", f"a {type(model).__name__} that is not", "Call fit first."
                )
            ) from error


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

    like = next(model.parameters(), None)
    rows = torch.as_tensor(np.array(X, dtype=np.float64))
    rows = rows.to(torch.get_default_dtype()) if like is None else rows.to(like)
    size = batch_size(rows[:1].numel())
    with evaluation_mode(model), torch.no_grad():
        parts = [rows[start : start + size] for start in range(0, max(len(rows), 1), size)]
        return np.concatenate([np.asarray(to_numpy(model(part))) for part in parts])


def batch_size(n_features: int) -> int:
    """Return how many rows a network sees at once: layers of images hold many times their pixels."""
    return max(16, min(8192, _BATCH_NUMBERS // max(n_features, 1)))


def network_of_scores(model: Any, X: Any) -> Any:
    """Return a torch module whose outputs are scores: without the sigmoid or softmax that is its last layer.

    None where its outputs for these rows are probabilities, and no last layer says so.
    """
    import torch

    given = torch.as_tensor(call(model, X))
    one = given.ndim == 1 or given.shape[1] == 1
    sums_to_one = one or bool((given.sum(dim=1) - 1.0).abs().max() < _PROBABILITY_ERROR)
    if not (sums_to_one and 0.0 <= float(given.min()) <= float(given.max()) <= 1.0):
        return model
    scores = _without_last(model)
    if scores is not None:
        output = torch.as_tensor(call(scores, X))
        again = torch.sigmoid(output) if one else torch.softmax(output, dim=1)
        if bool((given - again).abs().max() < _PROBABILITY_ERROR):
            return scores
    return None


def _without_last(module: Any) -> Any:
    """Return a module that shares all layers but the last, a sigmoid or softmax; None where it is something else."""
    import torch

    if isinstance(module, torch.nn.Sigmoid | torch.nn.Softmax):
        return torch.nn.Identity()
    *_, name = module._modules or [None]
    last = None if name is None else _without_last(module._modules[name])
    if last is None:
        return None
    shortened = copy.copy(module)
    shortened._modules = {**module._modules, name: last}
    return shortened


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
    output = call(model, X)
    if output.ndim == 2 and output.shape[1] > 1:
        return np.asarray(output.argmax(axis=1))
    output = output.reshape(len(output))
    if is_module(model):
        return (output > 0.0).astype(np.int64)
    return output


def predicted_values(model: Any, X: Any) -> FloatArray:
    """Return the predicted value of each row of a regression, of shape (n,)."""
    output = to_float64(model.predict(X) if hasattr(model, "predict") else call(model, X))
    if output.ndim == 2 and output.shape[1] == 1:
        output = output[:, 0]
    if output.ndim != 1:
        raise ValueError(
            describe(
                "model",
                "a regression with one value for each row",
                f"an output of shape {output.shape}",
            )
        )
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
    elif not hasattr(model, "predict"):
        scores = to_float64(call(model, X))
        if scores.ndim == 1 and not is_module(model):
            raise ValueError(
                describe(
                    "model",
                    "a callable that returns scores of shape (n, n_classes)",
                    "one value a row",
                )
            )
    else:
        raise ValueError(
            describe(
                "loss", "one that the model has", "'hinge', and a model without decision_function",
                'Use loss="zero_one" or "log_loss".',
            )
        )  # fmt: skip
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
        logs: FloatArray = np.log(np.maximum(to_float64(model.predict_proba(X)), clip))
        return logs
    if is_module(model):
        from scipy.special import log_softmax

        return np.asarray(log_softmax(class_scores(model, X), axis=1))
    raise ValueError(
        describe(
            "loss", "one that the model has", "'log_loss', and a model without predict_proba",
            'Use loss="zero_one" or "hinge".',
        )
    )  # fmt: skip


def least_probability(model: Any) -> float:
    """Return the least probability that a model can tell from 0.

    An average of trees counts votes: half of one. A single tree counts training rows: half of one. Any other model
    has what rounding leaves.
    """
    final = last_step(model)
    if not type(final).__module__.startswith(("sklearn.ensemble._forest", "sklearn.tree")):
        return LEAST_PROBABILITY
    tree = getattr(final, "tree_", None)
    return 0.5 / (len(final.estimators_) if tree is None else int(tree.n_node_samples[0]))
