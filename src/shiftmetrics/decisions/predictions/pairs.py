"""Two files of predictions as one pair: the same rows, classes in one numbering, labels and groups beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.decisions.predictions.predictions import ServedPredictions
from shiftmetrics.tables.prediction_tables import TakenRows
from shiftmetrics.tables.reading import TableReading
from shiftmetrics.tables.stored_words import StoredIds


@dataclass(frozen=True, kw_only=True)
class MatchedRows:
    """What two files have in common, whatever they predict.

    Attributes
    ----------
    ids : ndarray of shape (n_samples,) or StoredIds
        Of the rows that both have, or their positions.
    old_rows, new_rows : ndarray of shape (n_samples,) or slice
        Their positions in both files; a slice where these are all rows in their order.
    known : ndarray of shape (n_samples,)
        Whether a row has a label.
    group : ndarray of shape (n_samples,) or None
        The group of each row.
    group_name : str
    plan : str or None
        The plan that the labels belong to, as their file says.
    reading : TableReading
        What the columns were taken for.
    warnings : tuple of str
    beside : tuple of two mappings of str to Series
        Columns of both files that are no prediction, id or label, with all their rows.
    """

    ids: npt.NDArray[Any] | StoredIds
    old_rows: TakenRows
    new_rows: TakenRows
    known: BoolArray
    reading: TableReading
    group: npt.NDArray[Any] | None = None
    group_name: str = "group"
    plan: str | None = None
    warnings: tuple[str, ...] = ()
    beside: tuple[Mapping[str, Any], ...] = ({}, {})

    def columns_of(self, rows: IntArray) -> dict[str, npt.NDArray[Any]]:
        """Return what both files say beside the predictions of some matched rows, each column once.

        Of two columns of one name that hold the same in these rows, one is returned; of others, both, as ``old_NAME``
        and ``new_NAME``.
        """
        sides = []
        for columns, own in zip(self.beside, (self.old_rows, self.new_rows), strict=True):
            places = rows if isinstance(own, slice) else own[rows]
            sides.append({name: column.iloc[places].array for name, column in columns.items()})
        old, new = sides
        found = {}
        for name, cells in old.items():
            if name in new and not cells.equals(new[name]):
                found[f"old_{name}"] = cells
                found[f"new_{name}"] = new[name]
            else:
                found[name] = cells
        found.update({name: cells for name, cells in new.items() if name not in old})
        return found

    def taken(self, rows: IntArray) -> MatchedRows:
        """Return some of the rows alone."""
        beside = []
        for columns, own in zip(self.beside, (self.old_rows, self.new_rows), strict=True):
            places = rows if isinstance(own, slice) else own[rows]
            beside.append({name: column.iloc[places] for name, column in columns.items()})
        return replace(
            self,
            ids=np.asarray(self.ids[rows]),
            old_rows=slice(None),
            new_rows=slice(None),
            known=self.known[rows],
            group=None if self.group is None else self.group[rows],
            beside=tuple(beside),
        )


@dataclass(frozen=True, kw_only=True)
class ClassPair:
    """The answers of two classifiers to the same rows.

    Attributes
    ----------
    rows : MatchedRows
    classes : ndarray of shape (n_classes,)
        Names of the classes of both.
    old, new : ServedPredictions
        In the order of their own files and classes.
    old_codes, new_codes : ndarray of shape (n_samples,)
        The answers, as positions in ``classes``.
    labels : ndarray of shape (n_samples,)
        The known labels as positions in ``classes``, -1 elsewhere.
    threshold : float or None
        From which the second class of two is the answer.
    """

    rows: MatchedRows
    classes: npt.NDArray[Any]
    old: ServedPredictions
    new: ServedPredictions
    old_codes: IntArray
    new_codes: IntArray
    labels: IntArray
    threshold: float | None = None

    @property
    def changed(self) -> BoolArray:
        """Rows in which the answer changes."""
        return np.asarray(self.old_codes != self.new_codes)

    def taken(self, rows: IntArray) -> ClassPair:
        """Return some of the rows alone."""
        return replace(
            self,
            rows=self.rows.taken(rows),
            old=self.old.taken(self.places(self.old, rows)),
            new=self.new.taken(self.places(self.new, rows)),
            old_codes=self.old_codes[rows],
            new_codes=self.new_codes[rows],
            labels=self.labels[rows],
        )

    def without_scores(self) -> ClassPair:
        """Return the answers with their confidence alone: all that is asked of single rows in the end."""
        return replace(self, old=replace(self.old, scores=None), new=replace(self.new, scores=None))

    @property
    def forms(self) -> tuple[str, ...]:
        """How the predictions were read, for people."""
        if self.old.form == self.new.form:
            return (f"the predictions as {self.old.form}", *self._ties())
        return f"old as {self.old.form}", f"new as {self.new.form}", *self._ties()

    def _ties(self) -> tuple[str, ...]:
        """Say which side tied scores are on; a threshold of one half would put them on the other."""
        n_tied = self.old.n_tied + self.new.n_tied
        if self.threshold is not None or not n_tied:
            return ()
        things = f"{n_tied:,} prediction{'' if n_tied == 1 else 's'}"
        if len(self.old.names) == 2 and self.old.confidence is not None:
            first, second = self.old.names
            other = f"threshold 0.5 takes {'it' if n_tied == 1 else 'them'} for {second}"
            return (f"{things} with both classes at one half for {first}; {other}",)
        return (f"{things} with tied scores for the first of the tied classes",)

    def places(self, side: ServedPredictions, rows: TakenRows) -> TakenRows:
        """Return where some of the matched rows stand in the file of one side."""
        own = self.rows.old_rows if side is self.old else self.rows.new_rows
        return rows if isinstance(own, slice) else own[rows]

    def confidence(self, side: ServedPredictions, rows: IntArray) -> FloatArray | None:
        """Return the confidence of one side in some of the matched rows."""
        return None if side.confidence is None else side.confidence[self.places(side, rows)]

    @cached_property
    def _columns_of_new(self) -> list[int]:
        """Where the classes of the old model stand among those of the new one."""
        places = {name: place for place, name in enumerate(self.new.names)}
        return [places[name] for name in self.old.names]

    def probabilities(self, side: ServedPredictions, rows: TakenRows) -> FloatArray:
        """Return the probabilities of one side in some of the matched rows, in the old one's order of classes."""
        found = side.probabilities(self.places(side, rows))
        # mostly both have one order, and nothing is copied
        if side.names == self.old.names:
            return found
        return found[:, self._columns_of_new]


@dataclass(frozen=True, kw_only=True)
class OutputPair:
    """The outputs of two regressions on the same rows.

    Attributes
    ----------
    rows : MatchedRows
    old_outputs, new_outputs : ndarray of shape (n_samples,)
    labels : ndarray of shape (n_samples,)
        True values; NaN where they are not known.
    tolerance : float
        Largest change that does not count.
    """

    rows: MatchedRows
    old_outputs: FloatArray
    new_outputs: FloatArray
    labels: FloatArray
    tolerance: float

    @property
    def changed(self) -> BoolArray:
        """Rows in which the output changes by more than the tolerance."""
        return np.asarray(np.abs(self.new_outputs - self.old_outputs) > self.tolerance)

    @property
    def forms(self) -> tuple[str, ...]:
        """How the predictions were read, for people."""
        return ("the predictions as outputs of a regression",)
