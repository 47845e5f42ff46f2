"""`diff_models`: every figure and every sentence recomputed by counting rows."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.metrics import (
    average_precision_score,
    cohen_kappa_score,
    log_loss,
    mean_absolute_error,
    roc_auc_score,
)

from shiftmetrics import diff_models
from shiftmetrics.decisions import DiffResult
from shiftmetrics.decisions.labelling.exact import Outcomes, difference_interval
from shiftmetrics.decisions.labelling.paired import future_interval, mcnemar_p_value

Labels = npt.NDArray[Any]


def scores_of(n: int = 400, n_classes: int = 4, seed: int = 0) -> tuple[Any, Any, Labels]:
    """Return the probabilities of two models, and labels."""
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(n, n_classes))
    old = np.exp(logits)
    new = np.exp(logits + 0.5 * rng.normal(size=logits.shape))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return old / old.sum(axis=1, keepdims=True), new / new.sum(axis=1, keepdims=True), labels


OLD, NEW, LABELS = scores_of()
CHANGED = OLD.argmax(axis=1) != NEW.argmax(axis=1)
GAINS = (NEW.argmax(axis=1) == LABELS).astype(int) - (OLD.argmax(axis=1) == LABELS)


def filled(result: DiffResult, n: int, labels: Labels = LABELS) -> pd.DataFrame:
    """Return the table of changed rows with the labels of the first n."""
    table = result.to_frame()
    table["label"] = table["label"].astype(object)
    table.loc[: n - 1, "label"] = labels[table["id"].to_numpy()[:n]]
    return table


def numbers(text: str) -> list[float]:
    return [float(part.replace(",", "")) for part in re.findall(r"[-+]?\d[\d,]*\.?\d*", text)]


# --- without labels ---------------------------------------------------------------------------------------


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
    assert result.verdict == "CANNOT TELL YET"
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


def test_a_bound_within_what_is_allowed_is_safe_without_a_label() -> None:
    rate = CHANGED.mean()
    assert diff_models(OLD, NEW, allow=float(rate), rng=0).verdict == "SAFE"
    result = diff_models(OLD, NEW, allow=float(rate) - 1e-6, rng=0)
    assert result.verdict == "CANNOT TELL YET"
    assert result.exit_code == 3


def test_confident_changes_and_frequent_ones_are_counted() -> None:
    result = diff_models(OLD, NEW, rng=0)
    both = (OLD.max(axis=1) >= 0.9) & (NEW.max(axis=1) >= 0.9) & CHANGED
    assert result.changes.n_confident == both.sum()
    pairs = pd.Series(
        list(zip(OLD.argmax(axis=1)[CHANGED], NEW.argmax(axis=1)[CHANGED], strict=True))
    )
    counts = pairs.value_counts()
    assert [change.n for change in result.changes.frequent] == counts.tolist()[:10]
    for change in result.changes.frequent:
        assert change.n == counts[int(change.old), int(change.new)]


def test_the_rows_are_a_random_order_of_the_changed_ones() -> None:
    result = diff_models(OLD, NEW, rng=5)
    table = result.to_frame()
    assert sorted(table["id"]) == np.flatnonzero(CHANGED).tolist()
    expected = np.random.default_rng(5).permutation(np.flatnonzero(CHANGED))
    assert table["id"].tolist() == expected.tolist()
    assert table["order"].tolist() == list(range(1, CHANGED.sum() + 1))
    assert (table["label"] == "").all()
    assert table["old"].tolist() == [str(code) for code in OLD.argmax(axis=1)[expected]]
    np.testing.assert_allclose(table["new_confidence"], NEW.max(axis=1)[expected])
    assert result.plan is not None
    assert table["probability"].unique().tolist() == [result.plan.n_labels / CHANGED.sum()]


def test_equal_predictions_are_the_same_for_certain() -> None:
    result = diff_models(OLD, OLD.copy(), labels=LABELS)
    assert (result.verdict, result.value, result.error_bound) == ("SAME", 0.0, 0.0)
    assert result.plan is None
    assert "None of the 400 predictions changed" in result.headline()
    assert diff_models(OLD, OLD.copy(), allow=0.0).verdict == "SAFE"


def test_evidence_is_that_of_other_implementations() -> None:
    result = diff_models(OLD, NEW, labels=LABELS)
    evidence = result.evidence
    assert evidence.kappa == pytest.approx(
        cohen_kappa_score(OLD.argmax(axis=1), NEW.argmax(axis=1))
    )
    mean = 0.5 * (OLD + NEW)
    rows = np.arange(400)
    guess = mean[rows, NEW.argmax(axis=1)] - mean[rows, OLD.argmax(axis=1)]
    assert evidence.estimate == pytest.approx(guess.mean())
    losses = {measure.name: measure for measure in evidence.measures}
    assert losses["log loss"].old == pytest.approx(log_loss(LABELS, OLD))
    assert losses["log loss"].new == pytest.approx(log_loss(LABELS, NEW))
    hot = np.eye(4)[LABELS]
    assert losses["Brier score"].new == pytest.approx(((NEW - hot) ** 2).sum(axis=1).mean())
    interval = losses["log loss"].interval
    assert interval is not None
    assert interval.low < losses["log loss"].new - losses["log loss"].old < interval.high


# --- all labels ---------------------------------------------------------------------------------------------


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
        assert result.verdict in ("CANNOT TELL YET", "SAME")
    assert result.value == pytest.approx((fixed - broken) / 2000)


def test_the_published_example() -> None:
    # 52 errors fixed and 33 new of 2,000: McNemar says .0503, so the interval holds 0, if barely.
    labels = np.zeros(2000, dtype=int)
    old, new = np.zeros((2, 2000), dtype=int)
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
    assert diff_models(old, new, labels=labels).verdict == "CANNOT TELL YET"
    assert diff_models(new, old, labels=labels, allow=0.01).verdict == "CANNOT TELL YET"


def test_parts_count_their_rows_and_hold_together() -> None:
    groups = np.where(np.arange(400) % 3 == 0, "third", "rest")
    result = diff_models(OLD, NEW, labels=LABELS, groups=groups)
    assert [part.name for part in result.parts] == ["0", "1", "2", "3", "rest", "third"]
    for part in result.parts:
        rows = groups == part.name if part.kind == "group" else int(part.name) == LABELS
        assert part.n_samples == rows.sum()
        assert part.n_changed == (CHANGED & rows).sum()
        assert part.fixed == (GAINS[rows] == 1).sum()
        assert part.broken == (GAINS[rows] == -1).sum()
        assert part.interval is not None
        assert part.interval.confidence_level == pytest.approx(1.0 - 0.05 / 6)


def test_too_few_rows_are_said_to_be_too_few() -> None:
    labels = np.array([0] * 200 + [1] * 200)
    old = labels.copy()
    new = labels.copy()
    old[:3] = 1  # three errors fixed in class 0: they could be chance, whichever side they fall on
    new[200:230] = 0  # thirty new ones in class 1
    verdicts = {part.name: part.verdict for part in diff_models(old, new, labels=labels).parts}
    assert verdicts == {"0": "too few to tell", "1": "worse"}


# --- some labels --------------------------------------------------------------------------------------------


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


def test_groups_of_a_plan_hold_their_truth() -> None:
    groups = np.where(np.arange(400) % 2 == 0, "even", "odd")
    for plan in (40, "anytime"):
        result = diff_models(OLD, NEW, plan=plan, rng=2)
        answer = diff_models(OLD, NEW, labels=filled(result, 40), groups=groups)
        assert [part.name for part in answer.parts] == ["even", "odd"]
        for part in answer.parts:
            rows = groups == part.name
            assert part.interval is not None
            assert part.interval.low <= GAINS[rows].sum() / rows.sum() <= part.interval.high


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


# --- costs and regressions ------------------------------------------------------------------------------------


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
    assert sampled.plan.mode == "anytime"
    answer = diff_models(OLD, NEW, labels=filled(sampled, 30), costs=costs)
    assert answer.interval is not None
    assert answer.interval.low <= old - new <= answer.interval.high
    with pytest.raises(ValueError, match="costs"):
        diff_models(OLD, NEW, costs={"9": 2.0})


def prices(n: int = 300) -> tuple[Labels, Labels, Labels]:
    rng = np.random.default_rng(0)
    truth = rng.lognormal(5.0, 0.5, size=n)
    old = truth * np.exp(0.1 * rng.normal(size=n))
    new = np.where(rng.random(n) < 0.3, old * np.exp(0.05 * rng.normal(size=n)), old)
    return truth, old, new


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
        assert answer.interval.method == "anytime"
        assert answer.interval.low <= value <= answer.interval.high


def test_two_columns_of_prices_that_differ_by_a_factor_all_change() -> None:
    _, old, _ = prices()
    result = diff_models(old, 1.1 * old)
    assert result.changes.n_changed == 300
    assert result.verdict == "CANNOT TELL YET"
    assert diff_models(old, 1.1 * old, tolerance=1e9).changes.n_changed == 0


# --- rare events ----------------------------------------------------------------------------------------------


def rare(n: int = 4000) -> tuple[Labels, Labels, Labels]:
    rng = np.random.default_rng(1)
    chance = rng.beta(0.6, 12.0, size=n).clip(0.001, 0.45)
    labels = (rng.random(n) < chance).astype(int)
    noisy = (chance * np.exp(0.8 * rng.normal(size=n))).clip(0.001, 0.45)
    return labels, chance, noisy


def test_a_calibrated_model_of_rare_events_beats_its_noisy_copy() -> None:
    labels, chance, noisy = rare()
    result = diff_models(chance, noisy, labels=labels)
    assert any("threshold" in warning for warning in result.warnings)
    assert result.settings["threshold"] == pytest.approx(labels.mean())
    measures = {measure.name: measure for measure in result.evidence.measures}
    assert measures["AUC"].old == pytest.approx(roc_auc_score(labels, chance))
    assert measures["AUC"].new == pytest.approx(roc_auc_score(labels, noisy))
    expected = average_precision_score(labels, noisy)
    assert measures["average precision"].new == pytest.approx(expected)
    assert measures["AUC"].old > measures["AUC"].new
    assert measures["log loss"].old < measures["log loss"].new
    assert "collapsed" not in result.summary()


def test_rare_events_without_labels_need_a_threshold() -> None:
    _, chance, noisy = rare()
    with pytest.raises(ValueError, match="threshold must be given"):
        diff_models(chance, noisy)
    result = diff_models(chance, noisy, threshold=0.1)
    assert result.changes.n_changed == ((chance >= 0.1) != (noisy >= 0.1)).sum()


# --- the result -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "result",
    [
        diff_models(OLD, NEW, rng=0),
        diff_models(OLD, NEW, labels=LABELS, groups=np.arange(400) % 2, allow=0.01),
        diff_models(*prices()[1:], rng=0),
        diff_models(OLD.argmax(axis=1), NEW.argmax(axis=1), rng=0),
    ],
    ids=["scores", "labelled", "outputs", "hard labels"],
)
def test_results_travel_as_json(result: DiffResult, tmp_path: Any) -> None:
    for again in (DiffResult.from_json(result.to_json()),):
        assert again.equals(result)
        assert again.summary() == result.summary()
        pd.testing.assert_frame_equal(again.to_frame(), result.to_frame())
    result.to_json(tmp_path / "diff.json")
    assert DiffResult.from_json(tmp_path / "diff.json").equals(result)
    assert result.verdict in result._repr_html_()
