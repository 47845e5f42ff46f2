"""ARFF as Weka and R write it."""

import pytest

from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.register import read_file

HEAD = """% a comment
@relation 'two words'
@attribute 'a 0' numeric
@attribute class {setosa,'Iris v',x}
@attribute w string
@data
"""


def read(tmp_path, rows):
    path = tmp_path / "old.arff"
    path.write_text(HEAD + rows)
    return read_file(path, "OLD")


def test_nominal_values_are_levels_and_marks_are_gaps(tmp_path):
    cells = read(tmp_path, "0.5,setosa,'a, b'\n?,'Iris v',?\n% between\n1.5,?,007\n")
    assert list(cells.frame.columns) == ["a 0", "class", "w"]
    assert cells.levels["class"][:2] == ("setosa", "Iris v")
    assert cells.frame["w"].tolist()[0] == "a, b"
    assert cells.frame["w"].tolist()[2] == "007"
    assert cells.frame["class"].isna().tolist() == [False, False, True]
    assert cells.frame["a 0"].isna().tolist() == [False, True, False]


def test_sparse_rows(tmp_path):
    cells = read(tmp_path, "{0 2.5, 1 'Iris v', 2 a}\n{2 b}\n")
    assert cells.frame["a 0"].tolist() == [2.5, 0.0]
    assert cells.frame["class"].tolist() == ["Iris v", "setosa"]


@pytest.mark.parametrize("rows", ["0.5,setosa\n", "0.5,tulip,a\n", "x,setosa,a\n", ""])
def test_rows_that_do_not_fit_their_header_are_refused(tmp_path, rows):
    with pytest.raises(UnreadableError, match="^OLD must be"):
        read(tmp_path, rows)


@pytest.mark.parametrize("sign", ["\u2028", "\x85", "\x0c"])
def test_signs_within_words_end_no_row(sign, tmp_path):
    path = tmp_path / "old.arff"
    path.write_text(HEAD + f"1,x,'a{sign}b'\n2,x,c\n", encoding="utf-8")
    assert read_file(path, "OLD").frame["w"].tolist() == [f"a{sign}b", "c"]


def test_a_word_between_one_mark_may_hold_the_other(tmp_path):
    cells = read(tmp_path, "1,x,\"it's, so\"\n2,'Iris v','a \"b\"'\n")
    assert cells.frame["w"].tolist() == ["it's, so", 'a "b"']


def test_sparse_rows_with_commas_tabs_and_weights(tmp_path):
    cells = read(tmp_path, "{0\t2, 2 'a, b'}\n{}\n{1 'Iris v', 2 b}, {0.5}\n")
    assert cells.frame["a 0"].tolist() == [2, 0, 0]
    assert cells.frame["class"].tolist() == ["setosa", "setosa", "Iris v"]
    assert cells.frame["w"].tolist() == ["a, b", "0", "b"]


@pytest.mark.parametrize("row", ["{-1 a}", "{3 a}", "{w a}", "{0 1", "{0 1, }, x"])
def test_sparse_rows_that_name_no_attribute_are_refused(row, tmp_path):
    with pytest.raises(UnreadableError, match="sparse rows"):
        read(tmp_path, row + "\n")


def test_a_comment_behind_the_line_of_data(tmp_path):
    path = tmp_path / "old.arff"
    path.write_text(HEAD.replace("@data", "@DATA % rows") + "1,x,a\n")
    assert len(read_file(path, "OLD").frame) == 1
