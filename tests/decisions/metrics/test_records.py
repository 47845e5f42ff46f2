"""The rows that move the difference of a metric."""

import numpy as np

from shiftmetrics.decisions.metrics.records import MovingRows


def test_rows_are_written_and_compared_by_their_values():
    def rows(effect):
        return MovingRows(
            position=np.array([3]), id=np.array(["a"]), label=np.array(["yes"]),
            old=np.array(["yes"]), new=np.array(["no"]), effect=np.array([effect]),
        )  # fmt: skip

    assert rows(-0.1).equals(rows(-0.1))
    assert not rows(-0.1).equals(rows(-0.2))
