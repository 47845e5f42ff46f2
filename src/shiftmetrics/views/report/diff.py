"""How a comparison of two models' predictions is reported: its verdict, what changed, and the evidence below."""

from __future__ import annotations

import dataclasses
from typing import Any

from shiftmetrics._core.result import Interval, plain_figure
from shiftmetrics.decisions.diff.part_words import evidence_sentences
from shiftmetrics.decisions.diff.records import EFFECTS
from shiftmetrics.decisions.diff.result import DiffResult
from shiftmetrics.decisions.diff.words import decimals, interval_words
from shiftmetrics.decisions.verdicts import CANNOT_TELL
from shiftmetrics.views.report.answer import MOST_STEPS, Answer, Tile, answers, plain_answer
from shiftmetrics.views.report.parts import Entry, Fact, Number, percent, reports

MOST_ROWS = 20
"""Changed rows that the page shows, per step of its size."""


@answers(DiffResult)
def diff_answer(result: DiffResult) -> Answer:
    """Return the decision with old against new, and how many predictions changed, were fixed and broken."""
    # what every decision says, then what only this one has
    plain = plain_answer(result)
    evidence = evidence_sentences(result)
    return dataclasses.replace(
        plain,
        steps=tuple([*plain.steps, *_more_steps(result)][:MOST_STEPS]),
        evidence=tuple(evidence),
        tiles=tuple(_figures(result)),
        chart="difference",
    )


def _more_steps(result: DiffResult) -> list[str]:
    """Return what else to do: write the rows to label, or where to look."""
    again = "shiftmetrics diff OLD NEW"
    # If the files may be misread, all other steps would follow from the wrong reading.
    if result.evidence.doubts:
        return ["See how both are read: shiftmetrics read OLD NEW"]
    frequent = result.changes.frequent
    # The label of a row whose answer stays says nothing of the difference.
    if result.labelled is None and result.plan is not None and result.verdict == CANNOT_TELL:
        return [
            f"Write them, in the order to label them: {again} --changed changed.csv",
            f"With its column label filled in: {again} --labels changed.csv",
        ]
    steps = []
    if result.labelled is not None and result.labelled.broken:
        n_broken = result.labelled.broken
        worst = max(frequent, key=lambda part: part.broken, default=None)
        where = "" if worst is None else f", first at {worst.old} > {worst.new}"
        steps.append(f"Look at the {n_broken:,} that broke{where}.")
    elif frequent:
        steps.append(f"Look at the most frequent change, {frequent[0].old} > {frequent[0].new}.")
    if result.changes.n_changed:
        steps.append(f"Write all rows that changed: {again} --changed changed.csv")
    return steps


def _figures(result: DiffResult) -> list[Tile]:
    """Return old against new, the difference, and the rows that changed, were fixed and broken."""
    changes = result.changes
    figures = []
    labelled = result.labelled
    # both scores are known where every row is labelled
    if labelled is not None and labelled.old_score is not None and labelled.new_score is not None:
        name = result.metric.capitalize()
        figures.append(Tile(name=f"{name}, old", value=_score(result, labelled.old_score)))
        figures.append(Tile(name=f"{name}, new", value=_score(result, labelled.new_score)))
    figures.append(_difference(result))
    figures.append(
        Tile(
            name="Changed",
            value=f"{changes.n_changed:,}",
            meaning=f"of {result.n_samples:,} ({percent(changes.fraction)})",
        )
    )
    if labelled is None:
        n_labels = 0 if result.plan is None else result.plan.n_labels
        meaning = "changed rows, in order" if n_labels else "nothing is left open"
        figures.append(Tile(name="To label", value=f"{n_labels:,}", meaning=meaning))
    else:
        of = f"of {labelled.n_labelled:,} labelled"
        figures.append(Tile(name="Fixed", value=f"{labelled.fixed:,}", meaning=of))
        figures.append(Tile(name="Broken", value=f"{labelled.broken:,}", meaning=of))
    return figures


def _difference(result: DiffResult) -> Tile:
    """Return the difference with its interval; without labels the certain bound is all there is."""
    if result.interval is not None:
        value, meaning = _points(result, result.value), _ends(result, result.interval)
    elif result.certain.low == result.certain.high == 0.0:
        value, meaning = "none", "for certain"
    else:
        value, meaning = "not known", _ends(result, result.certain)
    return Tile(name="Difference", value=value, meaning=meaning)


def _score(result: DiffResult, value: float) -> str:
    return percent(value, 3) if result.metric == "accuracy" else plain_figure(value, 4)


def _points(result: DiffResult, value: float) -> str:
    """Print a difference: percentage points of accuracy, or units."""
    if result.metric == "accuracy":
        points = 100.0 * value
        return f"{points:+.{decimals(abs(points))}f} points"
    return plain_figure(value, 3, sign="+")


def _ends(result: DiffResult, interval: Interval) -> str:
    """Return an interval with the digits of the sentence above it."""
    words = interval_words(result, interval)
    # a bound that holds whatever the labels has no level
    return words.replace("100 %", "for certain", 1) if interval.confidence_level == 1.0 else words


def diff_facts(result: DiffResult) -> list[Fact]:
    """Return the figures of the comparison, the evidence among them."""
    facts = [
        Fact("certain", _ends(result, result.certain), "whatever the labels that are not known"),
        Fact("changed predictions", percent(result.changes.fraction), "of all rows"),
    ]
    # the sentences of the evidence hold kappa, the estimate and the other measures
    agreement = result.evidence.agreement
    if agreement is not None:
        meaning = "posterior agreement; 1 where the probabilities are equal"
        facts.append(Fact("agreement, of its maximum", percent(agreement), meaning))
    return facts


@reports("diff", DiffResult, facts=diff_facts)
def fill_diff(entry: Entry) -> None:
    """Show the difference, the most frequent changes, the parts, and the rows that changed."""
    result: DiffResult = entry.result
    entry.in_points = result.metric == "accuracy"
    entry.sentences += entry.answer.findings
    # outputs of a regression do not change from class to class
    if result.changes.frequent:
        entry.draw("changes", height=1.2 + 0.3 * len(result.changes.frequent))
    counts = [
        {
            "Old": part.old,
            "New": part.new,
            "Rows": Number(f"{part.n:,}"),
            "Fixed": Number(f"{part.fixed:,}"),
            "Broken": Number(f"{part.broken:,}"),
        }
        for part in result.changes.frequent
    ]
    entry.add_table(counts, "Most frequent changes")
    entry.add_table([_part_line(result, part) for part in result.parts], "Classes and groups")
    caption = "Changed rows, in the order in which to label them"
    entry.add_table(_row_lines(entry), caption, rows=True, option="--changed changed.csv")


def _part_line(result: DiffResult, part: Any) -> dict[str, Any]:
    interval = "–" if part.interval is None else _ends(result, part.interval)
    return {
        part.kind.capitalize(): part.name,
        "Rows": Number(f"{part.n_samples:,}"),
        "Changed": Number(f"{part.n_changed:,}"),
        "Fixed": Number(f"{part.fixed:,}"),
        "Broken": Number(f"{part.broken:,}"),
        "Difference": Number(interval),
        "Verdict": part.verdict,
    }


def _row_lines(entry: Entry) -> list[dict[str, Any]]:
    """Return the first of the changed rows."""
    rows = entry.result.changes.rows
    # fewer rows where the page would grow too large
    most = min(MOST_ROWS * entry.detail // 12, len(rows.id))
    lines = []
    for place in range(most):
        line: dict[str, Any] = {"Row": str(rows.id[place])}
        line["Old"] = str(rows.old[place])
        line["New"] = str(rows.new[place])
        for side in ("old", "new"):
            confidence = getattr(rows, f"{side}_confidence")
            if confidence is not None:
                line[f"Confidence, {side}"] = Number(f"{confidence[place]:.2f}")
        effect = EFFECTS[int(rows.effect[place])]
        line["Effect"] = effect or "not labelled"
        lines.append(line)
    return lines
