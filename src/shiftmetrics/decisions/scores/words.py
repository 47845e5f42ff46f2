"""The sentences of a comparison of scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from shiftmetrics._core.result import Interval, format_percent, p_words, plain_figure
from shiftmetrics._core.validation import first_few
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.diff.words import decimals, plural
from shiftmetrics.decisions.labelling.paired import FUTURE
from shiftmetrics.decisions.scores.intervals import REPEATS

if TYPE_CHECKING:
    from shiftmetrics.decisions.scores.records import TaskScore
    from shiftmetrics.decisions.scores.result import ScoreDiffResult

FEW_GROUPS = 20
"""Below so many clusters, they are too few, and not the questions."""

SURE = 0.05

ROUNDING = 1e-12


def score_sentence(result: ScoreDiffResult) -> str:
    """Return what the verdict rests on."""
    counts = result.counts
    assert result.interval is not None
    questions = plural(result.n_samples, "question")
    n_runs = max(counts.runs_old, counts.runs_new)
    if n_runs > 1:
        runs = str(counts.runs_old)
        if counts.runs_old != counts.runs_new:
            runs = f"{counts.runs_old} and {counts.runs_new}"
        questions += f" x {runs} runs"
    if result.tasks:
        questions += f" of {len(result.tasks)} tasks"
    if counts.n_groups is not None:
        questions += f" in {counts.n_groups:,} groups"
    these = "these " if result.interval.method != FUTURE else ""
    scores = f"{score_figure(result, result.old_score)} to {score_figure(result, result.new_score)}"
    text = f"new is {_standing(result)} on {these}{questions} ({scores}; {score_limits(result, result.interval)})"
    text += f": {_changes(result)}"
    failed = counts.failed_old + counts.failed_new
    if failed:
        text += f"; {plural(failed, 'failed sample')} left out ({counts.failed_old:,} old, {counts.failed_new:,} new)"
    # A second run of the old model alone does not enter the verdict, and is said below it.
    if result.noise is not None and result.noise.method == "repeats":
        text += f"; {_noise(result)}"
    text += "."
    if (
        result.verdict == verdicts.CANNOT_TELL
        and counts.decide is not None
        and not has_few_groups(result)
    ):
        assert result.allow is not None
        text += f" About {counts.decide:,} questions would decide on {score_amount(result, result.allow)}."
    return text


def _changes(result: ScoreDiffResult) -> str:
    counts = result.counts
    if counts.is_binary and max(counts.runs_old, counts.runs_new) == 1:
        return f"{counts.better:,} fixed, {counts.worse:,} broken"
    return f"{counts.better:,} better, {counts.worse:,} worse"


def _noise(result: ScoreDiffResult) -> str:
    noise = result.noise
    assert noise is not None
    p_value = p_words(noise.p_value)
    if noise.p_value > SURE:
        return f"re-running the old model alone would change as many answers ({p_value})"
    return f"more answers change than by re-running the old model ({p_value})"


def score_findings(result: ScoreDiffResult) -> list[str]:
    """Return the sentences below the verdict."""
    counts = result.counts
    sentences = [*result.settings.get("found", ())]
    noise = result.noise
    if noise is not None and noise.method == "again":
        counts_text = f"{noise.changed_again:,} answers, the new one {noise.changed_new:,}"
        sentences.append(
            f"Running the old model again changes {counts_text}: {_noise(result)}. The verdict does not rest on this."
        )
    # Models that sample their answers change some of them from run to run, and one run hides it.
    if noise is None and max(counts.runs_old, counts.runs_new) == 1:
        sentences.append(
            "With one run of each model nothing tells what changes by chance: if answers are sampled, add a second "
            "run of the old one by --again."
        )
    # A small task counts as much as a large one, so that the two means may differ in sign.
    if result.tasks:
        by_size = _by_size(result)
        sentences.append(f"The mean is over tasks; over all questions new is {by_size}.")
    sentences += [_part(result, part) for part in result.parts]
    fallen = [str(name) for name in result.questions.id[: counts.worse]]
    if fallen:
        sentences.append(f"Worst first: {first_few(fallen, 5, show=str)}.")
    if has_few_groups(result):
        sentences.append(
            f"{counts.n_groups} groups are few: more of them are needed, not more questions in each."
        )
    return sentences


def _by_size(result: ScoreDiffResult) -> str:
    n = sum(part.n_questions for part in result.tasks)
    total = sum(part.n_questions * (part.new - part.old) for part in result.tasks) / n
    if result.settings.get("higher_is_better") is False:
        total = -total
    return _better(result, total)


def _part(result: ScoreDiffResult, part: TaskScore) -> str:
    name = part.name or "without a name"
    scores = f"{score_figure(result, part.old)} to {score_figure(result, part.new)}"
    interval = score_limits(result, part.interval)
    kind = part.kind.capitalize()
    questions = plural(part.n_questions, "question")
    return f"{kind} {name}: {part.verdict} ({scores}; {interval}), {questions}."


def score_steps(result: ScoreDiffResult) -> list[str]:
    """Say what to do now."""
    if result.verdict == verdicts.SAFE:
        return ["Ship it."]
    if result.verdict == verdicts.WORSE:
        return ["Keep the old model until the questions that fell are mended."]
    steps = []
    if result.verdict == verdicts.CANNOT_TELL:
        # While failed samples may turn the verdict, more questions need not settle it.
        if result.settings.get("failures_decide"):
            steps.append(
                "The failed samples decide: run them again, or count them as wrong: shiftmetrics diff OLD NEW "
                "--failed wrong"
            )
        elif has_few_groups(result):
            steps.append("Ask questions of more groups.")
        elif result.counts.decide is not None:
            steps.append("Ask more questions like these.")
        elif result.allow:
            steps.append(
                "The difference lies near what is allowed: many more questions are needed."
            )
    return steps


def score_details(result: ScoreDiffResult) -> list[str]:
    """Say how the interval was made, and of what."""
    counts = result.counts
    assert result.interval is not None
    is_single = max(counts.runs_old, counts.runs_new) == 1
    if result.interval.method != FUTURE:
        method = "of these questions alone"
    # McNemar's test counts independent pairs of 0 and 1: no means of runs, and no clusters.
    elif counts.is_binary and is_single and not result.tasks and counts.n_groups is None:
        method = "by McNemar's exact test"
    else:
        method = "Student's, with one more question on either side"
    n_equal = result.n_samples - counts.better - counts.worse
    sentences = [
        f"The interval is {method}; a score lies between {counts.low:g} and {counts.high:g}.",
        f"Of {plural(result.n_samples, 'question')} {n_equal:,} have equal scores; {counts.left_out:,} are left out.",
    ]
    if result.error_bound > 0.0:
        most = score_amount(result, result.error_bound)
        sentences.append(
            f"Whatever the failed samples would have scored, the difference moves by at most {most} here."
        )
    return sentences


def has_few_groups(result: ScoreDiffResult) -> bool:
    """Return True if the groups are too few: then more questions in each would not decide."""
    n_groups = result.counts.n_groups
    return n_groups is not None and n_groups < FEW_GROUPS


def is_fraction(result: ScoreDiffResult) -> bool:
    """Return True if scores lie between 0 and 1 and are printed as per cent."""
    return result.counts.low == 0.0 and result.counts.high == 1.0


def score_figure(result: ScoreDiffResult, value: float) -> str:
    """Return a mean score as it is printed."""
    return format_percent(value, 3) if is_fraction(result) else plain_figure(value, 4)


def score_amount(result: ScoreDiffResult, value: float) -> str:
    """Return a difference: points of a score between 0 and 1, or units."""
    if not is_fraction(result):
        return plain_figure(value)
    points = 100.0 * value
    # One decimal, unless it says nothing; more would claim what a few hundred questions do not know.
    places = 0 if points >= 9.95 else 1
    if 0.0 < points < 0.1:
        places = decimals(points)
    text = f"{points:.{places}f}".removesuffix(".0")
    return f"{text} {'point' if text == '1' else 'points'}"


def _standing(result: ScoreDiffResult) -> str:
    return _better(result, result.value)


def _better(result: ScoreDiffResult, value: float) -> str:
    if abs(value) <= ROUNDING:
        return "as good as old"
    return f"{score_amount(result, abs(value))} {'better' if value > 0.0 else 'worse'}"


def score_limits(result: ScoreDiffResult, interval: Interval) -> str:
    """Return an interval of a difference, such as ``95 %: -1.9 to +0.8``."""
    if interval.low == interval.high:
        return "exactly"
    level = f"{100.0 * interval.confidence_level:.3g} %"
    if interval.method not in (FUTURE, REPEATS):
        level = "for certain"
    if not is_fraction(result):
        low = plain_figure(interval.low, 3, sign="+")
        high = plain_figure(interval.high, 3, sign="+")
        return f"{level}: {low} to {high}"
    half = 50.0 * (interval.high - interval.low)
    # As many decimals as give half the width one digit, and three at the most.
    digits = 0 if half >= 9.95 else max(1, -math.floor(math.log10(max(half, 1e-3))))
    return f"{level}: {100.0 * interval.low:+.{digits}f} to {100.0 * interval.high:+.{digits}f}"
