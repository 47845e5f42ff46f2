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
