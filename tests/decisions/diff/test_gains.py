"""What rows gain: limits that hold for all labels, costs, and absolute errors."""

import numpy as np
import pytest
from sklearn.metrics import (
    mean_absolute_error,
)

from shiftmetrics import diff_models
from shiftmetrics.decisions.labelling.anytime import mean_sequence
from shiftmetrics.decisions.labelling.plan import plan_from_text
from two_predictions import (
    CHANGED,
    GAINS,
    LABELS,
    NEW,
    OLD,
    filled,
    numbers,
    prices,
    scores_of,
)


def test_the_bound_is_the_fraction_of_changed_answers() -> None:
    result = diff_models(OLD, NEW, rng=0)
    rate = CHANGED.mean()
    assert result.changes.n_changed == CHANGED.sum()
    assert result.changes.fraction == rate
    assert (result.certain.low, result.certain.high) == (-rate, rate)
    assert (result.value, result.error_bound) == (0.0, rate)
    assert result.interval is None
    assert result.labelled is None
    assert str(result.status) == "unlabelled"
    assert result.verdict == "CANNOT TELL"
    assert result.exit_code == 0
    assert numbers(result.headline())[:2] == [CHANGED.sum(), 400]


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_holds_for_all_labels(seed: int) -> None:
    old, new, _ = scores_of(60, 3, seed)
    result = diff_models(old, new, rng=0)
    rng = np.random.default_rng(seed)
    for labels in (old.argmax(axis=1), new.argmax(axis=1), rng.integers(0, 3, size=60)):
        truth = (new.argmax(axis=1) == labels).mean() - (old.argmax(axis=1) == labels).mean()
        assert result.certain.low - 1e-12 <= truth <= result.certain.high + 1e-12


@pytest.mark.slow
def test_coverage_of_the_whole_function() -> None:
    truth = GAINS.mean()
    held = {"exact": 0, "anytime": 0}
    for seed in range(100):
        for plan in (15, "anytime"):
            table = filled(diff_models(OLD, NEW, plan=plan, rng=seed), 15)
            interval = diff_models(OLD, NEW, labels=table).interval
            assert interval is not None
            held[interval.method] += interval.low - 1e-12 <= truth <= interval.high + 1e-12
    assert min(held.values()) >= 0.93 * 100


def test_costs_weigh_the_errors() -> None:
    costs = {"1": 5.0, "3": 0.0}
    weights = np.array([1.0, 5.0, 1.0, 0.0])[LABELS]
    result = diff_models(OLD, NEW, labels=LABELS, costs=costs)
    old = (weights * (OLD.argmax(axis=1) != LABELS)).mean()
    new = (weights * (NEW.argmax(axis=1) != LABELS)).mean()
    assert result.metric == "mean cost"
    assert result.value == pytest.approx(old - new)
    assert result.labelled is not None
    assert (result.labelled.old_score, result.labelled.new_score) == pytest.approx((old, new))
    bound = diff_models(OLD, NEW, costs=costs).certain
    assert bound.low <= old - new <= bound.high
    sampled = diff_models(OLD, NEW, costs=costs, rng=1)
    assert sampled.plan is not None
    # Rows that cost nothing come last, and those that may cost 5 are five times as likely as others.
    places = sampled.plan.order
    stake = np.maximum(
        *(np.array([1.0, 5.0, 1.0, 0.0])[side.argmax(axis=1)[places]] for side in (OLD, NEW))
    )
    np.testing.assert_array_equal(sampled.plan.sizes, stake)
    answer = diff_models(OLD, NEW, labels=filled(sampled, 30), costs=costs)
    assert answer.interval is not None
    assert answer.interval.low <= old - new <= answer.interval.high
    with pytest.raises(ValueError, match="costs"):
        diff_models(OLD, NEW, costs={"9": 2.0})


def test_outputs_of_a_regression_are_compared_by_absolute_error() -> None:
    truth, old, new = prices()
    result = diff_models(old, new, labels=truth)
    assert result.metric == "mean absolute error"
    assert result.changes.n_changed == (old != new).sum()
    expected = mean_absolute_error(truth, old) - mean_absolute_error(truth, new)
    assert result.value == pytest.approx(expected)
    assert result.interval is not None
    assert result.interval.low < expected < result.interval.high
    measure = result.evidence.measures[0]
    assert measure.new == pytest.approx(((truth - new) ** 2).mean())


@pytest.mark.parametrize("mode", ["exact", "anytime"])
def test_outputs_are_sampled_by_what_is_at_stake(mode: str) -> None:
    """Few labels of rows of large changes: intervals that hold, narrower than those of uniform sampling."""
    rng = np.random.default_rng(5)
    truth = rng.normal(size=400)
    old = truth + rng.normal(size=400)
    new = old + rng.normal(size=400) * rng.exponential(size=400) ** 2
    value = (np.abs(truth - old) - np.abs(truth - new)).mean()
    held = []
    widths = []
    errors = []
    for seed in range(40):
        asked = diff_models(
            old, new, plan="anytime" if mode == "anytime" else 50, tolerance=0.0, rng=seed
        )
        labels = np.full(400, np.nan)
        labels[asked.plan.order[:50]] = truth[asked.plan.order[:50]]
        found = diff_models(old, new, labels=labels, plan=asked.plan, tolerance=0.0)
        assert found.interval.method == mode
        assert found.labelled.n_labelled == 50
        held.append(found.interval.low <= value <= found.interval.high)
        widths.append(found.interval.high - found.interval.low)
        errors.append(found.value - value)
    # Uniformly, each row may gain as much as the most extreme one.
    most = np.abs(new - old).max()
    gains = np.abs(truth - old) - np.abs(truth - new)
    values = 0.5 * (gains[rng.permutation(400)[:50]] / most + 1.0)
    low, high = mean_sequence(values, values, 400)
    uniform = 2.0 * most * (high[-1] - low[-1])
    assert np.mean(held) >= 0.95
    assert np.mean(widths) < 0.5 * uniform
    # The estimate is unbiased: its mean error is within three standard errors of 0.
    assert abs(np.mean(errors)) <= 3.0 * np.std(errors) / np.sqrt(40)


def test_a_filled_table_of_a_plan_by_size_is_known_again() -> None:
    truth, old, new = prices()
    asked = diff_models(old, new, plan=12, rng=3)
    assert "exact by size 12 of" in asked.plan.text
    table = asked.to_frame()
    table.loc[:11, "label"] = truth[table["id"].to_numpy()[:12]]
    found = diff_models(old, new, labels=table)
    np.testing.assert_array_equal(found.plan.order, asked.plan.order)
    assert found.interval.method == "exact"
    # A plan of before, whose rows were sampled uniformly, keeps its interval.
    table["plan"] = asked.plan.text.replace(" by size", "").replace("exact", "anytime")
    rows = plan_from_text(
        table["plan"][0], np.sort(asked.plan.order), n_samples=len(old), digest=asked.plan.digest
    )
    assert rows.sizes is None


def test_outputs_are_bounded_without_true_values() -> None:
    truth, old, new = prices()
    result = diff_models(old, new, rng=0)
    bound = np.abs(old - new).mean()
    assert (result.certain.low, result.certain.high) == pytest.approx((-bound, bound))
    value = (np.abs(truth - old) - np.abs(truth - new)).mean()
    for n in (20, 60):
        table = result.to_frame()
        table.loc[: n - 1, "label"] = truth[table["id"].to_numpy()[:n]]
        answer = diff_models(old, new, labels=table)
        assert answer.interval is not None
        assert answer.interval.method == ("exact" if n >= result.plan.n_labels else "anytime")
        assert answer.interval.low <= value <= answer.interval.high
