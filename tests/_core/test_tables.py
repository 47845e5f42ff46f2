"""Tables match by label, never by luck; the first differences are named."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optional import torch
from shiftmetrics._core.tables import align_tables, check_labels, match_labels

FIRST = pd.DataFrame({"cat": [1, 2, 3], "dog": [4, 5, 6]}, index=["x", "y", "z"])


def align(first: object, second: object, **options: object) -> object:
    return align_tables(first, second, "scores", "reference_scores", **options)


def test_columns_match_by_name_and_rows_by_index() -> None:
    first, second = align(FIRST, FIRST.loc[["z", "x", "y"], ["dog", "cat"]])
    assert first is FIRST
    pd.testing.assert_frame_equal(second, FIRST)


def test_the_order_is_that_of_the_sample_under_test() -> None:
    shuffled = FIRST.loc[["y", "z", "x"], ["dog", "cat"]]
    first, second = align(shuffled, FIRST)
    pd.testing.assert_frame_equal(second, shuffled)
    assert first is shuffled


def test_a_series_matches_by_index() -> None:
    _, second = align(FIRST["cat"], FIRST["cat"].loc[["z", "y", "x"]])
    assert second.tolist() == [1, 2, 3]
    _, labels = align(FIRST, FIRST["dog"].loc[["z", "y", "x"]])
    assert labels.tolist() == [4, 5, 6]


def test_unpaired_samples_match_by_columns_alone() -> None:
    other = pd.DataFrame({"dog": [7, 8], "cat": [9, 10]}, index=["p", "q"])
    _, second = align(FIRST, other, rows=False)
    assert list(second.columns) == ["cat", "dog"]
    assert list(second.index) == ["p", "q"]


def test_position_takes_them_as_they_stand() -> None:
    other = FIRST.set_axis(["c", "d"], axis=1).reset_index(drop=True)
    first, second = align(FIRST, other, align="position")
    assert first is FIRST
    assert second is other


@pytest.mark.parametrize(
    "second", [np.ones((3, 2)), torch.ones(3, 2), [[1, 2]] * 3], ids=lambda v: type(v).__name__
)
def test_what_has_no_labels_passes_unchanged(second: object) -> None:
    assert align(FIRST, second)[1] is second
    assert align(second, FIRST)[1] is FIRST


@given(st.lists(st.integers() | st.text(max_size=2) | st.tuples(st.integers(), st.text(max_size=1)), unique=True),
       st.randoms(use_true_random=False))  # fmt: skip
def test_matching_is_the_permutation_between_both(labels: list, random: object) -> None:
    shuffled = labels.copy()
    random.shuffle(shuffled)
    order = match_labels(labels, shuffled, "a", "b", "rows")
    assert [shuffled[place] for place in order] == labels


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            FIRST.rename(columns={"dog": "bird"}),
            r"scores and reference_scores must have the same columns, got only in scores: 'dog'; "
            r"only in reference_scores: 'bird'\. Make them agree, or pass align=\"position\"",
        ),
        (
            FIRST.drop(columns="dog"),
            r"the same columns, got only in scores: 'dog'\. Make them agree",
        ),
        (FIRST.drop(index="y"), r"the same rows, got only in scores: 'y'\."),
        (
            FIRST.reset_index(drop=True),
            r"got only in scores: 'x', 'y', 'z'; only in reference_scores: 0, 1, 2\.",
        ),
        (
            FIRST.set_axis(["cat", "cat"], axis=1),
            r"reference_scores must have columns with distinct labels, got repeated 'cat'\. Make them distinct",
        ),
        (
            FIRST.set_axis(["x", "x", "x"]),
            r"reference_scores must have rows with distinct labels, got repeated 'x'\. Make them distinct",
        ),
    ],
)
def test_differences_are_listed(second: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        align(FIRST, second)


def test_only_the_first_three_differences_are_listed() -> None:
    with pytest.raises(ValueError, match=r"only in a: 0, 1, 2 and 97 more; only in b: 'p'\."):
        match_labels(list(range(100)), ["p"], "a", "b", "rows")


def test_numbers_and_their_texts_are_different_labels() -> None:
    with pytest.raises(ValueError, match="only in a: 1; only in b: '1'"):
        match_labels([1], ["1"], "a", "b", "columns")


def test_an_unknown_way_to_align_is_refused() -> None:
    with pytest.raises(ValueError, match="align must be one of 'labels', 'position', got 'index'"):
        align(FIRST, FIRST, align="index")


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        (None, r"Make them agree\.$"),
        ("pairing", r'Make them agree, or pass pairing="position" to take them as they stand\.$'),
        ("--align", r"Make them agree, or pass --align position to take them as they stand\.$"),
    ],
)
def test_the_remedy_names_the_option_of_the_caller(option, remedy):
    with pytest.raises(ValueError, match=remedy):
        align_tables(FIRST, FIRST.iloc[:-1], "scores", "reference_scores", option=option)


MASKED = np.ma.masked_array([0, 1, 1, 0], mask=[False, True, False, False])


@pytest.mark.parametrize(
    ("labels", "error"),
    [
        (MASKED, ValueError),
        (MASKED.astype(str), ValueError),
        (pd.Series(pd.array([True, None], dtype="boolean")), ValueError),
        ([0, [1, 2]], TypeError),
        (np.array([0, [1, 2]], dtype=object), TypeError),
        ([1j, 2.0], TypeError),
        (np.array([object(), int], dtype=object), TypeError),
        ({0, 1}, ValueError),
    ],
)
def test_labels_lose_nothing_in_silence(labels: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="y must be"):
        check_labels(labels, "y")
