"""Batches that were counted before are found in any order of their rows, and in other parts."""

import numpy as np
import pandas as pd
import pytest

from batches import passport_of, table
from shiftmetrics.decisions.monitor.monitor import monitor_batch
from shiftmetrics.decisions.monitor.passport import BatchCounts
from shiftmetrics.decisions.monitor.repeats import (
    LEAST_HASHED,
    MOST_KEPT,
    add_batch,
    add_digests,
    repeated_rows,
    rows_digest,
)
from shiftmetrics.decisions.monitor.row_tests import Count
from shiftmetrics.decisions.monitor.state import MonitorState

NONE = np.zeros((0, 2), dtype=np.int64)


def test_the_digest_knows_no_order_and_adds_up(rng):
    frame = table(rng, 60)
    whole = rows_digest(frame)
    assert rows_digest(frame.sample(frac=1.0, random_state=1)) == whole
    assert add_digests(rows_digest(frame[:25]), rows_digest(frame[25:])) == whole
    changed = frame.copy()
    changed.loc[3, "x"] += 1e-9
    assert rows_digest(changed) != whole
    assert rows_digest(pd.concat([frame, frame[:1]])) != whole


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ("a b c", ""),
        ("a a", "This batch has the rows of batch 1:"),
        ("a b c a", "This batch has the rows of batch 1:"),
        ("ab a b", "Batches 2 to 3 together have the rows of batch 1:"),
        ("a b ab", "This batch has the rows of batches 1 to 2:"),
        ("c a b c b a", "This batch has the rows of batch 2:"),
        ("a bc ab c", "Batches 3 to 4 together have the rows of batches 1 to 2:"),
        ("a b c d", ""),
    ],
)
def test_repeats_are_found_in_other_parts(order, words):
    digests = {"a": 2**53 - 5, "b": 7, "c": 1234567890123, "d": 99}
    seen = NONE
    batches = order.split()
    for batch in batches:
        total = 0
        for part in batch:
            total = add_digests(total, digests[part])
        seen = add_batch(seen, 30 * len(batch), total)
    found = repeated_rows(seen, len(batches))
    assert found.startswith(words)
    assert bool(found) == bool(words)


def test_few_rows_leave_no_hash_and_many_batches_no_endless_list():
    assert add_batch(NONE, LEAST_HASHED - 1, 5).tolist() == [[LEAST_HASHED - 1, 0]]
    assert add_batch(NONE, LEAST_HASHED, 5).tolist() == [[LEAST_HASHED, 5]]
    seen = NONE
    for number in range(MOST_KEPT + 10):
        seen = add_batch(seen, 40, 1000 + number**3)
    assert seen.shape == (MOST_KEPT, 2)
    assert repeated_rows(seen, MOST_KEPT + 10) == ""
    again = add_batch(seen, 40, 1000 + 100**3)
    assert "the rows of batch 101:" in repeated_rows(again, MOST_KEPT + 11)


def test_a_monitor_warns_of_rows_that_were_given_before(rng, model):
    passport = passport_of(rng, model)
    first, other = table(rng, 50), table(rng, 50)
    parts = [first, other, first[30:].drop(columns="label"), first[:30].sample(frac=1.0)]
    state = None
    warnings = []
    for part in parts:
        result = monitor_batch(passport, part, state=state, model=model)
        state = result.state
        warnings.append(result.warnings)
    assert warnings[:3] == [(), (), ()]
    assert warnings[3][0].startswith("Batches 3 to 4 together have the rows of batch 1:")


def test_counts_without_a_digest_repeat_nothing(rng, model):
    passport = passport_of(rng, model)
    state = MonitorState.start(passport)
    counts = passport.count(table(rng, 60), model=model)
    bare = BatchCounts(counts.rows, Count(0, 0))
    for _ in range(2):
        result = monitor_batch(passport, bare, state=state)
        state = result.state
        assert result.warnings == ()
