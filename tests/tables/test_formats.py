"""The table of formats in the documentation is that of the register."""

from pathlib import Path

import pytest

from shiftmetrics.tables.formats import formats_table
from shiftmetrics.tables.register import READERS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "files.md"


def test_each_reader_has_a_line():
    lines = formats_table().splitlines()
    assert len(lines) == len(READERS) + 2
    assert all(reader.name in line for reader, line in zip(READERS, lines[2:], strict=True))


def test_the_page_holds_the_table_of_the_register():
    if not PAGE.exists():
        pytest.skip("the documentation is not installed")
    assert formats_table() in PAGE.read_text(encoding="utf-8")
