"""The sentences of a comparison of two models' predictions: per cent and points, with two significant digits."""

from __future__ import annotations

import math

from shiftmetrics._core.result import Interval, format_percent, p_words, plain_figure
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.diff.records import DiffFigures
from shiftmetrics.decisions.labelling.paired import FUTURE

MOST_SHOWN = 3
"""Frequent changes and classes that a summary names."""

NORMAL = 1.96
"""Quantile of the normal distribution that leaves 2.5 % on either side."""

TAIL = 0.025
"""What an interval of 95 % leaves on either side."""

NEAR = 0.5
"""Distance from what is allowed, as a part of it, below which the difference itself says how many rows decide."""

HOPELESS = 100.0
"""How many times as many labelled rows are not asked for."""


def sentence(result: DiffFigures) -> str:
    """Return what the verdict rests on."""
    if result.evidence.doubts:
        return f"The tables may be misread: {result.evidence.doubts[0]}. {_resting(result)}"
    return _resting(result)


def _resting(result: DiffFigures) -> str:
    """Return the figures that the verdict rests on."""
    if result.interval is None:
        return f"{changed_rows(result)}. {certain(result)}"
    if result.labelled is None:
        # Nothing changed, so that no label counts; other rows like them may still change.
        most = amount(result, result.interval.high)
        level = f"{100.0 * result.interval.confidence_level:.3g} %"
        reach = f"{metric_name(result)} on rows like these changes by at most {most} ({level})"
        return f"{changed_rows(result)}. {reach}."
    return f"{compared(result)}: {counted(result)}."


def findings(result: DiffFigures) -> list[str]:
    """Return the sentences below the verdict."""
    sentences = []
    if result.interval is not None and result.labelled is not None:
        sentences.append(f"{changed_rows(result)}. {scope(result)}")
    changes = result.changes
    # Which classes are mixed up, and whether ties had to be decided.
    frequent = [f"{part.old} > {part.new} ({part.n})" for part in changes.frequent[:MOST_SHOWN]]
    if frequent:
        n_tied = changes.n_tied_old + changes.n_tied_new
        sentences.append(
            f"Most frequent: {', '.join(frequent)}. Tied scores: {plural(n_tied, 'row')}."
        )
    labelled = result.labelled
    if labelled is not None and labelled.p_value is not None:
        sentences.append(f"McNemar's exact test: {p_words(labelled.p_value)}.")
    if labelled is not None and result.interval is None:
        text = (
            "Without a plan they need not be of rows chosen at random, and say only what is certain"
        )
        sentences.append(f"Labels: {counted(result)}. {text}.")
    if labelled is not None and len(labelled.unused):
        n_unused = plural(len(labelled.unused), "label")
        sentences.append(
            f"{n_unused} outside the plan {'is' if len(labelled.unused) == 1 else 'are'} not used."
        )
    return sentences


def changed_rows(result: DiffFigures) -> str:
    """Say how many answers change, and how many of them confidently."""
    changes = result.changes
    things = "outputs" if is_regression(result) else "predictions"
    if changes.n_changed == 0:
        return f"None of the {result.n_samples:,} {things} changed"
    text = f"{changes.n_changed:,} of {result.n_samples:,} {things} changed ({format_percent(changes.fraction)})"
    if changes.n_confident is not None:
        text += f", {changes.n_confident:,} of them with high confidence on both sides"
    return text


def certain(result: DiffFigures) -> str:
    """Say between which limits the difference lies for certain."""
    low = result.certain.low
    high = result.certain.high
    metric = f"{metric_name(result)} on these {plural(result.n_samples, 'row')}"
    if low == high == 0.0:
        return f"{metric} does not change, for certain."
    if math.isclose(high, -low):
        return f"{metric} changes by at most {amount(result, high)}, up or down."
    limits = f"between {standing(result, low)} and {standing(result, high)}"
    return f"For certain, new is {limits} on these {plural(result.n_samples, 'row')}."


def compared(result: DiffFigures) -> str:
    """Say by how much the new model is better or worse, with the interval."""
    assert result.interval is not None
    labelled = result.labelled
    scores = ""
    if labelled is not None and labelled.old_score is not None and labelled.new_score is not None:
        if result.metric == "accuracy":
            scores = f"{format_percent(labelled.old_score, 3)} to {format_percent(labelled.new_score, 3)}; "
        else:
            scores = (
                f"{plain_figure(labelled.old_score, 3)} to {plain_figure(labelled.new_score, 3)}; "
            )
    words = f"new is {standing(result, result.value)}"
    if result.interval.method == FUTURE:
        return f"{words} ({scores}{interval_words(result, result.interval)})"
    words += f" on these {plural(result.n_samples, 'row')}"
    # A point is known, with the labels of all changed rows.
    if result.interval.low == result.interval.high:
        return f"{words} ({scores}exactly)"
    return f"{words} ({scores}{interval_words(result, result.interval)})"


def interval_words(result: DiffFigures, interval: Interval) -> str:
    """Return an interval as it stands in a sentence, such as ``95 %: +0.1 to +1.9``."""
    level = f"{100.0 * interval.confidence_level:.3g} %"
    if result.metric == "accuracy":
        # As many decimals as half the width has meaning, one at least: more would claim what is not known.
        half = 50.0 * (interval.high - interval.low)
        digits = 0 if half >= 9.95 else max(1, -math.floor(math.log10(max(half, 1e-3))))
        low = f"{100.0 * interval.low:+.{digits}f}"
        high = f"{100.0 * interval.high:+.{digits}f}"
    else:
        low = plain_figure(interval.low, sign="+")
        high = plain_figure(interval.high, sign="+")
    return f"{level}: {low} to {high}"


def counted(result: DiffFigures) -> str:
    """Say in how many of the labelled rows either model is right."""
    labelled = result.labelled
    assert labelled is not None
    if is_regression(result):
        text = f"closer in {labelled.fixed:,} rows, farther in {labelled.broken:,}"
    else:
        text = f"{plural(labelled.fixed, 'error')} fixed, {labelled.broken:,} new"
    if labelled.n_labelled < result.changes.n_changed:
        text += f", of {labelled.n_labelled:,} labelled"
    return text


def scope(result: DiffFigures) -> str:
    """Say of which rows the interval speaks."""
    assert result.interval is not None
    if result.interval.method == FUTURE:
        rows = f"In these {result.n_samples:,} rows the difference is known exactly"
        return f"{rows}; the interval is for future rows like them."
    if result.interval.method == "anytime":
        return f"The interval is for these {result.n_samples:,} rows, and valid however often you look."
    return f"The interval is for these {result.n_samples:,} rows."


def next_steps(result: DiffFigures) -> list[str]:
    """Say what to do now."""
    plan = result.plan
    steps: list[str] = []
    if result.evidence.doubts and result.verdict != verdicts.WORSE:
        return ["Look at what was read, and name the ids, the classes or the labels."]
    if result.verdict == verdicts.WORSE:
        steps.append("Keep the old model until the rows that broke are mended.")
    elif result.verdict == verdicts.SAFE:
        steps.append("Ship it.")
    # Without labels: the plan. With some that do not decide: how many would.
    if (
        plan is not None
        and result.interval is None
        and result.verdict not in (verdicts.SAFE, verdicts.WORSE)
    ):
        steps.append(
            f"Label {plan.n_labels:,} of the {plan.n_population:,} for about "
            f"{amount(result, plan.half_width(plan.n_labels))} either way, all {plan.n_population:,} for the exact "
            "answer: the changed rows, in order."
            if plan.n_labels < plan.n_population
            else f"Label the {plural(plan.n_population, 'changed row')} for the exact answer."
        )
    elif result.verdict == verdicts.CANNOT_TELL and result.interval is not None:
        steps.append(_what_decides(result))
    elif result.verdict == verdicts.CANNOT_TELL:
        steps.append(
            "No change exceeds the tolerance, and it allows more than allow does: lower it."
        )
    return steps


def _what_decides(result: DiffFigures) -> str:
    """Say how many labels would likely decide, if the difference stays as it is."""
    assert result.interval is not None
    margin = abs(result.value + (result.allow or 0.0))
    half = 0.5 * (result.interval.high - result.interval.low)
    plan = result.plan
    if plan is not None:
        assert result.labelled is not None
        # The distance of the estimate from the limit is the half width that decides, if the estimate stays.
        needed = plan.n_labels_for(margin)
        if needed <= result.labelled.n_labelled:
            needed = plan.n_population
        if plan.mode == "exact" and result.interval.method == "anytime":
            left = plan.n_labels - result.labelled.n_labelled
            return f"Label the other {left:,} rows of the plan for its exact interval, which is narrower."
        if result.interval.method == "anytime":
            every = "all" if needed == plan.n_population else "about"
            return f"Label on, in order: {every} {needed:,} labels would likely decide."
        # An exact interval is given once: whoever labels on after a look needs another plan.
        new_plan = f"a new plan of about {needed:,} labels would likely decide, and "
        if needed == plan.n_population:
            new_plan = ""
        return f"This plan is finished: {new_plan}all {plan.n_population:,} changed rows give the exact answer."
    if result.allow and result.metric == "accuracy" and margin >= NEAR * result.allow:
        return _rows_that_decide(result)
    # Widths fall with the root of the number of rows.
    factor = max((half / max(margin, 1e-12)) ** 2, 1.1)
    if factor > HOPELESS:
        return (
            "The difference is too close to the limit: more rows like these would not soon decide."
        )
    rows = result.n_samples * factor
    return (
        f"If the difference stays as it is, about {rounded(rows):,} labelled rows would decide; these are "
        f"{result.n_samples:,}."
    )


def _rows_that_decide(result: DiffFigures) -> str:
    """Say for how many rows the half width of the interval is what is allowed, as many answers changing."""
    assert result.allow is not None
    # Without a differing row the upper limit of their rate is 1 - 0.025^(1 / n).
    needed = math.log(TAIL) / math.log1p(-result.allow)
    labelled = result.labelled
    if labelled is not None:
        # Rows that gain or lose, whose variance is that of the difference: n = (1.96 / allow)^2 (changed - d^2)
        differing = (labelled.fixed + labelled.broken) / result.n_samples
        variance = max(differing - result.value**2, 0.0)
        needed = max(needed, (NORMAL / result.allow) ** 2 * variance)
    # What these rows did not decide, no fewer will.
    needed = max(needed, 1.1 * result.n_samples)
    return f"About {rounded(needed):,} rows would decide on {amount(result, result.allow)}."


def is_regression(result: DiffFigures) -> bool:
    """Return True if outputs are compared, not answers."""
    return result.metric == "mean absolute error"


def metric_name(result: DiffFigures) -> str:
    """Return the metric at the beginning of a sentence."""
    return result.metric[0].upper() + result.metric[1:]


def amount(result: DiffFigures, value: float) -> str:
    """Return a difference: points of accuracy, or units."""
    if result.metric != "accuracy":
        return plain_figure(value)
    points = 100.0 * value
    text = f"{points:.{decimals(points)}f}"
    return f"{text} {'point' if text == '1' else 'points'}"


def standing(result: DiffFigures, value: float) -> str:
    """Return a difference in words: of costs and errors, too, a positive one is better."""
    if value == 0.0:
        return "as good as old"
    return f"{amount(result, abs(value))} {'better' if value > 0.0 else 'worse'}"


def decimals(points: float) -> int:
    """Return how many decimals show two significant digits of a number of points; one at least below 10."""
    if points <= 0.0:
        return 1
    if points >= 9.95:
        return 0
    return max(1, 1 - math.floor(math.log10(points)))


def plural(n: int, thing: str) -> str:
    """Return a number and its thing."""
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def rounded(value: float) -> int:
    """Return a number with two significant digits, upwards."""
    magnitude = math.floor(math.log10(max(value, 1.0)))
    unit = int(10 ** max(0, magnitude - 1))
    return math.ceil(value / unit) * unit
