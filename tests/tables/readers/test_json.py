"""JSON in its shapes: records, columns, split, table, objects of objects, and lines with nested cells."""

import json

import pandas as pd
import pytest

from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.register import read_file

FRAME = pd.DataFrame(
    {"answer": ["cat", "NA", None], "p": [0.5, 0.25, 1.0]}, index=["a17", "b2", "c9"]
)


def read(tmp_path, value):
    path = tmp_path / "old.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return read_file(path, "OLD")


@pytest.mark.parametrize("orient", ["split", "index", "columns", "table"])
def test_shapes_that_pandas_writes_keep_the_index(tmp_path, orient):
    cells = read(tmp_path, FRAME.to_json(orient=orient))
    assert cells.frame[cells.index[0]].tolist() == ["a17", "b2", "c9"]
    assert cells.frame["answer"].isna().tolist() == [False, False, True]
    assert cells.frame["answer"].iloc[1] == "NA"
    assert cells.frame["p"].tolist() == [0.5, 0.25, 1.0]


@pytest.mark.parametrize("orient", ["records", "split", "index", "columns", "table"])
def test_an_index_that_counts_is_none(tmp_path, orient):
    cells = read(tmp_path, FRAME.reset_index(drop=True).to_json(orient=orient))
    assert list(cells.frame.columns) == ["answer", "p"]
    assert cells.index == ()


def test_rows_by_name_are_told_from_columns_by_their_sums(tmp_path):
    rows = {
        "a": {"cat": 0.3, "dog": 0.7},
        "b": {"cat": 0.9, "dog": 0.1},
        "c": {"cat": 0.4, "dog": 0.6},
    }
    cells = read(tmp_path, rows)
    assert cells.frame["cat"].tolist() == [0.3, 0.9, 0.4]
    with pytest.raises(UnreadableError, match="records"):
        read(tmp_path, {"a": {"x": 1.5, "y": 2.5}, "b": {"x": 3.5, "y": 9.5}})


def test_a_table_under_a_name(tmp_path):
    cells = read(
        tmp_path, {"model": "v1", "predictions": [{"id": 1, "p": 0.5}, {"id": 2, "p": 0.25}]}
    )
    assert cells.frame["p"].tolist() == [0.5, 0.25]
    assert "model" in cells.notes[0]


def test_lines_with_objects_vectors_and_pairs(tmp_path):
    lines = [
        {
            "id": 1,
            "probs": {"a": 0.3, "b": 0.7},
            "v": {"type": 1, "values": [0.1, 0.9]},
            "tags": ["x"],
        },
        {
            "id": 2,
            "probs": {"b": 0.4, "a": 0.6},
            "v": {"type": 0, "size": 2, "indices": [1], "values": [0.8]},
        },
    ]
    cells = read(tmp_path, "\n".join(map(json.dumps, lines)))
    assert cells.frame["probs.a"].tolist() == [0.3, 0.6]
    assert cells.frame["v.0"].tolist() == [0.1, 0.0]
    assert cells.frame["v.1"].tolist() == [0.9, 0.8]
    assert cells.frame["tags"].tolist()[0] == "x"


def test_pairs_of_label_and_score_go_by_the_label(tmp_path):
    pair = [{"label": "b", "score": 0.9}, {"label": "a", "score": 0.1}]
    other = [{"label": "a", "score": 0.6}, {"label": "b", "score": 0.4}]
    cells = read(tmp_path, [pair, other])
    assert cells.frame["a"].tolist() == [0.1, 0.6]


def test_large_integers_and_words_keep_all_digits(tmp_path):
    cells = read(tmp_path, [{"id": 2**60 + 1, "w": "007"}, {"id": 2**60 + 3, "w": None}])
    assert cells.frame["id"].tolist() == [2**60 + 1, 2**60 + 3]
    assert cells.frame["w"].iloc[0] == "007"


@pytest.mark.parametrize(
    "text", ['[{"a": 1}, {"a"', '{"a": 1}\n{"a": \n', "[1, [2]]", '["a"', "{}", "[]"]
)
def test_damage_is_refused(tmp_path, text):
    with pytest.raises(UnreadableError, match="^OLD must be"):
        read(tmp_path, text)


def test_a_mark_of_the_encoding_between_lines_is_none_of_a_cell(tmp_path):
    cells = read(tmp_path, '{"id": 1, "p": 0.5}\n\ufeff{"id": 2, "p": 0.25}\n')
    assert cells.frame["id"].tolist() == [1, 2]


def test_a_series_is_one_column_under_its_name(tmp_path):
    path = tmp_path / "labels.json"
    FRAME["answer"].to_json(path, orient="split")
    cells = read_file(path, "--labels")
    assert cells.index == ("index",)
    assert cells.frame["index"].tolist() == ["a17", "b2", "c9"]
    assert cells.frame["answer"].tolist()[:2] == ["cat", "NA"]


def test_lists_beside_rows_of_numbers_are_columns(tmp_path):
    found = {
        "predictions": [[0.5, 0.25], [0.75, 0.125], [0.25, 0.5]],
        "label_ids": [0, 1, 1],
        "metrics": {"loss": 0.5},
    }
    cells = read(tmp_path, json.dumps(found))
    assert list(cells.frame.columns) == ["predictions.0", "predictions.1", "label_ids"]
    assert cells.frame["label_ids"].tolist() == [0, 1, 1]


def test_rows_beside_their_summary_are_the_table(tmp_path):
    rows = [{"name": f"case {place}", "success": place % 2 == 0} for place in range(6)]
    cells = read(tmp_path, {"testCases": rows, "metrics": [{"metric": "m"}], "passed": 3})
    assert cells.frame["name"].tolist() == [f"case {place}" for place in range(6)]
    assert "metrics, passed" in cells.notes[0]


def test_objects_of_lists_are_rows_where_there_are_many(tmp_path):
    found = {f"{place}.jpg": {"label": ["cat", "dog"], "prob": [0.75, 0.25]} for place in range(20)}
    cells = read(tmp_path, found)
    assert cells.frame["prob.0" if "prob.0" in cells.frame else "prob.cat"].tolist() == [0.75] * 20
    assert cells.frame[cells.index[0]].tolist() == list(found)
    # Numbers may be columns of scores, one class each.
    scores = {f"class{place}": {"a": 0.5 * place, "b": 2.0} for place in range(20)}
    with pytest.raises(UnreadableError, match="cannot be told"):
        read(tmp_path, scores)
