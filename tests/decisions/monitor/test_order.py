"""Batches out of order, in another row order, and in parts: each is said."""

import numpy as np
import pytest

from seasonal import month_of, year_of
from shiftmetrics.decisions.monitor.monitor import monitor_batch
from shiftmetrics.decisions.monitor.order import DateSpan, latest_of, out_of_order, united
from shiftmetrics.decisions.monitor.profile import make_passport
from shiftmetrics.decisions.monitor.state_file import StateFile


@pytest.fixture(scope="module")
def passport():
    return make_passport(year_of(np.random.default_rng(0), 50)[["day", "wind", "site"]])


def warnings_of(passport, batches, path):
    """Return the warnings after each batch, its state kept in a file."""
    file = StateFile(path)
    said = []
    for batch in batches:
        before = file.read(passport)
        result = monitor_batch(passport, batch, state=before)
        file.write(result, before)
        said.append(result.warnings)
    assert file.replay(passport).equals(file.read(passport))
    return said


def test_a_batch_before_an_earlier_one_is_said(passport, tmp_path):
    rng = np.random.default_rng(1)
    batches = [month_of(rng, month, 40) for month in (1, 3, 2, 4, 1)]
    said = warnings_of(passport, batches, tmp_path / "s.json")
    latest = [None, None, batches[1], None, batches[3]]
    for batch, later, warnings in zip(batches, latest, said, strict=True):
        assert len(warnings) == (later is not None)
        if later is not None:
            (warning,) = warnings
            assert str(batch["day"].max().date()) in warning
            assert str(later["day"].min().date()) in warning


def test_rows_that_come_again_are_said_in_any_order_and_in_parts(passport, tmp_path):
    rng = np.random.default_rng(2)
    first = month_of(rng, 5, 60)
    turned = first.sample(frac=1.0, random_state=3)
    batches = [first, turned, month_of(rng, 6, 60), turned[:25], turned[25:]]
    said = warnings_of(passport, batches, tmp_path / "s.json")
    assert not said[0]
    assert not said[2]
    assert "batch 1" in said[1][0]
    # A part alone is not known again; but it is of May after June, and so is the other.
    assert [text.startswith("Out of order") for text in said[3]] == [True]
    assert "Batches 4 to 5 together have the rows of batch" in said[4][0]


def test_dates_of_parts_are_united_and_the_latest_kept():
    may = DateSpan("day", "2024-05-08", "2024-05-31")
    june = DateSpan("day", "2024-06-08", "2024-06-30")
    other = DateSpan("born", "1990-01-01", "2004-01-01")
    (both, born) = united([may], [june, other])
    assert (both.first, both.last) == ("2024-05-08", "2024-06-30")
    assert born is not None
    assert [each.first for each in latest_of([june], [may])] == ["2024-06-08"]
    assert [each.first for each in latest_of([may], [june])] == ["2024-06-08"]
    assert out_of_order([june], [may])
    assert not out_of_order([may], [june])
    assert not out_of_order([june], [other])
