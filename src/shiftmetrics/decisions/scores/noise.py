"""Whether more answers change than running the old model again would change."""

from __future__ import annotations

import math

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.decisions.scores.questions import RunScores, ScorePair
from shiftmetrics.decisions.scores.records import RerunNoise

N_PERMUTATIONS = 1_999

SEED = 0
"""Of the permutations, so that the same scores give the same p-value."""

BLOCK = 2**21
"""Permuted scores that are held at a time."""


def noise_of_repeats(pair: ScorePair) -> RerunNoise | None:
    """Return the test that the runs of both models could be exchanged within each question.

    The statistic is the sum over questions of (mean of new - mean of old)^2, which sees flips in both
    directions that leave the mean as it is. Under the null hypothesis, which of the runs of a question are
    new is random. Of scores of 0 and 1, with as many runs everywhere, the distribution is exact; else it
    is sampled.

    Returns
    -------
    RerunNoise or None
        None unless either model answered a question at least twice.
    """
    rows = pair.both
    old = pair.old.runs[rows]
    new = pair.new.runs[rows]
    n_old = np.isfinite(old).sum(axis=1)
    n_new = np.isfinite(new).sum(axis=1)
    if not len(old) or n_old.max() < 2 or n_new.max() < 2:
        return None
    both = np.concatenate([old, new], axis=1)
    values = both[np.isfinite(both)]
    is_even = (n_old == old.shape[1]).all() and (n_new == new.shape[1]).all()
    if is_even and np.isin(values, (0.0, 1.0)).all() and old.shape[1] == new.shape[1]:
        p_value = _exact(old, new)
    else:
        p_value = _sampled(both, n_new, _statistic(old, new))
    return RerunNoise(method="repeats", p_value=p_value)


def _statistic(old: FloatArray, new: FloatArray) -> float:
    return float(np.sum((np.nanmean(new, axis=1) - np.nanmean(old, axis=1)) ** 2))


def _exact(old: FloatArray, new: FloatArray) -> float:
    """Return the p-value of scores of 0 and 1 by the convolution of the questions' distributions."""
    n_runs = old.shape[1]
    right_old = old.sum(axis=1).astype(int)
    right_new = new.sum(axis=1).astype(int)
    seen = int(((right_new - right_old) ** 2).sum())
    distribution = np.ones(1)
    for total in range(2 * n_runs + 1):
        n_questions = int((right_old + right_new == total).sum())
        if not n_questions:
            continue
        # Of so many right runs of a question, the number among the new ones is hypergeometric.
        right = np.arange(max(0, total - n_runs), min(n_runs, total) + 1)
        squares = (2 * right - total) ** 2
        single = np.zeros(int(squares.max()) + 1)
        n_splits = math.comb(2 * n_runs, total)
        for number, square in zip(right.tolist(), squares.tolist(), strict=True):
            ways = math.comb(n_runs, number) * math.comb(n_runs, total - number)
            single[square] += ways / n_splits
        for _ in range(n_questions):
            distribution = np.convolve(distribution, single)
    return min(1.0, float(distribution[seen:].sum()))


def _sampled(both: FloatArray, n_new: FloatArray, seen: float) -> float:
    """Return the p-value from random permutations of the runs of each question."""
    rng = np.random.default_rng(SEED)
    is_run = np.isfinite(both)
    values = np.where(is_run, both, 0.0)
    n_old = is_run.sum(axis=1) - n_new
    total = values.sum(axis=1)
    n_larger = 0
    done = 0
    while done < N_PERMUTATIONS:
        n_block = min(max(BLOCK // both.size, 1), N_PERMUTATIONS - done)
        # Random keys put the runs of each question in order; the first of them, as many as there
        # are new runs, count as new.
        keys = rng.random((n_block, *both.shape))
        keys[:, ~is_run] = np.inf
        ranks = keys.argsort(axis=2).argsort(axis=2)
        is_new = ranks < n_new[:, None]
        sums = (values * is_new).sum(axis=2)
        gaps = sums / n_new - (total - sums) / n_old
        n_larger += int(((gaps**2).sum(axis=1) >= seen * (1.0 - 1e-12)).sum())
        done += n_block
    return (n_larger + 1) / (N_PERMUTATIONS + 1)


def noise_of_rerun(old: RunScores, new: RunScores, again: RunScores) -> RerunNoise | None:
    """Return the test that the new model changes as many answers as a second run of the old one.

    If the new model answers as the old one does, its run and the second run may be exchanged: of the questions
    in which one of the two is farther from the first run, half are expected either way.

    Parameters
    ----------
    old, new, again : RunScores
        Of the same questions.
    """
    from scipy.special import bdtr

    first = old.means()
    by_new = np.abs(new.means() - first)
    by_again = np.abs(again.means() - first)
    rows = np.isfinite(by_new) & np.isfinite(by_again)
    if not rows.any():
        return None
    more = int((by_new[rows] > by_again[rows]).sum())
    fewer = int((by_new[rows] < by_again[rows]).sum())
    # One-sided: P(X >= more) for half of them.
    p_value = 1.0 if more == 0 else float(bdtr(fewer, more + fewer, 0.5))
    return RerunNoise(
        method="again",
        p_value=p_value,
        changed_new=int((by_new[rows] > 0.0).sum()),
        changed_again=int((by_again[rows] > 0.0).sum()),
    )
