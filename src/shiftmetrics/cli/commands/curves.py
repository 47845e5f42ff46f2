"""The command ``shiftmetrics curves``: agreement over the levels of a shift, from a file of scores for each."""

from __future__ import annotations

from typing import Any

from shiftmetrics._core.tables import Align
from shiftmetrics.agreement import agreement_curves
from shiftmetrics.cli.commands.compare import by_name, class_places
from shiftmetrics.cli.inputs.samples import read_scores, same_labels
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
    reference: str,
    fractions: str = "",
    id_column: str | None = None,
    columns: str | None = None,
    label: str | None = None,
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
    label : COLUMN
        True classes, for the fraction of right predictions: names of columns, or their places from 0.
    """
    levels: dict[Any, str] = {}
    for name, path in by_name(shifted).items():
        levels[_number(name)] = path
    ratios = [1.0]
    if fractions:
        ratios = [_fraction(text) for text in fractions.split(",")]
    typed = [(path, f"SHIFTED {path}") for path in levels.values()]
    baseline, *samples = read_scores(
        [(reference, "--reference"), *typed],
        align=align, id_column=id_column, columns=columns, label=label,
    )  # fmt: skip
    # Labels may stand in any of the files, and must then be the same.
    found = [same_labels(baseline, sample, None) for sample in samples]
    labels = next((part for part in found if part is not None), None)
    if label is not None and labels is None:
        raise ValueError(f"--label must name a column of SHIFTED or --reference, got {label!r}.")

    def compute() -> CommandAnswer:
        result = call(
            agreement_curves,
            dict(zip(levels, (sample.scores() for sample in samples), strict=True)),
            baseline.scores(),
            ratios=ratios,
            labels=class_places(labels, baseline.columns),
        )
        names = ", ".join(levels.values())
        context = Context(description=f"Scores of {names}, set against those of {reference}.")
        notes = [note for sample in (baseline, *samples) for note in sample.notes]
        return CommandAnswer(
            results={result.title: result},
            title="Agreement over the levels of a shift",
            context=context,
            notes=notes,
        )

    return Job(inputs=[sample.source for sample in (baseline, *samples)], compute=compute)


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
