"""Columns of a fixed width."""

from shiftmetrics.tables.readers.fixed import as_tabs
from shiftmetrics.tables.register import read_file


def test_an_empty_cell_stays():
    assert as_tabs("1   2\n    3\n", [(0, 4), (4, 5)]) == "1\t2\n\t3\n"


def test_cells_in_brackets_at_the_end_of_each_line_are_columns(tmp_path):
    path = tmp_path / "old.txt"
    path.write_text(
        " inst#    actual  error prediction (a,b)\n"
        "     1     1:cat      +    0.75 (6.8,x)\n"
        "     2     2:dog           0.5 (7,yy)\n"
        "     3     2:dog           1 (7.25,z)\n"
    )
    frame = read_file(path, "OLD").frame
    assert list(frame.columns) == ["inst#", "actual", "error", "prediction", "a", "b"] or (
        list(frame.iloc[0])[-2:] == ["6.8", "x"]
    )
    assert len(frame) == 3
    assert frame["prediction"].tolist() == [0.75, 0.5, 1.0]


def test_a_cell_that_is_longer_than_all_before_it_is_not_cut():
    assert as_tabs("1   2\n3   4567\n", [(0, 4), (4, 5)]) == "1\t2\n3\t4567\n"


def test_signs_within_words_end_no_row(tmp_path):
    path = tmp_path / "old.txt"
    text = "id   name     p\n1    ab       0.5\n2    c\u2028d      0.7\n3             0.9\n"
    path.write_text(text, encoding="utf-8")
    frame = read_file(path, "OLD").frame
    assert frame["id"].tolist() == [1, 2, 3]
    assert frame["p"].tolist() == [0.5, 0.7, 0.9]
