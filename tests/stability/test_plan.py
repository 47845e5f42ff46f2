"""The plan of the worst case: its atoms and the rows that it keeps."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion

INF = np.inf


def test_atoms_split_the_weight_of_a_row() -> None:
    result = stability_criterion(ZeroOneLoss([0.0, 0.5, 0.5, 1.0]), 0.6, theta2=INF)
    # Of two tied samples, of which 1.4 change, one changes as a whole.
    assert list(result.plan.splits.rows) == [2]
    places = pd.DataFrame(result.plan.places())
    atoms = places.sort_values("row", kind="stable", ignore_index=True)
    assert list(atoms.columns) == ["row", "weight", "loss", "distance"]
    assert list(atoms["row"]) == [0, 1, 2, 2, 3]
    np.testing.assert_allclose(atoms["weight"], [1.0, 1.0, 0.6, 0.4, 1.0], rtol=1e-6)
    np.testing.assert_array_equal(atoms["loss"], [1.0, 1.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(atoms["distance"], [0.0, 0.5, 0.0, 0.5, 0.0])
    assert result.plan.changed_fraction == pytest.approx(0.35)
    assert result.plan.rms_distance == pytest.approx(np.sqrt(0.35 * 0.25))
    no_split = stability_criterion(FixedLoss([0.0, 1.0]), 0.7).plan.places()
    assert len(no_split["row"]) == 2


@pytest.mark.parametrize("theta2", [INF, 0.4])
@pytest.mark.parametrize("weighted", [False, True])
def test_tied_samples_move_as_wholes(theta2: float, weighted: bool) -> None:
    """Risk, distance and weights stay what they were; at most one sample is split."""
    rng = np.random.default_rng(0)
    distances = rng.integers(0, 4, 60) / 2.0
    weights = rng.integers(1, 4, 60).astype(float) if weighted else np.ones(60)
    result = stability_criterion(
        ZeroOneLoss(distances), 0.8, theta2=theta2, sample_weight=weights, resampling=None
    )
    places = pd.DataFrame(result.plan.places())
    assert len(places) - 60 <= 1
    total = (weights[places["row"]] * places["weight"]).to_numpy()
    assert total.sum() == pytest.approx(weights.sum())
    assert total @ places["loss"] / total.sum() == pytest.approx(0.8)
    far = np.sqrt(total @ places["distance"] ** 2 / total.sum())
    assert far == pytest.approx(result.plan.rms_distance)
    # The samples themselves, each as a whole in its first place, miss the threshold by one of them at most.
    own = weights * result.plan.weights
    assert abs(own @ result.plan.losses / own.sum() - 0.8) <= own.max() / own.sum() + 1e-12
