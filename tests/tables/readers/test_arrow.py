"""Parquet and Arrow: types, nested columns, names of classes, and the index of pandas."""

import json

import pandas as pd
import pytest

from shiftmetrics.tables.content import ReadOptions, UnreadableError
from shiftmetrics.tables.readers import arrow
from shiftmetrics.tables.register import read_file

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def read(tmp_path, table):
    path = tmp_path / "old.parquet"
    parquet.write_table(table, path)
    return read_file(path, "OLD")


def test_lists_structs_maps_and_pairs_become_columns(tmp_path):
    pairs = [
        [{"label": "b", "score": 0.9}, {"label": "a", "score": 0.1}],
        [{"label": "a", "score": 0.6}, {"label": "b", "score": 0.4}],
    ]
    table = pa.table(
        {
            "v": [[0.25, 0.75], [0.5, 0.5]],
            "s": [{"a": 0.1, "b": 0.9}, {"a": 0.6, "b": 0.4}],
            "top": pairs,
            "tags": [["x", "y"], ["z"]],
        }
    )
    cells = read(tmp_path, table)
    assert cells.frame["v.1"].tolist() == [0.75, 0.5]
    assert cells.frame["s.b"].tolist() == [0.9, 0.4]
    assert cells.frame["top.a"].tolist() == [0.1, 0.6]
    assert cells.frame["tags"].tolist() == ['["x", "y"]', '["z"]']
    assert cells.written == {"tags"}


def test_names_of_classes_come_from_the_schema(tmp_path):
    feature = {"names": ["cat", "dog"], "_type": "ClassLabel"}
    about = {"info": {"features": {"label": feature, "id": {"dtype": "int64", "_type": "Value"}}}}
    table = pa.table({"id": [1, 2, 3], "label": [0, 1, -1]})
    table = table.replace_schema_metadata({"huggingface": json.dumps(about)})
    cells = read(tmp_path, table)
    assert cells.frame["label"].tolist()[:2] == ["cat", "dog"]
    assert cells.frame["label"].isna().tolist() == [False, False, True]
    assert cells.levels == {"label": ("cat", "dog")}


def test_categories_are_levels_with_their_order(tmp_path):
    path = tmp_path / "old.parquet"
    grades = pd.Categorical(["low", "high", None], categories=["low", "high"], ordered=True)
    pd.DataFrame({"g": grades, "c": pd.Categorical(["x", "y", "x"])}).to_parquet(path)
    cells = read_file(path, "OLD")
    assert cells.levels == {"g": ("low", "high"), "c": ("x", "y")}
    assert cells.ordered == {"g"}
    assert cells.frame["g"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("index", "name"),
    [
        ([4, 7, 9], "index"),
        (pd.Index([4, 7, 9], name="id"), "id"),
        (range(3), None),
        (range(5, 8), "index"),
    ],
)
def test_the_index_of_pandas(tmp_path, index, name):
    path = tmp_path / "old.parquet"
    pd.DataFrame({"p": [0.5, 0.25, 1.0]}, index=index).to_parquet(path)
    cells = read_file(path, "OLD")
    assert cells.index == (() if name is None else (name,))
    if name is not None:
        assert cells.frame[name].tolist() == list(index)
        assert list(cells.frame.columns) == [name, "p"]


def test_words_are_words_and_gaps_are_gaps(tmp_path):
    cells = read(
        tmp_path, pa.table({"w": ["NA", "007", None], "x": [1.5, None, 2.5], "i": [1, 2, 3]})
    )
    assert cells.written == {"w"}
    assert cells.frame["w"].tolist()[:2] == ["NA", "007"]
    assert cells.frame["w"].isna().tolist() == [False, False, True]
    assert cells.frame["i"].dtype.kind == "i"


def test_repeated_values_that_unpack_to_too_much_are_refused(tmp_path):
    path = tmp_path / "old.parquet"
    parquet.write_table(pa.table({"x": pa.array([0.0] * 2_000_000)}), path)
    assert path.stat().st_size < 10_000
    with pytest.raises(UnreadableError, match="max-gib"):
        read_file(path, "OLD", ReadOptions(max_gib=0.01))


def test_names_that_stand_twice_are_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(UnreadableError, match="'a' twice"):
        read(tmp_path, table)


@pytest.mark.parametrize("words", ["plain", "dictionary"])
def test_scores_in_the_order_of_a_list_of_words_belong_to_the_words(tmp_path, words):
    labels = pa.array([["b", "a"], ["a", "b"], ["b", "a"]])
    if words == "dictionary":
        labels = labels.cast(pa.list_(pa.dictionary(pa.int32(), pa.string())))
    table = pa.table({"labels": labels, "scores": [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]]})
    frame = read(tmp_path, table).frame
    found = {name.rsplit(".", 1)[-1]: frame[name].tolist() for name in frame}
    assert found == {"a": [0.1, 0.6, 0.3], "b": [0.9, 0.4, 0.7]}


def test_orc_is_read_as_parquet_is(tmp_path):
    orc = pytest.importorskip("pyarrow.orc")
    table = pa.table(
        {
            "id": ["007", "012", None],
            "scores": [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]],
            "large": [2**53 + 1, 1, 2],
        }
    )
    path = tmp_path / "old"  # told by its content
    orc.write_table(table, path, compression="zstd")
    got = read_file(path, "OLD")
    expected = read(tmp_path, table)
    pd.testing.assert_frame_equal(got.frame, expected.frame)
    assert got.written == expected.written


def test_an_orc_file_that_unpacks_to_too_much_is_refused(tmp_path):
    orc = pytest.importorskip("pyarrow.orc")
    path = tmp_path / "old.orc"
    orc.write_table(pa.table({"x": [0.0] * 2_000_000}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(UnreadableError, match=r"at most 0\.01 GiB"):
        read_file(path, "OLD", ReadOptions(max_gib=0.01))


def test_a_csv_whose_first_name_begins_like_an_orc_file_is_a_csv(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("ORC,b\n1,x\n2,y\n")
    assert list(read_file(path, "OLD").frame.columns) == ["ORC", "b"]


def test_a_cut_orc_file_is_refused_in_words(tmp_path):
    orc = pytest.importorskip("pyarrow.orc")
    path = tmp_path / "old.orc"
    orc.write_table(pa.table({"x": list(range(1000))}), path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UnreadableError, match="an ORC file"):
        read_file(path, "OLD")


@pytest.mark.parametrize("name", ["score", "a.b"])
def test_a_large_file_read_column_by_column_is_the_same(tmp_path, monkeypatch, name):
    frame = pd.DataFrame(
        {
            "id": ["x", "y", None],
            name: [0.5, None, 0.25],
            "a": [{"b": 1.5, "c": 2.5}, {"b": 3.5, "c": 4.5}, {"b": 5.5, "c": 6.5}],
            "v": [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]],
            "when": pd.date_range("2026-01-01", periods=3),
            "grade": pd.Categorical(["low", "high", "low"]),
        },
        index=pd.Index([7, 3, 5], name="row"),
    )
    path = tmp_path / "old.parquet"
    frame.to_parquet(path)
    whole = read_file(path, "OLD")
    monkeypatch.setattr(arrow, "LARGE", 1)
    apart = read_file(path, "OLD")
    pd.testing.assert_frame_equal(apart.frame, whole.frame)
    assert apart.index == whole.index == ("row",)
    assert apart.written == whole.written
    assert apart.levels == whole.levels
