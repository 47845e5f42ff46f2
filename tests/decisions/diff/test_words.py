"""Numbers for people: two significant digits that never turn some into none, nor a sign round."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics import diff_models
from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.diff.words import rounded
from shiftmetrics.decisions.labelling.paired import mcnemar_p_value


@given(st.integers(1, 10**6 - 1), st.integers(2, 3))
def test_a_percentage_is_near_and_never_all_or_none(parts: int, digits: int) -> None:
    fraction = parts / 10**6
    said = float(format_percent(fraction, digits).removesuffix(" %"))
    assert 0.0 < said < 100.0
    assert said == pytest.approx(100.0 * fraction, rel=0.051)


def test_all_and_none_are_said_as_such() -> None:
    assert format_percent(0.0) == "0 %"
    assert format_percent(1.0) == "100 %"


@given(st.floats(1.0, 1e9))
def test_numbers_of_labels_are_rounded_upwards(value: float) -> None:
    assert value <= rounded(value) <= 1.1 * value + 1.0


@pytest.mark.parametrize("seed", range(25))
def test_the_headline_of_all_labels_says_what_counting_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.choice([30, 200, 5000]))
    labels = rng.integers(0, 3, size=n)
    old = np.where(rng.random(n) < 0.1, rng.integers(0, 3, size=n), labels)
    new = np.where(rng.random(n) < rng.choice([0.002, 0.1, 0.3]), rng.integers(0, 3, size=n), old)
    if (old == new).all():
        return
    result = diff_models(old, new, labels=labels)
    fixed = int(((old != labels) & (new == labels)).sum())
    broken = int(((old == labels) & (new != labels)).sum())
    sentence = result.sentence
    counted = re.search(r": ([\d,]+) errors? fixed, ([\d,]+) new", sentence)
    assert counted is not None
    assert [int(part.replace(",", "")) for part in counted.groups()] == [fixed, broken]
    difference = 100.0 * (fixed - broken) / n
    if fixed == broken:
        assert "as good as" in sentence
    else:
        amount = re.search(r"new is ([\d.]+) points? (better|worse)", sentence)
        assert amount is not None
        assert float(amount[1]) == pytest.approx(abs(difference), rel=0.06)
        assert amount[2] == ("better" if difference > 0.0 else "worse")
    ends = re.search(r"95 %: ([+-][\d.]+) to ([+-][\d.]+)", sentence)
    assert ends is not None
    # The signs that are printed are those of the test.
    one_side = ends[1].startswith("+") or ends[2].startswith("-")
    assert one_side == (mcnemar_p_value(fixed, broken) < 0.05)
    assert float(ends[1]) <= difference + 0.051
    assert float(ends[2]) >= difference - 0.051


def test_mcnemars_p_value_is_said_as_papers_write_it() -> None:
    labels = np.arange(300) % 3
    # the old model alone errs, n times: 2 (1/2)^n
    for n, said in ((40, "p < .001"), (3, "p = .25")):
        old = np.where(np.arange(300) < n, (labels + 1) % 3, labels)
        notes = diff_models(old, labels, labels=labels).notes()
        assert f"McNemar's exact test: {said}." in notes


def test_next_steps_follow_from_what_is_known() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, size=500)
    old = np.where(rng.random(500) < 0.2, 1 - labels, labels)
    new = np.where(rng.random(500) < 0.2, 1 - labels, labels)
    plan = diff_models(old, new, plan=30, rng=0)
    assert any("Label 30 of the" in step for step in plan.next_steps)
    table = plan.to_frame()
    for n, said in ((10, "other 20 rows"), (30, "plan is finished")):
        table["label"] = [*labels[table["id"][:n]], *[None] * (len(table) - n)]
        steps = diff_models(old, new, labels=table).next_steps
        assert any(said in step for step in steps), steps
    looking = diff_models(old, new, plan="anytime", rng=0).to_frame()
    looking["label"] = [*labels[looking["id"][:10]], *[None] * (len(looking) - 10)]
    assert any("Label on" in step for step in diff_models(old, new, labels=looking).next_steps)


@pytest.mark.parametrize("costs", [None, {"b": 3.0}])
def test_what_few_labels_make_certain_is_said_by_which_model_is_better(costs) -> None:
    # All changed rows but ten have labels, by which new is better; the worst that the ten can do is known.
    rng = np.random.default_rng(3)
    truth = rng.choice(["a", "b"], 400)
    other = np.where(truth == "a", "b", "a")
    old = np.where(rng.random(400) < 0.3, other, truth)
    new = np.where(rng.random(400) < 0.1, other, truth)
    labels = truth.astype(object)
    hidden = np.flatnonzero(old != new)[:10]
    labels[hidden] = None
    labels[np.flatnonzero(old == new)[:1]] = None
    result = diff_models(old, new, labels=labels, costs=costs)
    cost = np.where((truth == "b") & (costs is not None), 3.0, 1.0)
    gains = cost * ((old != truth).astype(float) - (new != truth))
    gains[hidden] = 0.0
    # A hidden row is worst where the old answer was right, and best where the new one is.
    price = {"a": 1.0, "b": 1.0, **(costs or {})}
    low = (gains.sum() - sum(price[answer] for answer in old[hidden])) / 400
    high = (gains.sum() + sum(price[answer] for answer in new[hidden])) / 400
    assert result.certain.low == pytest.approx(low, abs=1e-12)
    assert 0.0 < low < high
    ends = re.search(r"between ([\d.]+).* better and ([\d.]+).* better on", result.sentence)
    assert ends is not None
    scale = 100.0 if costs is None else 1.0
    assert [float(end) for end in ends.groups()] == pytest.approx(
        [scale * low, scale * high], rel=0.06
    )
    n_fixed, n_broken = int((gains > 0.0).sum()), int((gains < 0.0).sum())
    assert any(f"{n_fixed} errors fixed, {n_broken} new, of" in note for note in result.notes())
