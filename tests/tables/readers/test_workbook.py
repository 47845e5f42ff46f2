"""Workbooks: the first sheet with a table, titles above it, and formulas."""

import datetime

import pandas as pd
import pytest

from shiftmetrics.tables.content import ReadOptions, UnreadableError
from shiftmetrics.tables.readers.workbook import dates_or_words
from shiftmetrics.tables.register import read_file

openpyxl = pytest.importorskip("openpyxl")
ROWS = [["id", "answer", "p"], [1, "NA", 0.5], [2, "dog", 0.25], [3, None, 1]]


def save(tmp_path, sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    path = tmp_path / "old.xlsx"
    book.save(path)
    return path


def test_the_first_sheet_with_a_table_is_read_and_named(tmp_path):
    path = save(
        tmp_path, {"About": [["made in March"]], "Scores": [["Title"], [], *ROWS], "More": ROWS[:2]}
    )
    cells = read_file(path, "OLD")
    assert cells.frame["p"].tolist() == [0.5, 0.25, 1.0]
    assert cells.frame["answer"].tolist()[:2] == ["NA", "dog"]
    assert cells.frame["answer"].isna().tolist() == [False, False, True]
    assert any("Scores" in note for note in cells.notes)
    assert len(read_file(path, "OLD", ReadOptions(key="More")).frame) == 1
    with pytest.raises(UnreadableError, match="None|no 'Else'"):
        read_file(path, "OLD", ReadOptions(key="Else"))


def test_formulas_without_values_are_refused(tmp_path):
    path = save(tmp_path, {"Scores": [*ROWS, [4, "cat", "=1/4"]]})
    with pytest.raises(UnreadableError, match="never computed"):
        read_file(path, "OLD")


def test_an_index_that_pandas_writes_is_marked(tmp_path):
    path = tmp_path / "old.xlsx"
    pd.DataFrame({"p": [0.5, 0.25]}, index=[4, 7]).to_excel(path)
    cells = read_file(path, "OLD")
    assert cells.index == ("",)
    assert cells.frame[""].tolist() == [4, 7]


@pytest.mark.parametrize("n_titles", [0, 1, 2])
@pytest.mark.parametrize("names", [["id", "answer"], [None, "answer"], ["", "id", "answer"]])
def test_titles_above_a_narrow_table_are_no_header(n_titles, names, tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for title in ["Predictions of March", "made by team A"][:n_titles]:
        sheet.append([title])
    sheet.append(names)
    rows = [[f"r{place}", "cat" if place % 3 else "dog"] for place in range(12)]
    for place, row in enumerate(rows):
        sheet.append([place, *row] if len(names) == 3 else row)
    book.save(tmp_path / "old.xlsx")
    cells = read_file(tmp_path / "old.xlsx", "OLD")
    assert len(cells.frame) == 12
    assert cells.frame["answer"].tolist() == [row[1] for row in rows]
    assert cells.frame[names[-2] or ""].tolist() == [row[0] for row in rows]


def test_a_size_that_a_sheet_states_wrongly_is_left_alone(tmp_path):
    import re
    import zipfile

    path = save(tmp_path, {"Scores": ROWS})
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    changed = re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="A1"', parts[sheet])
    assert changed != parts[sheet]
    parts[sheet] = changed
    with zipfile.ZipFile(path, "w") as book:
        for name, content in parts.items():
            book.writestr(name, content)
    assert read_file(path, "OLD").frame["p"].tolist() == [0.5, 0.25, 1.0]


def test_a_longer_table_on_a_later_sheet_is_asked_for(tmp_path):
    path = save(tmp_path, {"about": [["key", "value"], ["model", "v1"]], "scores": ROWS})
    with pytest.raises(UnreadableError, match="old.xlsx:scores"):
        read_file(path, "OLD")
    cells = read_file(path, "OLD", ReadOptions(key="scores"))
    assert cells.frame["p"].tolist() == [0.5, 0.25, 1.0]


def test_times_beside_dates_are_kept_as_words():
    dates = [datetime.date(2024, 1, 2), None]
    assert dates_or_words(pd.Series(dates, dtype=object)).dtype.kind == "M"
    mixed = dates_or_words(pd.Series([*dates, datetime.time(1, 2)], dtype=object))
    assert mixed.tolist() == ["2024-01-02", None, "01:02:00"]
