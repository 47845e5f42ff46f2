"""The sentences of a comparison by a metric."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from shiftmetrics._core.result import Interval, format_percent, plain_figure
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.diff.words import decimals, plural, rounded

if TYPE_CHECKING:
    from shiftmetrics.decisions.metrics.result import MetricDiffResult

MOST_SHOWN = 5
"""Rows that a summary names."""

HOPELESS = 100.0
"""How many times as many rows are not asked for."""


def metric_sentence(result: MetricDiffResult) -> str:
    """Return what the verdict rests on."""
    doubts = result.settings.get("doubts") or ()
    text = _figures(result)
    if doubts:
        return f"The tables may be misread: {doubts[0]}. {text}"
    return text


def _figures(result: MetricDiffResult) -> str:
    rows = things(result, result.n_samples)
    if result.n_groups is not None:
        rows += f" in {plural(result.n_groups, 'group')}"
    scores = f"{metric_score(result, result.old_score)} to {metric_score(result, result.new_score)}"
    if result.interval is None:
        lack = result.settings.get("lack")
        return f"{called(result)}: too few to tell on {rows} ({scores} here): {lack}."
    interval = metric_limits(result, result.interval)
    changed = _changes(result)
    return f"{called(result)} is {_standing(result, result.value)} on {rows} ({scores}; {interval}): {changed}."


def things(result: MetricDiffResult, n: int) -> str:
    """Return a number of rows, or of queries."""
    if result.settings.get("unit") != "query":
        return plural(n, "row")
    return f"{n:,} query" if n == 1 else f"{n:,} queries"


def called(result: MetricDiffResult) -> str:
    """Return the metric, with the positive class."""
    name = str(result.settings.get("metric", result.metric))
    positive = result.settings.get("positive")
    return name if positive is None else f"{name} of {positive}"


def _changes(result: MetricDiffResult) -> str:
    rows = result.rows
    if result.settings.get("unit") == "query":
        return f"{things(result, len(rows.id))} changed"
    thing = "answer" if rows.old.dtype.kind not in "fiu" else "prediction"
    return f"{plural(len(rows.id), thing)} changed"


def metric_findings(result: MetricDiffResult) -> list[str]:
    """Return the sentences below the verdict."""
    sentences = []
    if result.interval is not None:
        sentences.append(
            f"In these {things(result, result.n_samples)} the difference is known; the interval is for future ones "
            "like them."
        )
    rows = result.rows
    n_shown = min(MOST_SHOWN, int((rows.effect < 0.0).sum()))
    if n_shown:
        named = [
            f"{rows.id[place]} ({rows.old[place]} > {rows.new[place]}, true {rows.label[place]}: "
            f"{_signed(result, float(rows.effect[place]))})"
            if rows.old.dtype.kind not in "f"
            else f"{rows.id[place]} ({_signed(result, float(rows.effect[place]))})"
            for place in range(n_shown)
        ]
        noun = "Queries" if result.settings.get("unit") == "query" else "Rows"
        sentences.append(f"{noun} that cost most: {', '.join(named)}.")
    return sentences


def metric_details(result: MetricDiffResult) -> list[str]:
    """Say how the interval was made, and of what."""
    sentences = []
    if result.rarest < result.n_samples:
        sentences.append(f"Rows of the smallest class that counts: {result.rarest:,}.")
    if result.interval is not None:
        sentences.insert(0, "The interval is a jackknife's, with one more on either side.")
    gains = int((result.rows.effect > 0.0).sum())
    costs = int((result.rows.effect < 0.0).sum())
    sentences.append(
        f"Of the changed predictions {gains:,} raise the metric and {costs:,} lower it."
    )
    return sentences


def metric_steps(result: MetricDiffResult) -> list[str]:
    """Say what to do now."""
    if result.settings.get("doubts") and result.verdict != verdicts.WORSE:
        return ["Look at what was read, and name the ids, the classes or the labels."]
    if result.verdict == verdicts.SAFE:
        return ["Ship it."]
    if result.verdict == verdicts.WORSE:
        return ["Keep the old model until the rows that cost most are mended."]
    if result.verdict != verdicts.CANNOT_TELL:
        return []
    if result.interval is None:
        return [result.status.remedy]
    return [_rows_that_decide(result)]


def _rows_that_decide(result: MetricDiffResult) -> str:
    """Say how many rows would decide, if the difference stays as it is."""
    assert result.interval is not None
    margin = abs(result.value + (result.allow or 0.0))
    half = 0.5 * (result.interval.high - result.interval.low)
    # Widths fall with the root of the number of rows.
    factor = max((half / max(margin, 1e-12)) ** 2, 1.1)
    if factor > HOPELESS:
        return (
            "The difference is too close to the limit: more rows like these would not soon decide."
        )
    needed = things(result, rounded(result.n_samples * factor))
    return f"If the difference stays as it is, about {needed} would decide; these are {result.n_samples:,}."


def _is_fraction(result: MetricDiffResult) -> bool:
    return bool(result.settings.get("is_fraction"))


def metric_score(result: MetricDiffResult, value: float) -> str:
    """Return a metric as it is printed."""
    # Kappa and correlations are said in points too, and stand below 0 where answers are worse than chance.
    if _is_fraction(result) and value >= 0.0:
        return format_percent(value, 3)
    return plain_figure(value, 4)


def _standing(result: MetricDiffResult, value: float) -> str:
    if abs(value) <= 1e-12:
        return "as good as before"
    better = "better" if value > 0.0 else "worse"
    return f"{metric_amount(result, abs(value))} {better}"


def metric_amount(result: MetricDiffResult, value: float) -> str:
    """Return a difference: points of a metric of at most 1, or units."""
    if not _is_fraction(result):
        return plain_figure(value)
    points = 100.0 * value
    text = f"{points:.{decimals(points)}f}"
    return f"{text} {'point' if text == '1' else 'points'}"


def _signed(result: MetricDiffResult, value: float) -> str:
    scale = 100.0 if _is_fraction(result) else 1.0
    return plain_figure(scale * value, sign="+")


def metric_limits(result: MetricDiffResult, interval: Interval) -> str:
    """Return an interval as it stands in a sentence, such as ``95 %: +0.1 to +1.9``."""
    level = f"{100.0 * interval.confidence_level:.3g} %"
    scale = 100.0 if _is_fraction(result) else 1.0
    half = 0.5 * scale * (interval.high - interval.low)
    # As many decimals as half the width has meaning, and no power of ten.
    digits = max(0, 1 - math.floor(math.log10(max(half, 1e-9))))
    if _is_fraction(result):
        digits = 0 if half >= 9.95 else max(1, digits - 1)
    return f"{level}: {scale * interval.low:+.{digits}f} to {scale * interval.high:+.{digits}f}"
