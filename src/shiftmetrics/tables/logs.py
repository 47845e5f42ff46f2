"""What a log of an evaluation holds: a row for each answer to a question, with its scores."""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from shiftmetrics._core.exceptions import REPR_LENGTH, ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import Content, UnreadableError
from shiftmetrics.tables.options import RoleOptions

TASK = "task"
QUESTION = "id"
DIGEST = "digest"
REPEAT = "repeat"
FAILED = "failed"
MODEL = "model"
ROLES = (TASK, QUESTION, DIGEST, REPEAT, FAILED, MODEL)
"""The columns that a log has, beside its scores and what it says of each question."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LogCells(Cells):
    """The cells of a log: the columns of `ROLES`, one column for each score, and fields of the questions.

    A digest of the question stands beside its id, so that two logs that count other questions from 0
    are told apart. A score that was not given is missing. A row is failed if its tool says that there was an
    error in place of an answer.

    Attributes
    ----------
    tool : str
        Who wrote the log, for sentences.
    scores : tuple of str
        Columns of scores, the one that the tool leads with first.
    lower_is_better : frozenset of str
        Scores of which the tool says so.
    settings : mapping of str to str
        How the evaluation was set: what differs between two logs is named.
    says_repeats : bool
        Whether the log itself numbers several answers to one question.
    warnings : tuple of str
        What must be said above a verdict, such as that the run was stopped.
    """

    tool: str
    scores: tuple[str, ...]
    lower_is_better: frozenset[str] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)
    says_repeats: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """The models whose answers the log holds; empty if it does not name them."""
        return tuple(dict.fromkeys(self.frame[MODEL])) if MODEL in self.frame else ()

    def of_model(self, name: str) -> LogCells:
        """Return the answers of one of the models.

        Raises
        ------
        ValueError
            If the log has none of that name.
        """
        if name not in self.models:
            got = f"{name!r}, where {self.argument} has {first_few(self.models, 5)}"
            raise ArgumentValueError("name", "a model of the log", got)
        table = self.frame[self.frame[MODEL] == name].reset_index(drop=True)
        return dataclasses.replace(self, table=table)


def refuse_logs(files: Sequence[Cells], labels: Cells | None, options: RoleOptions) -> None:
    """Refuse logs where predictions are asked for: their columns are scores of questions, not of classes.

    Raises
    ------
    UnreadableTableError
        If any file is one.
    """
    found = next((one for one in (*files, labels) if isinstance(one, LogCells)), None)
    if found is None:
        return
    scores = first_few(found.scores, 3, show=str)
    remedy = "`shiftmetrics diff OLD NEW` sets two logs against each other."
    if options.style == "python":
        remedy = "`diff_scores(old, new)` sets two logs against each other."
    if found is labels:
        remedy = f"Give {options.typed('--labels', 'FILE')} a table of ids and labels."
    raise UnreadableTableError(
        f"Files must hold predictions of classes or numbers, got a log of {found.tool} in {found}, whose scores of "
        f"questions are {scores}. {remedy}"
    )


def column_of_score(name: str) -> str:
    """Return the column of a score: its name, unless a role has that name."""
    return f"score.{name}" if name in ROLES else name


# made once: it takes as long as a short question
_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, default=str).encode


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector of cycles: it would go through all samples again and again, and a log has no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def digest_of_question(*parts: Any) -> str:
    """Return a digest of what was asked."""
    # texts are long, and need no quotes between signs that no text holds
    are_texts = all(isinstance(part, str) and "\0" not in part for part in parts)
    text = "\0".join(("", *parts)) if are_texts else _encode(parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def number_of(value: Any) -> float | None:
    """Return a score as a number, NaN where it is missing; None if it is something else, such as a pair."""
    if value is None:
        return math.nan
    if isinstance(value, bool | int | float):
        return float(value) if math.isfinite(value) else math.nan
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return None
        return number if math.isfinite(number) else math.nan
    return None


FALLING = (
    "perplexity", "ppl", "bits_per_byte", "bpb", "brier_score", "ter", "wer", "cer", "mae", "mse", "rmse", "loss",
)  # fmt: skip
"""How scores of all tools end of which less is better: the whole name, or what stands after an underscore."""


def has_falling_name(name: str) -> bool:
    """Return True if a score has the name of a loss; what lm-evaluation-harness writes behind a comma is a filter."""
    plain = name.partition(",")[0].lower().replace("-", "_")
    return plain in FALLING or plain.endswith(tuple(f"_{ending}" for ending in FALLING))


def number_of_score(name: str, value: Any) -> float | None:
    """Return a score as a number; a log-likelihood beside its number of units as the perplexity of one question.

    Tools write such pairs to add them up over all questions: their own figure weighs questions by their length.
    """
    pair = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return number_of(value)
    likelihood, n_units = pair
    is_bits = "bits_per_byte" in name
    if not (is_bits or "perplexity" in name) or any(
        isinstance(part, bool) or not isinstance(part, int | float) for part in pair
    ):
        return None
    if not n_units > 0:
        return math.nan
    nats = -likelihood / n_units
    if is_bits:
        return number_of(nats / math.log(2.0))
    # of a text without any likelihood there is no number
    return math.exp(nats) if nats < LARGEST_EXPONENT else math.nan


LARGEST_EXPONENT = 700.0


def is_with_length(value: Any) -> bool:
    """Return True for a score that stands beside the length of its question."""
    return isinstance(value, list | tuple | Mapping)


def counting_alike(names: Iterable[str]) -> tuple[str, ...]:
    """Say of scores that stand beside the lengths of questions that their mean is another figure than the tool's."""
    listed = list(names)
    if not listed:
        return ()
    which = first_few(listed, 5, show=str)
    return (
        f"every question counts alike in {which}: the tool's own total weighs questions by their length",
    )


class NoScoreError(UnreadableError):
    """A log of a tool that is known, without any score of single questions."""


def plain_fields(value: Any, prefix: str) -> dict[str, Any]:
    """Return the fields of an object that are single words or numbers, by names with a prefix."""
    if not isinstance(value, Mapping):
        return {}
    found = {}
    for name, part in value.items():
        is_short = isinstance(part, str) and len(part) <= LONGEST_FIELD
        if part is None or is_short or isinstance(part, bool | int | float):
            found[f"{prefix}.{name}"] = part
    return found


LONGEST_FIELD = 200
"""Longer strings are the texts of questions: they name no group."""


class LogRows:
    """Collects the rows of a log, column by column."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.columns: dict[str, list[Any]] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        """Add one row; a column that it lacks is missing there."""
        for name, value in row.items():
            column = self.columns.get(name)
            if column is None:
                column = [None] * self.n_rows
                self.columns[name] = column
            column.append(value)
        self.n_rows += 1
        for column in self.columns.values():
            if len(column) < self.n_rows:
                column.append(None)

    def cells(
        self,
        content: Content,
        *,
        tool: str,
        scores: Sequence[str],
        notes: Iterable[str] = (),
        **said: Any,
    ) -> LogCells:
        """Return the cells.

        Raises
        ------
        UnreadableError
            If there are no rows, or none has a score.
        """
        import pandas as pd

        if not self.n_rows:
            raise content.refusal(f"a log of {tool} with samples", "which holds none")
        if not scores:
            # An error of its own, so that a folder of many tasks can leave this log out.
            raise NoScoreError(
                content.argument,
                f"a log of {tool} with a score",
                f"{content.name[-REPR_LENGTH:]!r}, whose samples have no number as one",
                "Let it score each sample, or make a table of id and score, and give that.",
            )
        table = {}
        written = []
        for name, values in self.columns.items():
            if name in scores:
                table[name] = pd.Series(values, dtype=float)
            elif name == FAILED:
                table[name] = pd.Series(values, dtype=bool)
            elif name == REPEAT:
                table[name] = pd.Series(values)
            else:
                # An id may be a number in one log and a string in another: as words they are equal.
                words = [None if value is None else _word(value) for value in values]
                table[name] = pd.Series(words, dtype=object)
                written.append(name)
        return LogCells(
            argument=content.argument,
            name=content.name,
            table=pd.DataFrame(table),
            written=frozenset(written),
            notes=tuple(notes),
            tool=tool,
            scores=tuple(scores),
            **said,
        )


def _word(value: Any) -> str:
    if isinstance(value, str):
        return value
    # whole numbers most often; those of numpy and Booleans are spelt by json
    return str(value) if type(value) is int else json.dumps(value)


def joined_logs(logs: Sequence[LogCells], name: str) -> LogCells:
    """Return several logs as one, such as a folder of one file for each task."""
    import pandas as pd

    first = logs[0]
    scores = tuple(dict.fromkeys(score for log in logs for score in log.scores))
    # Fields of questions that only some tasks have are missing in the others.
    table = pd.concat([log.frame for log in logs], ignore_index=True)
    settings: dict[str, str] = {}
    for log in logs:
        for key, value in log.settings.items():
            # A setting that differs between the logs is told of each, by its name.
            known = settings.get(key)
            if known is None or known == value:
                settings[key] = value
            else:
                settings[f"{key} ({log.name})"] = value
    return dataclasses.replace(
        first,
        name=name,
        table=table,
        written=frozenset().union(*(log.written for log in logs)),
        notes=tuple(dict.fromkeys(note for log in logs for note in log.notes)),
        warnings=tuple(dict.fromkeys(text for log in logs for text in log.warnings)),
        scores=scores,
        lower_is_better=frozenset().union(*(log.lower_is_better for log in logs)),
        settings=settings,
        says_repeats=any(log.says_repeats for log in logs),
    )


def left_out(names: Iterable[str]) -> tuple[str, ...]:
    """Say which scores are no numbers."""
    names = list(dict.fromkeys(names))
    if not names:
        return ()
    return (f"left out {first_few(names, 5, show=str)}, whose values are no single numbers",)
