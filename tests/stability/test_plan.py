"""The plan of the worst case: its atoms and the rows that it keeps."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion

INF = np.inf


def test_atoms_split_the_weight_of_a_row() -> None:
    result = stability_criterion(ZeroOneLoss([0.0, 0.5, 0.5, 1.0]), 0.6, theta2=INF)
    assert list(result.plan.splits.rows) == [1, 2]
    places = pd.DataFrame(result.plan.places())
    atoms = places.sort_values("row", kind="stable", ignore_index=True)
    assert list(atoms.columns) == ["row", "weight", "loss", "distance"]
    assert list(atoms["row"]) == [0, 1, 1, 2, 2, 3]
    np.testing.assert_allclose(atoms["weight"], [1.0, 0.3, 0.7, 0.3, 0.7, 1.0], rtol=1e-6)
    np.testing.assert_array_equal(atoms["loss"], [1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(atoms["distance"], [0.0, 0.0, 0.5, 0.0, 0.5, 0.0])
    assert result.plan.changed_fraction == pytest.approx(0.35)
    assert result.plan.rms_distance == pytest.approx(np.sqrt(0.35 * 0.25))
    no_split = stability_criterion(FixedLoss([0.0, 1.0]), 0.7).plan.places()
    assert len(no_split["row"]) == 2
