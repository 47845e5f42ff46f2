"""How the rows of several files are paired."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError, Complaints, UnreadableTableError
from shiftmetrics.tables.evidence import evidence_of
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.candidates import may_be_id
from shiftmetrics.tables.roles.ids import find_row_key
from tables.variants import cells

N = 20
SOME = np.arange(N) * 3 + 5
RNG = np.random.default_rng(0)


def _key(*frames, **options):
    tables = [
        evidence_of(cells(frame, name=f"{place}.csv"), frame) for place, frame in enumerate(frames)
    ]
    return find_row_key(tables, RoleOptions(**options), Complaints())


def _frame(**columns):
    return pd.DataFrame({**columns, "prediction": RNG.integers(0, 2, N)})


def test_a_named_id_in_another_order():
    key = _key(_frame(case=SOME), _frame(case=SOME[::-1].copy()))
    assert key.names == (("case",), ("case",))


def test_a_named_id_comes_before_the_index():
    unnamed = {"Unnamed: 0": np.arange(N)}
    key = _key(_frame(**unnamed, image_id=SOME), _frame(**unnamed, image_id=SOME[::-1].copy()))
    assert key.names[0] == ("image_id",)


def test_an_index_with_other_values_than_a_count_is_a_place():
    key = _key(_frame(**{"": np.arange(N)}), _frame(**{"": SOME}))
    assert key.by == "place"


def test_a_shuffled_index_beside_a_count_asks():
    with pytest.raises(AmbiguousReadingError) as caught:
        _key(_frame(**{"": np.arange(N)}), _frame(**{"": RNG.permutation(N)}))
    assert len(caught.value.readings) == 2


def test_another_name_in_the_other_file():
    frames = _frame(case=SOME), _frame(sample_id=SOME[::-1].copy())
    assert _key(*frames).names == (("case",), ("sample_id",))
    assert _key(*frames, id="case=sample_id").names == (("case",), ("sample_id",))


def test_inner_is_offered_where_half_matches_and_only_there():
    most = _frame(case=np.where(np.arange(N) < 15, SOME, SOME + 1000))
    with pytest.raises(AmbiguousReadingError, match="--inner"):
        _key(_frame(case=SOME), most)
    assert _key(_frame(case=SOME), most, inner=True).by == "id"
    few = _frame(case=np.where(np.arange(N) < 3, SOME, SOME + 1000))
    with pytest.raises(UnreadableTableError) as caught:
        _key(_frame(case=SOME), few)
    assert "--inner" not in str(caught.value)


def test_counts_from_0_and_from_1_are_never_shifted_by_one():
    with pytest.raises(AmbiguousReadingError) as caught:
        _key(_frame(id=np.arange(N)), _frame(id=np.arange(N) + 1))
    assert [reading.remedy for reading in caught.value.readings] == ["--id none"]


def test_the_same_many_values_in_another_order_ask():
    values = RNG.normal(size=N)
    with pytest.raises(AmbiguousReadingError, match="another order"):
        _key(_frame(age=values), _frame(age=values[::-1].copy()))


def test_places_need_as_many_rows():
    with pytest.raises(UnreadableTableError, match="20 and 1.csv 19"):
        _key(_frame(), _frame().iloc[1:].reset_index(drop=True))
    assert _key(_frame(), _frame()).by == "place"


def test_a_typed_id_must_be_in_every_file():
    with pytest.raises(UnreadableTableError, match=r"--id case .* 1\.csv"):
        _key(_frame(case=SOME), _frame(), id="case")


def test_one_file():
    assert _key(_frame(case=SOME)).names == (("case",),)
    assert _key(_frame()).by == "place"


def test_fractions_are_no_ids():
    frame = pd.DataFrame({"x": RNG.normal(size=N), "y": SOME, "z": [True, False] * (N // 2)})
    table = evidence_of(cells(frame), frame)
    assert [may_be_id(column) for column in table.columns.values()] == [False, True, False]


def test_numbers_that_two_files_share_are_never_paired_by_place():
    numbers = RNG.permutation(500)[: N + 4]
    first, second = numbers[:N], numbers[4:][::-1].copy()
    with pytest.raises(AmbiguousReadingError) as caught:
        _key(_frame(ticket=first), _frame(ticket=second))
    assert [one.remedy for one in caught.value.readings] == ["--inner"]
    key = _key(_frame(ticket=first), _frame(ticket=second), inner=True)
    assert key.names == (("ticket",), ("ticket",))


def test_times_of_one_run_have_a_way_out():
    frames = [
        _frame(created=pd.date_range(day, periods=N, freq="s").astype(str))
        for day in ("2024-01-01", "2024-01-02")
    ]
    with pytest.raises(UnreadableTableError, match="--id none"):
        _key(*frames)
    assert _key(*frames, id="none").by == "place"
    # What is called an id is one.
    named = [frame.rename(columns={"created": "case_id"}) for frame in frames]
    with pytest.raises(UnreadableTableError, match=r"Give files of the same rows\.$"):
        _key(*named)


@pytest.mark.parametrize("values", [[0, 1], ["val", "test"]])
def test_an_id_with_a_row_for_each_epoch_asks(values):
    ids = np.repeat(SOME[: N // 2], 2)
    frames = [_frame(case=ids, epoch=values * (N // 2)) for _ in range(2)]
    with pytest.raises(AmbiguousReadingError, match="one for each epoch") as caught:
        _key(*frames)
    assert [one.remedy for one in caught.value.readings] == ["--id case,epoch"]
    assert _key(*frames, id="case,epoch").names == (("case", "epoch"),) * 2
    # Visits that are counted in no column stay rows by their place.
    assert _key(*(frame.drop(columns="epoch") for frame in frames)).by == "place"


def test_of_row_names_that_lost_their_name_it_is_said_how_they_are_typed():
    """As pandas writes an index by to_json(orient="index"): the option that is named works."""
    frames = [
        _frame(**{"Unnamed: 0": [f"im{place}" for place in order]}) for order in (SOME, SOME[::-1])
    ]
    with pytest.raises(UnreadableTableError, match="no name: --id index takes them"):
        _key(*frames, id="image")
    assert _key(*frames, id="index").names[0] == ("Unnamed: 0",)
    with pytest.raises(UnreadableTableError, match="only[.]$"):
        _key(*(_frame(case=SOME) for _ in "ab"), id="image")
