"""The questions that both models answered: matched, with their runs, failures and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics._core.validation import first_few
from shiftmetrics.decisions.scores.sides import BY_PLACE, ScoreSide
from shiftmetrics.tables.logs import DIGEST, QUESTION, REPEAT, TASK, LogCells

if TYPE_CHECKING:
    import pandas as pd

NO_RUN = -1

LONGEST_SHOWN = 60
"""Characters of a setting that are shown."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RunScores:
    """The scores of one model for the matched questions.

    Attributes
    ----------
    runs : ndarray of shape (n_questions, n_runs)
        Scores; NaN where a run failed or there was none.
    failed : ndarray of shape (n_questions,)
        How many runs of each question failed.
    """

    runs: FloatArray
    failed: IntArray

    @property
    def n_good(self) -> IntArray:
        """Runs of each question that have a score."""
        return np.asarray(np.isfinite(self.runs).sum(axis=1), dtype=np.int64)

    def means(self, fill: float | None = None) -> FloatArray:
        """Return the mean score of each question, NaN where there is none; failed runs count as ``fill``."""
        total = np.nansum(self.runs, axis=1)
        n_runs = self.n_good.astype(np.float64)
        if fill is not None:
            total = total + fill * self.failed
            n_runs = n_runs + self.failed
        means = np.full(len(total), np.nan)
        np.divide(total, n_runs, out=means, where=n_runs > 0)
        return means


@dataclass(frozen=True, eq=False, kw_only=True)
class ScorePair:
    """The questions that both models answered.

    Attributes
    ----------
    ids, tasks : ndarray of shape (n_questions,)
        Names of each question and of its task.
    groups : ndarray of int or None
        Number of the cluster of each question.
    group_names : tuple of str
        Names of the clusters, by their numbers.
    old, new : RunScores
    notes, warnings : tuple of str
        What was said on the way.
    """

    ids: npt.NDArray[Any]
    tasks: npt.NDArray[Any]
    groups: IntArray | None
    group_names: tuple[str, ...] = ()
    old: RunScores
    new: RunScores
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def both(self) -> BoolArray:
        """The questions with a score of both models."""
        return (self.old.n_good > 0) & (self.new.n_good > 0)


def matched_questions(old: ScoreSide, new: ScoreSide, *, inner: bool) -> ScorePair:
    """Match the questions of two models.

    Raises
    ------
    ValueError
        If questions cannot be matched for certain, if one stands in one table alone, or twice with other scores.
    """
    notes: list[str] = []
    warnings: list[str] = []
    _check_places(old, new)
    old_keys, new_keys = _keys(old, new, notes)
    old_rows = _single_rows(old, old_keys, notes)
    new_rows = _single_rows(new, new_keys, notes)
    known_old = dict.fromkeys(old_rows["key"])
    known_new = dict.fromkeys(new_rows["key"])
    kept = [key for key in known_old if key in known_new]
    if not kept:
        raise ArgumentValueError(
            "old and new",
            "of the same questions",
            f"none in both ({first_few(_shown(known_old), 2)} and {first_few(_shown(known_new), 2)})",
            _remedy_of_ids(old, new),
        )
    _check_alone(old, new, known_old, known_new, inner, notes)
    numbers = {key: place for place, key in enumerate(kept)}
    # A key may be a digest of what was asked: people know the question by the old log's id.
    first = old_rows.drop_duplicates("key").set_index("key").loc[kept]
    groups, group_names = _groups(old_rows, new_rows, kept)
    return ScorePair(
        ids=first[QUESTION].to_numpy(object),
        tasks=first[TASK].to_numpy(object),
        groups=groups,
        group_names=group_names,
        old=_runs(old_rows, numbers),
        new=_runs(new_rows, numbers),
        notes=tuple(notes),
        warnings=tuple(warnings + _said(old, new)),
    )


def _check_places(old: ScoreSide, new: ScoreSide) -> None:
    if not old.by_place and not new.by_place:
        return
    # By place only where both sides are read so, with as many rows, and a single column leaves
    # nothing that could name questions, or the user said that the place is the name.
    has_one_column = len(old.cells.frame.columns) == len(new.cells.frame.columns) == 1
    is_equal = len(old.table) == len(new.table)
    is_known = has_one_column or old.place_is_named
    if old.by_place and new.by_place and is_equal and is_known:
        return
    remedy = Wording("Name the column of the questions by ", Setting("ids"), ".")
    if old.by_place and new.by_place and is_equal:
        remedy = Wording(
            "Name the column of the questions by ", Setting("ids"), ", or pass ", Setting("ids", BY_PLACE),
            " where the same row is the same question in both.",
        )  # fmt: skip
    got = f"{len(old.table):,} and {len(new.table):,} rows without one"
    raise ArgumentValueError("old and new", "with an id for each question", got, remedy)


def _keys(
    old: ScoreSide, new: ScoreSide, notes: list[str]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the task and the name of the question of each row, so that equal ones are the same question."""
    # A single task may be named after its file.
    one_task = old.table[TASK].nunique() == 1 and new.table[TASK].nunique() == 1
    sides = []
    for side in (old, new):
        tasks = [""] * len(side.table) if one_task else side.table[TASK].tolist()
        sides.append((tasks, side.table[QUESTION].tolist(), side.table[DIGEST].tolist()))
    by_id = [list(zip(tasks, ids, strict=True)) for tasks, ids, _ in sides]
    if old.table[DIGEST].isna().any() or new.table[DIGEST].isna().any():
        return by_id[0], by_id[1]
    digests: list[dict[tuple[str, str], set[str]]] = []
    for keys, (_, _, found) in zip(by_id, sides, strict=True):
        known: dict[tuple[str, str], set[str]] = {}
        for key, digest in zip(keys, found, strict=True):
            known.setdefault(key, set()).add(digest)
        digests.append(known)
    shared = digests[0].keys() & digests[1].keys()
    is_single = all(len(found) == 1 for known in digests for found in known.values())
    others = [key for key in shared if digests[0][key] != digests[1][key]]
    # An id is one question in each log, and those that both have are of the same question.
    if is_single and shared and not others:
        return by_id[0], by_id[1]
    # The ids count something else in either log: the questions themselves must tell.
    for known in digests:
        # Where a question stands under two ids of one task, what was asked cannot tell these apart.
        n_names = sum(len(found) for found in known.values())
        n_questions = len({(key[0], digest) for key, found in known.items() for digest in found})
        if n_names != n_questions:
            raise ArgumentValueError(
                "old and new",
                "of the same questions",
                f"other questions under the same ids, such as {others[0][1] if others else ''!r}",
                _remedy_of_ids(old, new),
            )
    notes.append("Questions are matched by what was asked: the ids of both logs differ.")
    by_digest = [list(zip(tasks, found, strict=True)) for tasks, _, found in sides]
    return by_digest[0], by_digest[1]


def _remedy_of_ids(old: ScoreSide, new: ScoreSide) -> Wording:
    """Say how questions are named: by their ids where logs share these, though what was asked is worded anew."""
    is_log = isinstance(old.cells, LogCells) and isinstance(new.cells, LogCells)
    if not is_log or set(old.table[QUESTION]) != set(new.table[QUESTION]):
        return Wording("Name a field of the questions by ", Setting("ids"), ".")
    return Wording(
        "Name a field of the questions by ", Setting("ids"), ", or pass ", Setting("ids", QUESTION),
        " where an id is the same question in both, worded anew.",
    )  # fmt: skip


def _single_rows(side: ScoreSide, keys: list[tuple[str, str]], notes: list[str]) -> pd.DataFrame:
    """Return the rows, equal doubled ones once.

    Raises
    ------
    ValueError
        If a question stands twice with other scores, and nothing says that these are repeats.
    """
    table = side.table.copy()
    table["key"] = keys
    marked = table.duplicated(["key", REPEAT], keep=False)
    if not marked.any():
        return table
    doubled = table[marked].groupby(["key", REPEAT], sort=False)["score"]
    # A gap counts as a value: a failed answer beside a score is another one.
    differs = doubled.nunique(dropna=False) > 1
    if differs.any():
        (_, question), repeat = differs.index[int(np.flatnonzero(differs.to_numpy())[0])]
        asked = table.loc[[key[1] == question for key in keys], QUESTION].iloc[0]
        n_differ = int(differs.sum())
        raise ArgumentValueError(
            side.argument,
            "one score for each question" + (" and repeat" if repeat else ""),
            f"several scores of {n_differ:,} of them, such as {str(asked)[:40]!r}",
            "Take the log of one run, or give the runs numbers in a column repeat.",
            verb="have",
        )
    once = table[~table.duplicated(["key", REPEAT])]
    notes.append(
        f"{len(table) - len(once):,} rows of {side.argument} stand twice with equal scores and count once."
    )
    return once


def _shown(keys: Any) -> list[str]:
    return [key[1][:40] for key in keys]


def _check_alone(
    old: ScoreSide,
    new: ScoreSide,
    known_old: dict[Any, None],
    known_new: dict[Any, None],
    inner: bool,
    notes: list[str],
) -> None:
    """Refuse questions that one model alone was asked, or say that they are left out."""
    only_old = [key for key in known_old if key not in known_new]
    only_new = [key for key in known_new if key not in known_old]
    if not only_old and not only_new:
        return
    got = f"{len(only_old):,} in {old.argument} alone and {len(only_new):,} in {new.argument} alone"
    if inner:
        notes.append(f"Left out: questions {got}.")
        return
    names = first_few(_shown(only_old + only_new), 2)
    stopped = "".join(f" {text}" for text in _stopped(old, new))
    remedy = Wording(
        "Pass ", Setting("inner", True), " to leave them out, or a field that names them by ",
        Setting("ids"), f".{stopped}",
    )  # fmt: skip
    raise ArgumentValueError("old and new", "of the same questions", f"{got} ({names})", remedy)


def _stopped(*sides: ScoreSide) -> list[str]:
    found = []
    for side in sides:
        if isinstance(side.cells, LogCells):
            found += [f"{side.argument}: {text}" for text in side.cells.warnings]
    return found


def _said(old: ScoreSide, new: ScoreSide) -> list[str]:
    """Name runs that were stopped, and settings that differ: they belong above a verdict."""
    found = _stopped(old, new)
    other_tasks = dict.fromkeys((*old.other_tasks, *new.other_tasks))
    if other_tasks:
        # a verdict on some of the tasks must not be read as one on all of them
        found.append(
            f"the verdict is on {old.score} alone and says nothing of the tasks without it: "
            f"{first_few(list(other_tasks), 5, show=str)}; "
            "compare each by a score of its own"
        )
    if isinstance(old.cells, LogCells) and isinstance(new.cells, LogCells):
        first = old.cells.settings
        second = new.cells.settings
        for name in dict.fromkeys([*first, *second]):
            before = first.get(name, "not given")
            after = second.get(name, "not given")
            if before != after:
                # long ones are named alone: their beginnings may be equal
                is_short = max(len(before), len(after)) <= LONGEST_SHOWN
                found.append(f"{name} differs{f': {before} > {after}' if is_short else ''}.")
    return found


def _groups(
    old: pd.DataFrame, new: pd.DataFrame, kept: list[Any]
) -> tuple[IntArray | None, tuple[str, ...]]:
    """Return the number of the cluster of each question, and the names of the clusters.

    Raises
    ------
    ValueError
        If a question lies in several groups, or a group in several tasks.
    """
    if old["group"].isna().all():
        return None, ()
    known: dict[Any, str] = {}
    tasks: dict[str, str] = {}
    wanted = set(kept)
    for table in (old, new):
        for key, group in zip(table["key"], table["group"], strict=True):
            if key not in wanted:
                continue
            if known.setdefault(key, group) != group:
                got = f"{known[key]!r} and {group!r} for {key[1][:40]!r}"
                raise ArgumentValueError("groups", "one group for each question", got, verb="have")
            if tasks.setdefault(group, key[0]) != key[0]:
                got = f"{group!r} in {tasks[group]!r} and {key[0]!r}"
                remedy = "Name them differently, or compare one task."
                raise ArgumentValueError("groups", "within one task each", got, remedy, verb="lie")
    names, codes = np.unique([known[key] for key in kept], return_inverse=True)
    return np.asarray(codes.ravel(), dtype=np.int64), tuple(map(str, names))


def _runs(rows: pd.DataFrame, numbers: dict[Any, int]) -> RunScores:
    """Return the scores of each question, one column a run."""
    places = np.array([numbers.get(key, NO_RUN) for key in rows["key"]])
    scores = rows["score"].to_numpy(np.float64)[places != NO_RUN]
    places = places[places != NO_RUN]
    order = np.argsort(places, kind="stable")
    places = places[order]
    counts = np.bincount(places, minlength=len(numbers))
    # The place of each run among those of its question.
    starts = np.cumsum(counts) - counts
    run = np.arange(len(places)) - starts[places]
    runs = np.full((len(numbers), int(counts.max())), np.nan)
    runs[places, run] = scores[order]
    failed = counts - np.isfinite(runs).sum(axis=1)
    return RunScores(runs=runs, failed=failed)
