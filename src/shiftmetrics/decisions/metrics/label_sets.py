"""Predictions of several labels a row: tables of 0 and 1 with a column for each label, and a score of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.decisions.metrics.effects import MetricEffects, effects_on_mean
from shiftmetrics.decisions.metrics.records import MovingRows
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.python import cells_of

if TYPE_CHECKING:
    import pandas as pd

BOOLEANS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}

INDEX = "index"

ID_NAMES = ("id", "row_id", "sample_id", "key", INDEX)
"""Columns that name the rows, the first that all tables have."""

BY_PLACE = "none"
"""How rows by their place are typed in place of a column of ids."""


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
    """

    ids: npt.NDArray[Any]
    names: tuple[str, ...]
    truth: BoolArray
    old: BoolArray
    new: BoolArray
    groups: npt.NDArray[Any] | None
    found: tuple[str, ...]

    @property
    def clusters(self) -> IntArray | None:
        """The number of the group of each row."""
        if self.groups is None:
            return None
        _, codes = np.unique(self.groups, return_inverse=True)
        return np.asarray(codes.ravel(), dtype=np.int64)


def read_label_sets(old: Any, new: Any, labels: Any, ids: Any, groups: Any) -> LabelSets:
    """Return three tables of 0 and 1, row by row.

    Raises
    ------
    TypeError, ValueError
        If a table is missing, rows or labels differ, or a cell is neither 0 nor 1.
    """
    given = {"old": old, "new": new, "labels": labels}
    for argument, value in given.items():
        if value is None or isinstance(value, str):
            expected = "a table with a column of 0 and 1 for each label"
            raise ArgumentValueError(argument, expected, value=value)
    frames = {argument: cells_of(value, argument).frame for argument, value in given.items()}
    for argument, frame in frames.items():
        frames[argument] = frame.set_axis([str(name) for name in frame.columns], axis=1)
    options = RoleOptions(id=ids) if ids is None or isinstance(ids, str) else ids
    group: str | None = options.group
    if isinstance(groups, str):
        group = groups
    key = _key(frames, options.id)
    kept = None
    if key is not None:
        frames, kept = _matched(frames, key, inner=options.inner)
    elif len({len(frame) for frame in frames.values()}) > 1:
        got = first_few([f"{len(frame):,}" for frame in frames.values()], 3, show=str)
        raise ArgumentValueError("old, new and labels", "of equal length without ids", got)
    others = {key, group, *options.exclude}
    if key is not None:
        # the index of a frame whose rows stand in another order
        others.add(INDEX)
    names = _names(frames, others, options.columns)
    first = frames["labels"]
    sides = {argument: _booleans(frame, names, argument) for argument, frame in frames.items()}
    id_words = f"id {key}" if key is not None else "rows by their place"
    ids_found = first.index.to_numpy() if key is None else first[key].to_numpy(object)
    return LabelSets(
        ids=ids_found,
        names=tuple(names),
        truth=sides["labels"],
        old=sides["old"],
        new=sides["new"],
        groups=_groups(frames, groups, group, kept),
        found=(f"Read label sets: {id_words}, labels {first_few(names, 8, show=str)}.",),
    )


def _key(frames: dict[str, pd.DataFrame], name: str | None) -> str | None:
    """Return the column of ids: that which is named, or the first known name in all tables."""
    if name == BY_PLACE:
        return None
    known = ID_NAMES if name is None else (name,)
    for column in known:
        if all(column in frame for frame in frames.values()):
            return column
    if name is not None:
        lacking = [argument for argument, frame in frames.items() if name not in frame]
        got = f"{name!r}, which {first_few(lacking, 3, show=str)} lacks"
        raise ArgumentValueError("ids", "a column of all tables", got)
    return None


def _matched(
    frames: dict[str, pd.DataFrame], key: str, *, inner: bool
) -> tuple[dict[str, pd.DataFrame], IntArray]:
    """Return the rows of each table in one order, and where they stand in the labels."""
    places = {}
    for argument, frame in frames.items():
        names = frame[key].map(str)
        doubled = names[names.duplicated()]
        if len(doubled):
            got = f"{doubled.iloc[0]!r} twice"
            raise ArgumentValueError(argument, f"one row for each {key}", got, verb="have")
        places[argument] = {name: place for place, name in enumerate(names)}
    shared = [name for name in places["labels"] if name in places["old"] and name in places["new"]]
    alone = {argument: len(found) - len(shared) for argument, found in places.items()}
    if any(alone.values()) and not inner:
        text = [f"{n:,} more in {argument}" for argument, n in alone.items() if n]
        remedy = "--inner compares the rows of all."
        raise ArgumentValueError(
            "old, new and labels", "of the same rows", first_few(text, 3, show=str), remedy
        )
    if not shared:
        raise ArgumentValueError("old, new and labels", "of the same rows", "none in all of them")
    rows = {argument: [found[name] for name in shared] for argument, found in places.items()}
    matched = {argument: frames[argument].iloc[rows[argument]] for argument in frames}
    return matched, np.array(rows["labels"])


def _names(
    frames: dict[str, pd.DataFrame], others: set[str | None], named: tuple[str, ...] | None
) -> list[str]:
    """Return the columns of the labels."""
    sides = {
        argument: [name for name in frame.columns if name not in others]
        for argument, frame in frames.items()
    }
    names = list(named) if named is not None else sides["labels"]
    for argument, columns in sides.items():
        lacking = [name for name in names if name not in columns]
        more = [name for name in columns if name not in names] if named is None else []
        if lacking or more:
            got = f"{first_few(lacking or more, 3, show=str)} {'missing' if lacking else 'more'}"
            remedy = "Besides ids, groups and labels a table has nothing else."
            raise ArgumentValueError(argument, "of the columns of the labels", got, remedy)
    if len(names) < 2:
        got = f"{len(names)}: {first_few(names, 3, show=str)}"
        raise ArgumentValueError("labels", "several columns, one for each label", got, verb="have")
    return names


def _booleans(frame: pd.DataFrame, names: list[str], argument: str) -> BoolArray:
    found = np.empty((len(frame), len(names)), dtype=bool)
    for place, name in enumerate(names):
        words = frame[name].map(lambda value: BOOLEANS.get(str(value).strip().lower()))
        wrong = words.isna().to_numpy()
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            got = f"{str(frame[name].iloc[row])[:40]!r} in row {row}"
            raise ArgumentValueError(f"{argument}[{name!r}]", "0 and 1", got, verb="hold")
        found[:, place] = words.to_numpy(bool)
    return found


def _groups(
    frames: dict[str, pd.DataFrame], given: Any, column: str | None, kept: IntArray | None
) -> npt.NDArray[Any] | None:
    if column is not None:
        for frame in frames.values():
            if column in frame:
                return np.asarray(frame[column].map(str), dtype=object)
        raise ArgumentValueError("groups", "a column of one of the tables", value=column)
    if given is None:
        return None
    values = np.array([str(value) for value in np.asarray(given).ravel()], dtype=object)
    n = len(frames["labels"])
    # as the labels stand, of which some rows may be left out
    if kept is not None and len(values) > int(kept.max()):
        return np.asarray(values[kept])
    if len(values) != n:
        raise ArgumentValueError("groups", f"one value for each of {n:,} rows", f"{len(values):,}")
    return values


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


def effects_on_sets(name: str, sets: LabelSets) -> MetricEffects:
    """Return the effects on the mean score of the rows: one more row may gain or lose all of it."""
    old, new = (
        effects_on_mean(set_scores(name, sets.truth, answers)) for answers in (sets.old, sets.new)
    )
    return MetricEffects(old=old, new=new, reach=1.0, rarest=len(sets.truth))


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
