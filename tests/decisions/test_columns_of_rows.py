"""Tables to label: the columns of the rows behind what was found, under names that stand for nothing else."""

import pandas as pd

from shiftmetrics.decisions.columns_of_rows import with_columns_of_rows


def test_columns_follow_and_names_that_are_ours_get_a_mark():
    found = pd.DataFrame({"order": [1, 2], "id": ["a", "b"], "label": ["", ""]}, index=[7, 9])
    columns = {
        "text": ["=1", "x"],
        "label": [5, 6],
        "label (row)": ["u", "v"],
        "plan": ["basic", "gold"],
        3: [1.5, None],
    }
    table = with_columns_of_rows(found, columns)
    expected = {
        "order": [1, 2],
        "id": ["a", "b"],
        "label": ["", ""],
        "text": ["=1", "x"],
        "label (row) (row)": [5, 6],
        "label (row)": ["u", "v"],
        "plan (row)": ["basic", "gold"],
        "3": [1.5, None],
    }
    pd.testing.assert_frame_equal(table, pd.DataFrame(expected, index=[7, 9]))
    assert list(found) == ["order", "id", "label"]
