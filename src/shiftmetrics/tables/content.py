"""A file that is opened to be told and read, and what a reader of one kind of file is."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from shiftmetrics._core.exceptions import REPR_LENGTH, ArgumentValueError
from shiftmetrics.tables.cells import Cells

if TYPE_CHECKING:
    import pandas as pd

HEAD_BYTES = 2**16
"""By so many bytes a file is told."""

BLOCK_BYTES = 2**20

DAMAGED = "Write it anew: it may be truncated or damaged."


class UnreadableError(ArgumentValueError):
    """A file that is not what it must be; the message says what it is and what to do."""


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How files are read.

    Attributes
    ----------
    sep : str or None
        What stands between the cells of a text; None: what gives equal numbers of cells.
    decimal : "." or "," or None
        Decimal mark of a text; None: cells with a comma stay as they are written.
    max_gib : float
        Most GiB that a file may unpack to.
    key : str or None
        The array of an npz file, the sheet of a workbook, the file of an archive.
    first_line : {"names", "none"} or None
        Whether the first line of a text holds names; None: by evidence.
    size_option : str
        What allows larger files, in messages.
    """

    sep: str | None = None
    decimal: Literal[".", ","] | None = None
    max_gib: float = 4.0
    key: str | None = None
    first_line: Literal["names", "none"] | None = None
    size_option: str = "--max-gib"


class Content:
    """The bytes of one file, on the disk or unpacked.

    Parameters
    ----------
    argument : str
        What messages call the file.
    name : str
        Its name, for messages.
    options : ReadOptions
    path : Path, optional
        Where it lies.
    data : bytes, optional
        Its bytes, where it was unpacked.
    """

    def __init__(
        self,
        argument: str,
        name: str,
        options: ReadOptions,
        *,
        path: Path | None = None,
        data: bytes | None = None,
    ) -> None:
        self.argument = argument
        self.name = name
        self.options = options
        self.path = path
        self.data = data

    @cached_property
    def head(self) -> bytes:
        """The first bytes."""
        with self.open() as file:
            return file.read(HEAD_BYTES)

    @cached_property
    def size(self) -> int:
        """The number of bytes."""
        if self.data is not None:
            return len(self.data)
        return self.path.stat().st_size if self.path else 0

    def open(self) -> BinaryIO:
        """Open the bytes for reading."""
        if self.data is not None:
            return io.BytesIO(self.data)
        if self.path is None:
            raise ValueError("neither bytes nor a path is given")
        return self.path.open("rb")

    def read(self) -> bytes:
        """Return all bytes."""
        if self.data is not None:
            return self.data
        self.check_size(self.size)
        with self.open() as file:
            return file.read()

    def unpacked(self, file: Any, name: str) -> Content:
        """Return the content of a stream that unpacks this one, up to the largest size."""
        blocks = []
        size = 0
        # A few kilobytes may unpack to more than there is memory for.
        while block := file.read(BLOCK_BYTES):
            size += len(block)
            self.check_size(size)
            blocks.append(block)
        return Content(self.argument, name, self.options, data=b"".join(blocks))

    def check_size(self, n_bytes: float) -> None:
        """Raise an UnreadableError if so many bytes are more than a file may take."""
        limit = self.options.max_gib
        if n_bytes > limit * 2**30:
            raise self.refusal(
                f"a file that takes at most {limit:g} GiB",
                "which takes more",
                f"Give a larger {self.options.size_option}.",
            )

    def refusal(self, expected: str, why: str = "", remedy: str = "") -> UnreadableError:
        """Return the error that says what the file must be, what it is and what to do."""
        got = repr(self.name[-REPR_LENGTH:])
        if why:
            got += f", {why}"
        return UnreadableError(self.argument, expected, got, remedy)

    def damaged(self, reader: Reader | None) -> UnreadableError:
        """Return the error for a file that begins as one of a kind, but does not go on as one."""
        return self.refusal(
            reader.name if reader else "a table", "which cannot be read as one", DAMAGED
        )


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How one kind of file is told and read.

    Attributes
    ----------
    name : str
        With its article, for messages: "a parquet file".
    suffixes : tuple of str
        How names of such files end, for the documentation: a file is told by its content.
    told_by : str
        By what it is told, for the documentation.
    tells : callable
        Takes the content, returns True if it is of this kind.
    read : callable, optional
        Takes the content, returns its cells.
    unpack : callable, optional
        In place of `read`: takes the content, returns the content inside.
    write : callable, optional
        Writes a frame to a path, for examples.
    extra : str
        The optional requirement of shiftmetrics that it needs.
    """

    name: str
    suffixes: tuple[str, ...]
    told_by: str
    tells: Callable[[Content], bool]
    read: Callable[[Content], Cells] | None = None
    unpack: Callable[[Content], Content] | None = None
    write: Callable[[pd.DataFrame, Path], None] | None = None
    extra: str = ""
