"""The accuracy from labels: its exact limits against binomial sums, when it stays open, and what labels buy."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics.decisions import audit_samples
from shiftmetrics.decisions.audit.labelled import (
    RightOrWrong,
    expected_half_width,
    label_offer,
    labelled_accuracy,
    labels_for_accuracy,
    mode_accuracy,
)
from shiftmetrics.decisions.labelling.exact import count_interval
from shiftmetrics.decisions.labelling.plan import draw_plan
from shiftmetrics.decisions.right_or_wrong import right_or_wrong


def drawn(seed, n=300):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "plan": rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2]),
            "income": rng.uniform(20_000, 90_000, n).round(),
            "age": rng.normal(40, 10, n).round(),
            "region": rng.choice(["north", "south"], n),
        }
    )


@pytest.mark.parametrize(
    ("n_labelled", "step"), [(20, "more samples chosen at random"), (300, None)]
)
def test_an_open_accuracy_asks_for_more_labels(n_labelled, step):
    reference, current = drawn(0), drawn(1)
    for frame in (reference, current):
        frame["answer"] = np.where(frame["age"] > 40, "yes", "no")
        frame["truth"] = frame["answer"]
        frame.loc[::5, "truth"] = "maybe"
    chosen = np.random.default_rng(2).permutation(300)[n_labelled:]
    current["truth"] = current["truth"].astype(object)
    current.loc[chosen, "truth"] = None
    result = audit_samples(reference, current, model="answer", label="truth", id_column=None)
    found = [text for text in result.next_steps if text.startswith("Label ")]
    if step is None:
        assert not found
    else:
        assert step in found[0]
        assert int(found[0].split()[1].replace(",", "")) + n_labelled <= 300


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 7), (7, 7), (40, 60)])
def test_limits_of_a_rate_are_where_each_tail_has_half_of_the_rest(hits, n):
    def at_least(rate, least):
        return sum(math.comb(n, k) * rate**k * (1.0 - rate) ** (n - k) for k in range(least, n + 1))

    low, high = binomial_interval(hits / n, n, 0.9)
    if hits == 0:
        assert low == 0.0
    else:
        assert at_least(low, hits) == pytest.approx(0.05)
    if hits == n:
        assert high == 1.0
    else:
        assert 1.0 - at_least(high, hits + 1) == pytest.approx(0.05)


def test_predictions_are_compared_by_what_they_look_like():
    found = right_or_wrong(np.array([1, 0, 1, 0]), np.array(["1", "1", None, 0], dtype=object))
    np.testing.assert_array_equal(found.known, [True, True, False, True])
    np.testing.assert_array_equal(found.right, [True, False, False, True])
    assert found.counts() == (2, 3)
    assert found.counts(np.array([1, 2])) == (0, 1)


def answers(right, n):
    known = np.arange(n) < len(right)
    padded = np.zeros(n, dtype=bool)
    padded[: len(right)] = right
    return RightOrWrong(padded, known)


def test_the_interval_of_the_accuracy_is_that_of_a_finite_population():
    current = answers([True] * 30 + [False] * 10, 200)
    found = labelled_accuracy(current, answers([True] * 95 + [False] * 5, 100), None)
    assert (found.n_labelled, found.n_right, found.accuracy) == (40, 30, 0.75)
    low, high = count_interval(200, 40, 30, 0.95)
    assert (found.interval.low, found.interval.high) == (low / 200, high / 200)
    assert found.change == pytest.approx(0.75 - 0.95)
    assert found.is_worse
    assert "below the reference" in found.sentence()
    assert labelled_accuracy(answers([], 200), None, None) is None


def test_all_labels_leave_no_doubt_about_these_samples():
    found = labelled_accuracy(answers([True] * 15 + [False] * 5, 20), None, None)
    assert (found.interval.low, found.interval.high) == (0.75, 0.75)
    assert not found.is_open(0.0)
    assert found.sentence() == "75 % of all 20 samples are right."


def test_labels_outside_the_plan_do_not_count():
    plan = draw_plan(np.arange(50), n_samples=50, n_labels=10, mode="exact", digest="0" * 12, rng=0)
    known = np.zeros(50, dtype=bool)
    known[plan.rows] = True
    known[plan.order[20:25]] = True
    found = labelled_accuracy(RightOrWrong(known, known), None, plan)
    assert (found.n_labelled, found.n_unused, found.interval.method) == (10, 5, "exact")


def test_accuracy_inside_a_mode():
    current = answers([True, False, True], 12)
    found = mode_accuracy(1, np.array([0, 1, 2]), current)
    assert found.sentence() == "In mode 2, 2 of 3 labelled samples are right."
    assert mode_accuracy(0, np.array([7, 8]), current) is None


def test_so_many_labels_are_just_enough():
    n = labels_for_accuracy(600, 0.9, 0.05)
    assert expected_half_width(600, n, 0.9) <= 0.05
    # The width is not monotone to the last label: the expected number of right ones is rounded.
    assert expected_half_width(600, n - 10, 0.9) > 0.05
    assert labels_for_accuracy(20, 0.5, 1e-9) == 20


@pytest.mark.parametrize("planned", [None, 40, 300])
def test_what_labels_buy_is_said_before_anybody_labels(planned):
    text = label_offer(2000, 0.8, planned)
    numbers = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", text)]
    widths = dict(zip([numbers[0], *numbers[2::2]], numbers[1::2], strict=True))
    assert numbers[0] == (planned or 50)
    for n, points in widths.items():
        low, high = count_interval(2000, n, round(0.8 * n))
        assert points == round(100 * 0.5 * (high - low) / 2000)
    # the last number takes it to 3 points, and is no more than needed
    assert points == 3
    assert expected_half_width(2000, n - 10, 0.8) > 0.03


def test_what_labels_buy_ends_where_all_are_labelled():
    assert "all 60 samples" in label_offer(60, 0.8, 60)
    assert label_offer(2000, 0.8, 1000).count(" to ") == 2
