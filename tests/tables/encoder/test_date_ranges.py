"""A reference that was taken after the sample that is said to have come since."""

import pandas as pd
import pytest

from shiftmetrics.tables.encoder.date_ranges import (
    DateRange,
    date_ranges,
    in_wrong_order,
    order_of_samples,
)
from shiftmetrics.tables.encoder.roles import as_cells
from shiftmetrics.tables.kinds import decide_kinds


def month(first):
    return pd.DataFrame({"day": pd.date_range(first, periods=30), "x": range(30)})


def test_ranges_pass_over_gaps_and_a_few_dates_at_the_end():
    frame = month("2024-09-01")
    frame.loc[0, "day"] = pd.NaT
    (found,) = date_ranges(frame, ["day"])
    assert (found.column, found.early) == ("day", "2024-09-09")
    assert found.late >= "2024-09-29"
    assert date_ranges(frame.assign(day=pd.NaT), ["day"]) == ()


@pytest.mark.parametrize(("first", "warns"), [("2024-10-01", True), ("2024-08-01", False)])
def test_only_a_later_reference_is_warned_of(first, warns):
    reference = date_ranges(month(first), ["day"])
    current = date_ranges(month("2024-09-01"), ["day"])
    found = in_wrong_order(reference, current, called="the batch")
    assert len(found) == warns
    assert all("`day`" in sentence and "the batch" in sentence for sentence in found)


def test_other_columns_say_nothing_of_the_order():
    late = [DateRange("born", "2024-01-01", "2024-02-01")]
    early = [DateRange("day", "2023-01-01", "2023-02-01")]
    assert in_wrong_order(late, early, called="the batch") == ()


def test_the_order_of_two_samples_is_read_from_their_dates():
    late, early = month("2024-10-01"), month("2024-08-01")
    for reference, current, warns in ((late, early, True), (early, late, False)):
        cells = [as_cells(reference, "reference"), as_cells(current, "current")]
        found = order_of_samples(decide_kinds(cells), "the sample")
        assert len(found) == warns
