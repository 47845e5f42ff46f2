"""Against a grid over the plane: with cost weights, bounds and a frozen feature, in l2 and linf."""

import numpy as np
import pytest
import torch

import oracles
from shiftmetrics.attacks import AttackOptions, nearest_error

N_ROWS = 40
SETTINGS = {
    "plain": {},
    "costs": {"feature_costs": [1.0, 4.0]},
    "bounds": {"bounds": (-1.0, 1.0)},
    "feature bounds": {"bounds": ([-1.2, -1.0], [1.0, 1.1])},
    "frozen": {"frozen": [True, False]},
    "infinite cost": {"feature_costs": [4.0, np.inf]},
    "costs and bounds": {"feature_costs": [4.0, 1.0], "bounds": (-1.0, 1.0)},
}


@pytest.fixture(scope="module")
def grid(plane):
    """Distances by grid search, worked out once for each setting and norm."""
    known = {}

    def predict(x):
        with torch.no_grad():
            return plane.model(torch.as_tensor(x)).argmax(1).numpy()

    def distances(setting, norm):
        if (setting, norm) not in known:
            options = SETTINGS[setting]
            costs = np.asarray(options.get("feature_costs", [1.0, 1.0]))
            frozen = np.isinf(costs) | options.get("frozen", [False, False])
            low, high = (np.broadcast_to(part, 2) for part in options.get("bounds", (-1.8, 1.8)))
            x, y = plane.x[:N_ROWS].numpy(), plane.y[:N_ROWS].numpy()
            if frozen.any():  # a line for each row
                fine = [np.linspace(a, b, 100_001) for a, b in zip(low, high, strict=True)]
                found = [
                    oracles.nearest_error_on_grid(
                        predict, x[i : i + 1], y[i : i + 1],
                        [x[i, j : j + 1] if frozen[j] else fine[j] for j in range(2)],
                        np.where(frozen, 1.0, costs), norm,
                    )[0]
                    for i in range(N_ROWS)
                ]  # fmt: skip
                known[setting, norm] = np.array(found)
            else:
                axes = [np.linspace(a, b, 701) for a, b in zip(low, high, strict=True)]
                known[setting, norm] = oracles.nearest_error_on_grid(
                    predict, x, y, axes, costs, norm
                )
        return known[setting, norm]

    return distances


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_nearest_error_is_within_five_percent_of_the_grid(plane, grid, setting, norm):
    expected = grid(setting, norm)
    rows = (expected > 0) & np.isfinite(expected)
    assert rows.sum() > 30
    options = AttackOptions(**SETTINGS[setting])
    x, y = plane.x[:N_ROWS], plane.y[:N_ROWS]
    result = nearest_error(plane.model, x, y, norm=norm, options=options)
    ratio = result.distance_to_error[rows] / expected[rows]
    assert np.mean(ratio <= 1.05) >= 0.95
    # The grid's own spacing, relative to the shortest distances, is all that may lie below 1.
    assert ((1.0 - ratio) * expected[rows]).max() < 0.015
    assert (result.distance[expected == 0] == 0).all()
    assert result.success[expected == 0].all()


def test_frozen_features_and_bounds_hold_to_the_last_bit(plane):
    x, y = plane.x[:N_ROWS], plane.y[:N_ROWS]
    options = AttackOptions(frozen=[False, True], bounds=(-1.0, 1.0))
    result = nearest_error(plane.model, x, y, options=options)
    assert torch.equal(result.x_adv[:, 1], x[:, 1])
    assert bool((result.x_adv.abs() <= 1.0).all())


def test_the_distance_is_zero_when_wrong_and_inf_where_no_error_is_in_reach(plane):
    x = plane.x[:N_ROWS]
    predicted = plane.model(x).argmax(1)
    assert (nearest_error(plane.model, x, (predicted + 1) % 3).distance_to_error == 0).all()
    box = (x[0].numpy() - 1e-4, x[0].numpy() + 1e-4)
    options = AttackOptions(bounds=box)
    result = nearest_error(plane.model, x[:1], predicted[:1], options=options)
    assert result.distance_to_error.tolist() == [np.inf]
