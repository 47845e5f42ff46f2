"""Files of the kind npy are written and read."""

import pandas as pd

from shiftmetrics.tables.readers.arrays import READERS
from shiftmetrics.tables.register import read_file


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "a.npy"
    READERS[0].write(pd.DataFrame({"a": [0.25, 0.5], "b": [1.5, 2.5]}), path)
    cells = read_file(path, "OLD")
    values = cells.values if cells.values is not None else cells.frame.to_numpy()
    assert values.tolist() == [[0.25, 1.5], [0.5, 2.5]]
