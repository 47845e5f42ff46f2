"""One pass over the bytes of a text, which says whether it is regular enough to be parsed as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics.tables.content import BLOCK_BYTES, Content
from shiftmetrics.tables.readers.lines import BLANKS, ONE_COLUMN

TEXT_COPIES = 2
CELL_BYTES = 24
"""What reading a text takes at its peak: copies of the text, and bytes of each cell for the parser and the table.

Measured on files of 1 to 4 million cells: 20 bytes beside the text for a digit, for nothing or for a float of 9
digits, 25 for a word of 7 letters.
"""

_NEWLINE = 10
_RETURN = 13
_QUOTE = 34
_ZERO = 48
_NINE = 57
_BACKSLASH = 92


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
    size = 0
    quoted = 0
    mark = ord(separator) if len(separator) == 1 and separator.isascii() else _NEWLINE
    carried = b"\n"
    pending_blank = 0
    with content.open() as file:
        file.seek(start)
        while block := file.read(BLOCK_BYTES):
            size += len(block)
            data = carried + block
            carried = data[-3:]
            # the last bytes of the block before are seen again, but counted once
            n_seen = len(data) - len(block)
            array = np.frombuffer(data, dtype=np.uint8)
            new = array[n_seen:]
            if (new == 0).any():
                raise content.refusal(
                    "a text",
                    "which holds bytes that no text has",
                    "Save the table as csv or parquet.",
                )
            outside: Any = True
            if b'"' in block:
                found.has_quotes = True
                parity = (quoted + np.cumsum(new == _QUOTE)) % 2
                outside = parity == 0
                quoted = int(parity[-1])
                around = separator.encode() or b"\n"
                for pattern in (b'"NA"', around + b'""' + around, b'\n""', b'""\n', b'""\r'):
                    found.has_marks = found.has_marks or pattern in data
            elif quoted:
                outside = np.zeros(len(new), dtype=bool)
            found.has_escapes = found.has_escapes or b'\\"' in data
            found.has_zeros = found.has_zeros or _has_zeros(array, mark)
            is_end = (new == _NEWLINE) & outside
            before = array[n_seen - 1 : -1]
            blank = is_end & ((before == _NEWLINE) | (before == _RETURN))
            if _RETURN in block:
                two = array[n_seen - 2 : -2] if n_seen > 1 else np.full(len(new), _NEWLINE)
                blank &= (before == _NEWLINE) | (two == _NEWLINE)
            found.n_lines += int(is_end.sum()) - int(blank.sum())
            n_blank = int(blank.sum())
            if n_blank:
                last = int(np.flatnonzero(is_end & ~blank)[-1]) if (is_end & ~blank).any() else -1
                found.n_blank += pending_blank * (last >= 0) + int(blank[: last + 1].sum())
                pending_blank = pending_blank * (last < 0) + int(blank[last + 1 :].sum())
            elif is_end.any():
                found.n_blank += pending_blank
                pending_blank = 0
            found.n_separators += _n_separators(array, n_seen, outside, separator, mark)
            content.check_size(
                TEXT_COPIES * size + CELL_BYTES * (found.n_separators + found.n_lines)
            )
    if size and not carried.endswith((b"\n", b"\r")):
        found.n_lines += 1
        found.n_blank += pending_blank
        found.ends = False
    return found


def _n_separators(
    array: npt.NDArray[np.uint8], n_seen: int, outside: Any, separator: str, mark: int
) -> int:
    new = array[n_seen:]
    if separator == ONE_COLUMN:
        return 0
    if separator == BLANKS:
        is_blank = array <= 32
        starts = ~is_blank[n_seen:] & is_blank[n_seen - 1 : -1]
        return int((starts & outside).sum())
    return int(((new == mark) & outside).sum())


def _has_zeros(array: npt.NDArray[np.uint8], mark: int) -> bool:
    """Return True if a cell begins with a zero before a digit, or with a plus."""
    first = array[1:-1]
    candidates = np.flatnonzero((first == _ZERO) | (first == 43))
    if not candidates.size:
        return False
    before = array[candidates]
    begins = (before == mark) | (before == _NEWLINE) | (before == _QUOTE) | (before == _RETURN)
    after = array[candidates + 2]
    is_digit = (after >= _ZERO) & (after <= _NINE)
    return bool((begins & is_digit).any())
