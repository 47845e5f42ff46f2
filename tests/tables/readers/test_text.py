"""Texts in the dialects of the tools: separators, quotes, titles, comments, gaps, and numbers that are codes."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.content import ReadOptions, UnreadableError
from shiftmetrics.tables.register import read_file


def read(tmp_path, text, **options):
    """Return the cells of a text, or of bytes."""
    path = tmp_path / "old.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_file(path, "OLD", ReadOptions(**options))


def cells_in(cells, name):
    """Return the cells of a column, with None for gaps."""
    column = cells.frame[name]
    return [None if gap else cell for cell, gap in zip(column, column.isna(), strict=True)]


ROWS = "id,answer,p\n1,cat,0.5\n2,dog,0.25\n3,cat,0.75\n"


@pytest.mark.parametrize("separator", ["\t", ";", "|", ","])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_and_ends_of_lines(tmp_path, separator, end):
    cells = read(tmp_path, ROWS.replace(",", separator).replace("\n", end))
    assert list(cells.frame.columns) == ["id", "answer", "p"]
    assert cells_in(cells, "answer") == ["cat", "dog", "cat"]
    assert cells_in(cells, "p") == [0.5, 0.25, 0.75]
    assert cells.header == "names"
    assert cells.written == {"answer"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_byte_order_marks(tmp_path, encoding):
    text = ROWS.replace("cat", "猫")
    mark = "" if encoding in ("utf-8-sig", "utf-16") else "\ufeff"
    cells = read(tmp_path, (mark + text).encode(encoding))
    assert list(cells.frame.columns) == ["id", "answer", "p"]
    assert cells_in(cells, "answer") == ["猫", "dog", "猫"]


def test_other_encodings_are_refused_with_a_remedy(tmp_path):
    with pytest.raises(UnreadableError, match=r"Save it in UTF-8\.$"):
        read(tmp_path, ROWS.replace("cat", "Süd").encode("latin-1"))


@pytest.mark.parametrize(
    ("above", "note"),
    [
        ("sep=;\n", None),
        ("# model: v1\n# date: today\n", "2 lines that begin with # are left out"),
        ("Predictions of March\n\n", "1 line that stands above the table is left out"),
        ("\n\n", None),
    ],
)
def test_lines_above_the_table_are_no_rows(tmp_path, above, note):
    cells = read(tmp_path, above + ROWS.replace(",", ";"))
    assert cells_in(cells, "id") == [1, 2, 3]
    assert cells.notes == (() if note is None else (note,))


def test_the_names_that_numpy_writes_behind_a_mark_are_names(tmp_path):
    path = tmp_path / "old.txt"
    values = np.array([[0.2, 0.8], [0.7, 0.3], [0.1, 0.9]])
    np.savetxt(path, values, delimiter=",", header="cat,dog")
    cells = read_file(path, "OLD")
    assert list(cells.frame.columns) == ["cat", "dog"]
    assert np.array_equal(cells.frame.to_numpy(), values)


def test_a_table_between_blanks_without_names(tmp_path):
    path = tmp_path / "old.txt"
    np.savetxt(path, [[0.2, 0.8], [0.7, 0.3]])
    cells = read_file(path, "OLD")
    assert cells.header == "none"
    assert list(cells.frame.columns) == ["column 0", "column 1"]
    assert cells.frame.shape == (2, 2)


def test_comments_and_footers_between_the_rows_are_left_out(tmp_path):
    cells = read(tmp_path, "id|p\n---+---\n1|0.5\n# a break\n2|0.25\n(2 rows)\n")
    assert cells_in(cells, "p") == [0.5, 0.25]
    assert len(cells.notes) == 2


def test_hashtags_are_cells(tmp_path):
    cells = read(tmp_path, "tag,p\n#red,0.5\n#blue,0.25\n")
    assert cells_in(cells, "tag") == ["#red", "#blue"]


def test_further_header_lines_are_left_out(tmp_path):
    text = "iris,p\nsetosa virginica,continuous\nclass,meta\n" + "setosa,0.25\nvirginica,0.5\n" * 3
    cells = read(tmp_path, text)
    assert len(cells.frame) == 6
    assert cells.frame["p"].dtype == float
    assert cells.notes == ("2 lines that follow the names are left out",)


@pytest.mark.parametrize("separator", [" ", ",", "\t"])
def test_a_header_one_cell_short_leaves_row_names(tmp_path, separator):
    text = '"cat" "dog"\n"r4" 0.25 0.75\n"r7" 0.5 0.5\n'.replace(" ", separator)
    cells = read(tmp_path, text)
    assert list(cells.frame.columns) == ["index", "cat", "dog"]
    assert cells.index == ("index",)
    assert cells_in(cells, "index") == ["r4", "r7"]


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_a_written_index_is_marked(tmp_path, name):
    cells = read(tmp_path, f"{name},p\n4,0.5\n7,0.25\n")
    assert cells.index == (name,)
    assert cells_in(cells, name) == [4, 7]


def test_separators_at_the_ends_of_rows_are_no_column(tmp_path):
    for text in ("a,b\n1,2,\n3,4,\n", "a,b,\n1,2,\n3,4,\n", "a,b,\n1,2\n3,4\n"):
        cells = read(tmp_path, text)
        assert list(cells.frame.columns) == ["a", "b"]
        assert cells_in(cells, "b") == [2, 4]
        assert cells.index == ()


def test_a_quoted_word_is_told_from_a_bare_gap(tmp_path):
    text = '"id","answer"\n"a","NA"\n"b",NA\n"c","dog"\n"d",""\n'
    cells = read(tmp_path, text)
    assert cells_in(cells, "answer") == ["NA", None, "dog", ""]
    assert cells.quoted == {"id", "answer"}


def test_a_bare_gap_beside_quoted_words_needs_no_quoted_one(tmp_path):
    cells = read(tmp_path, '"id","answer"\n"a","cat"\n"b",NA\n"c","dog"\n')
    assert cells_in(cells, "answer") == ["cat", None, "dog"]


@pytest.mark.parametrize("word", ["NA", "None", "null", "nan", "N/A", "NULL", "-inf", "TRUE"])
def test_words_stay_words(tmp_path, word):
    cells = read(tmp_path, f"id,answer\n1,{word}\n2,cat\n3,\n4,\\N\n")
    assert cells_in(cells, "answer") == [word, "cat", None, None]


@pytest.mark.parametrize(
    "code", ["007", "1E2", "+5", "98765432109876543210", "00", "1_000", "0x1F"]
)
def test_codes_keep_how_they_are_written(tmp_path, code):
    cells = read(tmp_path, f"id,code\n1,100\n2,{code}\n3,120\n")
    assert cells_in(cells, "code") == ["100", code, "120"]
    assert "code" in cells.written


@pytest.mark.parametrize("far", [5, 3000])
def test_a_code_is_seen_wherever_it_stands(tmp_path, far):
    rows = "".join(f"{number},{number}\n" for number in range(10, 10 + far))
    cells = read(tmp_path, f"id,code\n{rows}9999999,007\n")
    assert cells.frame["code"].iloc[-1] == "007"
    assert cells.frame["id"].dtype == np.int64


def test_plain_numbers_are_numbers(tmp_path):
    cells = read(tmp_path, "a,b,c,d\n1,0.5,2.0,7\n2,1e-05,3.0,\n3,,4.0,9\n")
    assert [str(dtype) for dtype in cells.frame.dtypes] == [
        "int64",
        "float64",
        "float64",
        "float64",
    ]
    assert cells_in(cells, "b") == [0.5, 1e-05, None]


def test_decimal_commas_stay_as_written_unless_they_are_named(tmp_path):
    text = "id;p\n1;0,5\n2;0,25\n"
    assert cells_in(read(tmp_path, text), "p") == ["0,5", "0,25"]
    assert cells_in(read(tmp_path, text, decimal=","), "p") == [0.5, 0.25]


def test_cells_with_separators_and_ends_of_lines_in_quotes(tmp_path):
    cells = read(tmp_path, 'id,text\n1,"a, b"\n2,"two\nlines"\n3,"say ""x"""\n')
    assert cells_in(cells, "text") == ["a, b", "two\nlines", 'say "x"']
    # Spark and MySQL write a backslash before a quote
    cells = read(tmp_path, 'id,text\n1,"say \\"x\\", twice"\n2,plain\n')
    assert cells_in(cells, "text") == ['say "x", twice', "plain"]


def test_an_inch_is_no_quote(tmp_path):
    cells = read(tmp_path, 'id,size\n1,5" pipe\n2,7" pipe\n')
    assert cells_in(cells, "size") == ['5" pipe', '7" pipe']


def test_a_row_with_too_many_cells_is_refused(tmp_path):
    with pytest.raises(UnreadableError, match="row 2 has 4") as caught:
        read(tmp_path, ROWS.replace("dog,0.25", "dog,0.25,9"))
    assert "sep" in str(caught.value)


def test_a_last_row_that_is_cut_is_refused(tmp_path):
    with pytest.raises(UnreadableError, match="truncated"):
        read(tmp_path, ROWS + "4,ca")


def test_short_rows_have_gaps_and_it_is_said(tmp_path):
    cells = read(tmp_path, "a,b,c\n" + "1,2,3\n" * 30 + "4,5\n")
    assert cells_in(cells, "c")[-1] is None
    assert any("end before the last column" in note for note in cells.notes)


def test_blank_lines_in_one_column_are_gaps(tmp_path):
    cells = read(tmp_path, "cat\n\ndog\ncat\ndog\ncat\ndog\n")
    assert cells_in(cells, cells.frame.columns[0]) == [
        "cat",
        None,
        "dog",
        "cat",
        "dog",
        "cat",
        "dog",
    ]
    doubled = read(tmp_path, "label\n\ncat\n\ndog\n\ncat\n\ndog\n\n")
    assert cells_in(doubled, "label") == ["cat", "dog", "cat", "dog"]


def test_a_column_whose_name_stands_twice_is_read_once_or_numbered(tmp_path):
    cells = read(tmp_path, "a,b,a\n1,2,3\n4,5,6\n")
    assert list(cells.frame.columns) == ["a", "b", "a 2"]
    assert cells_in(cells, "a 2") == [3, 6]
    assert any("called 'a'" in note for note in cells.notes)
    same = read(tmp_path, "a,b,a,a 2\n1,2,1,7\n4,5,4,8\n")
    assert list(same.frame.columns) == ["a", "b", "a 2"]
    assert cells_in(same, "a 2") == [7, 8]
    assert any("twice" in note for note in same.notes)


def test_rows_of_words_below_doubled_names_are_no_names(tmp_path):
    rows = [("good", "bad"), ("bad", "good"), ("good", "good"), ("bad", "bad")]
    text = "label,label\n" + "".join(f"{one},{other}\n" for one, other in rows)
    cells = read(tmp_path, text)
    assert list(zip(cells_in(cells, "label"), cells_in(cells, "label 2"), strict=True)) == rows
    named = read(tmp_path, "id,p,1,1\n" + "".join(f"{i},0.{i}37,1,1\n" for i in range(1, 8)))
    assert list(named.frame.columns) == ["id", "p", "1"]
    assert len(named.frame) == 7


def test_nothing_below_the_header_is_refused(tmp_path):
    with pytest.raises(UnreadableError, match="rows"):
        read(tmp_path, "id,answer,p\n")


def test_columns_of_a_fixed_width(tmp_path):
    text = (
        "\n=== Predictions on test data ===\n\n"
        " inst#     actual  predicted error prediction\n"
        "     1 3:Iris-vir 2:Iris-ver   +   0.764 \n"
        "     2 2:Iris-ver 2:Iris-ver       0.871 \n"
        "    13 1:Iris-set 1:Iris-set       0.997 \n\n"
    )
    cells = read(tmp_path, text)
    assert list(cells.frame.columns) == ["inst#", "actual", "predicted", "error", "prediction"]
    assert cells_in(cells, "error") == ["+", None, None]
    assert cells_in(cells, "prediction") == [0.764, 0.871, 0.997]


def test_labels_and_scores_in_turn_go_by_their_label(tmp_path):
    rows = "__label__b 0.8 __label__a 0.2\n__label__a 0.6 __label__b 0.4\n__label__b 0.9 __label__a 0.1\n"
    cells = read(tmp_path, rows)
    assert cells.frame["__label__a"].tolist() == [0.2, 0.6, 0.1]
    assert cells.frame["__label__b"].tolist() == [0.8, 0.4, 0.9]


def test_pairs_in_a_cell_go_by_their_label(tmp_path):
    cells = read(tmp_path, "id,p\n1,a:0.2 b:0.8\n2,b:0.4 a:0.6\n")
    assert cells.frame["p.a"].tolist() == [0.2, 0.6]


def test_a_large_regular_file_is_read_as_pandas_reads_it(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.random((20_000, 4)), columns=list("abcd"))
    frame["word"] = random.choice(["cat", "dog, big", 'say "x"'], len(frame))
    path = tmp_path / "old.csv"
    frame.to_csv(path, index=False)
    cells = read_file(path, "OLD")
    assert np.allclose(cells.frame[list("abcd")], frame[list("abcd")], rtol=1e-15)
    assert cells.frame["word"].tolist() == frame["word"].tolist()


def test_marks_inside_quotes_separate_nothing(tmp_path):
    cells = read(tmp_path, 'id,word,p\n1,"a;b",0.5\n2,"c;d",0.25\n')
    assert list(cells.frame.columns) == ["id", "word", "p"]
    assert cells_in(cells, "word") == ["a;b", "c;d"]


def test_single_quotes_are_quotes_where_each_of_them_is_one(tmp_path):
    cells = read(tmp_path, "'a 0',class\n0.5,'Iris setosa'\n0.25,other\n1.5,'Iris\\'v'\n")
    assert list(cells.frame.columns) == ["a 0", "class"]
    assert cells_in(cells, "class") == ["Iris setosa", "other", "Iris'v"]
    assert cells_in(read(tmp_path, "id,w\n1,'tis\n2,dog's\n"), "w") == ["'tis", "dog's"]


@pytest.mark.parametrize(
    "text",
    [
        " id | answer |   p\n----+--------+------\n  1 | cat    |  0.5\n  2 |        | 0.25\n(2 rows)\n",
        "| id | answer | p |\n|---|---|---|\n| 1 | cat | 0.5 |\n| 2 |  | 0.25 |\n",
        "+----+--------+------+\n| id | answer | p    |\n+----+--------+------+\n|  1 | cat    |  0.5 |\n"
        "|  2 |        | 0.25 |\n+----+--------+------+\n2 rows in set (0.00 sec)\n",
    ],
)
def test_tables_as_they_are_printed(tmp_path, text):
    cells = read(tmp_path, text)
    assert list(cells.frame.columns) == ["id", "answer", "p"]
    assert cells_in(cells, "answer") == ["cat", None]
    assert cells_in(cells, "p") == [0.5, 0.25]


def test_a_column_of_pairs_alone(tmp_path):
    cells = read(tmp_path, "1:0.3 2:0.7\n2:0.1 1:0.9\n1:0.5 2:0.5\n")
    assert cells.header == "none"
    assert cells.frame["column 0.1"].tolist() == [0.3, 0.9, 0.5]


@pytest.mark.parametrize(
    "text", ["New York\nBoston\nNew York\n", "cat\ndog, big\ncat\ndog, big\nbird\nbird\n"]
)
def test_words_with_blanks_or_commas_are_one_column(tmp_path, text):
    assert read(tmp_path, text).frame.shape[1] == 1
