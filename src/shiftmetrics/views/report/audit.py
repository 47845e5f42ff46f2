"""How an audit is reported: the verdict, each new mode as a card, the columns, the evidence below."""

from __future__ import annotations

from typing import Any

from shiftmetrics._core.result import p_number
from shiftmetrics.decisions.audit.new_modes import TableMode
from shiftmetrics.decisions.audit.result import AuditResult
from shiftmetrics.decisions.verdicts import CANNOT_TELL
from shiftmetrics.views.report.answer import MOST_STEPS, TONES, Answer, Tile, answers
from shiftmetrics.views.report.parts import Entry, Fact, Number, number, percent, reports

MOST_ROWS = 6
"""Samples of a mode that the page names, per step of its size."""
MOST_COLUMNS = 12
_HISTOGRAM_HEIGHT = 2.4


@answers(AuditResult)
def audit_answer(result: AuditResult) -> Answer:
    """Return the decision with the fraction that is new, and what is known of the model."""
    new = result.new_fraction
    meaning = f"of {result.n_samples:,} samples"
    if result.value > 0.0:
        meaning += f", at least {percent(result.value)}"
    if result.changes.others_tell:
        # by a column with other values in every sample all are new, which tells none from another
        new = result.changes.fraction_in_modes
        meaning = f"of {result.n_samples:,} samples, by the other columns"
    figures = [Tile(name="New", value=percent(new), meaning=meaning)]
    if result.changes.new:
        meaning = f"with {percent(result.changes.fraction_in_modes)} of the samples"
        figures.append(Tile(name="Modes", value=str(len(result.changes.new)), meaning=meaning))
    meaning = f"of {len(result.changes.columns)}"
    figures.append(
        Tile(name="Columns changed", value=str(result.changes.n_changed), meaning=meaning)
    )
    if not result.changes.new:
        meaning = "of the reference"
        gone = sum(mode.fraction for mode in result.changes.missing)
        figures.append(Tile(name="Missing", value=percent(gone), meaning=meaning))
    labelled = result.labelled
    if labelled is not None:
        ends = f"{percent(labelled.interval.low)} to {percent(labelled.interval.high)}"
        if labelled.interval.low == labelled.interval.high:
            ends = f"of all {labelled.n_labelled:,} samples"
        figures.append(Tile(name="Accuracy", value=percent(labelled.accuracy), meaning=ends))
    elif result.unlabelled is not None:
        value = "not known"
        meaning = "labels would tell"
        if result.unlabelled.low is not None and result.unlabelled.high is not None:
            low, high = percent(result.unlabelled.low), percent(result.unlabelled.high)
            value = f"{low} to {high}"
            meaning = "if answers mean what they meant"
        figures.append(Tile(name="Accuracy", value=value, meaning=meaning))
    return Answer(
        word=result.verdict,
        tone=TONES.get(result.verdict, "open"),
        sentence=result.sentence,
        steps=tuple(_steps(result)),
        tiles=tuple(figures),
        chart="modes",
    )


def _steps(result: AuditResult) -> list[str]:
    """Return what to do now, with the commands: write the samples to label, or look at the columns."""
    again = "shiftmetrics audit REFERENCE CURRENT"
    changes = result.changes
    steps = list(result.next_steps)
    if result.verdict == CANNOT_TELL:
        return steps
    if changes.has_rows:
        write = f"Write the new samples, in the order to label them: {again} --rows new_rows.csv"
        # after the first step, which is about them
        steps.insert(1, write)
    elif changes.n_changed:
        steps.append(f"See each column before and after: {again} --report audit.html")
    return steps[:MOST_STEPS]


def audit_facts(result: AuditResult) -> list[Fact]:
    """Return the figures that the first screen of an audit lacks."""
    changes = result.changes
    return [
        Fact("told apart", number(changes.auc), "cross-validated AUC of trees; .5 is not at all"),
        Fact("without counterpart", percent(changes.unmatched_fraction), "of the current samples"),
    ]


@reports("audit", AuditResult, facts=audit_facts)
def fill_audit(entry: Entry) -> None:
    """Show the modes with their columns and samples, then the columns by themselves."""
    result: AuditResult = entry.result
    entry.sentences += [*result.model_notes(), *result.changes.column_notes]
    entry.add_table(_mode_lines(entry), "New modes", option="--rows new_rows.csv")
    if result.changes.columns:
        entry.draw("columns", height=1.2 + 0.3 * min(len(result.changes.columns), MOST_COLUMNS))
    for picture in result.changes.pictures:
        # values and levels have a line each; a histogram says what is in its outer intervals
        height = 1.6 + 0.35 * len(picture.cells)
        note = f"{picture.column}: {picture.text}."
        if not picture.cells:
            height = _HISTOGRAM_HEIGHT
            note += " The outer intervals hold what lies beyond."
        entry.draw("column", note, height=height, column=picture.column)
    for place, mode in enumerate(result.changes.new):
        entry.add_table(_contrast_lines(mode), f"Mode {place + 1}: {mode.description}")
    for mode in result.changes.missing:
        entry.add_table(_contrast_lines(mode), f"Missing: {mode.description}")
    entry.add_table(_column_lines(result), "Columns by themselves")


def _mode_lines(entry: Entry) -> list[dict[str, Any]]:
    """Return a line for each new mode, with its first samples in the order in which to label them."""
    result: AuditResult = entry.result
    most = MOST_ROWS * entry.detail // 12
    lines = []
    for place, mode in enumerate(result.changes.new):
        line: dict[str, Any] = {"Mode": Number(str(place + 1)), "What": mode.description}
        line["Samples"] = Number(f"{mode.n_members:,}")
        line["Now"] = percent(mode.fraction)
        line["Reference"] = percent(mode.other_fraction)
        line["First to label"] = ", ".join(mode.names[:most].tolist())
        if mode.change is not None:
            line["When"] = "no change of its fraction is shown"
            if mode.change.is_shown:
                line["When"] = mode.change.in_words
            line["Between"] = f"{mode.change.earliest} and {mode.change.latest}"
        line["Where"] = mode.cause or "–"
        lines.append(line)
    return lines


def _contrast_lines(mode: TableMode) -> list[dict[str, Any]]:
    return [
        {
            "Column": each.column,
            "Members": each.inside,
            "All others": each.outside,
            "Difference": Number(f"{each.effect:.2f}"),
        }
        for each in mode.contrasts
    ]


def _column_lines(result: AuditResult) -> list[dict[str, Any]]:
    return [
        {
            "Column": change.column,
            "Change": change.text or "–",
            "New levels": ", ".join(change.new_levels[:3]) or "–",
            "Missing": Number(f"{percent(change.missing[0])} → {percent(change.missing[1])}"),
            "Effect": Number(f"{change.effect:.2f}"),
            "p": Number(p_number(change.p_value)),
        }
        for change in result.changes.columns[:MOST_COLUMNS]
    ]
