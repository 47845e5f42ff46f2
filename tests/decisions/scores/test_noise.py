"""The noise of running a model again."""

import itertools

import numpy as np
import pytest

from shiftmetrics.decisions.scores.noise import noise_of_repeats, noise_of_rerun
from shiftmetrics.decisions.scores.questions import RunScores, ScorePair


def pair_of(old, new):
    n = len(old)
    return ScorePair(
        ids=np.arange(n).astype(str).astype(object),
        tasks=np.full(n, "", dtype=object),
        groups=None,
        old=runs_of(old),
        new=runs_of(new),
        notes=(),
        warnings=(),
    )


def runs_of(scores):
    runs = np.asarray(scores, dtype=float)
    return RunScores(runs=runs, failed=np.isnan(runs).sum(axis=1))


def p_value_by_hand(old, new):
    """Go through all ways to say which runs are new."""
    both = np.concatenate([old, new], axis=1)
    n_old = old.shape[1]
    n_runs = both.shape[1]
    seen = ((new.mean(axis=1) - old.mean(axis=1)) ** 2).sum()
    splits = list(itertools.combinations(range(n_runs), n_runs - n_old))
    larger = 0
    total = 0
    for chosen in itertools.product(splits, repeat=len(both)):
        statistic = 0.0
        for row, columns in zip(both, chosen, strict=True):
            rest = [place for place in range(n_runs) if place not in columns]
            statistic += (row[list(columns)].mean() - row[rest].mean()) ** 2
        larger += statistic >= seen - 1e-12
        total += 1
    return larger / total


def test_the_p_value_of_0_and_1_is_that_of_all_permutations():
    rng = np.random.default_rng(3)
    for _ in range(5):
        old = rng.integers(0, 2, (4, 2)).astype(float)
        new = rng.integers(0, 2, (4, 2)).astype(float)
        noise = noise_of_repeats(pair_of(old, new))
        assert noise.p_value == pytest.approx(p_value_by_hand(old, new))


def test_the_p_value_of_grades_is_close_to_that_of_all_permutations():
    old = np.array([[0.0, 0.25], [1.0, 0.5], [0.0, 0.0], [0.5, 0.5]])
    new = np.array([[0.5, 0.75], [0.5, 0.25], [1.0, 0.5], [0.5, 1.0]])
    noise = noise_of_repeats(pair_of(old, new))
    assert noise.p_value == pytest.approx(p_value_by_hand(old, new), abs=0.04)


def test_one_run_of_a_model_tells_nothing():
    assert noise_of_repeats(pair_of([[1.0], [0.0]], [[0.0], [1.0]])) is None


def test_equal_models_are_called_different_as_rarely_as_promised():
    rng = np.random.default_rng(5)
    n_alarms = 0
    for _ in range(300):
        right = rng.beta(0.5, 0.5, 40)[:, None]
        old = (rng.random((40, 4)) < right).astype(float)
        new = (rng.random((40, 4)) < right).astype(float)
        n_alarms += noise_of_repeats(pair_of(old, new)).p_value <= 0.05
    assert n_alarms / 300 <= 0.09


def test_other_questions_right_at_equal_means_are_seen():
    old = np.repeat([[1.0], [0.0]], 10, axis=0).repeat(3, axis=1)
    noise = noise_of_repeats(pair_of(old, 1.0 - old))
    assert noise.p_value < 0.001


def test_failed_runs_are_left_out():
    old = np.array([[1.0, np.nan], [0.0, 1.0], [np.nan, np.nan]])
    new = np.array([[1.0, 0.0], [0.0, np.nan], [1.0, 1.0]])
    assert 0.0 < noise_of_repeats(pair_of(old, new)).p_value <= 1.0


def test_a_second_run_that_changes_as_much_gives_no_alarm():
    old = runs_of(np.zeros((20, 1)))
    new = np.zeros((20, 1))
    new[:6] = 1.0
    again = np.zeros((20, 1))
    again[10:16] = 1.0
    noise = noise_of_rerun(old, runs_of(new), runs_of(again))
    assert (noise.changed_new, noise.changed_again) == (6, 6)
    assert noise.p_value > 0.5


def test_a_second_run_that_changes_nothing_is_told_from_a_new_model():
    old = runs_of(np.zeros((20, 1)))
    new = np.zeros((20, 1))
    new[:6] = 1.0
    noise = noise_of_rerun(old, runs_of(new), old)
    assert noise.p_value == pytest.approx(0.5**6)
    assert noise_of_rerun(old, old, old).p_value == 1.0
