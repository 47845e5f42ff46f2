"""Blocks that are mapped where rows live: all rows once, each chunk read once, and memory refused beforehand."""

import numpy as np
import pytest

from shiftmetrics._core.blocks import map_blocks, row_blocks
from shiftmetrics._core.chunks import Chunks
from shiftmetrics._core.options import Computing
from shiftmetrics._core.placement import check_rows_fit, placed

ROWS = np.arange(60.0).reshape(30, 2)


class Stored:
    """Rows in chunks of seven, which notes how often each is read."""

    def __init__(self, sequential: bool = False) -> None:
        self.ends = [*range(0, 30, 7), 30]
        self.reads: list[int] = []
        sizes = np.diff(self.ends).tolist()
        self.chunks = Chunks("rows", self.read, ROWS[:0], sizes=sizes, sequential=sequential)

    def read(self, number: int) -> np.ndarray:
        self.reads.append(number)
        return ROWS[self.ends[number] : self.ends[number + 1]]


def test_rows_in_memory_keep_their_blocks() -> None:
    blocks = row_blocks(30, 8, block_bytes=80)
    assert placed(blocks, [ROWS]) is blocks


@pytest.mark.parametrize("width", [4, 7, 30])
def test_every_row_is_mapped_once_in_order(width: int) -> None:
    stored = Stored()
    blocks = [slice(start, min(start + width, 30)) for start in range(0, 30, width)]
    found = placed(blocks, [stored.chunks])
    rows = [row for block in found for row in range(block.start, block.stop)]
    assert rows == list(range(30))
    # no block reaches from one chunk into the next, and each chunk is read once
    assert all(block.start // 7 == (block.stop - 1) // 7 for block in found)
    total = sum(map_blocks(lambda rows: stored.chunks[rows].sum(), found))
    assert total == ROWS.sum()
    assert sorted(stored.reads) == [0, 1, 2, 3, 4]


def test_what_can_only_be_read_in_order_is_mapped_in_order() -> None:
    stored = Stored(sequential=True)
    blocks = [slice(0, 10), slice(10, 20), slice(20, 30)]
    found = placed(blocks, [stored.chunks])
    assert list(found) == blocks
    sums = list(map_blocks(lambda rows: stored.chunks[rows].sum(), found))
    assert sums == [ROWS[block].sum() for block in blocks]
    assert stored.reads == sorted(stored.reads)


def test_blocks_of_a_second_sample_follow_the_first() -> None:
    chunks = Stored().chunks
    blocks = [slice(0, 10), slice(10, 40)]
    found = placed(blocks, [ROWS[:10]], [chunks])
    rows = [row for block in found for row in range(block.start, block.stop)]
    assert rows == list(range(40))
    # no block reaches from one sample into the other
    assert all(block.stop <= 10 or block.start >= 10 for block in found)


def test_too_little_memory_is_refused_with_what_helps() -> None:
    chunks = Stored().chunks
    check_rows_fit([chunks], 16, Computing(), "scores")
    check_rows_fit([chunks], 16, Computing(memory_limit=1 << 30), "scores")
    with pytest.raises(MemoryError, match="scores, of 30 rows read by .*smaller chunks"):
        check_rows_fit([chunks], 16, Computing(memory_limit=1 << 20), "scores")
