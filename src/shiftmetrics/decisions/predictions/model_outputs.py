"""What a fitted model says of the samples of a table: predicted classes, and probabilities where it gives some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.label_cells import as_strings, positions
from shiftmetrics.tables.roles.names import has_name_of

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

    def places(self, labels: npt.NDArray[Any]) -> IntArray:
        """Return labels as positions of the classes, -1 for those outside; 1 and "1" are one label."""
        return positions(as_strings(labels), as_strings(self.classes))

    def codes(self, labels: npt.NDArray[Any], argument: str) -> IntArray:
        """Return labels as positions of the classes.

        Raises
        ------
        ValueError
            If a label is outside the classes.
        """
        places = self.places(labels)
        outside = labels[places < 0]
        if len(outside):
            expected = f"labels among the model's classes ({first_few(self.classes.tolist())})"
            raise ArgumentValueError(argument, expected, first_few(outside.tolist()))
        return places


def model_outputs(
    model: Any, table: pd.DataFrame, *, not_features: Iterable[Any] = ()
) -> ModelOutputs:
    """Ask a fitted classifier for its predictions, and for its probabilities where it has some.

    It gets the columns that it was fitted on, by name; a model that names none gets all but ``not_features``. The
    name of a column stands for predictions that are there already.

    Raises
    ------
    ValueError
        If the table lacks a column, or the model refuses it, or what it returns is no prediction.
    TypeError
        If the model has no ``predict``.
    """
    # A column of predictions: nothing has to be asked, and nothing is known of probabilities.
    if isinstance(model, str):
        if model not in table:
            raise ArgumentValueError("model", "a model, or a column of both samples", value=model)
        predicted = table[model].to_numpy()
        _refuse_numbers(predicted)
        return ModelOutputs(predicted, None, np.unique(as_strings(predicted)))
    model = _opened(model)
    predicted, given = _asked(model, table, not_features)
    # What came back must be classes, and one probability for each of them.
    _refuse_numbers(predicted)
    classes = np.asarray(getattr(model, "classes_", np.unique(predicted)))
    # A model that names no classes may predict one of them alone.
    is_unnamed = given is not None and not hasattr(model, "classes_")
    if is_unnamed and classes.dtype.kind in "iu" and set(classes.tolist()) <= {0, 1}:
        classes = np.arange(2)
    shape = len(table), len(classes)
    if given is not None and (given.shape != shape or not np.isfinite(given).all()):
        got = f"shape {given.shape}, or values that are not finite"
        raise ArgumentValueError("model", f"a model with probabilities of shape {shape}", got)
    return ModelOutputs(predicted, given, classes)


def prediction_table(
    model: Any,
    table: pd.DataFrame,
    named: Iterable[str],
    *,
    other_classes: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return what a fitted model says of the rows of a table, as `diff_models` reads it.

    Probabilities of the classes where the model has some, else predicted labels or values; beside them the columns
    that are named or look like ids and labels, but for those that the model was fitted on. Beside a model that gives
    probabilities of ``other_classes``, which are 0 and 1, predicted fractions are the probability of 1, as those of
    statsmodels.

    Raises
    ------
    TypeError, ValueError
        As `model_outputs`; or if a model predicts fractions beside one with probabilities of other classes.
    """
    import pandas as pd

    model = _opened(model)
    taken = set(getattr(model, "feature_names_in_", ()))
    kept = [
        name
        for name in table.columns
        if name in named or (name not in taken and _is_beside(str(name)))
    ]
    if hasattr(model, "predict_proba"):
        outputs = model_outputs(model, table, not_features=kept)
        said = pd.DataFrame(outputs.probabilities, columns=list(map(str, outputs.classes)))
    else:
        predicted = _asked(model, table, kept)[0]
        said = pd.DataFrame({"prediction": predicted})
        if other_classes is not None and _are_fractions(predicted):
            said = _of_both_classes(model, predicted, other_classes)
    beside = table[kept].reset_index(drop=True)
    return pd.concat([beside, said], axis=1)


def _are_fractions(predicted: npt.NDArray[Any]) -> bool:
    """Return True for numbers that are no labels of classes."""
    return predicted.dtype.kind == "f" and bool((predicted != np.round(predicted)).any())


def _of_both_classes(
    model: Any, predicted: npt.NDArray[Any], classes: Sequence[str]
) -> pd.DataFrame:
    """Return predicted probabilities of the second of two classes as those of both.

    Raises
    ------
    ValueError
        If the numbers are no probabilities, or the classes do not say which of them is the second.
    """
    import pandas as pd

    from shiftmetrics.models.reading.checks import is_declared_regressor

    is_known = list(classes) in (["0", "1"], ["False", "True"]) and not is_declared_regressor(model)
    if not (is_known and ((predicted >= 0.0) & (predicted <= 1.0)).all()):
        expected = (
            f"one with probabilities of the classes {first_few(list(classes))}, as the other one"
        )
        got = f"predictions such as {float(predicted[0]):.4g}"
        remedy = (
            "Write what both predict to files, with a column for each class, and compare these."
        )
        raise ArgumentValueError("model", expected, got, remedy)
    return pd.DataFrame(np.stack([1.0 - predicted, predicted], axis=1), columns=list(classes))


def said_classes(model: Any) -> tuple[str, ...] | None:
    """Return names of the columns of a model's probabilities in `prediction_table`; None without any."""
    model = _opened(model)
    classes = getattr(model, "classes_", None)
    if not hasattr(model, "predict_proba") or getattr(classes, "ndim", None) != 1:
        return None
    return tuple(map(str, np.asarray(classes)))


def first_classes(models: Iterable[Any]) -> tuple[str, ...] | None:
    """Return the classes of the first model that gives probabilities; None where none does."""
    found = (said_classes(model) for model in models)
    return next((classes for classes in found if classes is not None), None)


def _opened(model: Any) -> Any:
    """Return the estimator that answers for a model; all of `shiftmetrics.models` is loaded where there is one."""
    from shiftmetrics.models.reading.estimators import estimator_of

    return estimator_of(model)


def _is_beside(name: str) -> bool:
    """Return True for the name of an id, or of none as pandas writes its index, and of a label."""
    is_unnamed = not name.strip() or name.lower().startswith("unnamed:")
    return is_unnamed or has_name_of(name, "id") or has_name_of(name, "truth")


def _asked(
    model: Any, table: pd.DataFrame, not_features: Iterable[Any]
) -> tuple[npt.NDArray[Any], FloatArray | None]:
    """Return what a model predicts, one value for each sample, and its probabilities where it has some."""
    if not hasattr(model, "predict"):
        raise ArgumentTypeError("model", "a fitted model with predict", type(model).__name__)
    # Whatever goes wrong inside a user's model is said as one sentence with the error that it raised.
    features = _features(model, table, set(not_features))
    try:
        predicted, given = _answers(model, features)
    except Exception as error:
        narrow = _in_width_of_network(model, features)
        try:
            if narrow is None:
                raise
            predicted, given = _answers(model, narrow)
        except Exception:
            cause = error.__cause__ or error  # what the model itself raised
            got = f"{type(cause).__name__}: {str(cause)[:200]}"
            raise ArgumentValueError("model", "a model that takes these columns", got) from error
    if predicted.shape != (len(table),):
        got = f"predictions of shape {predicted.shape} for {len(table)} samples"
        raise ArgumentValueError("model", "a model with one prediction for each sample", got)
    return predicted, given


def _answers(model: Any, features: Any) -> tuple[npt.NDArray[Any], FloatArray | None]:
    """Return what a model predicts, and its probabilities where it has some: two columns for two classes."""
    from shiftmetrics.models.reading.outputs import predicted_labels

    predicted = predicted_labels(model, features)
    if not hasattr(model, "predict_proba"):
        return predicted, None
    given = np.asarray(model.predict_proba(features), dtype=np.float64)
    if given.ndim == 1:  # of the second class alone, as in pyGAM, whose labels are False and True
        given = np.stack([1.0 - given, given], axis=1)
        if not hasattr(model, "classes_"):
            predicted = predicted.astype(np.int64)
    return predicted, given


def _in_width_of_network(model: Any, features: Any) -> Any:
    """Return rows in the dtype of a network at the end of a model, which files do not keep; None without one."""
    from shiftmetrics.models.reading.estimators import is_network, last_step

    final = last_step(model)
    if not is_network(final):
        return None
    module: Any = getattr(final, "module_", final)
    like = next(module.parameters(), None)
    if like is None:
        return None
    dtype = str(like.dtype).removeprefix("torch.")
    try:
        return features.astype(dtype)
    except (TypeError, ValueError):  # words, or a width that NumPy has not
        return None


def _features(model: Any, table: pd.DataFrame, not_features: set[Any]) -> Any:
    """Return the columns that a model takes: a table where it knows their names, else an array."""
    # scikit-learn's estimators remember the names of the table that they were fitted on.
    if not hasattr(model, "feature_names_in_"):
        return table[[name for name in table.columns if name not in not_features]].to_numpy()
    names = list(model.feature_names_in_)
    missing = [name for name in names if name not in table]
    # LightGBM calls the columns of an array so.
    if missing and names[0] != "Column_0":
        expected = "one that was fitted on columns that both samples have"
        remedy = f"The columns are {first_few(table.columns, 8)}."
        raise ArgumentValueError("model", expected, f"one that takes {first_few(missing)}", remedy)
    from shiftmetrics.models.reading.checks import columns_of

    return columns_of(model, table)


def _refuse_numbers(predicted: npt.NDArray[Any]) -> None:
    """Raise a ValueError for predictions that are no classes: numbers with a fraction."""
    if predicted.dtype.kind != "f":
        return
    broken = predicted[predicted != np.round(predicted)]
    if len(broken):
        remedy = "Compare the predictions of two regressions by `shiftmetrics diff`."
        got = f"predictions such as {float(broken[0]):g}"
        raise ArgumentValueError("model", "a classifier", got, remedy)
