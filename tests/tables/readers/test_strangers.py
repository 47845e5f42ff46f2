"""Files that hold no table."""

import pytest

from shiftmetrics.tables.content import Content, ReadOptions, UnreadableError
from shiftmetrics.tables.readers.strangers import refuse_strangers


def test_a_pdf_is_named_and_a_text_passes():
    with pytest.raises(UnreadableError, match="PDF"):
        refuse_strangers(Content("OLD", "a", ReadOptions(), data=b"%PDF-1"))
    refuse_strangers(Content("OLD", "a", ReadOptions(), data=b"BMI,age\n1,2\n"))


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"<TR><TH>id</TH></TR>\n<TR><TD>1</TD></TR>\n", "HTML"),
        (b"\\begin{tabular}{rl}\nid & y \\\\\n1 & cat \\\\\n\\end{tabular}\n", "LaTeX"),
    ],
)
def test_tables_in_markup_are_named(data, name):
    with pytest.raises(UnreadableError, match=name):
        refuse_strangers(Content("OLD", "a", ReadOptions(), data=data))
