"""The classes of columns, by all that the files say of them."""

from __future__ import annotations

import numpy as np
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError, Complaints, UnreadableTableError
from shiftmetrics.tables.naming import (
    LabelledAnswers,
    joint_classes,
    names_of_columns,
)
from shiftmetrics.tables.options import RoleOptions

PLACES = np.tile([0, 1, 2], 10)
WORDS = np.array(["ant", "bee", "cow"], dtype=object)


def _names(columns, known, labelled=None, **options):
    return names_of_columns(columns, set(known), labelled, RoleOptions(**options), "old.csv")


def _labelled(words, largest=PLACES):
    return LabelledAnswers(find=lambda: ([largest], np.array(words, dtype=object)[PLACES]))


def test_typed_classes():
    assert _names(("x", "y"), (), classes=("a", "b")) == ("a", "b")
    with pytest.raises(UnreadableTableError, match="2 classes"):
        _names(("x", "y"), (), classes=("a", "b", "c"))


def test_nothing_is_known():
    assert _names(("p_cat", "p_dog"), ()) == ("cat", "dog")


def test_places_follow_the_number_in_the_name():
    assert _names(("p_2", "p_0", "p_1"), WORDS, _labelled(WORDS, (PLACES + 1) % 3)) == (
        "cow",
        "ant",
        "bee",
    )


@pytest.mark.parametrize("known", [("1", "2"), ("1", "2", "3")])
def test_labels_that_count_from_1_ask(known):
    labelled = _labelled(["1", "2", "3"]) if len(known) == 3 else _labelled(["1", "2", "2"])
    with pytest.raises(AmbiguousReadingError) as caught:
        _names(("0", "1", "2"), known, labelled)
    assert [reading.remedy for reading in caught.value.readings] == [
        "--classes 1,2,3",
        "--classes 0,1,2",
    ]


def test_labels_without_the_last_class():
    labelled = LabelledAnswers(
        find=lambda: ([PLACES % 2], np.array(["0", "1"], dtype=object)[PLACES % 2])
    )
    assert _names(("0", "1", "2"), ("0", "1"), labelled) == ("0", "1", "2")


def test_a_label_outside_the_columns_is_named():
    with pytest.raises(UnreadableTableError, match="'typo'"):
        _names(("cat", "dog"), ("cat", "dog", "typo"))


def test_the_number_may_be_a_part_of_the_class():
    known = ("c0", "c1", "c2")
    assert _names(("p_c0", "p_c1", "p_c2"), known, _labelled(known)) == known


def test_all_classes():
    truth = np.array(["a", "z"], dtype=object)
    assert joint_classes([("b", "a"), ("a", "c")], truth, Complaints()) == ("b", "a", "c", "z")


def test_classes_that_count_themselves_name_the_columns_by_their_number():
    names = _names(["p.0", "p.1", "p.2"], ["3:cow", "1:ant"])
    assert names == ("1:ant", "2", "3:cow")


def test_numbers_from_1_are_codes_of_the_schema_that_labels_bear_out():
    coded = ("cow", "ant", "bee")
    columns = ("pseudo_1", "pseudo_2", "pseudo_3")
    found = names_of_columns(columns, set(coded), _labelled(coded), RoleOptions(), "old.sav", coded)
    assert found == coded
    # another order of the codes makes more answers right
    with pytest.raises(AmbiguousReadingError):
        names_of_columns(columns, set(coded), _labelled(WORDS), RoleOptions(), "old.sav", coded)
