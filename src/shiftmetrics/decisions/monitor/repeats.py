"""Batches that were counted before: the same rows again, in any order and in other parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import IntArray

if TYPE_CHECKING:
    import pandas as pd

MOST_KEPT = 200
"""Batches whose sums of hashes a state keeps."""
LEAST_HASHED = 20
"""Rows below which no hash is kept: of few rows, one who can guess them could find them by it."""
_MOST_PARTS = 8
_MODULUS = 2**53
"""Sums stay below this, so that every reader of JSON has them exactly."""


def rows_digest(frame: pd.DataFrame) -> int:
    """Return the sum of a hash of each row: the same in every order of the rows, and the parts of a table add up."""
    import pandas as pd

    if not len(frame) or not len(frame.columns):
        return 0
    # As strings: one value has one hash, whatever type its column has in this batch.
    words = frame.astype(str).astype(object)
    hashes = pd.util.hash_pandas_object(words, index=False, categorize=False).to_numpy()
    return sum((hashes % _MODULUS).tolist()) % _MODULUS


def add_digests(one: int, other: int) -> int:
    """Return the digest of the rows of two parts together."""
    return (one + other) % _MODULUS


def add_batch(seen: IntArray, n_rows: int, digest: int) -> IntArray:
    """Return what is kept of the batches after one more: numbers of rows and digests; 0 where none is kept."""
    kept = digest if n_rows >= LEAST_HASHED else 0
    return np.vstack([seen, [[n_rows, kept]]])[-MOST_KEPT:].astype(np.int64)


def repeated_rows(seen: IntArray, n_batches: int) -> str:
    """Say which earlier batches the last ones repeat; empty where they repeat none.

    Rows that were given twice may have been cut into other batches, so that sums over up to eight batches in a row
    are compared.

    Parameters
    ----------
    seen : array of int of shape (n_kept, 2)
        Numbers of rows and digests of batches, the last one last.
    n_batches : int
        The number of the last batch.
    """
    first = n_batches - len(seen) + 1
    for n_last in range(1, min(_MOST_PARTS, len(seen) - 1) + 1):
        before = len(seen) - n_last
        wanted = _sum(seen[before:])
        if wanted is None:
            return ""
        for start in range(before - 1, -1, -1):
            for end in range(start + 1, min(before, start + _MOST_PARTS) + 1):
                if _sum(seen[start:end]) == wanted:
                    return _in_words(first + before, n_batches, first + start, first + end - 1)
    return ""


def _sum(part: IntArray) -> tuple[int, int] | None:
    """Return the number of rows and the digest of batches together; None where one has no digest."""
    if (part[:, 1] == 0).any():
        return None
    return int(part[:, 0].sum()), sum(part[:, 1].tolist()) % _MODULUS


def _in_words(first: int, last: int, earlier_first: int, earlier_last: int) -> str:
    now = "This batch has" if first == last else f"Batches {first} to {last} together have"
    earlier = f"batch {earlier_first}"
    if earlier_first != earlier_last:
        earlier = f"batches {earlier_first} to {earlier_last}"
    return (
        f"{now} the rows of {earlier}: given twice, they count twice. Go back to the state before."
    )
