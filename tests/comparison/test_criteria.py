"""Criteria of choosing a model: their formulas, which one is taken, and whether intervals and p-values hold."""

import numpy as np
import pytest
from sklearn import metrics

import oracles
from pools import camps, one_hot, pool
from shiftmetrics import Resampling, compare_agreement
from shiftmetrics.comparison import criteria

FEW = Resampling(rng=0, n_resamples=60)


@pytest.mark.parametrize("seed", range(4))
def test_scores_of_a_confusion_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    labels, predicted, weights = rng.integers(3, size=50), rng.integers(4, size=50), rng.random(50)
    found = criteria.confusion(labels, predicted, 5, weights)
    options = {"sample_weight": weights}
    assert criteria.accuracy(found) == pytest.approx(
        metrics.accuracy_score(labels, predicted, **options)
    )
    assert criteria.f1_macro(found) == pytest.approx(
        metrics.f1_score(labels, predicted, average="macro", **options)
    )
    assert criteria.kappa(found) == pytest.approx(
        metrics.cohen_kappa_score(labels, predicted, **options)
    )
    with pytest.warns(UserWarning, match="y_pred contains classes not in y_true"):
        expected = metrics.balanced_accuracy_score(labels, predicted, **options)
    assert criteria.balanced_accuracy(found) == pytest.approx(expected)


@pytest.mark.parametrize("name", criteria.SCORES)
def test_a_score_is_a_fraction(name):
    """Intervals of scores are cut at 0 and 1, and have one more row against the value or for it."""
    score = criteria.SCORES[name]
    assert score(np.diag([0.25, 0.75])) == 1.0
    assert score(np.array([[0.0, 0.5], [0.5, 0.0]])) == 0.0
    rng = np.random.default_rng(0)
    for _ in range(50):
        found = rng.dirichlet(np.full(9, 0.2)).reshape(3, 3)
        assert 0.0 <= score(found) <= 1.0


@pytest.mark.parametrize("seed", range(4))
def test_the_vote_is_that_of_a_slow_count(seed):
    _, before, _ = pool(seed, n=60)
    garbage = np.random.default_rng(seed).integers(4, size=(2, 60))
    constant = np.zeros((1, 60), dtype=int)
    predictions = np.concatenate([before, garbage, constant])
    votes, trust = criteria.weighted_vote(predictions, 4, np.ones(60))
    slow_votes, slow_trust = oracles.weighted_vote(predictions)
    assert trust == pytest.approx(slow_trust)
    assert (votes == slow_votes).mean() > 0.98  # rounding decides between two sides of one weight
    assert trust[-1] == 0.0


def test_a_constant_model_does_not_decide_between_two_others():
    _, before, _ = pool(n_classes=2)
    votes, trust = criteria.weighted_vote(
        np.stack([np.zeros(300, dtype=int), before[0], before[1]]), 2, np.ones(300)
    )
    assert trust[0] == 0.0
    assert min(trust[1:]) > 0.2
    assert np.mean(votes == before[0]) > 0.8


def test_a_camp_of_alarm_models_does_not_capture_the_vote():
    labels, before = camps()
    vote, trust = criteria.weighted_vote(before, 2, np.ones(600))
    captured, loud = criteria.weighted_vote(before, 2, np.ones(600), from_kappas=True)
    assert np.mean(vote == labels) > 0.9 > np.mean(captured == labels)
    assert trust[:4].min() > trust[4:].max()
    assert loud[4:].min() > loud[:4].max()


def test_a_pool_without_any_agreement_has_a_vote():
    predictions = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 0, 0, 0]])
    votes, trust = criteria.weighted_vote(predictions, 2, np.ones(4))
    assert not trust.any()
    assert votes.tolist() == [0, 0, 0, 0]  # even: the first class


@pytest.mark.parametrize("seed", range(4))
def test_the_chained_confusion_is_that_of_a_slow_count(seed):
    labels, before, after = pool(seed, n=40)
    known, rest = slice(0, 15), slice(15, 40)
    ones = np.ones(15), np.ones(25)
    labelled = criteria.confusion(labels[known], before[2][known], 4, ones[0])
    moved = criteria.confusion(before[2][rest], after[2][rest], 4, ones[1])
    expected = oracles.chained_confusion(
        labels[known], before[2][known], before[2][rest], after[2][rest], 4
    )
    assert criteria.chained_confusion(labelled, moved) == pytest.approx(expected)


def test_a_rare_class_does_not_turn_the_order():
    """4.5 % positives. Two models find them, one flags a tenth of all rows, one hardly finds any."""
    rng = np.random.default_rng(0)
    labels = (rng.random(4000) < 0.045).astype(int)

    def model(missed, false_alarms):
        wrong = np.where(labels == 1, rng.random(4000) < missed, rng.random(4000) < false_alarms)
        return np.where(wrong, 1 - labels, labels)

    before = {"good": model(0.05, 0.002), "fair": model(0.3, 0.01), "alarmist": model(0.05, 0.1)}
    before["constant"] = np.zeros(4000, dtype=int)
    after = {name: np.where(rng.random(4000) < 0.005, 1 - row, row) for name, row in before.items()}
    after["constant"] = before["constant"]
    assert metrics.accuracy_score(labels, after["good"]) > 0.985
    assert (
        metrics.f1_score(labels, after["alarmist"])
        < 0.5
        < 0.85
        < metrics.f1_score(labels, after["good"])
    )
    shifted, reference = (
        {name: one_hot(row) for name, row in part.items()} for part in (after, before)
    )
    known = slice(0, 1000)
    chained = {
        "labels": labels[known], "labelled_scores": {name: one_hot(row[known]) for name, row in before.items()},
    }  # fmt: skip
    for given in ({}, {"labels": labels}, chained):
        found = compare_agreement(shifted, reference, resampling=FEW, **given)
        ranks = {model.name: model.rank for model in found.models}
        assert max(ranks["good"], ranks["fair"]) < ranks["alarmist"]
        assert (
            ranks["good"] == 1 or not given
        )  # to the vote two good models are each other's measure
        assert [model.name for model in found.models if model.collapsed] == ["constant"]
