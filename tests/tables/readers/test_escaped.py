r"""Cells that are escaped by \, quoted by ', or hold times between blanks, as databases and R write them."""

import pytest

from shiftmetrics.tables.content import ReadOptions, UnreadableError
from shiftmetrics.tables.register import read_file


def read(tmp_path, text, **options):
    path = tmp_path / "old.txt"
    path.write_text(text, encoding="utf-8")
    return read_file(path, "OLD", ReadOptions(**options)).frame


def listed(column):
    return [None if gap else cell for cell, gap in zip(column, column.isna(), strict=True)]


@pytest.mark.parametrize("escape", [r"\t", "\\\t"])
def test_dumps_of_databases(escape, tmp_path):
    text = rf"""id	note	n
1	two{escape}cells	5
2	a\\b	\N
3	one\nline	7
4	\N	8
"""
    frame = read(tmp_path, text)
    assert listed(frame["note"]) == ["two\tcells", "a\\b", "one\nline", None]
    assert frame["n"].isna().tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    "path",
    [
        "C:\\temp\\new",  # nothing else says that this is a dump
        "C:\\data",  # \d is no escape
    ],
)
def test_paths_stay_as_they_are(path, tmp_path):
    frame = read(tmp_path, f"id\tpath\n1\t{path}\n2\t{path}\n3\t{path}\n")
    assert frame["path"].tolist() == [path] * 3


def test_gaps_beside_escaped_quotes(tmp_path):
    frame = read(tmp_path, 'id,word,n\n1,"said \\"no\\"",\\N\n2,\\N,5\n3,"",6\n4,"N",\\N\n')
    assert listed(frame["word"]) == ['said "no"', None, "", "N"]
    assert frame["n"].isna().tolist() == [True, False, False, True]


def test_words_between_single_quotes(tmp_path):
    text = (
        "'id','word','n'\n1,'late, again',0.5\n2,NULL,1.25\n3,'it''s \"so\"',NULL\n4,'NULL',2.5\n"
    )
    frame = read(tmp_path, text)
    assert listed(frame["word"]) == ["late, again", None, 'it\'s "so"', "NULL"]
    assert frame["n"].isna().tolist() == [False, False, True, False]
    assert frame["id"].tolist() == [1, 2, 3, 4]
    with pytest.raises(UnreadableError):
        read(tmp_path, text + "5,'no end,1\n")
    # An empty cell may end the file.
    frame = read(tmp_path, text + "5,'five',")
    assert frame["id"].tolist() == [1, 2, 3, 4, 5]
    assert frame["n"].isna().tolist() == [False, False, True, False, True]


def test_times_between_blanks(tmp_path):
    text = (
        '"id" "at" "word" "p"\n'
        '"1" 7 2024-01-01 09:48:53 "on 2024-01-01 09:48:53" 0.5\n'
        '"2" 8 NA "said \\"no\\"" 0.25\n'
        '"3" 9 2024-01-03 10:00:00.5 "New York" 0.75\n'
    )
    frame = read(tmp_path, text)
    assert frame["id"].tolist() == [7, 8, 9]
    assert listed(frame["at"]) == ["2024-01-01 09:48:53", None, "2024-01-03 10:00:00.5"]
    assert frame["word"].tolist() == ["on 2024-01-01 09:48:53", 'said "no"', "New York"]
    assert frame["p"].tolist() == [0.5, 0.25, 0.75]


def test_doubled_quotes_without_quotes_around(tmp_path):
    text = 'id\tword\n1\tsaid ""no"" twice\n2\tyes\n3\tyes, sir\n'
    assert read(tmp_path, text)["word"].tolist() == ['said "no" twice', "yes", "yes, sir"]
    inches = text.replace('""no""', '5" by 3""')
    assert read(tmp_path, inches)["word"].tolist()[0] == 'said 5" by 3"" twice'


def test_separators_of_ascii(tmp_path):
    text = "\x1e".join("\x1f".join(row) for row in [["id", "w"], ["1", "a,b"], ["2", "c\nd"]])
    frame = read(tmp_path, text + "\x1e")
    assert frame["id"].tolist() == [1, 2]
    assert frame["w"].tolist() == ["a,b", "c\nd"]


def test_a_separator_that_is_given_is_kept(tmp_path):
    frame = read(tmp_path, "id;w\tx\n1;a\\tb\t\\N\n2;c\td\n", sep=";")
    assert list(frame.columns) == ["id", "w\tx"]


def test_a_row_of_gaps_between_separators_of_ascii_is_a_row(tmp_path):
    frame = read(tmp_path, "a\x1fb\x1e1\x1f2\x1e\x1f\x1e3\x1f4\x1e\n")
    assert frame["a"].isna().tolist() == [False, True, False]
