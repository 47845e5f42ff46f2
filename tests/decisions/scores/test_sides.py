"""The scores of one model, from a table or a log."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions.scores.sides import side_of


def table(**columns):
    return pd.DataFrame({"id": ["a", "b", "c"], "score": [1.0, 0.5, 0.0], **columns})


def test_columns_are_found_by_their_names():
    side = side_of(table(task=["t", "t", "u"], repeat=[1, 1, 2]), "old", None, None, None)
    assert side.score == "score"
    assert side.table["task"].tolist() == ["t", "t", "u"]
    assert side.table["repeat"].tolist() == ["1", "1", "2"]


def test_missing_and_failed_scores_are_missing():
    frame = table(failed=[False, True, False])
    frame.loc[2, "score"] = np.nan
    side = side_of(frame, "old", None, None, None)
    assert side.table["score"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("word", "number"), [("0.5", 0.5), ("true", 1.0), ("", None), ("NaN", None)]
)
def test_scores_as_they_are_written(word, number):
    frame = table()
    frame["score"] = ["1", word, "0"]
    score = side_of(frame, "old", None, None, None).table["score"][1]
    assert np.isnan(score) if number is None else score == number


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": ["1", "good", "0"]}, "good"),
        ({"score": [1.0, np.inf, 0.0]}, "finite"),
        ({"id": ["a", None, "c"]}, "id in each row"),
    ],
)
def test_what_is_no_score_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        side_of(table().assign(**change), "old", None, None, None)


def test_a_table_without_score_is_asked_for_it():
    frame = table().rename(columns={"score": "judge"})
    with pytest.raises(ValueError, match="scores="):
        side_of(frame, "old", None, None, None)
    assert side_of(frame, "old", "judge", None, None).score == "judge"
    with pytest.raises(ValueError, match="score in both"):
        side_of(frame, "old", "other", None, None)


def test_ids_that_are_whole_numbers_are_the_same_as_floats():
    first = side_of(table(id=[1, 2, 3]), "old", None, None, None)
    second = side_of(table(id=[1.0, 2.0, 3.0]), "new", None, None, None)
    assert first.table["id"].tolist() == second.table["id"].tolist()


def test_groups_are_a_column_or_one_value_a_row():
    frame = table(passage=["p", "p", "q"])
    assert side_of(frame, "old", None, None, "passage").table["group"].tolist() == ["p", "p", "q"]
    side = side_of(table(), "old", None, None, ["x", "x", "y"])
    assert side.table["group"].tolist() == ["x", "x", "y"]
    with pytest.raises(ValueError, match="groups"):
        side_of(frame, "old", None, None, "author")


@pytest.mark.parametrize("name", ["task_id", "instruction", "user_input", "inputs", "prompt"])
def test_what_was_asked_names_the_questions(name):
    frame = pd.DataFrame({name: ["a", "b", "c"], "score": [1.0, 0.5, 0.0]})
    side = side_of(frame, "old", None, None, None)
    assert side.table["id"].tolist() == ["a", "b", "c"]
    assert not side.by_place
    # An id comes first.
    assert side_of(frame.assign(id=[7, 8, 9]), "old", None, None, None).table["id"][0] == "7"
