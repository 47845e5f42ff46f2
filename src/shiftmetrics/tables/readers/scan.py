"""One pass over the bytes of a text, which says whether it is regular enough to be parsed as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics.tables.content import Content
from shiftmetrics.tables.readers.lines import BLANKS, ONE_COLUMN

SCANNED_BYTES = 2**16
"""So many bytes at a time: what is computed of them stays in the cache."""

TEXT_COPIES = 2
CELL_BYTES = 24
"""What reading a text takes at its peak: copies of the text, and bytes of each cell for the parser and the table.

Measured on files of 1 to 4 million cells: 20 bytes beside the text for a digit, for nothing or for a float of 9
digits, 25 for a word of 7 letters.
"""

_NEWLINE = 10
_RETURN = 13
_QUOTE = 34
_BLANK = 32
_PLUS = 43
_ZERO = 48


@dataclass
class Scan:
    """What the bytes of the rows say.

    Attributes
    ----------
    n_lines : int
        Lines that are not blank.
    n_blank : int
        Blank lines above the last line that is none.
    n_separators : int
        Separators outside quotes; with blanks as the separator, the beginnings of cells.
    has_quotes, has_escapes, has_zeros : bool
        Whether a quote, a backslash, a cell with a leading zero or sign is there.
    has_marks : bool
        Whether a quoted NA or a quoted nothing is there.
    ends : bool
        Whether the last line has an end.
    """

    n_lines: int = 0
    n_blank: int = 0
    n_separators: int = 0
    has_quotes: bool = False
    has_escapes: bool = False
    has_zeros: bool = False
    has_marks: bool = False
    ends: bool = True

    def is_regular(self, n_cells: int, separator: str) -> bool:
        """Return True if each line has so many cells, and nothing has to be told apart by quotes."""
        if self.has_marks or self.has_escapes:
            return False
        if separator == ONE_COLUMN:
            return not self.n_blank
        per_line = n_cells if separator == BLANKS else n_cells - 1
        return self.n_separators == per_line * self.n_lines


def scan_rows(content: Content, start: int, separator: str) -> Scan:
    """Return what the bytes of a text say from ``start`` on, and refuse a text that is too large or has zeros."""
    found = Scan()
    state = _State(separator)
    size = 0
    with content.open() as file:
        file.seek(start)
        while block := file.read(SCANNED_BYTES):
            size += len(block)
            if b"\x00" in block:
                raise content.refusal(
                    "a text",
                    "which holds bytes that no text has",
                    "Save the table as csv or parquet.",
                )
            _scan_block(block, state, found)
            # Counted on the way, so that a text too large is refused before its end is read.
            n_cells = found.n_separators + found.n_lines
            content.check_size(TEXT_COPIES * size + CELL_BYTES * n_cells)
    # A last line without an end is a row, so that blank lines above it are inside the table.
    if size and not state.carried.endswith((b"\n", b"\r")):
        found.n_lines += 1
        found.n_blank += state.n_blank
        found.ends = False
    return found


class _State:
    """What is carried from one block to the next: the last bytes, an open quote, blank lines that may be the last."""

    def __init__(self, separator: str) -> None:
        self.separator = separator
        self.mark = ord(separator) if len(separator) == 1 and separator.isascii() else _NEWLINE
        self.carried = b"\n\n\n"
        self.is_open = 0
        self.n_blank = 0


def _scan_block(block: bytes, state: _State, found: Scan) -> None:
    # Three bytes are carried over: the longest pattern that is looked for, a quoted nothing between
    # two separators, has four.
    # the last bytes of the block before are seen again, but counted once
    data = state.carried + block
    array = np.frombuffer(data, dtype=np.uint8)
    new = array[len(state.carried) :]
    outside: Any = None
    if b'"' in block:
        found.has_quotes = True
        # A doubled quote inside a cell closes and opens again, so that counting quotes is enough.
        parity = (state.is_open + np.cumsum(new == _QUOTE)) % 2
        outside = parity == 0
        state.is_open = int(parity[-1])
        found.has_escapes = found.has_escapes or b'\\"' in data
        found.has_marks = found.has_marks or _has_marks(data, state.separator)
    elif state.is_open:
        outside = np.zeros(len(new), dtype=bool)
    found.has_zeros = found.has_zeros or _has_zeros(array, state.mark)
    found.n_separators += _n_separators(array, outside, state)
    is_end = new == _NEWLINE
    if outside is not None:
        is_end &= outside
    n_ends = int(np.count_nonzero(is_end))
    before = array[2:-1]
    follows = is_end & ((before == _NEWLINE) | (before == _RETURN))
    if follows.any():
        is_blank = is_end & (before == _NEWLINE)
        is_blank |= is_end & (before == _RETURN) & (array[1:-2] == _NEWLINE)
        # Blank lines at the end of a text are no rows: those below the last full line wait until
        # another one follows.
        is_full = np.flatnonzero(is_end & ~is_blank)
        last = int(is_full[-1]) if is_full.size else -1
        n_inside = int(np.count_nonzero(is_blank[: last + 1]))
        n_below = int(np.count_nonzero(is_blank)) - n_inside
        n_ends -= n_inside + n_below
        if is_full.size:
            found.n_blank += state.n_blank + n_inside
            state.n_blank = 0
        state.n_blank += n_below
    elif n_ends:
        found.n_blank += state.n_blank
        state.n_blank = 0
    found.n_lines += n_ends
    state.carried = data[-3:]


def _has_marks(data: bytes, separator: str) -> bool:
    """Return True if a quoted NA or a quoted nothing is there."""
    around = separator.encode() or b"\n"
    patterns = (
        b'"NA"',
        around + b'""' + around,
        b'\n""' + around,
        around + b'""\n',
        b'""\r',
        b'\n""\n',
    )
    return any(pattern in data for pattern in patterns)


def _n_separators(array: npt.NDArray[np.uint8], outside: Any, state: _State) -> int:
    new = array[3:]
    if state.separator == ONE_COLUMN:
        return 0
    if state.separator == BLANKS:
        is_blank = array <= _BLANK
        found = is_blank[2:-1] & ~is_blank[3:]
    else:
        found = new == state.mark
    if outside is not None:
        if state.separator == BLANKS:
            # a quote that opens a cell is no longer outside of it
            outside = outside | (new == _QUOTE)
        found = found & outside
    return int(np.count_nonzero(found))


def _has_zeros(array: npt.NDArray[np.uint8], mark: int) -> bool:
    """Return True if a cell begins with a zero before a digit, or with a plus."""
    before = array[:-2]
    first = array[1:-1]
    found = (before == mark) | (before == _NEWLINE) | (before == _QUOTE)
    found &= (first == _ZERO) | (first == _PLUS)
    found &= (array[2:] - _ZERO) < 10
    return bool(found.any())
