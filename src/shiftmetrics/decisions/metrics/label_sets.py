"""Predictions of several labels a row: tables of 0 and 1 with a column for each label, and a score of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, to_numpy
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.decisions.metrics.effects import MetricEffects, effects_on_mean
from shiftmetrics.decisions.metrics.records import MovingRows
from shiftmetrics.decisions.predictions.reading import PairArguments, with_ids
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.label_columns import LabelColumns, read_label_columns
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.python import cells_of


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelSets:
    """Which labels each row has, and which ones both models give it.

    Attributes
    ----------
    ids : ndarray of shape (n_samples,)
    names : tuple of str
        The labels.
    truth, old, new : ndarray of bool of shape (n_samples, n_labels)
    groups : ndarray of shape (n_samples,) or None
        Which rows depend on each other.
    found : tuple of str
        What was taken for what.
    warnings : tuple of str
        What speaks against this reading.
    """

    ids: npt.NDArray[Any]
    names: tuple[str, ...]
    truth: BoolArray
    old: BoolArray
    new: BoolArray
    groups: npt.NDArray[Any] | None
    found: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def clusters(self) -> IntArray | None:
        """The number of the group of each row."""
        if self.groups is None:
            return None
        _, codes = np.unique(self.groups, return_inverse=True)
        return np.asarray(codes.ravel(), dtype=np.int64)


def read_label_sets(old: Any, new: Any, labels: Any, ids: Any, groups: Any) -> LabelSets:
    """Return three tables of 0 and 1, row by row, matched as all other files.

    Raises
    ------
    TypeError, ValueError
        If a table is missing, rows or labels differ, or a cell is neither 0 nor 1.
    """
    given = {"old": old, "new": new, "labels": labels}
    for argument, value in given.items():
        # A column of a table, which is enough elsewhere, cannot hold several labels a row.
        if value is None or isinstance(value, str):
            expected = "a table with a column of 0 and 1 for each label"
            raise ArgumentValueError(argument, expected, value=value)
    arguments = PairArguments(ids=ids, groups=groups)
    options = arguments.options(is_command=isinstance(old, Cells))
    _check_options(options)
    files = [cells_of(value, argument) for argument, value in given.items()]
    if ids is not None and not isinstance(ids, str | RoleOptions):
        own = np.asarray(to_numpy(ids))
        files = [with_ids(cells, own) for cells in files]
    read = read_label_columns(files[:2], files[2], options)
    n_unknown = int((~read.known).sum())
    if n_unknown:
        got = f"none for {n_unknown:,} of {len(read.known):,} rows"
        raise ArgumentValueError("labels", "given for each row, as a metric needs", got)
    return LabelSets(
        ids=read.ids,
        names=read.names,
        truth=read.truth,
        old=read.files[0],
        new=read.files[1],
        groups=_groups(read, groups, len(files[0].frame)),
        found=tuple(read.reading.sentences()),
        warnings=read.reading.warnings,
    )


def _check_options(options: RoleOptions) -> None:
    """Check that nothing was typed that several labels a row have no use for."""
    fields = ("label", "prediction", "weight", "old", "new", "reading", "classes", "threshold")
    for name in fields:
        value = getattr(options, name)
        if value is not None:
            typed = options.typed("--columns", ("A", "B"))
            remedy = f"The labels are the columns of 0 and 1 that all three tables have: {typed} names some."
            expected = "left out where rows have several labels"
            raise ArgumentValueError(name, expected, value=value, remedy=remedy)


def _groups(read: LabelColumns, groups: Any, n_rows: int) -> npt.NDArray[Any] | None:
    """Return the group of each matched row, as text."""
    values = read.group
    if groups is not None and not isinstance(groups, str):
        given = np.asarray(to_numpy(groups), dtype=object)
        if given.shape != (n_rows,):
            expected = f"one for each of the {n_rows:,} rows of old"
            raise ArgumentValueError("groups", expected, f"shape {given.shape}")
        values = given[read.first_rows]
    if values is None:
        return None
    missing = np.array([value is None or value != value for value in values], dtype=bool)
    if missing.any():
        got = f"{int(missing.sum()):,} without one, the first at row {int(np.argmax(missing))}"
        raise ArgumentValueError("groups", "given in each row", got)
    return np.array([str(value) for value in values], dtype=object)


def set_scores(name: str, truth: BoolArray, answers: BoolArray) -> FloatArray:
    """Return the score of each row as scikit-learn takes it: 0 where both sets are empty, but for an exact match."""
    hits = (truth & answers).sum(axis=1).astype(np.float64)
    if name == "exact_match":
        return np.asarray((truth == answers).all(axis=1), dtype=np.float64)
    if name == "neg_hamming_loss":
        return np.asarray(-(truth != answers).mean(axis=1))
    n_true = truth.sum(axis=1).astype(np.float64)
    n_given = answers.sum(axis=1).astype(np.float64)
    below = {
        "jaccard_samples": n_true + n_given - hits,
        "f1_samples": 0.5 * (n_true + n_given),
        "precision_samples": n_given,
        "recall_samples": n_true,
    }[name]
    return np.asarray(np.divide(hits, below, out=np.zeros_like(hits), where=below > 0.0))


def effects_on_sets(name: str, truth: BoolArray, old: BoolArray, new: BoolArray) -> MetricEffects:
    """Return the effects on the mean score of the rows: one more row may gain or lose all of it."""
    sides = [effects_on_mean(set_scores(name, truth, answers)) for answers in (old, new)]
    return MetricEffects(old=sides[0], new=sides[1], reach=1.0, rarest=len(truth))


def moving_sets(sets: LabelSets, effects: MetricEffects) -> MovingRows:
    """Return the rows whose labels change, those that cost most first."""
    changed = np.flatnonzero((sets.old != sets.new).any(axis=1))
    moved = effects.moved[changed] / max(len(sets.truth) - 1, 1)
    order = np.argsort(moved, kind="stable")
    changed = changed[order]
    words = [
        np.array([_in_words(sets.names, side[row]) for row in changed], dtype=object)
        for side in (sets.truth, sets.old, sets.new)
    ]
    return MovingRows(
        position=changed,
        id=sets.ids[changed],
        label=words[0],
        old=words[1],
        new=words[2],
        effect=moved[order],
    )


def _in_words(names: tuple[str, ...], has: BoolArray) -> str:
    return " + ".join(names[place] for place in np.flatnonzero(has)) or "none"
