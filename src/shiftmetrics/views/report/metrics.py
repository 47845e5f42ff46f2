"""How a comparison by a metric is reported: old against new, the difference, and the rows that move it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shiftmetrics.decisions.metrics.result import MetricDiffResult
from shiftmetrics.decisions.metrics.words import metric_amount, metric_limits, metric_score
from shiftmetrics.views.report.answer import Answer, Tile, answers, plain_answer
from shiftmetrics.views.report.parts import Entry, Number, cell_of, number, reports

MOST_ROWS = 20
"""Rows that the page shows, per step of its size."""


@answers(MetricDiffResult)
def answer_of_metric(result: MetricDiffResult) -> Answer:
    """Return the decision with the metric of both models."""
    difference = metric_amount(result, abs(result.value))
    # A sign before a difference of 0 would claim a direction.
    if result.value:
        difference = f"{'+' if result.value > 0.0 else '-'}{difference}"
    ends = "too few rows for an interval"
    if result.interval is not None:
        ends = metric_limits(result, result.interval)
    gains = int((result.rows.effect > 0.0).sum())
    costs = int((result.rows.effect < 0.0).sum())
    changed = f"{gains:,} raise it, {costs:,} lower it"
    tiles = (
        Tile(name="Old", value=metric_score(result, result.old_score), meaning=result.metric),
        Tile(name="New", value=metric_score(result, result.new_score), meaning=result.metric),
        Tile(name="Difference", value=difference, meaning=ends),
        Tile(name="Changed", value=f"{len(result.rows.id):,}", meaning=changed),
    )
    plain = plain_answer(result)
    steps = plain.steps
    if len(result.rows.id):
        steps += (
            "Write the rows that changed, the most costly first: shiftmetrics diff OLD NEW --changed changed.csv",
        )
    chart = "" if result.interval is None else "difference"
    return replace(plain, steps=steps, tiles=tiles, chart=chart)


@reports("metrics", MetricDiffResult)
def fill_metric(entry: Entry) -> None:
    """Show what was found, and the rows that cost most."""
    result: MetricDiffResult = entry.result
    entry.in_points = bool(result.settings.get("is_fraction"))
    entry.sentences += [*entry.answer.findings, *result.details()]
    caption = "Rows that changed, those that cost most first"
    entry.add_table(_row_lines(entry), caption, rows=True, option="--changed changed.csv")


def _row_lines(entry: Entry) -> list[dict[str, Any]]:
    """Return the first of the rows that changed."""
    rows = entry.result.rows
    # fewer where the page would grow too large
    most = min(MOST_ROWS * entry.detail // 12, len(rows.id))
    unit = 100.0 if entry.in_points else 1.0
    heading = "Effect, points" if entry.in_points else "Effect"
    lines = []
    for place in range(most):
        line: dict[str, Any] = {"Row": str(rows.id[place])}
        for name in ("label", "old", "new"):
            line[name.capitalize()] = cell_of(getattr(rows, name)[place])
        line[heading] = Number(number(unit * float(rows.effect[place])))
        lines.append(line)
    return lines
