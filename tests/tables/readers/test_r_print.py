"""What R prints is read as the rows that it holds, or refused where it leaves some out."""

import pytest

from shiftmetrics.tables.content import ReadOptions, UnreadableError
from shiftmetrics.tables.register import read_file

FACTOR = """ [1] setosa     versicolor virginica
 [4] setosa     virginica
Levels: setosa versicolor virginica
"""
WORDS = '[1] "two words" "b"\n[3] "c"\n'
NUMBERS = " [1] 0.5 0.25\n [3] 1e-05 2.0\n"
TIBBLE = """# A tibble: 3 × 3
     id pred           p
  <int> <fct>      <dbl>
1   100 virginica  0.5
2   107 setosa     0.25
3   114 versicolor 0.75
"""
TWO_BLOCKS = """     id       pred
12   12     setosa
114 114 versicolor
76   76  virginica
     p.setosa p.other
12       0.25    0.75
114      0.50    0.50
76       0.75    0.25
"""
NAMES_AGAIN = """     id   pred
 1:  12 setosa
 2: 114  other
 3:  76 setosa
     id   pred
"""
ATTRIBUTE = """    setosa  other
63 0.25000 0.7500
3  1.00000 0.0000
7  0.50000 0.5000
attr(,"class")
[1] "matrix" "votes"
"""
TITLES = "    id pred\n1  100  cat\n2  107  dog\n3  114  cat\n"


def read(tmp_path, text):
    path = tmp_path / "old.txt"
    path.write_text(text, encoding="utf-8")
    return read_file(path, "OLD", ReadOptions()).frame


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        (FACTOR, ["setosa", "versicolor", "virginica", "setosa", "virginica"]),
        (WORDS, ["two words", "b", "c"]),
        (NUMBERS, [0.5, 0.25, 1e-5, 2.0]),
    ],
)
def test_vectors_have_one_element_a_row(text, cells, tmp_path):
    frame = read(tmp_path, text)
    assert frame.shape[1] == 1
    column = frame.iloc[:, 0].tolist()
    # a first word that no other row has may be a name
    assert column in (cells, cells[1:])


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (TIBBLE, {"id": [100, 107, 114], "pred": ["virginica", "setosa", "versicolor"],
                  "p": [0.5, 0.25, 0.75]}),
        (TWO_BLOCKS, {"": [12, 114, 76], "id": [12, 114, 76],
                      "pred": ["setosa", "versicolor", "virginica"],
                      "p.setosa": [0.25, 0.5, 0.75], "p.other": [0.75, 0.5, 0.25]}),
        (NAMES_AGAIN, {"id": [12, 114, 76], "pred": ["setosa", "other", "setosa"]}),
        (ATTRIBUTE, {"": [63, 3, 7], "setosa": [0.25, 1.0, 0.5], "other": [0.75, 0.0, 0.5]}),
        (TITLES, {"id": [100, 107, 114], "pred": ["cat", "dog", "cat"]}),
    ],
)  # fmt: skip
def test_tables_keep_all_their_columns(text, columns, tmp_path):
    frame = read(tmp_path, text)
    assert {name: frame[name].tolist() for name in columns} == columns
    assert len(frame) == 3


@pytest.mark.parametrize(
    "text",
    [
        TIBBLE + "# ℹ 50 more rows\n",
        TIBBLE + "# … with 2 more variables: a <dbl>, b <dbl>\n",
        NAMES_AGAIN.replace(" 2:", " ---\n 2:"),
        FACTOR.replace(
            "Levels", ' [ reached getOption("max.print") -- omitted 40 entries ]\nLevels'
        ),
        FACTOR.replace("[4]", "[5]"),
        FACTOR.replace("setosa  ", "<NA>  "),
    ],
)
def test_a_print_that_is_not_whole_is_refused(text, tmp_path):
    with pytest.raises(UnreadableError, match=r"write\.csv"):
        read(tmp_path, text)


def named_lines(names, cells, width, per_line):
    """Print as R does: each name above its element, both up to the right end of one width."""
    lines = []
    for place in range(0, len(names), per_line):
        for part in (names, cells):
            words = (str(word).rjust(width) for word in part[place : place + per_line])
            lines.append(" ".join(words) + " ")
    return "\n".join(lines) + "\n"


def test_elements_below_their_names(tmp_path):
    names = [3, 4, 15, 106, 107, 108, 9]
    path = tmp_path / "old.txt"
    words = ["cat", "dog", "cat", "cat", "dog", "fox", "cat"]
    for text in (
        named_lines(names, words, 5, 3) + "Levels: cat dog fox\n",
        named_lines(names, [f'"{word}"' for word in words], 7, 3),
    ):
        path.write_text(text)
        frame = read_file(path, "OLD").frame
        assert frame.iloc[:, 0].tolist() == names
        assert frame["x"].tolist() == words
    numbers = [0.25, 0.5, 0.75, 1e-05, 0.1, 0.2, 0.3]
    path.write_text(named_lines(names, numbers, 8, 3))
    assert read_file(path, "OLD").frame["x"].tolist() == numbers


def test_a_table_of_aligned_numbers_is_a_table(tmp_path):
    path = tmp_path / "old.txt"
    path.write_text(" cat  dog \n 0.1  0.9 \n 0.2  0.8 \n 0.3  0.7 \n")
    frame = read_file(path, "OLD").frame
    assert frame["cat"].tolist() == [0.1, 0.2, 0.3]
    path.write_text("1 2 3\n4 5 6\n7 8 9\n1 5 9\n")
    assert read_file(path, "OLD").frame.shape[1] == 3
