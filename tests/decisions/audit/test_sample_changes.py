"""Changes of a sample: how much of it is in modes that overlap."""

import numpy as np
import pytest

from shiftmetrics.decisions.audit.new_modes import TableMode
from shiftmetrics.decisions.audit.sample_changes import SampleChanges


def test_samples_of_two_modes_count_once():
    def mode(rows: list[int]) -> TableMode:
        return TableMode(
            missing=False, fraction=len(rows) / 10, other_fraction=0.0, rows=np.array(rows),
            order=np.array(rows), names=np.array(rows, dtype=str), p_value=0.01, contrasts=(),
        )  # fmt: skip

    def changes(*modes: TableMode) -> SampleChanges:
        return SampleChanges(
            novelty_p_value=0.01, new=modes, missing=(), columns=(), auc=0.5,
            unmatched_fraction=0.0, first_rows=(),
        )  # fmt: skip

    assert changes(mode([0, 1, 2, 3]), mode([2, 3, 4])).fraction_in_modes == pytest.approx(0.5)
    assert changes().fraction_in_modes == 0.0
