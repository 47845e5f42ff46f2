"""Rates: counted by hand, intervals against SciPy and by simulation, groups, bad input."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.metrics import f1_score

from optional import torch
from shiftmetrics.agreement import PredictionRatesResult, prediction_rates

RNG = np.random.default_rng(0)
LABELS = RNG.integers(4, size=300)
REFERENCE = np.where(RNG.random(300) < 0.8, LABELS, RNG.integers(4, size=300))
SHIFTED = np.where(RNG.random(300) < 0.7, REFERENCE, RNG.integers(4, size=300))
GROUPS = np.array(["a", "b", "c"])[RNG.integers(3, size=300)]


def test_each_rate_is_what_it_counts() -> None:
    rates = prediction_rates(SHIFTED, REFERENCE, LABELS).overall
    after, before = SHIFTED == LABELS, REFERENCE == LABELS
    assert rates.afr_p.value == np.mean(SHIFTED == REFERENCE)
    assert rates.afr_t.value == after.mean()
    assert rates.accuracy.value == before.mean()
    assert rates.delta_afr.value == pytest.approx(before.mean() - after.mean(), abs=1e-15)
    assert rates.misled.value == np.mean(before & ~after)
    assert rates.attack_success_rate.value == pytest.approx(1 - after.mean())
    assert rates.macro_f1.value == pytest.approx(f1_score(LABELS, SHIFTED, average="macro"))
    assert rates.reference_macro_f1.value == pytest.approx(
        f1_score(LABELS, REFERENCE, average="macro")
    )


@pytest.mark.parametrize("count", [0, 1, 37, 99, 100])
@pytest.mark.parametrize("confidence_level", [0.8, 0.95])
def test_intervals_of_rates_are_exact(count: int, confidence_level: float) -> None:
    rates = prediction_rates(
        np.arange(100) < count, np.ones(100, dtype=bool), confidence_level=confidence_level
    )
    exact = binomtest(count, 100).proportion_ci(confidence_level, "exact")
    assert rates.value == count / 100
    assert (rates.interval.low, rates.interval.high) == pytest.approx(
        (exact.low, exact.high), abs=1e-12
    )


def test_without_labels_only_what_needs_none() -> None:
    result = prediction_rates(SHIFTED, REFERENCE)
    assert [name for name, _ in result.overall.items()] == ["afr_p", "attack_success_rate"]
    assert result.overall.attack_success_rate.value == pytest.approx(1 - result.value)
    assert "AFR_T" not in result.headline()


def test_groups_are_what_their_rows_give_alone() -> None:
    result = prediction_rates(SHIFTED, REFERENCE, LABELS, groups=GROUPS)
    assert list(result.groups) == ["a", "b", "c"]
    for name, rates in result.groups.items():
        rows = name == GROUPS
        alone = prediction_rates(SHIFTED[rows], REFERENCE[rows], LABELS[rows]).overall
        assert rates.equals(alone)
    assert "AFR_T is lowest in group" in result.summary()


def test_intervals_cover() -> None:
    """Of the difference of accuracies, of the groups together and of macro F1, over simulated samples."""
    rng = np.random.default_rng(5)
    n, draws, covered = 120, 200, np.zeros(3)
    # Two groups: right before with 0.9; right after with 0.7 and 0.6. One class in three is hard.
    truth_f1 = _population_f1()
    for _ in range(draws):
        groups = np.arange(n) % 2
        labels = rng.integers(3, size=n)
        before = rng.random(n) < 0.9
        after = rng.random(n) < np.where(groups, 0.6, 0.7)
        wrong = (labels + 1) % 3
        result = prediction_rates(
            np.where(after, labels, wrong),
            np.where(before, labels, wrong),
            labels,
            groups=groups,
            confidence_level=0.9,
        )
        joint = prediction_rates(
            np.where(after, labels, wrong), labels, labels, groups=groups, confidence_level=0.95
        )
        held = [
            rates.afr_t.interval.low <= truth <= rates.afr_t.interval.high
            for rates, truth in zip(joint.groups.values(), (0.7, 0.6), strict=True)
        ]
        delta, f1 = result.overall.delta_afr.interval, result.overall.macro_f1.interval
        covered += [delta.low <= 0.9 - 0.65 <= delta.high, all(held), f1.low <= truth_f1 <= f1.high]
    shares = covered / draws
    assert shares[0] >= 0.9  # joined from two exact ones: conservative
    assert shares[1] >= 0.9
    assert 0.85 <= shares[2] <= 0.95


def _population_f1() -> float:
    return (
        0.65  # all classes are equally frequent, as labels and as predictions: F1 is the accuracy
    )


def test_scores_are_read_by_their_largest_column() -> None:
    scores, reference = RNG.normal(size=(2, 50, 3))
    by_label = prediction_rates(scores.argmax(1), reference.argmax(1), LABELS[:50] % 3)
    table = {"index": np.arange(50), "columns": [0, 1, 2]}
    for a, b in (
        (scores, reference),
        (scores.tolist(), reference.tolist()),
        (torch.tensor(scores), torch.tensor(reference)),
        (pd.DataFrame(scores, **table), pd.DataFrame(reference, **table)[::-1]),
        (scores.astype(np.float16).astype(float), reference),
    ):
        assert prediction_rates(a, b, LABELS[:50] % 3).overall.equals(by_label.overall)
    assert prediction_rates([[0.0, 0.0], [0.0, 1.0]], [0, 1]).value == 1.0  # ties: the first class


def test_names_of_columns_are_classes() -> None:
    scores = pd.DataFrame([[1.0, 0.0], [0.0, 1.0]], columns=["cat", "dog"])
    result = prediction_rates(scores, ["cat", "cat"], ["cat", "dog"])
    assert (result.value, result.overall.afr_t.value, result.overall.accuracy.value) == (
        0.5,
        1.0,
        0.5,
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            ([0, 1], [0]),
            ValueError,
            "reference_predictions must be of length 2 like predictions, got length 1",
        ),
        (([0, 1], [0, 1], [0]), ValueError, "labels must be of length 2"),
        (
            ([0.3, -1.2], [0, 1]),
            ValueError,
            "predictions must be predicted labels, or scores.*margins > 0",
        ),
        (([0, 1], ["a", "b"]), TypeError, "strings and numbers"),
        (([], []), ValueError, "predictions must be an array of at least one row"),
        (
            ([[1.0], [2.0]], [0, 0]),
            ValueError,
            "predictions must be an array of at least two classes",
        ),
        (([[np.nan, 1.0]], [0]), ValueError, "predictions must be finite everywhere"),
        (([0, None], [0, 1]), ValueError, "predictions must be free of missing labels"),
    ],
)
def test_bad_input_is_named(arguments: tuple, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        prediction_rates(*arguments)


@pytest.mark.parametrize("confidence_level", [0.0, 1.0, 2.0, math.nan])
def test_levels_out_of_range(confidence_level: float) -> None:
    with pytest.raises(ValueError, match="confidence_level must be a number"):
        prediction_rates([0], [0], confidence_level=confidence_level)


def test_the_table_and_the_json_hold_all_of_it() -> None:
    result = prediction_rates(SHIFTED, REFERENCE, LABELS, groups=GROUPS)
    frame = result.to_frame()
    assert len(frame) == 4 * 8
    assert (
        frame.query("group == 'b' and rate == 'afr_t'")["value"].item()
        == result.groups["b"].afr_t.value
    )
    assert PredictionRatesResult.from_json(result.to_json()).equals(result)
    assert "lowest in group" in result.summary()


def test_a_perfect_score_has_no_delta_method_interval() -> None:
    rates = prediction_rates([0, 1, 1], [0, 1, 1], [0, 1, 1]).overall
    assert rates.macro_f1.value == 1.0
    assert rates.macro_f1.interval is None
