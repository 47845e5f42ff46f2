"""Texts: csv in its dialects, tsv, txt, columns between blanks or of a fixed width, one value a line.

A regular text is parsed as it stands, at the speed of pandas. Where comments stand between the rows, rows are short,
or a quoted NA has to be told from a bare one, the text is written anew first.
"""

from __future__ import annotations

import codecs
import dataclasses
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftmetrics.tables.cells import Cells, generated_name
from shiftmetrics.tables.content import Content, Reader
from shiftmetrics.tables.nested import expanded, pairs_by_label
from shiftmetrics.tables.readers.dialect import Dialect, best_separator, counted_lines, find_dialect
from shiftmetrics.tables.readers.fixed import as_tabs, fixed_width_lines
from shiftmetrics.tables.readers.header import is_number
from shiftmetrics.tables.readers.lines import BLANKS, ONE_COLUMN, is_quoted, joined_lines, unquote
from shiftmetrics.tables.readers.names import column_names, once
from shiftmetrics.tables.readers.rewriting import QUOTED_MARK, rewritten
from shiftmetrics.tables.readers.scan import Scan, scan_rows

if TYPE_CHECKING:
    import pandas as pd

HEAD_BYTES = 2**21
HEAD_LINES = 500
"""So much of a text is looked at to tell how it is written."""

ENCODINGS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}

_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


def is_text(content: Content) -> bool:
    """Return True if the first bytes are those of a text."""
    head = content.head
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return len(head) % 2 == 0
    # one stray control sign is damage, which is said when it is read; a binary file has many
    return len(_CONTROLS.findall(head)) <= len(head) / 100


def as_utf8(content: Content) -> tuple[Content, int]:
    """Return the content in UTF-8, and the length of its byte order mark."""
    for mark, encoding in ENCODINGS.items():
        if content.head.startswith(mark):
            if encoding == "utf-8":
                return content, len(mark)
            content.check_size(2 * content.size)
            data = content.read()[len(mark) :]
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                raise content.refusal("a text in UTF-8 or UTF-16", "which is damaged") from error
            return Content(content.argument, content.name, content.options, data=text.encode()), 0
    return content, 0


def decoded(content: Content, data: bytes) -> str:
    """Return bytes as a string, or refuse them."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise content.refusal(
            "a text in UTF-8", "which has other signs", "Save it in UTF-8."
        ) from error


def read_text(content: Content) -> Cells:
    """Return the cells of a text."""
    content, start = as_utf8(content)
    with content.open() as file:
        file.seek(start)
        head = file.read(HEAD_BYTES)
    if start + len(head) < content.size:
        # the last line may be cut
        head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1] or head
    if b"\x00" in head:
        raise content.refusal(
            "a text", "which holds bytes that no text has", "Save the table as csv or parquet."
        )
    text = decoded(content, head)
    lines = joined_lines(text, HEAD_LINES)
    notes: list[str] = []
    fixed = fixed_width_lines(lines) if content.options.sep is None else None
    if fixed is not None and best_separator(
        [line.text for line in lines if line.text.strip()]
    ) not in ("\t", ";", "|"):
        place, spans = fixed
        begin = [line for line in lines if line.text.strip()][place].start
        content, text = _with_tabs(content, start, begin, spans)
        notes = (
            [counted_lines(place, "stands above the table", "stand above the table")]
            if place
            else []
        )
        start = 0
        lines = joined_lines(text, HEAD_LINES)
    dialect = find_dialect(lines, content)

    def offset(at: int) -> int:
        return start + len(text[:at].encode())

    # The whole text is passed over once as bytes, so that a file too large is refused before it is
    # parsed.
    scan = scan_rows(content, offset(dialect.rows_at), dialect.separator)
    notes += dialect.notes
    names, index = column_names(dialect, content)
    frame = _parsed(content, offset(dialect.rows_at), dialect, scan, names, notes)
    if frame.empty and dialect.header != "either":
        raise content.refusal("a file with rows", "which has none below its header")
    headless = None
    if dialect.header == "either":
        # The first line may be names or a row: both tables are kept, and what the other files hold
        # decides.
        at = offset(dialect.names_at)
        generated = [generated_name(place) for place in range(frame.shape[1])]
        headless = _parsed(
            content, at, dialect, scan_rows(content, at, dialect.separator), generated, []
        )
        if frame.empty:
            frame, headless = headless, None
    header = dialect.header
    if header == "either" and headless is None:
        header = "none"
        names, index = list(frame.columns), ()
    if names[0] == "" and len(names) > 1 and frame[""].isna().all() and headless is None:
        # a mark that stands before each row, too
        frame = frame.drop(columns="")
        names, index = names[1:], ()
    quoted = _quoted_names(dialect, names)
    if header == "names" and not dialect.row_names:
        frame = once(frame, dialect.first, notes)
        names = list(frame.columns)
    written = [name for name in names if not _is_typed(frame[name])]
    if header == "none":
        paired = pairs_by_label(frame, written)
        if paired is not None:
            frame = paired
            written = [name for name in frame.columns if not _is_typed(frame[name])]
            header = "names"
    frame, texts, more = expanded(frame, written)
    return Cells(
        argument=content.argument,
        name=content.name,
        table=frame,
        written=texts,
        index=index,
        quoted=frozenset(quoted),
        header=header,
        headless=headless,
        notes=(*notes, *more),
    )


def _with_tabs(
    content: Content, start: int, begin: int, spans: list[tuple[int, int]]
) -> tuple[Content, str]:
    """Return columns of a fixed width as a text with tabs between them."""
    content.check_size(4 * content.size)
    rows = as_tabs(decoded(content, content.read()[start:])[begin:], spans)
    options = dataclasses.replace(content.options, sep="\t")
    return Content(content.argument, content.name, options, data=rows.encode()), rows[:HEAD_BYTES]


def _is_typed(column: pd.Series) -> bool:
    return column.dtype.kind in "iuf"


def _quoted_places(dialect: Dialect) -> list[int]:
    """Return the columns in which every word is quoted, by the first rows."""
    places = []
    for place in range(dialect.n_cells):
        cells = [row[place].strip() for row in dialect.sample if place < len(row)]
        cells = [cell for cell in cells if cell not in ("", "NA")]
        if cells and all(map(is_quoted, cells)):
            places.append(place)
    return places


def _quoted_names(dialect: Dialect, names: list[str]) -> list[str]:
    return [names[place] for place in _quoted_places(dialect) if place < len(names)]


def _parsed(
    content: Content, at: int, dialect: Dialect, scan: Scan, names: list[str], notes: list[str]
) -> pd.DataFrame:
    """Return the rows as a frame: numbers where a column is plainly of numbers, else strings as written."""
    marked = False
    if scan.is_regular(dialect.n_cells, dialect.separator):
        source: Any = content
        skipped = at
    else:
        with content.open() as file:
            file.seek(at)
            text = decoded(content, file.read())
        text, marked = rewritten(text, dialect, scan, content, notes)
        source = Content(content.argument, content.name, content.options, data=text.encode())
        skipped = 0
    frame = _by_pandas(source, skipped, dialect, scan)
    quoted = _quoted_places(dialect)
    for place in range(dialect.n_cells):
        column = frame[place]
        if _is_typed(column):
            continue
        if place in quoted:
            # R quotes the word "NA" and leaves the gap NA bare
            column = column.mask(column == "NA")
        if marked:
            column = column.str.replace(QUOTED_MARK, "", regex=False)
        frame[place] = column
    if dialect.separator == "|" and _is_padded(dialect):
        # a table as it is printed: nothing but blanks is a gap
        for name in frame.columns:
            if not _is_typed(frame[name]):
                stripped = frame[name].str.strip()
                frame[name] = stripped.mask(stripped == "")
    if dialect.trailing:
        frame = frame.iloc[:, :-1]
    frame.columns = names
    return frame


def _by_pandas(content: Content, skipped: int, dialect: Dialect, scan: Scan) -> pd.DataFrame:
    import pandas as pd

    places = list(range(dialect.n_cells))
    options: dict[str, Any] = {
        "header": None,
        "names": places,
        "index_col": False,
        # Words stay words: whether NA is a gap is decided later, by the other cells of its column.
        "keep_default_na": False,
        "na_values": ["", "\\N"],
        "encoding": "utf-8",
        "low_memory": False,
        "sep": {BLANKS: r"\s+", ONE_COLUMN: "\x1f"}.get(dialect.separator, dialect.separator),
        "skip_blank_lines": dialect.separator != ONE_COLUMN,
        "skipinitialspace": any(cell.startswith(' "') for row in dialect.sample for cell in row),
    }
    if content.options.decimal is not None:
        options["decimal"] = content.options.decimal
    if dialect.separator == ONE_COLUMN:
        options["skip_blank_lines"] = True
    if scan.has_escapes:
        options["escapechar"] = "\\"
    if dialect.quote == "'":
        options["quotechar"] = "'"
        options["escapechar"] = "\\"
    elif not scan.has_quotes or _has_stray_quotes(dialect):
        # As csv.QUOTE_NONE: a mark of inches opens nothing.
        options["quoting"] = 3

    def read(**more: Any) -> pd.DataFrame:
        with content.open() as file, warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # of cells that would be lost
            file.seek(skipped)
            frame: pd.DataFrame = pd.read_csv(file, **options, **more)
            return frame

    try:
        # Numbers are parsed as numbers first. Columns that may have been codes are read once more
        # as strings, since 007 and 7 are one number.
        frame = read(dtype={place: str for place in places if not _is_numeric(dialect, place)})
        doubtful = [place for place in places if _is_doubtful(frame[place], scan)]
        if doubtful:
            words = read(dtype=dict.fromkeys(doubtful, str), usecols=doubtful)
            for place in doubtful:
                if _are_plain_integers(words[place], frame[place]):
                    continue
                frame[place] = words[place]
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise content.refusal(
            "a text with equal numbers of cells in its rows",
            "in which a row has more cells than the others",
            "Say what stands between cells by sep, and give decimal ',' for decimal commas.",
        ) from error
    except pd.errors.EmptyDataError:
        return pd.DataFrame({place: pd.Series([], dtype=object) for place in places})
    except UnicodeDecodeError as error:
        raise content.refusal(
            "a text in UTF-8", "which has other signs", "Save it in UTF-8."
        ) from error
    return frame.copy() if doubtful else frame


def _is_padded(dialect: Dialect) -> bool:
    """Return True if blanks stand beside each mark within the rows."""
    inner = [cell for row in dialect.sample for cell in row[1:]]
    return bool(inner) and all(cell == "" or cell.startswith(" ") for cell in inner)


def _has_stray_quotes(dialect: Dialect) -> bool:
    """Return True if quotes stand within words only, such as those for inches."""
    cells = [cell.strip() for row in dialect.sample for cell in row if '"' in cell]
    return bool(cells) and not any(cell.startswith('"') for cell in cells)


def _is_numeric(dialect: Dialect, place: int) -> bool:
    """Return True if a column may be parsed as numbers, by the first rows."""
    cells = [unquote(row[place]) for row in dialect.sample if place < len(row)]
    cells = [cell for cell in cells if cell and cell != "\\N"]
    return bool(cells) and all(is_number(cell) and not cell.endswith("%") for cell in cells)


def _is_doubtful(column: pd.Series, scan: Scan) -> bool:
    """Return True if numbers may have been codes: with leading zeros, too long, or written as 1E2."""
    if column.dtype.kind == "b":
        return True
    if column.dtype == object:
        # integers of more digits than a machine's are those of Python
        return not all(isinstance(cell, str) for cell in column.dropna())
    if column.dtype.kind in "iu":
        return scan.has_zeros
    if column.dtype.kind != "f":
        return False
    values = column.to_numpy()
    # one fraction is enough to see that these are numbers
    if (values[:1000] % 1 > 0).any():
        return False
    return not bool((values % 1 > 0).any())


def _are_plain_integers(words: pd.Series, numbers: pd.Series) -> bool:
    """Return True if each cell is written as Python writes the integer, or the float with .0, or is a gap."""
    if numbers.dtype.kind == "b":
        return False
    given = words.dropna()
    if not len(given):
        return False
    forms = r"0|-?[1-9]\d{0,14}" if numbers.dtype.kind in "iu" else r"-?(0|[1-9]\d{0,14})(\.0*)?"
    return bool(given.str.fullmatch(forms).all())


def _write(frame: pd.DataFrame, path: Path) -> None:
    frame.to_csv(path, index=False)


READER = Reader(
    name="a text, such as csv",
    suffixes=(".csv", ".tsv", ".txt"),
    told_by="no sign that a text does not have; the separator that gives equal numbers of cells",
    tells=is_text,
    read=read_text,
    write=_write,
)
