"""Logs of log-probabilities as ``diff`` takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shiftmetrics.cli.label_tables import write_table
from shiftmetrics.cli.outputs import CommandAnswer
from shiftmetrics.cli.signature import Call
from shiftmetrics.tables.token_logs import TokenCells
from shiftmetrics.views import Context


def are_tokens(contents: Sequence[Any]) -> bool:
    """Return True if a file is a log of log-probabilities."""
    return any(isinstance(cells, TokenCells) for cells in contents)


def token_answer(
    call: Call,
    contents: Sequence[Any],
    names: Sequence[str],
    *,
    inner: bool,
    changed: Path | None,
    as_is: bool = False,
) -> CommandAnswer:
    """Compare the tokens of two logs.

    Raises
    ------
    ValueError
        If requests or tokens do not match.
    """
    if len(contents) < 2:
        raise ValueError("NEW must be given: a log of log-probabilities holds one model.")
    # here, so that a comparison of predictions does not wait for it
    from shiftmetrics.decisions import diff_tokens

    result = call(diff_tokens, contents[0], contents[1], inner=inner)
    if changed is not None:
        write_table(result.to_frame(), changed, guard=not as_is)
    return CommandAnswer(
        results={result.title: result},
        title=f"From {names[0]} to {names[-1]}",
        context=Context(description=f"Tokens in {names[-1]} set against {names[0]}."),
        exit_code=result.exit_code,
        written={"Sequences": changed},
    )
