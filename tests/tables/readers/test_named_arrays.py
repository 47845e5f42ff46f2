"""Several arrays of one file as one table."""

import numpy as np
import pytest

from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.register import read_file

P = np.array([[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]])


def _read(tmp_path, **arrays):
    path = tmp_path / "old.npz"
    np.savez(path, **arrays)
    return read_file(path, "OLD")


def test_a_matrix_and_columns_of_as_many_rows_are_one_table(tmp_path):
    cells = _read(
        tmp_path,
        probabilities=P,
        labels=np.array([[1], [0], [1]]),
        classes=np.array(["cat", "dog"]),
        names=np.array([b"x", b"y", b"z"]),
        epoch=np.array(3),
    )
    frame = cells.frame
    assert list(frame.columns) == ["probabilities.cat", "probabilities.dog", "labels", "names"]
    assert frame["probabilities.dog"].tolist() == P[:, 1].tolist()
    assert frame["labels"].tolist() == [1, 0, 1]
    assert frame["names"].tolist() == ["x", "y", "z"]
    assert cells.notes == ("left out beside the arrays: epoch",)


def test_classes_without_names_count(tmp_path):
    frame = _read(tmp_path, logits=P, preds=np.array([0, 0, 1])).frame
    assert list(frame.columns) == ["logits.0", "logits.1", "preds"]


@pytest.mark.parametrize(
    "more",
    [
        {"other": P},
        {"weights": np.ones(7)},
        {"image": np.ones((3, 4, 4))},
        {"probabilities.0": np.ones(3)},
    ],
    ids=["a second matrix", "another length", "three dimensions", "a name of a column"],
)
def test_arrays_that_are_no_table_are_asked_for(tmp_path, more):
    with pytest.raises(UnreadableError, match="old.npz:probabilities"):
        _read(tmp_path, probabilities=P, **more)
