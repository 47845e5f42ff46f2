"""The scores of one model, from a log or a table: a row for each answer, under names that are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.logs import DIGEST, FAILED, MODEL, QUESTION, REPEAT, TASK, LogCells
from shiftmetrics.tables.python import cells_of

if TYPE_CHECKING:
    import pandas as pd

NAMES = {
    "score": ("score",),
    TASK: ("task",),
    QUESTION: (
        "id",
        "question_id",
        "sample_id",
        "doc_id",
        "qid",
        "question",
        "key",
        "index",
        "task_id",
        "instance_id",
        "example_id",
        "custom_id",
        "instruction",
        "user_input",
        "inputs",
        "input",
        "prompt",
        "query",
    ),
    REPEAT: ("repeat", "epoch", "run", "trial"),
    FAILED: ("failed",),
}
"""The columns of a table that are taken by their names, the first that is there."""

BY_PLACE = "none"
"""In place of a column of questions: rows belong together by their place."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreSide:
    """The scores of one model.

    Attributes
    ----------
    argument : str
        What messages call it.
    table : DataFrame
        Columns ``task``, ``id``, ``digest`` (missing if there is none), ``repeat``, ``group``, ``score`` (missing
        where failed), all of them strings but the score; one row an answer.
    score : str
        Name of the score.
    others : tuple of str
        Scores of a log that are not compared.
    by_place : bool
        Whether questions belong together by their place, for want of names.
    place_is_named : bool
        Whether the caller says so.
    cells : Cells
        What it was read from.
    other_tasks : tuple of str
        Tasks of a log without this score, of which no verdict speaks.
    """

    argument: str
    table: pd.DataFrame
    score: str
    others: tuple[str, ...]
    by_place: bool
    cells: Cells
    other_tasks: tuple[str, ...] = ()
    place_is_named: bool = False


def side_of(value: Any, argument: str, scores: str | None, ids: Any, groups: Any) -> ScoreSide:
    """Return the scores of one model from a log, a table or an array.

    Raises
    ------
    TypeError, ValueError
        If a column is missing, or a score is no number.
    """
    import pandas as pd

    cells = cells_of(value, argument)
    frame = cells.frame
    is_log = isinstance(cells, LogCells)
    column = _score_column(cells, argument, scores)
    numbers = _numbers(frame[column], argument, column)
    # Logs call their columns by the roles themselves; tables are searched for usual names.
    failed = _column_of(frame, FAILED, is_log)
    if failed is not None:
        # A failed answer has no score, whatever stands there.
        flags = frame[failed].map(_is_true).to_numpy(bool)
        numbers = np.where(flags, np.nan, numbers)
    taken = {column, failed}
    _check_model(frame, argument, is_log)
    n = len(frame)
    table = pd.DataFrame({"score": numbers})
    by_place = False
    digest = None
    place_is_named = isinstance(ids, str) and ids == BY_PLACE and BY_PLACE not in frame.columns
    # How questions are named: by their place as typed, by a column as typed, by a usual name, or by
    # their place for want of one, which is refused later unless each side is a single column.
    if place_is_named:
        by_place = True
        question = pd.Series(np.arange(n).astype(str), dtype=object)
    elif ids is not None:
        question = _words(frame, ids, argument, "ids")
    else:
        name = _column_of(frame, QUESTION, is_log, taken)
        if name is None:
            by_place = True
            question = pd.Series(np.arange(n).astype(str), dtype=object)
        else:
            question = frame[name].map(_word)
            if question.isna().any():
                place = int(np.flatnonzero(question.isna())[0])
                raise ArgumentValueError(
                    argument, "an id in each row", f"none in row {place}", verb="have"
                )
        if is_log and DIGEST in frame:
            digest = frame[DIGEST]
    table[QUESTION] = question.to_numpy(object)
    table[DIGEST] = None if digest is None else digest.to_numpy(object)
    for role in (TASK, REPEAT):
        name = _column_of(frame, role, is_log, taken)
        table[role] = "" if name is None else frame[name].map(_word).fillna("").to_numpy(object)
    table["group"] = None
    if groups is not None:
        table["group"] = _words(frame, groups, argument, "groups").to_numpy(object)
    others: tuple[str, ...] = ()
    other_tasks: tuple[str, ...] = ()
    if isinstance(cells, LogCells):
        table, other_tasks = _of_tasks_with_score(table, frame[FAILED].to_numpy(bool))
        others = tuple(name for name in cells.scores if name != column)
    return ScoreSide(
        argument=argument,
        table=table,
        score=column,
        others=others,
        by_place=by_place,
        cells=cells,
        other_tasks=other_tasks,
        place_is_named=place_is_named,
    )


def _of_tasks_with_score(
    table: pd.DataFrame, failed: np.ndarray
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Leave out, and name, the tasks of a log that have other scores: their samples did not fail."""
    has_score = table["score"].notna() | failed
    known = has_score.groupby(table[TASK]).any()
    others = tuple(str(name) for name in known.index[~known])
    if not others or known.sum() == 0:
        return table, ()
    return table[~table[TASK].isin(others)].reset_index(drop=True), others


def _column_of(
    frame: pd.DataFrame, role: str, is_log: bool, taken: set[str | None] | None = None
) -> str | None:
    if is_log:
        return role if role in frame else None
    lower = {str(name).lower(): str(name) for name in frame.columns}
    for name in NAMES[role]:
        found = lower.get(name)
        if found is not None and found not in (taken or ()):
            return found
    return None


def _score_column(cells: Cells, argument: str, scores: str | None) -> str:
    frame = cells.frame
    known: Sequence[str] = [str(name) for name in frame.columns]
    if isinstance(cells, LogCells):
        known = cells.scores
    if scores is not None:
        # the tool itself writes "acc,none" where there is no filter
        wanted = scores if scores in known else scores.removesuffix(",none")
        if wanted not in known:
            got = f"{scores!r}, where {argument} has {first_few(known, 8)}"
            raise ArgumentValueError("scores", "the name of a score in both", got)
        return wanted
    if isinstance(cells, LogCells):
        return known[0]
    if len(known) == 1:
        return known[0]
    found = _column_of(frame, "score", False)
    if found is None:
        remedy = Wording("Pass ", Setting("scores"), ".")
        raise ArgumentValueError(
            argument, "a column score", f"{first_few(known, 8)}", remedy, verb="have"
        )
    return found


def _check_model(frame: pd.DataFrame, argument: str, is_log: bool) -> None:
    if not is_log or MODEL not in frame:
        return
    models = list(dict.fromkeys(frame[MODEL]))
    if len(models) > 1:
        option = "--new" if argument == "new" else "--old"
        remedy = (
            f"Name one, such as {option} {models[0]!r}; in Python, log.of_model({models[0]!r})."
        )
        got = f"{len(models)}: {first_few(models, 5, show=str)}"
        raise ArgumentValueError(argument, "the answers of one model", got, remedy, verb="hold")


def _numbers(column: pd.Series, argument: str, name: str) -> np.ndarray:
    """Return scores as numbers, NaN where they are missing."""
    import pandas as pd

    if column.dtype == bool:
        return column.to_numpy(np.float64)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(
        np.float64, na_value=np.nan, copy=True
    )
    wrong = np.isnan(numbers) & column.notna().to_numpy()
    for place in np.flatnonzero(wrong):
        text = str(column.iloc[place]).strip()
        # Some files write the scores 1 and 0 of a check as True and False.
        truth = {"true": 1.0, "false": 0.0}.get(text.lower())
        if truth is not None:
            numbers[place] = truth
        elif text.lower() not in ("", "nan", "na", "n/a", "null", "none"):
            got = f"{text[:40]!r} in row {place}"
            raise ArgumentValueError(f"{argument}[{name!r}]", "numbers", got)
    # One infinite score would make the mean of all questions infinite.
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(np.flatnonzero(infinite)[0])
        raise ArgumentValueError(f"{argument}[{name!r}]", "finite", f"{numbers[row]} in row {row}")
    return numbers


def _words(frame: pd.DataFrame, name: Any, argument: str, option: str) -> pd.Series:
    """Return a named column as words; of a log, the name of a field suffices."""
    import pandas as pd

    if not isinstance(name, str):
        values = np.asarray(name, dtype=object)
        if values.shape != (len(frame),):
            got = f"{values.shape}"
            raise ArgumentValueError(
                option, f"a column, or one value for each of {len(frame)} rows", got
            )
        return pd.Series(values, dtype=object).map(_word)
    columns = [str(column) for column in frame.columns]
    found = [column for column in columns if column == name]
    if not found:
        # Logs keep fields under a prefix, such as about.level, which people leave out.
        found = [column for column in columns if column.rpartition(".")[2] == name]
    if len(found) != 1:
        got = f"{name!r}, where {argument} has {first_few(columns, 10, show=str)}"
        raise ArgumentValueError(option, "the name of a column in both", got)
    words = frame[found[0]].map(_word)
    if words.isna().any():
        place = int(np.flatnonzero(words.isna())[0])
        got = f"none in row {place} of {argument}"
        raise ArgumentValueError(option, f"a value of {name!r} in each row", got, verb="have")
    return words


def _word(value: Any) -> Any:
    """Return a cell as a word: 7.0 and 7 are one question."""
    import pandas as pd

    if pd.isna(value):
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _is_true(value: Any) -> bool:
    return str(value).strip().lower() in ("true", "1", "1.0", "yes")
