"""The sentences below a verdict on two models: a constant answer, classes, groups, and further evidence."""

from __future__ import annotations

import math

from shiftmetrics._core.result import format_percent, plain_figure
from shiftmetrics._core.validation import first_few
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.diff.records import DiffFigures, PartDifference
from shiftmetrics.decisions.diff.words import (
    MOST_SHOWN,
    amount,
    interval_words,
    is_regression,
    plural,
    standing,
)

MOST_GROUPS = 20
"""Groups that are all printed; of more, those with the largest losses are."""


def constant_sentence(result: DiffFigures) -> str | None:
    """Say what a constant answer has, and which model is not better; None where that is not known."""
    constant = result.evidence.constant
    if constant is None:
        return None
    names = list(constant.answers)
    text = f"Always {names[0]} has"
    if len(names) > 1:
        names_text = first_few(names, MOST_SHOWN, show=str)
        text = f"Always one and the same of {names_text} (equally good) has"
    if result.metric == "accuracy":
        text += f" an accuracy of {format_percent(constant.score, 3)}"
        sign = 1.0
    else:
        text += f" a {result.metric} of {plain_figure(constant.score, 3)}"
        sign = -1.0
    labelled = result.labelled
    if labelled is None or labelled.old_score is None or labelled.new_score is None:
        return f"{text}."
    # A model that only equals a constant answer gains nothing by its features.
    beaten = [
        name
        for name, score in (("old", labelled.old_score), ("new", labelled.new_score))
        if sign * score <= sign * constant.score
    ]
    if beaten:
        text += f": {' and '.join(beaten)} {'are' if len(beaten) > 1 else 'is'} no better"
    return f"{text}."


def part_sentences(result: DiffFigures) -> list[str]:
    """Name the classes that are clearly better or worse, and all groups: somebody asked for these."""
    clear = [
        part
        for part in result.parts
        if part.verdict in (verdicts.PART_IS_BETTER, verdicts.PART_IS_WORSE)
    ]
    classes = [part for part in clear if part.kind == "class"]
    groups = [part for part in result.parts if part.kind != "class"]
    shown = groups
    # without labels only what is certain is known of them
    is_bounded = result.interval is None
    if len(groups) > MOST_GROUPS:
        shown = sorted(groups, key=_by_loss)[:MOST_GROUPS]
    sentences = [_part_words(result, part) for part in [*classes[:MOST_SHOWN], *shown]]
    if len(shown) < len(groups):
        left = plural(len(groups) - len(shown), "more group")
        others = "fewer changes" if is_bounded else "smaller losses or gains"
        sentences.append(f"{left} with {others}: all {len(groups):,} are in the JSON, under parts.")
    if result.parts and not clear and not is_bounded:
        few = sum(part.verdict == verdicts.TOO_FEW_TO_TELL for part in result.parts)
        text = f"No clear difference in any of {len(result.parts)} classes or groups"
        sentences.append(f"{text} ({few} with too few rows to tell)." if few else f"{text}.")
    return sentences


def _by_loss(part: PartDifference) -> tuple[bool, int, int]:
    """Order groups: those that are clearly worse, then by how many more rows broke than were fixed, or changed.

    The rate of a group of three rows would come first by chance.
    """
    return part.verdict != verdicts.PART_IS_WORSE, part.fixed - part.broken, -part.n_changed


def _part_words(result: DiffFigures, part: PartDifference) -> str:
    limits = ""
    if result.interval is None:
        return _bounded_words(result, part)
    if part.interval is not None:
        limits = f" ({interval_words(result, part.interval)})"
    counts = f"{part.fixed:,} fixed, {plural(part.broken, 'new error')} in {plural(part.n_samples, 'row')}"
    if is_regression(result):
        counts = f"closer in {part.fixed:,}, farther in {part.broken:,} of {plural(part.n_samples, 'row')}"
    return f"{part.kind} {part.name}: {part.verdict}{limits}, {counts}."


def _bounded_words(result: DiffFigures, part: PartDifference) -> str:
    """Say how many answers of a group change, and between which limits its difference lies for certain."""
    assert part.interval is not None
    low = part.interval.low
    high = part.interval.high
    text = f"{part.kind} {part.name}: {part.n_changed:,} of {plural(part.n_samples, 'row')} changed"
    if low == high == 0.0:
        return f"{text}."
    if math.isclose(low, -high):
        return f"{text}, by at most {amount(result, high)}, up or down."
    return f"{text}, between {standing(result, low)} and {standing(result, high)}."


def evidence_sentences(result: DiffFigures) -> list[str]:
    """Say what the answers, the probabilities and the calibration tell beside the verdict."""
    evidence = result.evidence
    sentences = []
    if evidence.kappa is not None:
        text = f"Kappa of the answers {plain_figure(evidence.kappa, 3)}"
        # Kappa is of the answers alone; the agreement counts how sure both models are, too.
        if evidence.flipped is not None:
            flipped = format_percent(evidence.flipped)
            text += (
                f"; the probabilities agree as if {flipped} of the answers were flipped at random"
            )
        sentences.append(f"{text}.")
    # Once labels give an interval, the difference is measured, and a guess at it would mislead.
    if evidence.estimate is not None and result.interval is None:
        better = "better" if evidence.estimate > 0.0 else "worse"
        sentences.append(
            "If labels were as likely as the mean of both models' probabilities says, new would be "
            f"{amount(result, abs(evidence.estimate))} {better}; that is an assumption, not a measurement."
        )
    measures = [
        f"{part.name} {plain_figure(part.old, 3)} > {plain_figure(part.new, 3)}"
        for part in evidence.measures
    ]
    if measures:
        sentences.append(f"{', '.join(measures)}.")
    return sentences
