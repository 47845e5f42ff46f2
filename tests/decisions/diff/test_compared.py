"""What a comparison keeps of its rows: parts add up to the whole, and a plan belongs to the changed rows."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import diff_models
from shiftmetrics.decisions.diff.compared import (
    PairTotals,
    compared_rows,
    sampled_positions,
    totals_of_classes,
)
from shiftmetrics.decisions.predictions.reading import PairArguments, read_pair
from two_predictions import LABELS, NEW, OLD, scores_of


def pair_of(n_classes: int, n: int = 400):
    old, new, labels = scores_of(n, n_classes, 1)
    groups = np.array(["north", "south"])[np.arange(n) % 2]
    return read_pair(old, new, PairArguments(labels=labels, groups=groups))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_totals_of_parts_add_up_to_those_of_the_whole(n_classes: int) -> None:
    pair = pair_of(n_classes)
    whole = compared_rows(pair).totals
    cuts = [0, 7, 150, 151, 400]
    parts = []
    for start, stop in pairwise(cuts):
        rows = np.arange(start, stop)
        wanted = np.arange(stop - start)
        parts.append(totals_of_classes(pair.taken(rows), wanted, rows, ranks=True))
    # in any order
    total = reduce(PairTotals.__add__, [parts[2], parts[0], parts[3], parts[1]])
    assert (total.n_samples, total.n_known) == (400, 400)
    assert total.groups == whole.groups == {"north": 200, "south": 200}
    for name in ("answers", "labels", "right", "labelled_answers"):
        assert getattr(total, name).tolist() == getattr(whole, name).tolist()
    for name in ("n", "totals", "mean", "squares", "largest"):
        assert getattr(total.losses, name) == pytest.approx(
            getattr(whole.losses, name), rel=1e-12, abs=1e-15
        )
    assert np.array_equal(total.sampled.positions, whole.sampled.positions)
    assert np.array_equal(total.sampled.old, whole.sampled.old)
    assert np.array_equal(total.sampled.new, whole.sampled.new)
    assert (total.ranked is None) == (n_classes > 2)
    if total.ranked is not None:
        found, expected = (np.sort(side.ranked[1]) for side in (total, whole))
        assert np.array_equal(found, expected)


def test_only_rows_whose_answer_changes_are_kept() -> None:
    pair = pair_of(3)
    kept = compared_rows(pair)
    assert np.array_equal(kept.positions, np.flatnonzero(pair.changed))
    assert kept.n_samples == 400
    assert len(kept.pair.labels) == len(kept.positions) < 400
    assert kept.pair.changed.all()
    assert np.array_equal(kept.pair.labels, pair.labels[kept.positions])


def test_sampled_rows_are_evenly_spaced_and_few() -> None:
    assert sampled_positions(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert len(sampled_positions(10**6, 10)) == 20_000
    assert len(sampled_positions(10**6, 1_000)) == 2_000
    found = sampled_positions(10**6, 10**4)
    assert (len(found), found[0], found[-1]) == (1_000, 0, 10**6 - 1)


def test_a_plan_belongs_to_the_changed_rows_and_the_number_of_all() -> None:
    ids = np.array([f"row {place}" for place in range(400)])
    plan = diff_models(OLD, NEW, ids=ids, rng=0).plan
    unchanged = np.flatnonzero(OLD.argmax(axis=1) == NEW.argmax(axis=1))
    other = ids.copy()
    other[unchanged[0]] = "a much longer name of a row that nobody labels"
    assert diff_models(OLD, NEW, ids=other, rng=0).plan.digest == plan.digest
    fewer = np.delete(np.arange(400), unchanged[0])
    found = diff_models(OLD[fewer], NEW[fewer], ids=ids[fewer], rng=0)
    assert found.plan.digest != plan.digest
    other = ids.copy()
    other[plan.order[0]] = "another row"
    assert diff_models(OLD, NEW, ids=other, rng=0).plan.digest != plan.digest
    table = pd.DataFrame({"id": ids, "label": LABELS.astype(str)})
    assert diff_models(OLD, NEW, ids=ids, labels=table, plan=plan).status.ok
