"""`diff_models`: every figure and every sentence recomputed by counting rows."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import diff_models
from shiftmetrics.decisions.labelling.exact import Outcomes, difference_interval
from shiftmetrics.decisions.labelling.paired import future_interval, mcnemar_p_value
from two_predictions import (
    CHANGED,
    GAINS,
    LABELS,
    NEW,
    OLD,
    filled,
    numbers,
    rare,
)


def test_a_bound_within_what_is_allowed_is_safe_without_a_label() -> None:
    rate = CHANGED.mean()
    assert diff_models(OLD, NEW, allow=float(rate), rng=0).verdict == "SAFE"
    result = diff_models(OLD, NEW, allow=float(rate) - 1e-6, rng=0)
    assert result.verdict == "CANNOT TELL"
    assert result.exit_code == 3


def test_all_labels_give_the_difference_and_an_interval_for_future_rows() -> None:
    result = diff_models(OLD, NEW, labels=LABELS, allow=0.02)
    fixed = int((GAINS == 1).sum())
    broken = int((GAINS == -1).sum())
    labelled = result.labelled
    assert labelled is not None
    assert result.value == pytest.approx(GAINS.mean(), abs=1e-15)
    assert result.error_bound == 0.0
    assert (labelled.fixed, labelled.broken) == (fixed, broken)
    assert labelled.neither == CHANGED.sum() - fixed - broken
    assert labelled.old_score == (OLD.argmax(axis=1) == LABELS).mean()
    assert labelled.new_score == (NEW.argmax(axis=1) == LABELS).mean()
    assert labelled.p_value == mcnemar_p_value(fixed, broken)
    assert result.interval is not None
    assert result.interval.equals(future_interval(fixed, broken, 400))
    found = numbers(result.sentence)
    assert found[-2:] == [fixed, broken]
    assert found[0] == pytest.approx(100 * abs(GAINS.mean()), abs=0.06)
    assert result.plan is None


@pytest.mark.parametrize(
    ("fixed", "broken"), [(52, 33), (55, 30), (30, 55), (6, 0), (5, 0), (40, 41), (0, 0)]
)
def test_verdict_test_and_interval_never_contradict(fixed: int, broken: int) -> None:
    labels = np.zeros(2000, dtype=int)
    old = np.zeros(2000, dtype=int)
    new = np.zeros(2000, dtype=int)
    old[:fixed] = 1
    new[fixed : fixed + broken] = 1
    # Some errors of both, so that both files have both classes.
    old[1990:] = new[1990:] = 1
    result = diff_models(old, new, labels=labels)
    p_value = mcnemar_p_value(fixed, broken)
    if p_value < 0.05:
        assert result.verdict == ("BETTER" if fixed > broken else "WORSE")
    else:
        assert result.verdict in ("CANNOT TELL", "SAME")
    assert result.value == pytest.approx((fixed - broken) / 2000)


def test_the_published_example() -> None:
    # 52 errors fixed and 33 new of 2,000: McNemar says .0503, so the interval holds 0, if barely.
    labels = np.zeros(2000, dtype=int)
    old, new = np.zeros((2, 2000), dtype=int)
    # a class that no label has would make the reading doubtful
    labels[1000:] = old[1000:] = new[1000:] = 1
    old[:106] = 1
    new[52:106] = 1
    new[106:139] = 1
    result = diff_models(old, new, labels=labels, allow=0.01)
    assert result.verdict == "SAFE"
    assert result.exit_code == 0
    assert result.labelled is not None
    assert result.labelled.p_value == pytest.approx(0.0503, abs=1e-4)
    assert (result.labelled.fixed, result.labelled.broken) == (52, 33)
    assert result.interval is not None
    assert result.interval.low == pytest.approx(0.0, abs=1e-4)
    assert result.interval.low < 0.0
    assert diff_models(old, new, labels=labels).verdict == "CANNOT TELL"
    assert diff_models(new, old, labels=labels, allow=0.01).verdict == "CANNOT TELL"


def test_labels_of_a_plan_give_the_exact_interval() -> None:
    result = diff_models(OLD, NEW, plan=25, rng=3)
    table = filled(result, 25)
    answer = diff_models(OLD, NEW, labels=table)
    drawn = GAINS[table["id"].to_numpy()[:25]]
    seen = Outcomes(
        fixed=int((drawn == 1).sum()),
        broken=int((drawn == -1).sum()),
        neither=int((drawn == 0).sum()),
    )
    low, high = difference_interval(int(CHANGED.sum()), seen)
    assert answer.interval is not None
    assert answer.interval.method == "exact"
    assert (answer.interval.low, answer.interval.high) == pytest.approx((low / 400, high / 400))
    assert answer.value == pytest.approx(CHANGED.mean() * drawn.mean())
    assert answer.plan is not None
    assert answer.plan.equals(result.plan)
    assert str(answer.status) == "sampled"
    # The same labels in another order of rows, and as an array with the plan.
    shuffled = table.sample(frac=1.0, random_state=0)
    assert diff_models(OLD, NEW, labels=shuffled).interval.equals(answer.interval)  # type: ignore[union-attr]
    array = np.full(400, None)
    array[table["id"].to_numpy()[:25]] = LABELS[table["id"].to_numpy()[:25]]
    again = diff_models(OLD, NEW, labels=array, plan=result.plan)
    assert again.interval is not None
    assert again.interval.equals(answer.interval)


def test_before_the_plan_is_finished_the_interval_is_anytime() -> None:
    result = diff_models(OLD, NEW, plan=25, rng=3)
    early = diff_models(OLD, NEW, labels=filled(result, 10))
    late = diff_models(OLD, NEW, labels=filled(result, 25))
    assert early.interval is not None
    assert late.interval is not None
    assert early.interval.method == "anytime"
    assert late.interval.method == "exact"
    assert late.interval.high - late.interval.low < early.interval.high - early.interval.low


def test_a_row_that_nobody_can_label_counts_as_the_worst_case() -> None:
    result = diff_models(OLD, NEW, plan=25, rng=3)
    whole = diff_models(OLD, NEW, labels=filled(result, 25))
    gap = filled(result, 25)
    gap.loc[7, "label"] = ""
    partly = diff_models(OLD, NEW, labels=gap)
    assert whole.interval is not None
    assert partly.interval is not None
    assert partly.interval.method == "exact"
    assert partly.interval.low < whole.interval.low
    assert partly.interval.high >= whole.interval.high
    assert partly.labelled is not None
    assert partly.labelled.n_labelled == 24


def test_labels_outside_the_plan_are_listed_and_not_used() -> None:
    result = diff_models(OLD, NEW, plan=20, rng=3)
    more = filled(result, 23)
    answer = diff_models(OLD, NEW, labels=more)
    assert answer.labelled is not None
    assert sorted(answer.labelled.unused.tolist()) == sorted(more["id"].tolist()[20:23])
    assert answer.labelled.n_labelled == 20
    expected = diff_models(OLD, NEW, labels=filled(result, 20))
    assert answer.interval is not None
    assert answer.interval.equals(expected.interval)


def test_all_labels_of_a_plan_give_a_point() -> None:
    result = diff_models(OLD, NEW, plan=20, rng=3)
    answer = diff_models(OLD, NEW, labels=filled(result, int(CHANGED.sum())), allow=0.01)
    assert answer.interval is not None
    assert answer.interval.low == answer.interval.high == pytest.approx(GAINS.mean())
    assert answer.error_bound == pytest.approx(0.0, abs=1e-15)
    assert answer.verdict == ("SAFE" if GAINS.mean() >= -0.01 else "WORSE")


def test_whoever_peeks_gets_intervals_that_only_tighten() -> None:
    result = diff_models(OLD, NEW, plan="anytime", rng=1)
    ends = []
    for n in (5, 10, 20, 40):
        answer = diff_models(OLD, NEW, labels=filled(result, n))
        assert answer.interval is not None
        assert answer.interval.method == "anytime"
        assert answer.interval.low <= answer.value <= answer.interval.high
        ends.append((answer.interval.low, answer.interval.high))
    assert all(a[0] <= b[0] and b[1] <= a[1] for a, b in pairwise(ends))


def test_labels_without_a_plan_say_what_is_certain_alone() -> None:
    rows = np.flatnonzero(CHANGED)[:15]
    some = np.full(400, None)
    some[rows] = LABELS[rows]
    result = diff_models(OLD, NEW, labels=some)
    left = CHANGED.sum() - 15
    known = GAINS[rows].sum()
    assert result.interval is None
    assert str(result.status) == "bounded"
    assert result.certain.low == pytest.approx((known - left) / 400)
    assert result.certain.high == pytest.approx((known + left) / 400)


def test_a_plan_of_other_predictions_is_refused() -> None:
    result = diff_models(OLD, NEW, plan=20, rng=3)
    other = NEW.copy()
    other[np.flatnonzero(CHANGED)[0]] = OLD[np.flatnonzero(CHANGED)[0]]
    with pytest.raises(ValueError, match="labels"):
        diff_models(OLD, other, labels=filled(result, 20))
    with pytest.raises(ValueError, match="plan"):
        diff_models(OLD, other, plan=result.plan)
    with pytest.raises(ValueError, match="plan"):
        diff_models(OLD, NEW, plan="soon")


def test_the_plan_survives_a_csv_file(tmp_path: Any) -> None:
    result = diff_models(OLD, NEW, plan=25, rng=3)
    filled(result, 25).to_csv(tmp_path / "changed.csv", index=False)
    answer = diff_models(OLD, NEW, labels=pd.read_csv(tmp_path / "changed.csv"))
    expected = diff_models(OLD, NEW, labels=filled(result, 25))
    assert answer.interval is not None
    assert answer.interval.equals(expected.interval)


def test_rare_events_without_labels_need_a_threshold() -> None:
    _, chance, noisy = rare()
    with pytest.raises(ValueError, match="threshold must be given"):
        diff_models(chance, noisy)
    result = diff_models(chance, noisy, threshold=0.1)
    assert result.changes.n_changed == ((chance >= 0.1) != (noisy >= 0.1)).sum()
