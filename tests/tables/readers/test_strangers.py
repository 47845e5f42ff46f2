"""Files that hold no table."""

import pytest

from shiftmetrics.tables.content import Content, ReadOptions, UnreadableError
from shiftmetrics.tables.readers.strangers import refuse_strangers


def test_a_pdf_is_named_and_a_text_passes():
    with pytest.raises(UnreadableError, match="PDF"):
        refuse_strangers(Content("OLD", "a", ReadOptions(), data=b"%PDF-1"))
    refuse_strangers(Content("OLD", "a", ReadOptions(), data=b"BMI,age\n1,2\n"))
