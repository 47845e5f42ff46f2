"""``diff --metric NAME``: what was typed, and the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiftmetrics._core.validation import first_few
from shiftmetrics.cli.label_tables import write_table
from shiftmetrics.cli.outputs import CommandAnswer
from shiftmetrics.cli.signature import Call
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.views import Context


@dataclass(frozen=True, kw_only=True)
class TypedMetric:
    """What was typed of a metric.

    Attributes
    ----------
    name : str
    positive : str or None
        The positive class.
    roles : RoleOptions
        What is said of the columns.
    truth : Cells or None
        A file of labels.
    changed : Path or None
        Where the rows whose prediction changes are written.
    as_is : bool
        Whether cells are written as they are.
    """

    name: str
    positive: str | None
    roles: RoleOptions
    truth: Any
    changed: Path | None
    as_is: bool


def check_alone(others: Mapping[str, Any]) -> None:
    """Check that no option stands beside ``--metric`` that it does not know.

    Raises
    ------
    ValueError
        If one does.
    """
    typed = [option for option, value in others.items() if value not in (None, False, [])]
    if typed:
        raise ValueError(
            f"--metric compares by one metric, and takes no {first_few(typed, 5, show=str)}."
        )


def metric_answer(
    call: Call,
    contents: Sequence[Any],
    names: Sequence[str],
    typed: TypedMetric,
    notes: Sequence[str],
) -> CommandAnswer:
    """Compare two models by a metric.

    Raises
    ------
    ValueError
        If labels are missing, or the metric does not fit.
    """
    from shiftmetrics.decisions.metrics.metrics import diff_metric

    # Options of other comparisons would have no effect here, and nobody would notice.
    call.refuse_all_but(diff_metric, "be left out with --metric")
    result = call(
        diff_metric,
        contents[0],
        contents[1] if len(contents) > 1 else None,
        metric=typed.name,
        labels=typed.truth,
        ids=typed.roles,
        positive=typed.positive,
    )
    if typed.changed is not None:
        write_table(result.to_frame(), typed.changed, guard=not typed.as_is)
    found = result.settings["found"]
    # What ends with a full stop is a sentence of its own; the rest are phrases of one.
    others = [text for text in found if not text.endswith(".")]
    return CommandAnswer(
        results={result.title: result},
        title=f"From {names[0]} to {names[-1]}",
        context=Context(description=f"Predictions in {names[-1]} set against {names[0]}."),
        above=[*notes, *[text for text in found if text.endswith(".")]],
        notes=[f"Took {first_few(others, 8, show=str)}."] if others else [],
        exit_code=result.exit_code,
        written={"Changed rows": typed.changed},
    )
