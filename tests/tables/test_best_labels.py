"""Lists of the best labels of a row."""

import numpy as np
import pytest

from shiftmetrics.tables.best_labels import best_labels
from shiftmetrics.tables.register import read_file

NAN = np.nan
BEST = {"cat": [0.5, 0.25, NAN], "dog": [0.25, NAN, 0.375], "fox": [NAN, 0.75, 0.5]}


def test_the_best_label_of_each_row_is_the_answer():
    columns, note = best_labels(BEST)
    assert list(columns["label"]) == ["cat", "fox", "fox"]
    assert list(columns["score"]) == [0.5, 0.75, 0.5]
    assert "2 of 3" in note


@pytest.mark.parametrize(
    "scores",
    [
        {**BEST, "cat": [0.5, 0.25, 0.125]},
        {**BEST, "fox": [NAN, 7.5, 0.5]},
        {**BEST, "fox": [NAN, -0.75, 0.5]},
        {str(place): values for place, values in enumerate(BEST.values())},
        {"cat": [0.5, 0.5], "dog": [0.5, 0.5]},
        {"cat": ["a", "b"], "dog": [0.5, NAN]},
    ],
    ids=["unequal lists", "no probabilities", "negative", "places", "all scores", "words"],
)
def test_other_gaps_are_no_lists_of_the_best(scores):
    assert best_labels(scores) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("old.txt", "cat 0.5 dog 0.25\nfox 0.75 cat 0.25\nfox 0.5 dog 0.375\n"),
        (
            "old.jsonl",
            '{"label": ["cat", "dog"], "score": [0.5, 0.25]}\n'
            '{"label": ["fox", "cat"], "score": [0.75, 0.25]}\n'
            '{"label": ["fox", "dog"], "score": [0.5, 0.375]}\n',
        ),
    ],
)
def test_files_of_the_best_labels_are_read_by_their_best(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(4 * text)
    frame = read_file(path, "OLD").frame
    answers = next(frame[name] for name in frame if name.endswith("label"))
    assert answers.tolist() == 4 * ["cat", "fox", "fox"]
