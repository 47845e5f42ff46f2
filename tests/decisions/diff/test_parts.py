"""Differences by class and by group, counted again."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import diff_models
from two_predictions import (
    CHANGED,
    GAINS,
    LABELS,
    NEW,
    OLD,
    filled,
    prices,
)


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


@pytest.mark.parametrize("column", ["region", "class"])
def test_groups_of_a_named_column_are_all_printed(column: str) -> None:
    names = np.array(["north", "south", "west"])[np.arange(400) % 3]
    tables = [
        pd.DataFrame({"prediction": scores.argmax(axis=1), "truth": LABELS, column: names})
        for scores in (OLD, NEW)
    ]
    result = diff_models(*tables, labels="truth", groups=column, ids="none")
    kind = "group" if column == "class" else column
    assert sum(part.kind == kind for part in result.parts) == 3
    for name in ("north", "south", "west"):
        assert any(note.startswith(f"{kind} {name}: ") for note in result.notes())


def test_groups_of_costs_and_outputs_have_their_differences() -> None:
    groups = np.where(np.arange(400) % 2 == 0, "even", "odd")
    costs = {"0": 5.0}
    priced = diff_models(OLD, NEW, labels=LABELS, groups=groups, costs=costs)
    gains = GAINS * np.where(LABELS == 0, 5.0, 1.0)
    truth, old, new = prices()
    halves = np.where(np.arange(300) < 150, "even", "odd")
    outputs = diff_models(old, new, labels=truth, groups=halves)
    saved = np.abs(old - truth) - np.abs(new - truth)
    assert [part.kind for part in outputs.parts] == ["group", "group"]
    for result, values, members in ((priced, gains, groups), (outputs, saved, halves)):
        parts = [part for part in result.parts if part.kind == "group"]
        assert [part.name for part in parts] == ["even", "odd"]
        for part in parts:
            rows = members == part.name
            assert (part.fixed, part.broken) == ((values[rows] > 0).sum(), (values[rows] < 0).sum())
            assert part.interval is not None
            assert part.interval.low < values[rows].mean() < part.interval.high
            # Student's interval of the group alone is contained: one row more on either side widens it.
            level = part.interval.confidence_level
            assert level == pytest.approx(1.0 - 0.05 / len(result.parts))
            half = 2.2 * values[rows].std(ddof=1) / np.sqrt(rows.sum())
            assert part.interval.high - part.interval.low > 2.0 * half
            assert any(f"{part.kind} {part.name}: " in note for note in result.notes())


def test_groups_without_labels_have_their_changes_and_what_is_certain() -> None:
    groups = np.array(["a", "b", "c", "d"])[np.arange(400) // 100]
    result = diff_models(OLD, NEW, groups=groups)
    assert [part.name for part in result.parts] == ["a", "b", "c", "d"]
    notes = " ".join(result.notes())
    for part in result.parts:
        changed = int((CHANGED & (groups == part.name)).sum())
        assert (part.n_changed, part.n_labelled) == (changed, 0)
        assert part.interval is not None
        assert part.interval.high == pytest.approx(changed / 100)
        assert part.interval.confidence_level == 1.0
        assert f"group {part.name}: {changed} of 100 rows changed, by at most {changed}" in notes
    assert "No clear difference" not in notes


def test_some_labels_narrow_what_is_certain_in_a_group() -> None:
    old = np.array(["x"] * 40)
    new = np.array(["y"] * 10 + ["x"] * 30)
    labels = np.array(["x"] * 4 + [None] * 36, dtype=object)
    groups = np.array(["a"] * 5 + ["b"] * 5 + ["c"] * 30)
    parts = diff_models(old, new, labels=labels, groups=groups).parts
    limits = [(part.interval.low, part.interval.high) for part in parts if part.interval]
    assert limits == [(-1.0, pytest.approx(-0.6)), (-1.0, 1.0), (0.0, 0.0)]
    assert [part.verdict for part in parts] == ["worse", "too few to tell", "no clear difference"]
