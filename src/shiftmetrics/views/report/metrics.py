"""How a comparison by a metric is answered: old against new, the difference, and the rows that move it."""

from __future__ import annotations

from dataclasses import replace

from shiftmetrics.decisions.metrics.result import MetricDiffResult
from shiftmetrics.decisions.metrics.words import metric_amount, metric_limits, metric_score
from shiftmetrics.views.report.answer import Answer, Tile, answers, plain_answer


@answers(MetricDiffResult)
def answer_of_metric(result: MetricDiffResult) -> Answer:
    """Return the decision with the metric of both models."""
    difference = metric_amount(result, abs(result.value))
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
    return replace(plain_answer(result), tiles=tiles, chart="")
