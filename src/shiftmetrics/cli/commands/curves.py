"""The command ``shiftmetrics curves``: agreement over the levels of a shift, from a file of scores for each."""

from __future__ import annotations

from typing import Any

from shiftmetrics._core.tables import Align
from shiftmetrics.agreement import agreement_curves
from shiftmetrics.cli.commands.compare import by_name, which_was_which
from shiftmetrics.cli.inputs.score_files import read_score_files
from shiftmetrics.cli.options import ColumnOptions
from shiftmetrics.cli.outputs import CommandAnswer, Job
from shiftmetrics.cli.signature import Call, measuring
from shiftmetrics.views import Context


@measuring(
    {agreement_curves: None},
    words={"scores": "SHIFTED", "reference_scores": "--reference", "labels": "--label"},
    leave_out=["rtol", "memory_limit", "groups", "n_resamples"],
)
def curves(
    shifted: list[str],
    *,
    call: Call,
    roles: ColumnOptions,
    reference: str,
    fractions: str = "",
    align: Align = "labels",
) -> Job:
    """Draw agreement, unchanged and right predictions against the level of a shift.

    Each file of SHIFTED holds the scores at one level of the shift, such as the size of a noise; --reference those of
    the same rows before it. Levels that are numbers are put in order; others are names.

    Example: `shiftmetrics curves 0.5=mild.csv 2=strong.csv --reference clean.csv --id image --report curves.html`

    Parameters
    ----------
    shifted : LEVEL=SHIFTED
        Scores of the same rows, once for each level of the shift.
    reference : FILE
        Scores of these rows, unshifted.
    fractions : NUMBERS
        Fractions of the rows that are shifted, such as 0.5,1; the others stay as they were. Default: all of them.
    """
    levels: dict[Any, str] = {}
    for name, path in by_name(shifted).items():
        level = _number(name)
        if level in levels:
            raise ValueError(
                f"SHIFTED must be one file for each level, got {levels[level]} and {path} for level {level}."
            )
        levels[level] = path
    ratios = [1.0]
    if fractions:
        ratios = [_fraction(text) for text in fractions.split(",")]
    typed = [(path, f"SHIFTED {path}") for path in levels.values()]
    # The first file sets the order of the rows and of the classes for all levels.
    files = read_score_files([(reference, "--reference"), *typed], roles, align=align)
    labels = files.label_places()

    def compute() -> CommandAnswer:
        baseline, *shifts = files.scores
        result = call(
            agreement_curves,
            dict(zip(levels, shifts, strict=True)),
            baseline,
            ratios=ratios,
            labels=labels,
        )
        names = ", ".join(levels.values())
        context = Context(description=f"Scores of {names}, set against those of {reference}.")
        named = {f"level {level}": path for level, path in by_name(shifted).items()}
        notes = which_was_which(named, [reference])
        return CommandAnswer(
            results={result.title: result},
            title="Agreement over the levels of a shift",
            context=context,
            above=files.said,
            notes=[*notes, *files.notes],
        )

    return Job(inputs=files.sources, compute=compute)


def _number(name: str) -> float | str:
    """Return a level as a number where it is one."""
    try:
        return float(name)
    except ValueError:
        return name


def _fraction(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--fractions must be numbers such as 0.5,1, got {text!r}.") from None
