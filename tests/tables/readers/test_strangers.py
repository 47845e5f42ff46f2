"""Files that hold no table."""

import pytest

from shiftmetrics.tables.content import Content, ReadOptions, UnreadableError
from shiftmetrics.tables.readers.strangers import refuse_strangers
from shiftmetrics.tables.register import read_file


def test_a_pdf_is_named_and_a_text_passes():
    with pytest.raises(UnreadableError, match="PDF"):
        refuse_strangers(Content("OLD", "a", ReadOptions(), data=b"%PDF-1"))
    refuse_strangers(Content("OLD", "a", ReadOptions(), data=b"BMI,age\n1,2\n"))


STRANGERS = {
    "PDF": b"%PDF-1.7\n1 0 obj",
    "HTML": b"<!DOCTYPE html><html><body>404</body></html>",
    "XML": b"<?xml version='1.0'?><a/>",
    "image": b"\x89PNG\r\n\x1a\n" + bytes(20),
    "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(20),
    "SQLite": b"SQLite format 3\x00" + bytes(50),
    "pickled": b"\x80\x04\x95\x10\x00\x00\x00",
    "tar": b"a.csv" + bytes(252) + b"ustar\x0000",
    "Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "Office 97": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(50),
    "object of R": b"X\n\x00\x00\x00\x03" + bytes(20),
    "no kind that is known": bytes(range(256)) * 4,
}


@pytest.mark.parametrize("name", STRANGERS)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_is_no_table_is_refused_by_what_it_is(name, suffix, tmp_path):
    path = tmp_path / f"old{suffix}"
    path.write_bytes(STRANGERS[name])
    with pytest.raises(
        UnreadableError, match=rf"^OLD must be a table, got '.*{name}.*\. \w"
    ) as caught:
        read_file(path, "OLD")
    assert caught.value.argument == "OLD"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"<TR><TH>id</TH></TR>\n<TR><TD>1</TD></TR>\n", "HTML"),
        (b"<run>\n  <results>\n    <item>1</item>\n  </results>\n</run>\n", "XML"),
        (b"runId: 7\nresults:\n  version: 3\n  rows:\n    - ok: true\n", "YAML"),
        (b"\\begin{tabular}{rl}\nid & y \\\\\n1 & cat \\\\\n\\end{tabular}\n", "LaTeX"),
    ],
)
def test_tables_in_markup_are_named(data, name):
    with pytest.raises(UnreadableError, match=name):
        refuse_strangers(Content("OLD", "a", ReadOptions(), data=data))


@pytest.mark.parametrize(
    ("data", "command"),
    [
        (
            b"--\n-- PostgreSQL database dump\n--\n\nSET a = 0;\n\nCREATE TABLE p (id int);\n",
            "psql",
        ),
        (b"-- MySQL dump 10.13\n/*!40101 SET NAMES utf8 */;\nDROP TABLE IF EXISTS `p`;\n", "mysql"),
        (
            b"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE p (id integer);\n",
            "sqlite3",
        ),
        (b"INSERT INTO p VALUES (1, 0.5);\n", "sqlite3"),
    ],
)
def test_dumps_in_sql_name_the_command_that_writes_csv(data, command):
    with pytest.raises(UnreadableError, match=command):
        refuse_strangers(Content("OLD", "a", ReadOptions(), data=data))


def test_words_of_sql_as_names_are_no_dump():
    for data in (b"begin,end\n1,2\n", b"create,table\n1,2\n", b"copy\n1\n", b"set,id\n1,2\n"):
        refuse_strangers(Content("OLD", "a", ReadOptions(), data=data))


@pytest.mark.parametrize(
    "data",
    [
        b"<NA>\n<NA>\ncat\n",
        b"id: 1\npred: cat\n\nid: 2\npred: dog\n",
        b"id,note\n1,a: b\n",
        b"label:\ncat\ndog\n",
    ],
)
def test_texts_with_the_signs_of_markup_pass(data):
    refuse_strangers(Content("OLD", "a", ReadOptions(), data=data))
