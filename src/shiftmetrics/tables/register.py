"""The register of readers: a file is told by its content and read by the reader of its kind.

A new kind is a `Reader` that `add_reader` takes; help texts, documentation and the tests on damaged files walk
through `READERS`.
"""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.exceptions import REPR_LENGTH, ArgumentValueError
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import Content, Reader, ReadOptions, UnreadableError
from shiftmetrics.tables.readers import (
    arff,
    arrays,
    arrow,
    escaped,
    evaluation_lines,
    evaluation_objects,
    inspect_ai,
    json,
    lighteval,
    lm_eval,
    packed,
    printed,
    promptfoo,
    r_print,
    r_source,
    statistics,
    text,
    token_logs,
    totals,
    workbook,
)
from shiftmetrics.tables.readers.folders import files_of_parts, read_parts
from shiftmetrics.tables.readers.strangers import refuse_strangers

if TYPE_CHECKING:
    import pandas as pd

Found = TypeVar("Found")

READERS: list[Reader] = [
    lighteval.READER,
    *arrow.READERS,
    *arrays.READERS,
    workbook.READER,
    *inspect_ai.READERS,
    *statistics.READERS,
    *packed.READERS,
    arff.READER,
    lm_eval.READER,
    *promptfoo.READERS,
    *evaluation_objects.READERS,
    *evaluation_lines.READERS,
    *totals.READERS,
    token_logs.READER,
    *printed.READERS,
    r_print.READER,
    r_source.READER,
    *json.READERS,
    *escaped.READERS,
    text.READER,
]
"""In the order in which they are asked: text takes what no other one knows."""

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)

MOST_LAYERS = 3
"""A file may be packed so many times: ``old.csv.gz`` in ``old.zip`` is two."""


_BUILT_IN = frozenset(reader.name for reader in READERS)


def add_reader(reader: Reader) -> None:
    """Add a reader; it is asked before those that are known, and replaces an added one of its name.

    Raises
    ------
    ValueError
        If it has the name of a reader of this package, or can neither read nor unpack.
    """
    if reader.name in _BUILT_IN:
        expected = "with a name of its own"
        raise ArgumentValueError("reader", expected, f"one called {reader.name!r}, as one is")
    if reader.read is None and reader.unpack is None:
        expected = "able to read or to unpack a file"
        raise ArgumentValueError("reader", expected, f"{reader.name!r} with neither")
    READERS[:] = [reader, *(known for known in READERS if known.name != reader.name)]


def known_suffixes() -> tuple[str, ...]:
    """Return how the names of files end that can be read, for help texts."""
    suffixes = [suffix for reader in READERS for suffix in reader.suffixes]
    return tuple(dict.fromkeys(suffixes))


def read_file(path: str | Path, argument: str, options: ReadOptions | None = None) -> Cells:
    """Return the cells of a file, of a folder of parts, or of a pattern of files.

    Raises
    ------
    UnreadableError
        If it is missing, empty, damaged, too large or of no kind that is known.
    ImportError
        If a package is missing; the message says which.
    """
    options = options or ReadOptions()
    path = Path(path)
    try:
        _look_up(path)
        parts = files_of_parts(path, argument, options)
    except OSError as error:
        got = f"{str(path)[:REPR_LENGTH]!r} ({error.strerror})"
        raise UnreadableError(argument, "a file or a folder that may be read", got) from error
    if parts is not None:
        name = path.name or str(path)
        content = Content(argument, name, options, data=b"")
        return _of_whole_signs(
            content, _guarded(content, lambda: read_parts(parts, name, read_content))
        )
    content = Content(argument, path.name, options, path=path)
    if not path.is_file():
        # A pipe is empty once its head was read, and readers open a file several times.
        if path.exists():
            raise content.refusal("a file", "a pipe or a device", "Save it to a file first.")
        raise UnreadableError(argument, "an existing file", f"{str(path)!r}, which is not there")
    try:
        content.head  # noqa: B018 - opened to see whether it may be
    except OSError as error:
        raise content.refusal("a file that may be read", "which may not be opened") from error
    return read_content(content)


def _look_up(path: Path) -> None:
    """Raise the error of a name that cannot be looked up; some versions of Python say that it is not there."""
    try:
        path.stat()
    except ValueError:  # a sign that no name has
        return
    except OSError as error:
        if error.errno not in _NOT_THERE:
            raise


def read_content(content: Content) -> Cells:
    """Return the cells of a file that is opened."""
    for _ in range(MOST_LAYERS + 1):
        if not content.head:
            raise content.refusal("a file with rows", "an empty file")
        reader = _told(content)
        unpack = reader.unpack
        if unpack is None:
            read = reader.read
            if read is None:
                raise TypeError(f"the reader of {reader.name} can neither read nor unpack.")
            return _of_whole_signs(content, _guarded(content, partial(read, content), reader))
        content = _guarded(content, partial(unpack, content), reader)
    raise content.refusal("a file", f"which is packed more than {MOST_LAYERS} times", "Unpack it.")


def _of_whole_signs(content: Content, cells: Cells) -> Cells:
    """Refuse texts that hold half of a sign, as JSON can write them: no file and no terminal takes them."""
    try:
        frame = cells.frame
        "".join(map(str, frame.columns)).encode()
        for place, kind in enumerate(frame.dtypes):
            # Cells of other types are numbers; those that pyarrow stores are bytes of UTF-8 already.
            if kind.kind == "O" and getattr(kind, "storage", "") != "pyarrow":
                _encode(frame.iloc[:, place])
    except UnicodeEncodeError as error:
        raise content.refusal(
            "a table of whole signs",
            f"in which {error.object[error.start]!a} is half of one",
            "Write the file anew: a text was cut in the middle of a sign.",
        ) from error
    return cells


def _encode(column: pd.Series) -> None:
    """Encode the texts of a column, some rows at a time; what is no text is passed over.

    Raises
    ------
    UnicodeEncodeError
        If a text holds half of a sign.
    """
    for rows in row_blocks(len(column), 64):
        cells = column.iloc[rows].tolist()
        try:
            joined = "".join(cells)
        except TypeError:
            joined = "".join([cell for cell in cells if isinstance(cell, str)])
        joined.encode()


def _told(content: Content) -> Reader:
    for reader in READERS:
        if reader is text.READER:
            # what is no text is named, so that nothing unknown is read as one
            refuse_strangers(content)
        if _tells(reader, content):
            return reader
    raise content.refusal(
        "a table",
        "a binary file of no kind that is known",
        "Save the table as csv or parquet.",
    )


def _tells(reader: Reader, content: Content) -> bool:
    """Return whether a file is of a reader's kind; one too damaged to be looked into is of no kind."""
    try:
        return reader.tells(content)
    except (UnreadableError, ImportError):
        raise
    except Exception:
        return False


def _guarded(content: Content, do: Callable[[], Found], reader: Reader | None = None) -> Found:
    """Let no error and no warning of a library through: a file is read, or refused in our words."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return do()
    except (UnreadableError, ImportError):
        raise
    except Exception as error:
        raise content.damaged(reader) from error
