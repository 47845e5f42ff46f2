"""The public function that compares two models by the scores of the same questions."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics._core.result import Interval, settings_of
from shiftmetrics._core.validation import check_choice, check_number, first_few
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.diff.diff import verdict_on_difference
from shiftmetrics.decisions.scores.breakdown import (
    LEVEL,
    ROUNDING,
    changed_questions,
    part_scores,
    questions_that_decide,
)
from shiftmetrics.decisions.scores.intervals import (
    REPEATS,
    ScoreGains,
    mean_of_tasks,
    repeated_interval,
    score_interval,
)
from shiftmetrics.decisions.scores.noise import noise_of_repeats, noise_of_rerun
from shiftmetrics.decisions.scores.questions import RunScores, ScorePair, matched_questions
from shiftmetrics.decisions.scores.records import (
    RerunNoise,
    ScoreCounts,
)
from shiftmetrics.decisions.scores.result import INCOMPLETE, SCORED, ScoreDiffResult
from shiftmetrics.decisions.scores.sides import ScoreSide, side_of
from shiftmetrics.tables.logs import LogCells

POPULATIONS = ("future", "these")


def diff_scores(
    old: Any,
    new: Any,
    *,
    scores: str | None = None,
    allow: float | None = None,
    ids: Any = None,
    groups: Any = None,
    again: Any = None,
    score_range: tuple[float, float] | None = None,
    failed: Literal["wrong"] | None = None,
    inner: bool = False,
    higher_is_better: bool | None = None,
    population: Literal["future", "these"] | None = None,
) -> ScoreDiffResult:
    """Compare the scores that two models get on the same questions, and say whether the new one is safe to ship.

    Parameters
    ----------
    old, new : DataFrame, array or log
        One row for each answer: a score, the question's id, and, if there, columns ``task``, ``repeat`` (the number
        of a run) and ``failed``. Scores of a judge, grades, costs, or logs of an
        evaluation. A missing score is a failed sample.
    scores : str, optional
        The column of scores. By default ``score``, or the score that the log's tool leads with.
    allow : float, optional
        By how much the mean score may be worse.
    ids : str or array, optional
        The column that names the questions, in both, or "none" for rows by their place. By default it is found by
        its name; in logs, what was asked must be equal too.
    groups : str or array, optional
        A column of clusters of questions that depend on each other, such as those on one text.
    again : DataFrame, array or log, optional
        A second run of the old model: says how many answers change by chance. The verdict does not rest on it.
    score_range : tuple of float, optional
        The lowest and the highest score that an answer can get. By default 0 and 1, if all scores lie there.
    failed : "wrong", optional
        Count failed samples as the worst score. By default their questions are left out, and a verdict holds
        whatever they would have scored.
    inner : bool, default False
        Whether questions that only one of both has are left out.
    higher_is_better : bool, optional
        False for costs. By default what the log says, or True.
    population : {"future", "these"}, optional
        Whether the verdict speaks of questions like these, the default, or of these alone: their difference is
        known, or, where both models answered each several times, known up to the chance of the answers.

    Returns
    -------
    ScoreDiffResult
        Positive differences mean that the new model is better.

    Raises
    ------
    TypeError, ValueError
        If questions cannot be matched, a score is no number or outside its range, or a question has several scores
        that nothing calls repeats.

    See Also
    --------
    diff_models : The predictions of two models, with labels of few rows.

    Notes
    -----
    Repeats of a question are averaged, so that they never count as questions. Scores of 0 and 1 have the interval of
    McNemar's exact test; all others, clusters and means over tasks, Student's interval with one more question on
    either side.

    Examples
    --------
    >>> import numpy as np
    >>> old = np.array([1.0] * 90 + [0.0] * 10)
    >>> new = np.array([1.0] * 88 + [0.0] * 10 + [1.0] * 2)
    >>> print(diff_scores(old, new, allow=0.2).headline())
    SAFE  new is as good as old on 100 questions (90.0 % to 90.0 %; 95 %: -5.6 to +5.6): 2 fixed, 2 broken.
    """
    if allow is not None:
        allow = check_number(allow, "allow", low=0.0)
    speaks_of = check_choice(population or "future", "population", POPULATIONS)
    if failed is not None:
        check_choice(failed, "failed", ("wrong",))
    old_side = side_of(old, "old", scores, ids, groups)
    new_side = side_of(new, "new", scores or old_side.score, ids, groups)
    pair = matched_questions(old_side, new_side, inner=inner)
    low, high = _range(pair, score_range)
    better_high = _direction(old_side, new_side, higher_is_better)
    worst = low if better_high else high
    best = high if better_high else low
    if allow is not None and allow >= high - low:
        remedy = "It is an amount of the score."
        raise ArgumentValueError(
            "allow", f"less than the range, {high - low:g}", value=allow, remedy=remedy
        )
    n_failed_old = int(pair.old.failed.sum())
    n_failed_new = int(pair.new.failed.sum())
    fill = None
    if failed == "wrong":
        fill = worst
    gains = _gains(pair, fill, fill, high - low, better_high)
    if not len(gains.gains):
        raise ArgumentValueError(
            "old and new", "a question with a score of both", "none", verb="have"
        )
    kept = _kept(pair, fill)
    interval = _interval(gains, speaks_of, pair, kept)
    verdict = verdict_on_difference(allow, None, interval)
    bounds = interval
    has_open = bool(n_failed_old + n_failed_new) and failed is None
    if has_open:
        # A verdict holds whatever the failed samples would have scored.
        # At worst for the new model all that failed has the best score under the old one, and the
        # worst one under the new; at best the other way round.
        least = _gains(pair, best, worst, high - low, better_high)
        most = _gains(pair, worst, best, high - low, better_high)
        bounds = _hull(
            mean_of_tasks(least.gains, least.tasks), mean_of_tasks(most.gains, most.tasks)
        )
        every = np.ones(len(pair.ids), dtype=bool)
        others = [_interval(extreme, speaks_of, pair, every) for extreme in (least, most)]
        if speaks_of == "these":
            interval = _hull(others[0].low, others[1].high, others[0])
        words = {verdict_on_difference(allow, None, other) for other in others}
        failures_decide = words != {verdict}
        if failures_decide:
            verdict = verdicts.CANNOT_TELL
    else:
        failures_decide = False
    old_means = pair.old.means(fill)[kept]
    new_means = pair.new.means(fill)[kept]
    value = mean_of_tasks(gains.gains, gains.tasks)
    noise = _noise(pair, old_side, again, scores, ids, groups)
    decide = None
    if verdict == verdicts.CANNOT_TELL and allow and not failures_decide:
        decide = questions_that_decide(gains, allow, value)
    runs = [
        np.concatenate([side.runs[np.isfinite(side.runs)], []]) for side in (pair.old, pair.new)
    ]
    counts = ScoreCounts(
        n_groups=None if gains.groups is None else len(np.unique(gains.groups)),
        runs_old=pair.old.runs.shape[1],
        runs_new=pair.new.runs.shape[1],
        better=int((gains.gains > ROUNDING).sum()),
        worse=int((gains.gains < -ROUNDING).sum()),
        failed_old=n_failed_old,
        failed_new=n_failed_new,
        left_out=len(pair.ids) - len(gains.gains),
        decide=decide,
        is_binary=all(bool(np.isin(values, (0.0, 1.0)).all()) for values in runs),
        low=low,
        high=high,
    )
    error = 0.0
    if has_open:
        error = max(value - bounds.low, bounds.high - value, 0.0)
    return ScoreDiffResult(
        value=value,
        error_bound=error,
        interval=interval,
        status=INCOMPLETE if has_open else SCORED,
        n_samples=len(gains.gains),
        settings=settings_of(
            scores=old_side.score,
            allow=allow,
            groups=groups is not None,
            failed=failed,
            inner=inner,
            higher_is_better=better_high,
            population=speaks_of,
            score_range=(low, high),
            failures_decide=failures_decide,
            above=pair.warnings,
            found=_found(pair, old_side, new_side, better_high),
        ),
        verdict=verdict,
        allow=allow,
        metric=old_side.score,
        counts=counts,
        old_score=mean_of_tasks(old_means, gains.tasks),
        new_score=mean_of_tasks(new_means, gains.tasks),
        parts=part_scores(pair, gains, kept, old_means, new_means),
        noise=noise,
        questions=changed_questions(pair, gains, kept, old_means, new_means),
    )


def _range(pair: ScorePair, given: tuple[float, float] | None) -> tuple[float, float]:
    """Return the lowest and the highest score that an answer can get."""
    values = np.concatenate([pair.old.runs.ravel(), pair.new.runs.ravel()])
    values = values[np.isfinite(values)]
    if not len(values):
        raise ArgumentValueError(
            "old and new", "a question with a score", "failed samples alone", verb="have"
        )
    least = float(values.min())
    most = float(values.max())
    if given is None:
        if least < 0.0 or most > 1.0:
            # Intervals rest on the range, and the scores that were seen need not reach its ends.
            got = f"scores from {least:g} to {most:g}"
            remedy = Wording(
                "Pass ",
                Setting("score_range"),
                ": the lowest and the highest score that an answer can get.",
            )
            raise ArgumentValueError(
                "score_range", "given where scores lie outside 0 to 1", got, remedy
            )
        return 0.0, 1.0
    try:
        low, high = (check_number(value, "score_range") for value in given)
    except (TypeError, ValueError) as error:
        raise ArgumentValueError("score_range", "two numbers", value=given) from error
    if not low < high or least < low or most > high:
        got = f"{low:g} to {high:g} with scores from {least:g} to {most:g}"
        raise ArgumentValueError("score_range", "rising, around all scores", got)
    return low, high


def _direction(old: ScoreSide, new: ScoreSide, given: bool | None) -> bool:
    if given is not None:
        return given
    for side in (old, new):
        if isinstance(side.cells, LogCells) and side.score in side.cells.lower_is_better:
            return False
    return True


def _kept(pair: ScorePair, fill: float | None) -> Any:
    return pair.both if fill is None else np.ones(len(pair.ids), dtype=bool)


def _gains(
    pair: ScorePair, fill_old: float | None, fill_new: float | None, reach: float, better_high: bool
) -> ScoreGains:
    """Return what each question gains, with failed samples left out or scored."""
    kept = _kept(pair, fill_old)
    old = pair.old.means(fill_old)[kept]
    new = pair.new.means(fill_new)[kept]
    gains = new - old
    if not better_high:
        gains = -gains
    groups = None if pair.groups is None else pair.groups[kept]
    # One answer of 0 or 1 each: McNemar's interval, which depends on nothing else.
    has_one_run = pair.old.runs.shape[1] == 1 and pair.new.runs.shape[1] == 1
    is_binary = bool(np.isin(old, (0.0, 1.0)).all() and np.isin(new, (0.0, 1.0)).all())
    return ScoreGains(
        gains=gains,
        tasks=_codes(pair.tasks[kept]),
        groups=groups,
        reach=reach,
        are_signs=has_one_run and is_binary and reach == 1.0,
    )


def _codes(names: Any) -> IntArray:
    if not len(names):
        return np.zeros(0, dtype=np.int64)
    _, codes = np.unique(names.astype(str), return_inverse=True)
    return np.asarray(codes.ravel(), dtype=np.int64)


def _interval(gains: ScoreGains, population: str, pair: ScorePair, kept: Any) -> Interval:
    if population == "future":
        return score_interval(gains, LEVEL)
    n_runs = np.column_stack([pair.old.n_good[kept], pair.new.n_good[kept]]).astype(np.float64)
    if (n_runs > 1.0).all():
        sides = [side.runs[kept] for side in (pair.old, pair.new)]
        variances = np.column_stack([np.nanvar(runs, axis=1, ddof=1) for runs in sides])
        return repeated_interval(gains, variances / n_runs, n_runs, LEVEL)
    # of one answer to each question, the answers themselves are all there is
    value = mean_of_tasks(gains.gains, gains.tasks)
    return Interval(low=value, high=value, confidence_level=LEVEL, method="exact")


def _hull(low: float, high: float, like: Interval | None = None) -> Interval:
    """Return what lies between the extremes: for certain, or at the level of their intervals."""
    if like is not None and like.method == REPEATS:
        return dataclasses.replace(like, low=low, high=high)
    return Interval(low=low, high=high, confidence_level=1.0, method="certain")


def _noise(
    pair: ScorePair, old: ScoreSide, again: Any, scores: str | None, ids: Any, groups: Any
) -> RerunNoise | None:
    """Return what repeats, or a second run of the old model, say of chance."""
    if again is None:
        return noise_of_repeats(pair)
    side = side_of(again, "again", scores or old.score, ids, groups)
    second = matched_questions(old, side, inner=True)
    places = {key: place for place, key in enumerate(zip(second.tasks, second.ids, strict=True))}
    rows = []
    others = []
    for row, key in enumerate(zip(pair.tasks, pair.ids, strict=True)):
        place = places.get(key)
        if place is not None:
            rows.append(row)
            others.append(place)
    return noise_of_rerun(_some(pair.old, rows), _some(pair.new, rows), _some(second.new, others))


def _some(side: RunScores, rows: list[int]) -> RunScores:
    return RunScores(runs=side.runs[rows], failed=side.failed[rows])


def _found(pair: ScorePair, old: ScoreSide, new: ScoreSide, better_high: bool) -> tuple[str, ...]:
    """Say what was taken for what."""
    named = "Score" if old.score.lower() == "score" else f"Score {old.score}"
    found = [f"{named}, {'higher' if better_high else 'lower'} is better."]
    if old.others:
        found.append(
            f"The log also has {first_few(old.others, 5, show=str)}: --scores NAME takes one."
        )
    for side in (old, new):
        notes = side.cells.notes
        found += [f"{side.argument}: {note}." for note in notes]
    found += pair.notes
    return tuple(dict.fromkeys(found))
