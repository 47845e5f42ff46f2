"""What one model predicts, as it is served: the class of the largest score, the first of equal ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray, is_table
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.class_names import class_key, column_classes, sort_key
from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics._core.probabilities import SUM_TOLERANCE

ColumnForm = Literal["labels", "probability", "margin", "outputs"]

MOST_CLASSES = 50
"""Distinct integers in one column that are read as classes, however they are spread."""


@dataclass(frozen=True, kw_only=True)
class ServedPredictions:
    """The answers of one model.

    Attributes
    ----------
    argument : str
        What messages call its file.
    names : tuple of str
        Classes, in the order of its columns.
    codes : ndarray of shape (n_rows,)
        Position of the answer in ``names``.
    confidence : ndarray of shape (n_rows,) or None
        Probability that the model gives its answer.
    n_tied : int
        Rows in which several classes have the largest score.
    scores : DataFrame or ndarray or None
        Where the probabilities come from.
    are_proportions : bool
        Whether scores are divided by the sum of their row, such as probabilities and votes; else
        they are logarithms.
    form : str
        How the file was read, for people.
    has_columns : bool
        Whether there is a column for each class, so that no other class exists.
    has_names : bool
        Whether its classes have names of their own.
    """

    argument: str
    names: tuple[str, ...]
    codes: IntArray
    confidence: FloatArray | None = None
    n_tied: int = 0
    scores: Any = None
    are_proportions: bool = False
    form: str = "labels"
    has_columns: bool = False
    has_names: bool = True

    @property
    def has_probabilities(self) -> bool:
        """Whether each class has a probability in each row."""
        return self.scores is not None

    def probabilities(self, rows: IntArray | slice) -> FloatArray:
        """Return the probabilities of some rows, of shape (n_rows, n_classes)."""
        block = rows_of(self.scores, rows)
        # One column is the probability of the second class.
        if block.ndim == 1:
            return np.stack([1.0 - block, block], axis=1)
        if self.are_proportions:
            return np.asarray(block / block.sum(axis=1, keepdims=True))
        # Scores and log-probabilities alike: p_k = exp(s_k) / sum_j exp(s_j)
        terms = np.exp(block - block.max(axis=1, keepdims=True))
        return np.asarray(terms / terms.sum(axis=1, keepdims=True))


def rows_of(scores: Any, rows: IntArray | slice) -> FloatArray:
    """Return some rows of a table or an array as float64."""
    part = scores.iloc[rows].to_numpy() if is_table(scores) else scores[rows]
    return np.asarray(part, dtype=np.float64)


def factorize(values: npt.NDArray[Any], argument: str) -> tuple[IntArray, list[str]]:
    """Return the classes of one column of labels, sorted, and the position of each row's; -1 where it is missing."""
    import pandas as pd

    codes, distinct = pd.factorize(values)
    for value in distinct:
        if isinstance(value, float) and not value.is_integer():
            raise ArgumentValueError(argument, "labels of classes", f"{value:g}")
    keys = [class_key(value) for value in distinct]
    # An empty string is a missing label; numbers sort as numbers.
    names = sorted({key for key in keys if key}, key=sort_key)
    places = {name: place for place, name in enumerate(names)}
    own_places = [places.get(key, -1) for key in keys]
    # pandas gives the code -1 to missing values: it finds the last entry.
    lookup = np.array([*own_places, -1], dtype=np.int64)
    return lookup[codes], names


def hard_labels(values: npt.NDArray[Any], argument: str) -> ServedPredictions:
    """Read a column of answers.

    Raises
    ------
    ValueError
        If one is missing.
    """
    codes, names = factorize(values, argument)
    missing = codes < 0
    if missing.any():
        row = int(np.argmax(missing))
        got = f"{int(missing.sum())} without one, the first at row {row}"
        raise ArgumentValueError(argument, "a prediction in each row", got)
    return ServedPredictions(argument=argument, names=tuple(names), codes=codes)


def class_scores(
    scores: Any,
    argument: str,
    threshold: float | None = None,
    second: str | None = None,
    named: Collection[str] = (),
) -> ServedPredictions:
    """Read a column of scores for each class: probabilities, percentages, votes, log-probabilities, or any scores.

    Parameters
    ----------
    scores : DataFrame or ndarray of shape (n_rows, n_classes)
    argument : str
        What messages call it.
    threshold : float, optional
        Two classes: the answer is the second one from this probability on, or this score where they
        are none.
    second : str, optional
        Which class is the second one; by default that of the second column.
    named : collection of str
        Classes that labels or answers name, as in `column_classes`.

    Raises
    ------
    ValueError
        If a value is missing or infinite, or there is a threshold and more than two classes.
    """
    n_rows, n_classes = scores.shape
    names = column_classes(scores, named)
    codes = np.empty(n_rows, dtype=np.int64)
    top = np.empty(n_rows)
    totals = np.empty(n_rows)
    n_tied = 0
    least = np.inf
    for rows in row_blocks(n_rows, 8 * n_classes):
        block = rows_of(scores, rows)
        _check_block(block, argument, rows.start, names)
        # NumPy's argmax is the first of equal scores, as torch and scikit-learn serve it.
        codes[rows] = block.argmax(axis=1)
        top[rows] = block.max(axis=1)
        totals[rows] = block.sum(axis=1)
        n_largest = (block == top[rows][:, None]).sum(axis=1)
        n_tied += int((n_largest > 1).sum())
        least = min(least, float(block.min()))
    # Rows of one and the same sum are proportions: probabilities, percentages, votes of trees.
    total = totals[0]
    same_total = bool(np.all(np.abs(totals - total) <= SUM_TOLERANCE * abs(total)))
    served = ServedPredictions(
        argument=argument,
        names=names,
        codes=codes,
        n_tied=n_tied,
        has_columns=True,
        has_names=is_table(scores),
    )
    if least >= 0.0 and total > 0.0 and same_total:
        form = "probabilities" if abs(total - 1.0) <= SUM_TOLERANCE else f"parts of {total:g}"
        served = replace(
            served, scores=scores, are_proportions=True, form=form, confidence=top / totals
        )
    elif least >= 0.0 and top.max() <= 1.0:
        # Each class on its own scale: how sure the answer is, these do not say.
        served = replace(served, form="scores from 0 to 1, whose rows do not add up to 1")
    else:
        # The softmax of log-probabilities is the probabilities themselves.
        served = replace(served, scores=scores, form="scores")
        confidence = np.empty(n_rows)
        for rows in row_blocks(n_rows, 8 * n_classes):
            confidence[rows] = served.probabilities(rows).max(axis=1)
        served = replace(served, confidence=confidence)
    return served if threshold is None else _at_threshold(served, scores, threshold, second)


def _at_threshold(
    served: ServedPredictions, scores: Any, threshold: float, second: str | None
) -> ServedPredictions:
    """Return the answers of two classes at a threshold of the second one."""
    if len(served.names) != 2:
        got = f"{threshold:g} for {len(served.names)} classes"
        remedy = "With more than two the answer is the class of the largest score."
        raise ArgumentValueError("threshold", "None unless there are two classes", got, remedy)
    column = served.names.index(second) if second in served.names else 1
    everything = slice(None)
    if served.has_probabilities:
        values = served.probabilities(everything)[:, column]
    else:
        values = rows_of(scores, everything)[:, column]
    is_second = values >= threshold
    codes = np.where(is_second, column, 1 - column)
    confidence = None
    if served.has_probabilities:
        confidence = np.where(is_second, values, 1.0 - values)
    return replace(served, codes=codes, confidence=confidence, n_tied=0)


def second_class(
    values: FloatArray,
    argument: str,
    names: tuple[str, ...],
    threshold: float | None,
    *,
    form: ColumnForm,
) -> ServedPredictions:
    """Read a column of probabilities of the second of two classes, or of margins.

    The answer is the second class where the probability is above one half, the margin positive, or either at least
    the threshold.
    """
    is_probability = form == "probability"
    # between both classes, where the first one is the answer
    middle = 0.5 if is_probability else 0.0
    is_second = values > middle if threshold is None else values >= threshold
    served = ServedPredictions(
        argument=argument,
        names=names,
        codes=is_second.astype(np.int64),
        n_tied=int((values == middle).sum()) if threshold is None else 0,
        form=f"scores of {names[1]}",
        has_columns=True,
    )
    if not is_probability:
        return served
    return replace(
        served,
        scores=values,
        confidence=np.where(is_second, values, 1.0 - values),
        form=f"the probability of {names[1]}",
    )


def _check_block(block: FloatArray, argument: str, first_row: int, names: Sequence[str]) -> None:
    """Refuse NaN and plus infinity; a score of minus infinity is a probability of 0."""
    bad = np.isnan(block) | (block == np.inf)
    bad |= (block == -np.inf).all(axis=1, keepdims=True)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        got = f"{block[row, column]:g} in column {names[column]!r}, row {row + first_row}"
        remedy = "Drop these rows, or predict them again."
        raise ArgumentValueError(argument, "free of NaN and infinities", got, remedy)


def one_column(side_values: Any, argument: str) -> FloatArray | None:
    """Return the numbers of a file with a single column of numbers; None for words and for several columns.

    Raises
    ------
    ValueError
        If one is not finite.
    """
    values = side_values.to_numpy() if is_table(side_values) else side_values
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        return None
    # Objects are words, or numbers with gaps.
    if values.dtype == object and not any(isinstance(value, str) for value in values):
        values = np.array(
            [np.nan if value is None else value for value in values], dtype=np.float64
        )
    if values.dtype.kind not in "biuf":
        return None
    numbers: FloatArray = values.astype(np.float64)
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(np.argmax(bad))
        got = f"{numbers[row]:g} at row {row}"
        remedy = "Drop these rows, or predict them again."
        raise ArgumentValueError(argument, "free of NaN and infinities", got, remedy)
    return numbers


def column_form(
    columns: Sequence[FloatArray],
    labels: npt.NDArray[Any] | None,
    *,
    threshold: float | None,
    tolerance: float | None,
) -> ColumnForm:
    """Return what single columns of numbers are: labels, probabilities of one class, margins, or outputs.

    What the caller says decides, then the known labels, then the numbers themselves.

    Parameters
    ----------
    columns : sequence of ndarray
        Those of the old and the new model, or of one of them.
    labels : ndarray or None
        The known labels.
    threshold, tolerance : float, optional
        The first is for classes, the second for a regression.

    Raises
    ------
    ValueError
        If they may be either margins or a regression.
    """
    if tolerance is not None:
        return "outputs"
    distinct = np.unique(np.concatenate(list(columns)))
    measured, many_labels, are_classes = _kind_of_labels(labels)
    is_regression = measured or many_labels
    if (distinct == np.round(distinct)).all():
        if threshold is not None:
            return "margin"
        # Counts and prices have many values, far apart; classes are few, or numbered without gaps.
        span = distinct[-1] - distinct[0] + 1.0
        many = len(distinct) > MOST_CLASSES and span > 2.0 * len(distinct)
        return "outputs" if measured or many else "labels"
    if distinct[0] >= 0.0 and distinct[-1] <= 1.0 and not is_regression:
        return "probability"
    if threshold is not None or are_classes:
        return "margin"
    # Numbers of one sign are no margins, which would always give one answer.
    if is_regression or distinct[0] >= 0.0 or distinct[-1] <= 0.0:
        return "outputs"
    expected = "margins of two classes or outputs of a regression"
    remedy = Wording(
        "Pass ",
        Setting("threshold", 0),
        " where the sign is the answer, or ",
        Setting("tolerance", 0),
        " where the number is.",
    )
    raise ArgumentValueError("old", expected, "numbers that may be either", remedy)


def _kind_of_labels(labels: npt.NDArray[Any] | None) -> tuple[bool, bool, bool]:
    """Return whether labels are measured (fractions), whether they are many values, and whether they are classes."""
    if labels is None or not len(labels):
        return False, False, False
    try:
        distinct = np.unique(labels.astype(np.float64))
    except (TypeError, ValueError):
        return False, False, True  # words
    measured = bool((distinct != np.round(distinct)).any())
    # One or two labels may be of two classes or not.
    many = len(distinct) > 2
    return measured, many, not measured and not many and len(labels) > 2
