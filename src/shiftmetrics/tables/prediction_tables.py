"""What was read: the predictions of several models for the same rows, with the truth beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.tables.evidence import Words
from shiftmetrics.tables.reading import TableReading

PredictionForm = Literal["classes", "answers", "probability", "percentage", "margin", "outputs"]
TakenRows: TypeAlias = IntArray | slice
CodedWords: TypeAlias = tuple[IntArray, tuple[str, ...]]
"""Places of words, -1 in gaps, and the words."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionTable:
    """The predictions of one model.

    Attributes
    ----------
    argument, name : str
        What messages call it, and its file.
    form : str
        "classes": a column of scores for each class; "answers": answers alone; "probability", "percentage",
        "margin": one column that speaks for the second class; "outputs": of a regression.
    rows : ndarray or slice
        The places of the matched rows.
    scores : ndarray of shape (n_rows, n_classes) or (n_rows,), or None
        Of all rows of the file. Percentages are divided by 100.
    classes : tuple of str
        The classes of the columns; two for one column.
    served : ndarray of shape (n_rows,) or None
        The answers of all rows as classes, where the file holds them: they count in place of the largest score.
    confidence : ndarray of shape (n_rows,) or None
    columns : tuple of str
        The columns of the scores.
    threshold : float or None
        From which the second class is the answer.
    """

    argument: str
    name: str
    form: PredictionForm
    rows: TakenRows
    scores: FloatArray | None = None
    classes: tuple[str, ...] = ()
    served: Words | None = None
    confidence: FloatArray | None = None
    columns: tuple[str, ...] = ()
    threshold: float | None = None

    def largest(self) -> Words:
        """Return the class of the largest score of each matched row, the first of equal ones."""
        return np.array(self.classes, dtype=object)[self._codes_of_scores()]

    @cached_property
    def places_of_largest(self) -> IntArray:
        """The column of the largest score of each row of the file, the first of equal ones."""
        assert self.scores is not None
        return largest_places(self.scores)

    def _codes_of_scores(self) -> IntArray:
        """Return the places of the answers of the matched rows among the classes."""
        assert self.scores is not None
        if self.scores.ndim == 2:
            return self.places_of_largest[self.rows]
        scores = self.scores[self.rows]
        if self.threshold is not None:
            return (scores >= self.threshold).astype(np.int64)
        return (scores > self.middle).astype(np.int64)

    def coded_answers(self) -> CodedWords:
        """Return the answers of the matched rows as places among distinct words."""
        if self.served is not None:
            return coded_words(self.served[self.rows])
        return self._codes_of_scores(), self.classes

    @property
    def middle(self) -> float:
        """Where one column stands between both classes."""
        return 0.0 if self.form == "margin" else 0.5

    def answers(self) -> Words:
        """Return the answers of the matched rows, as they were served."""
        if self.served is not None:
            return np.asarray(self.served[self.rows])
        return self.largest()

    def outputs(self) -> FloatArray:
        """Return the outputs of a regression in the matched rows."""
        assert self.scores is not None
        return np.asarray(self.scores[self.rows])


def coded_words(words: Words) -> CodedWords:
    """Return words as places among the distinct ones, -1 in gaps."""
    import pandas as pd

    codes, distinct = pd.factorize(words)
    return codes, tuple(distinct.tolist())


def largest_places(scores: FloatArray) -> IntArray:
    """Return the place of the largest score of each row, the first of equal ones.

    In blocks: of an array that is mapped read-only NumPy's argmax would make a copy.
    """
    found = np.empty(len(scores), dtype=np.int64)
    for rows in row_blocks(len(scores), scores.itemsize * scores.shape[1]):
        found[rows] = scores[rows].argmax(axis=1)
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionTables:
    """The predictions of several models for the same rows.

    Attributes
    ----------
    files : tuple of PredictionTable
    ids : ndarray of shape (n_samples,)
        Of the matched rows, or their places.
    classes : tuple of str
        Of all files and labels; none for a regression.
    truth : ndarray of shape (n_samples,) or None
        True classes as text, None where unknown; numbers, NaN where unknown, for a regression.
    group, weight : ndarray of shape (n_samples,) or None
    plan : str or None
        The plan that the labels belong to.
    reading : TableReading
    beside : tuple of mapping of str to Series
        For each file the columns that are no prediction, id or label: all rows of the file, as they are written.
    """

    files: tuple[PredictionTable, ...]
    ids: Any
    classes: tuple[str, ...] = ()
    truth: Any = None
    group: Any = None
    weight: FloatArray | None = None
    plan: str | None = None
    reading: TableReading
    beside: tuple[Mapping[str, Any], ...] = ()

    @cached_property
    def coded_truth(self) -> CodedWords:
        """The true classes as places among the distinct ones, -1 where unknown."""
        return coded_words(self.truth)

    @cached_property
    def known(self) -> BoolArray:
        """Whether a row has a label."""
        import pandas as pd

        if self.truth is None:
            return np.zeros(len(self.ids), dtype=bool)
        if not self.is_regression:
            return np.asarray(self.coded_truth[0] >= 0)
        return ~np.asarray(pd.isna(self.truth))

    @property
    def is_regression(self) -> bool:
        """Whether the models predict numbers."""
        return any(file.form == "outputs" for file in self.files)
