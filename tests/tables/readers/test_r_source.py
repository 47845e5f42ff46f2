"""What R writes by dput and dump."""

from __future__ import annotations

import pytest

from shiftmetrics.tables.register import read_file

FACTOR = (
    'structure(c(`3` = 1L, `10` = 2L,\n`11` = NA), levels = c("cat", "a dog"), class = "factor")\n'
)
MATRIX = """structure(c(0.75, 0.5, 0.25, 0.5), dim = c(2L, 2L), dimnames = list(
    c("r1", "r2"), c("cat", "dog")), class = c("matrix", "array", "votes"))
"""
FRAME = """structure(list(id = 101:103, word = c("a \\"b\\"", NA, "NA"), p = c(.5, 1e-3, -2)),
class = "data.frame", row.names = c(NA, -3L))
"""


def table_of(text, folder):
    path = folder / "old.R"
    path.write_text(text)
    cells = read_file(path, "OLD")
    return cells.frame


def test_a_factor_with_names(tmp_path):
    frame = table_of(FACTOR, tmp_path)
    assert frame.iloc[:, 0].astype(str).tolist() == ["3", "10", "11"]
    assert frame["x"].iloc[:2].tolist() == ["cat", "a dog"]
    assert frame["x"].isna().tolist() == [False, False, True]


def test_dump_names_the_object(tmp_path):
    assert table_of(f"pred <-\n{FACTOR}", tmp_path)["x"].iloc[0] == "cat"


def test_a_matrix_goes_column_by_column(tmp_path):
    frame = table_of(MATRIX, tmp_path)
    assert frame["cat"].tolist() == [0.75, 0.5]
    assert frame["dog"].tolist() == [0.25, 0.5]
    assert frame.iloc[:, 0].tolist() == ["r1", "r2"]


def test_an_array_of_one_layer_is_a_matrix(tmp_path):
    text = MATRIX.replace("c(2L, 2L)", "c(2L, 2L, 1L)").replace('"dog"))', '"dog"), "s0")')
    assert table_of(text, tmp_path)["dog"].tolist() == [0.25, 0.5]


def test_a_data_frame(tmp_path):
    frame = table_of(FRAME, tmp_path)
    assert list(frame) == ["id", "word", "p"]
    assert frame["id"].tolist() == [101, 102, 103]
    assert frame["word"].iloc[0] == 'a "b"'
    assert frame["p"].tolist() == [0.5, 0.001, -2.0]


def test_plain_vectors(tmp_path):
    assert table_of('c("cat", "dog", "cat")\n', tmp_path)["x"].tolist() == ["cat", "dog", "cat"]
    assert table_of("c(1, 2.5)", tmp_path)["x"].tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    "text",
    [
        "c(system('ls'), 1)\n1,2\n",
        "c(1, 2),c(3, 4)\nc(5, 6),c(7, 8)\n",
        "structure(c(1, 2), dim = c(3L, 3L))\nx,y\n",
        FACTOR[:-40],
    ],
)
def test_other_code_is_not_told(text, tmp_path):
    from shiftmetrics.tables.content import Content, ReadOptions
    from shiftmetrics.tables.readers.r_source import is_r_source

    content = Content("OLD", "old.R", ReadOptions(), data=text.encode())
    assert not is_r_source(content)
