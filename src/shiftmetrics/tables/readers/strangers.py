"""Files that hold no table that we read: named by what they are, with what to do instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shiftmetrics.tables.content import Content

AS_CSV = "Save the table as csv or parquet."
PLAIN = "Save plain numbers or strings instead, as csv, parquet or npy."


@dataclass(frozen=True)
class Stranger:
    """A kind of file that is refused."""

    beginning: bytes
    name: str
    remedy: str = AS_CSV
    at: int = 0


STRANGERS = (
    Stranger(b"%PDF-", "a PDF document"),
    Stranger(b"\x89PNG", "an image"),
    Stranger(b"\xff\xd8\xff", "an image"),
    Stranger(b"GIF8", "an image"),
    Stranger(b"BM", "an image", at=0),
    Stranger(b"\x89HDF", "an HDF5 file", "Save the one table of it as parquet or npy."),
    Stranger(b"\xd0\xcf\x11\xe0", "a workbook or document of Office 97", "Save it as xlsx or csv."),
    Stranger(b"SQLite format 3\x00", "a database of SQLite", "Write the query's rows as csv."),
    Stranger(b"ustar", "a tar archive", "Unpack it and give the file inside.", at=257),
    Stranger(b"7z\xbc\xaf", "an archive of 7-Zip", "Unpack it and give the file inside."),
    Stranger(b"Rar!", "an archive", "Unpack it and give the file inside."),
    Stranger(b"Obj\x01", "an Avro file", "Save the table as parquet."),
    Stranger(b"RDX", "an R workspace", "Write the table in R by write.csv."),
    Stranger(b"X\n\x00\x00\x00", "an object of R", "Write the table in R by write.csv."),
    Stranger(b"A\n2\n", "an object of R", "Write the table in R by write.csv."),
    Stranger(b"A\n3\n", "an object of R", "Write the table in R by write.csv."),
    Stranger(b"MATLAB 5.0 MAT-file", "a file of MATLAB", "Save the table as csv."),
    Stranger(b"\x7fELF", "a program"),
    Stranger(b"MZ\x90", "a program"),
    Stranger(b"$FL", "a file of SPSS that is packed or damaged", "Save it as .sav anew."),
    Stranger(
        b"version https://git-lfs",
        "a pointer of Git LFS, not the file itself",
        "Fetch the file: git lfs pull.",
    ),
    Stranger(b"-----BEGIN", "a key or a certificate"),
    Stranger(b"{\\rtf", "a document"),
    Stranger(b"\\begin{", "a table of LaTeX"),
    Stranger(b"\\documentclass", "a document of LaTeX"),
)

_MARKUP = re.compile(rb"\s*<(!doctype|html|\?xml|head|body|table|tr|svg|div)\b", re.IGNORECASE)
_ELEMENTS = re.compile(
    rb"\s*<([A-Za-z][\w:.\-]*)(?:\s[^<>]*)?>\s*<(?!/?\1\b)[A-Za-z][\w:.\-]*[\s/>]"
)
"""An element that begins with another one: a document of XML without a declaration. R prints ``<NA>`` twice."""
_YAML_LINE = re.compile(rb"( *)(?:- )*([A-Za-z_][\w.\-]*):(?:\s|$)")
FEWEST_KEYS = 3
"""Names of a document of YAML, one of them below another."""
_SQL_BEFORE = (
    rb"(\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/;?|(SET|SELECT|PRAGMA|USE|LOCK|\\restrict)\b[^\n]*\n)*"
)
_SQL = re.compile(
    _SQL_BEFORE
    + rb"(CREATE\s+(TABLE|DATABASE|SCHEMA|SEQUENCE|TYPE|EXTENSION)\b|DROP\s+(TABLE|DATABASE)\b|INSERT\s+INTO\b"
    + rb"|BEGIN(\s+TRANSACTION)?;|COPY\s+[^\n]*\bFROM\s+stdin|ALTER\s+TABLE\b)",
    re.IGNORECASE,
)
_SQL_EXPORTS = (
    (b"PostgreSQL", "psql -c \"\\copy TABLE to 'old.csv' csv header\" DATABASE"),
    (b"MySQL", "mysql --batch -e 'select * from TABLE' DATABASE > old.tsv"),
    (b"MariaDB", "mariadb --batch -e 'select * from TABLE' DATABASE > old.tsv"),
)
_SQLITE_EXPORT = "sqlite3 -header -csv DATABASE.db 'select * from TABLE' > old.csv"
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_SAS = bytes(12) + b"\xc2\xea\x81\x60"


def refuse_strangers(content: Content) -> None:
    """Raise an UnreadableError if the file is one of another kind, and say which."""
    head = content.head.removeprefix(b"\xef\xbb\xbf")
    for stranger in STRANGERS:
        if head[stranger.at :].startswith(stranger.beginning) and _is_meant(stranger, head):
            raise content.refusal("a table", stranger.name, stranger.remedy)
    if _MARKUP.match(head) or _ELEMENTS.match(head):
        raise content.refusal("a table", "an HTML or XML document", AS_CSV)
    if _is_yaml(head):
        raise content.refusal("a table", "a YAML document", "Save the rows as csv or JSON.")
    if _SQL.match(head):
        commands = [command for mark, command in _SQL_EXPORTS if mark in head[:2000]]
        # A dump of MariaDB may name MySQL as well: the last one that is named counts.
        command = (commands or [_SQLITE_EXPORT])[-1]
        raise content.refusal(
            "a table", "a dump of a database in SQL", f"Write the table as csv: {command}"
        )
    if _PICKLE.match(head):
        raise content.refusal(
            "a table", "pickled Python objects, which can run code when they are opened", PLAIN
        )
    if head.startswith(_SAS):
        raise content.refusal("a table", "a file of SAS", AS_CSV)


def _is_yaml(head: bytes) -> bool:
    """Return True if the first lines are names with values, some of them a level below a name without one."""
    lines = [line for line in head.splitlines()[:-1] if line.strip()]
    found = [_YAML_LINE.match(line) for line in lines[:20]]
    if len(lines) < FEWEST_KEYS or found[0] is None or found[0][1]:
        return False
    keys = {match[2] for match in found if match is not None}
    # a line for each cell has no levels
    is_below = any(
        one is not None and line.rstrip().endswith(b":") and below is not None and below[1] > one[1]
        for line, one, below in zip(lines, found, found[1:], strict=False)
    )
    return is_below and len(keys) >= FEWEST_KEYS


def _is_meant(stranger: Stranger, head: bytes) -> bool:
    """Return False for a text that begins with the same letters by chance."""
    short = stranger.beginning in (b"BM", b"RDX", b"Rar!", b"A\n2\n", b"A\n3\n", b"MZ\x90")
    if not short:
        return True
    if stranger.beginning.startswith(b"A\n"):
        return re.match(rb"A\n[23]\n\d{5,6}\n", head) is not None
    return b"\x00" in head
