"""Scores and logs of evaluations as ``diff`` takes them: what was typed, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shiftmetrics.cli.label_tables import write_table
from shiftmetrics.cli.outputs import CommandAnswer
from shiftmetrics.cli.signature import Call
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.logs import LogCells
from shiftmetrics.views import Context


@dataclass(frozen=True, kw_only=True)
class TypedScores:
    """What was typed of scores.

    Attributes
    ----------
    scores : str or None
        The column, or the score of a log.
    again : Cells or None
        A second run of the old model.
    score_range : str or None
        ``LOW,HIGH``.
    failed : "wrong" or None
    lower_is_better : bool
    ids, groups : str or None
        Columns of questions and clusters.
    inner : bool
    old, new : str or None
        Models in logs that hold several.
    changed : Path or None
        Where the questions whose score changes are written.
    as_is : bool
        Whether cells that a spreadsheet would run are written there as they are.
    """

    scores: str | None = None
    again: Cells | None = None
    score_range: str | None = None
    failed: Literal["wrong"] | None = None
    lower_is_better: bool = False
    ids: str | None = None
    groups: str | None = None
    inner: bool = False
    old: str | None = None
    new: str | None = None
    changed: Path | None = None
    as_is: bool = False


def are_scores(contents: Sequence[Any], scores: str | None) -> bool:
    """Return True if files hold scores of questions: a column is named, or they are logs of evaluations."""
    return scores is not None or any(isinstance(cells, LogCells) for cells in contents)


def score_answer(
    call: Call, contents: Sequence[Any], names: Sequence[str], typed: TypedScores
) -> CommandAnswer:
    """Compare scores; a single file holds the answers of two models, which are named.

    Raises
    ------
    ValueError
        If questions or scores do not match, or an option cannot be read.
    """
    # here, so that a comparison of predictions does not wait for it
    from shiftmetrics.decisions import diff_scores

    old = contents[0]
    new = contents[-1]
    if isinstance(old, LogCells) and typed.old is not None:
        old = old.of_model(typed.old)
    if isinstance(new, LogCells) and typed.new is not None:
        new = new.of_model(typed.new)
    result = call(
        diff_scores,
        old,
        new,
        scores=typed.scores,
        ids=typed.ids,
        groups=typed.groups,
        again=typed.again,
        score_range=score_range_of(typed.score_range),
        failed=typed.failed,
        inner=typed.inner,
        # what the log says, or True, unless it was typed
        higher_is_better=False if typed.lower_is_better else None,
    )
    changed = typed.changed
    if changed is not None:
        write_table(result.to_frame(), changed, guard=not typed.as_is)
    return CommandAnswer(
        results={result.title: result},
        title=f"From {names[0]} to {names[-1]}",
        context=Context(description=f"Scores in {names[-1]} set against {names[0]}."),
        exit_code=result.exit_code,
        written={"Changed questions": changed},
    )


def score_range_of(text: str | None) -> tuple[float, float] | None:
    """Return the lowest and the highest score, as ``1,5`` names them.

    Raises
    ------
    ValueError
        If these are no two numbers.
    """
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--score-range must be two numbers such as 1,5, got {text!r}.") from None
    return low, high
