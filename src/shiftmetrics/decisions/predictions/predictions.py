"""What one model predicts, as it is served: the class of the largest score, the first of equal ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.class_names import sort_key
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.probabilities import SUM_TOLERANCE

SCORES = "scores"
SEPARATE = "scores from 0 to 1, whose rows do not add up to 1"
"""Forms of scores that are no parts of a whole."""


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
    scores : ndarray or None
        Where the probabilities come from.
    are_proportions : bool
        Whether scores are divided by the sum of their row, such as probabilities and votes; else
        they are logarithms.
    form : str
        How the file was read, for people.
    has_columns : bool
        Whether there is a column for each class, so that no other class exists.
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

    def taken(self, rows: IntArray | slice) -> ServedPredictions:
        """Return the answers of some rows alone; `n_tied` stays that of all."""
        return replace(
            self,
            codes=self.codes[rows],
            confidence=None if self.confidence is None else self.confidence[rows],
            scores=None if self.scores is None else rows_of(self.scores, rows),
        )

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


def rows_of(scores: FloatArray, rows: IntArray | slice) -> FloatArray:
    """Return some rows of an array as float64."""
    return np.asarray(scores[rows], dtype=np.float64)


def answers_alone(words: npt.NDArray[Any], argument: str) -> ServedPredictions:
    """Read a column of answers: the classes are those that it names, numbers before words."""
    import pandas as pd

    codes, distinct = pd.factorize(words)
    names = sorted((str(name) for name in distinct), key=sort_key)
    places = np.array([names.index(str(name)) for name in distinct], dtype=np.int64)
    return ServedPredictions(argument=argument, names=tuple(names), codes=places[codes])


def class_scores(
    scores: FloatArray,
    argument: str,
    names: tuple[str, ...],
    threshold: float | None = None,
    second: str | None = None,
    *,
    largest: IntArray | None = None,
    like: ServedPredictions | None = None,
) -> ServedPredictions:
    """Read a column of scores for each class: probabilities, percentages, votes, log-probabilities, or any scores.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
    argument : str
        What messages call it.
    names : tuple of str
        The classes of the columns.
    threshold : float, optional
        Two classes: the answer is the second one from this probability on, or this score where they
        are none.
    second : str, optional
        Which class is the second one; by default that of the second column.
    largest : ndarray of shape (n_rows,), optional
        The column of the largest score of each row, the first of equal ones, where it is known.
    like : ServedPredictions, optional
        What the scores are taken for: that of the whole, of which these rows are a part.

    Raises
    ------
    ValueError
        If there is a threshold and more than two classes.
    """
    n_rows, n_classes = scores.shape
    codes = np.empty(n_rows, dtype=np.int64) if largest is None else largest
    top = np.empty(n_rows)
    totals = np.empty(n_rows)
    n_tied = 0
    least = np.inf
    for rows in row_blocks(n_rows, 8 * n_classes):
        block = rows_of(scores, rows)
        if largest is None:
            # NumPy's argmax is the first of equal scores, as torch and scikit-learn serve it.
            codes[rows] = block.argmax(axis=1)
        top[rows] = np.take_along_axis(block, codes[rows, None], axis=1)[:, 0]
        totals[rows] = block.sum(axis=1)
        is_largest = block == top[rows, None]
        # Mostly there is one in each row, and no row is looked at.
        if np.count_nonzero(is_largest) != len(block):
            n_tied += int((is_largest.sum(axis=1) > 1).sum())
        least = min(least, float(block.min()))
    served = ServedPredictions(
        argument=argument,
        names=names,
        codes=codes,
        n_tied=n_tied,
        has_columns=True,
    )
    form = _form_of(least, top, totals) if like is None else like.form
    served = replace(served, form=form)
    if form == SEPARATE:
        # Each class on its own scale: how sure the answer is, these do not say.
        pass
    elif form != SCORES:
        served = replace(served, scores=scores, are_proportions=True, confidence=top / totals)
    else:
        # The softmax of log-probabilities is the probabilities themselves.
        served = replace(served, scores=scores)
        confidence = np.empty(n_rows)
        for rows in row_blocks(n_rows, 8 * n_classes):
            confidence[rows] = served.probabilities(rows).max(axis=1)
        served = replace(served, confidence=confidence)
    return served if threshold is None else _at_threshold(served, scores, threshold, second)


def _form_of(least: float, top: FloatArray, totals: FloatArray) -> str:
    """Return what scores are, by the least of all, the largest of each row, and the sums of the rows."""
    # Rows of one and the same sum are proportions: probabilities, percentages, votes of trees.
    total = totals[0]
    same_total = bool(np.all(np.abs(totals - total) <= SUM_TOLERANCE * abs(total)))
    if least >= 0.0 and total > 0.0 and same_total:
        return "probabilities" if abs(total - 1.0) <= SUM_TOLERANCE else f"parts of {total:g}"
    if least >= 0.0 and top.max() <= 1.0:
        return SEPARATE
    return SCORES


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
    form: str,
) -> ServedPredictions:
    """Read a column of probabilities of the second of two classes, or of margins.

    The answer is the second class where the probability is above one half, the margin positive, or either at least
    the threshold.
    """
    is_probability = form != "margin"
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
