"""What a fitted model says of the samples of a table: predicted classes, and probabilities where it gives some."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.validation import describe, first_few
from shiftmetrics.decisions.predictions import class_key

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ModelOutputs:
    """What a classifier says of n samples.

    Attributes
    ----------
    predicted : array of shape (n,)
        The predicted labels.
    probabilities : array of shape (n, n_classes) or None
        Probabilities of ``classes``.
    classes : array of shape (n_classes,)
        The labels that the model knows.
    """

    predicted: npt.NDArray[Any]
    probabilities: FloatArray | None
    classes: npt.NDArray[Any]

    def positions(self, labels: npt.NDArray[Any], argument: str) -> IntArray:
        """Return labels as positions of the classes.

        Raises
        ------
        ValueError
            If a label is outside the classes.
        """
        places = {class_key(label): place for place, label in enumerate(self.classes.tolist())}
        names = [class_key(label) for label in labels.tolist()]
        outside = [name for name in names if name not in places]
        if outside:
            expected = f"labels among the model's classes ({first_few(self.classes.tolist())})"
            raise ValueError(describe(argument, expected, first_few(outside)))
        return np.array([places[name] for name in names], dtype=np.int64)


def model_outputs(
    model: Any, table: pd.DataFrame, *, not_features: Iterable[Any] = (), argument: str = "model"
) -> ModelOutputs:
    """Ask a fitted classifier for its predictions, and for its probabilities where it has some.

    It gets the columns that it was fitted on, by name; a model that names none gets all but ``not_features``.

    Raises
    ------
    ValueError
        If the table lacks a column, or the model refuses it, or what it returns is no prediction.
    TypeError
        If the model has no ``predict``.
    """
    if not hasattr(model, "predict"):
        raise TypeError(
            describe(argument, "a fitted classifier with predict", type(model).__name__)
        )
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        left_out = set(not_features)
        names = [name for name in table.columns if name not in left_out]
    missing = [name for name in names if name not in table]
    if missing:
        remedy = "Give the table as it was when the model was fitted."
        got = f"none of {first_few(missing)}"
        raise ValueError(describe("table", "with the columns of the model", got, remedy))
    features: Any = table[list(names)]
    if not hasattr(model, "feature_names_in_"):
        features = features.to_numpy()
    try:
        predicted = np.asarray(model.predict(features))
        given = model.predict_proba(features) if hasattr(model, "predict_proba") else None
    except Exception as error:  # whatever a user's model raises
        got = f"{type(error).__name__}: {str(error)[:200]}"
        raise ValueError(describe(argument, "a model that takes these columns", got)) from error
    if predicted.shape != (len(table),):
        got = f"predictions of shape {predicted.shape} for {len(table)} samples"
        raise ValueError(describe(argument, "a model with one prediction for each sample", got))
    refuse_regression(predicted, argument)
    classes = np.asarray(getattr(model, "classes_", np.unique(predicted)))
    probabilities = None
    if given is not None:
        probabilities = np.asarray(given, dtype=np.float64)
        if (
            probabilities.shape != (len(table), len(classes))
            or not np.isfinite(probabilities).all()
        ):
            got = f"shape {probabilities.shape}, or values that are not finite"
            expected = f"probabilities of shape {(len(table), len(classes))}"
            raise ValueError(describe(argument, f"a model with {expected}", got))
    return ModelOutputs(predicted, probabilities, classes)


def refuse_regression(predicted: npt.NDArray[Any], argument: str) -> None:
    """Raise a ValueError for predictions that are no classes: numbers with a fraction."""
    if predicted.dtype.kind == "f" and (predicted != np.round(predicted)).any():
        value = float(predicted[predicted != np.round(predicted)][0])
        remedy = "Compare the predictions of two regressions by `shiftmetrics diff`."
        raise ValueError(
            describe(argument, "a classifier", f"predictions such as {value:g}", remedy)
        )
