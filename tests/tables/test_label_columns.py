"""Several labels a row: the same reading of ids, Booleans and labels as of all other files."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.label_columns import read_label_columns
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.python import cells_of

NAMES = ["red", "green", "blue"]
SPELLINGS = [
    (False, True), ("False", "True"), ("f", "t"), ("no", "yes"), ("N", "Y"), ("0", "1"), (0.0, 1.0), ("off", "on"),
]  # fmt: skip


def bits(n=12, seed=0):
    return np.random.default_rng(seed).random((3, n, 3)) < 0.5


def table(block, ids=None, spelling=(0, 1)):
    false, true = spelling
    frame = pd.DataFrame({name: [true if bit else false for bit in block[:, place]]
                          for place, name in enumerate(NAMES)})  # fmt: skip
    if ids is not None:
        frame.insert(0, "case", ids)
    return frame


def read(old, new, labels, **options):
    files = [cells_of(old, "old"), cells_of(new, "new")]
    return read_label_columns(files, cells_of(labels, "labels"), RoleOptions(**options))


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("place", range(3))
def test_booleans_of_any_spelling(spelling, place):
    blocks = bits()
    ids = [f"a{row}" for row in range(12)]
    frames = [table(block, ids) for block in blocks]
    frames[place] = table(blocks[place], ids, spelling)
    found = read(*frames)
    assert found.names == ("red", "green", "blue")
    for block, other in zip(blocks, (*found.files, found.truth), strict=True):
        assert (block == other).all()


def test_rows_in_any_order_go_by_their_ids():
    blocks = bits()
    ids = np.array([f"a{row}" for row in range(12)])
    orders = [np.random.default_rng(seed).permutation(12) for seed in range(3)]
    frames = [table(block[order], ids[order]) for block, order in zip(blocks, orders, strict=True)]
    found = read(*frames)
    wanted = [int(name[1:]) for name in found.ids]
    for block, other in zip(blocks, (*found.files, found.truth), strict=True):
        assert (block[wanted] == other).all()


def test_labels_may_hold_more_rows_or_fewer():
    blocks = bits()
    ids = [f"a{row}" for row in range(12)]
    old, new, labels = (table(block, ids) for block in blocks)
    found = read(old.iloc[:8], new.iloc[:8], labels)
    assert (found.truth == blocks[2][:8]).all()
    assert any("belong to no row" in note for note in found.reading.notes)
    fewer = read(old, new, labels.iloc[3:])
    assert fewer.known.tolist() == [False] * 3 + [True] * 9
    assert (fewer.truth[3:] == blocks[2][3:]).all()


def test_rows_of_one_file_alone_are_left_out_with_inner():
    blocks = bits()
    ids = [f"a{row}" for row in range(12)]
    old, new, labels = (table(block, ids) for block in blocks)
    with pytest.raises(UnreadableTableError, match="--inner"):
        read(old.iloc[1:], new, labels)
    found = read(old.iloc[1:], new, labels, inner=True)
    assert found.ids.tolist() == ids[1:]
    assert (found.files[1] == blocks[1][1:]).all()
    assert (found.truth == blocks[2][1:]).all()


def test_repeated_ids_are_never_paired_by_chance():
    blocks = bits()
    ids = ["a", "a", *(f"a{row}" for row in range(10))]
    other = ["a", *(f"a{row}" for row in range(10)), "a"]
    old, new, labels = (table(block, ids) for block in blocks)
    with pytest.raises(UnreadableTableError, match="several times"):
        read(old, table(blocks[1], other), labels, id="case")
    same = read(old, new, labels)
    assert (same.files[1] == blocks[1]).all()
    twice = pd.concat([table(blocks[2], [f"a{row}" for row in range(12)]), labels.iloc[:1]])
    twice.loc[twice["case"] == "a", ["red", "green"]] = [1, 0]
    single = table(blocks[0], [f"a{row}" for row in range(12)])
    changed = twice.assign(case=lambda frame: frame["case"].replace("a", "a3"))
    with pytest.raises(UnreadableTableError, match="one label for each row"):
        read(
            single, single, changed.assign(red=[*blocks[2][:, 0].astype(int), 1 - blocks[2][3, 0]])
        )


def test_an_empty_id_is_named():
    blocks = bits()
    ids = [f"a{row}" for row in range(12)]
    old, new, labels = (table(block, ids) for block in blocks)
    new.loc[4, "case"] = None
    with pytest.raises(UnreadableTableError, match="none in row 4"):
        read(old, new, labels, id="case")


def test_one_label_a_row_is_several_columns_still():
    block = np.eye(3, dtype=bool)[[0, 1, 2, 0, 1, 2]]
    ids = list("abcdef")
    found = read(table(block, ids), table(block[::-1], ids), table(block, ids))
    assert found.names == ("red", "green", "blue")
    assert (found.truth == block).all()


def test_other_columns():
    blocks = bits()
    ids = [f"a{row}" for row in range(12)]
    old, new, labels = (table(block, ids) for block in blocks)
    labels["text"] = [f"some text {row}" for row in range(12)]
    labels["thread"] = np.arange(12) // 3
    found = read(old, new, labels, group="thread")
    assert found.names == ("red", "green", "blue")
    assert found.group.tolist() == [str(row // 3) for row in range(12)]
    assert "text" in found.reading.files[2].left_out
    chosen = read(old, new, labels, columns=("red", "blue"))
    assert (chosen.truth == blocks[2][:, [0, 2]]).all()
    assert read(old, new, labels, exclude=("green",)).names == ("red", "blue")
    with pytest.raises(ArgumentValueError, match="missing in old"):
        read(old.drop(columns="red"), new, labels)
    with pytest.raises(ArgumentValueError, match="'orange'"):
        read(old, new, labels, exclude=("orange",))
    with pytest.raises(ArgumentValueError, match="'0.7' in row 2"):
        read(old, new.assign(red=np.where(np.arange(12) == 2, 0.7, new["red"])), labels)
    with pytest.raises(ArgumentValueError, match="none in row 5"):
        read(old, new, labels.assign(red=labels["red"].where(np.arange(12) != 5)))
    with pytest.raises(ArgumentValueError, match="several columns"):
        read(old[["case", "red"]], new[["case", "red"]], labels[["case", "red"]])
