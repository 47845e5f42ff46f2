"""Attacks of a given strength: against a grid, and what they refuse."""

import numpy as np
import pytest
import torch

import oracles
from shiftmetrics.attacks import AttackOptions
from shiftmetrics_lab.attacks import apgd, fgsm, pgd

N_ROWS = 40


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("name", ["pgd", "apgd"])
def test_fixed_strength_attacks_are_within_five_percent_of_the_grid(plane, norm, name):
    attack = {"pgd": pgd, "apgd": apgd}[name]
    x, y, costs = plane.x[:N_ROWS], plane.y[:N_ROWS], np.array([4.0, 1.0])

    def loss(points, labels):
        with torch.no_grad():
            logits = plane.model(torch.as_tensor(points))
            return torch.nn.functional.cross_entropy(
                logits, torch.as_tensor(labels), reduction="none"
            ).numpy()

    options = AttackOptions(bounds=(-1.0, 1.0), feature_costs=costs)
    result = attack(plane.model, x, y, strength=0.2, norm=norm, restarts=3, options=options)
    reached = loss(result.x_adv.numpy(), y.numpy())
    best = oracles.largest_loss_on_grid(loss, x.numpy(), y.numpy(), 0.2, (-1.0, 1.0), costs, norm)
    # an error is preferred to a higher loss, so rows may differ where both are errors
    assert np.mean(reached >= 0.95 * best - 1e-4) >= 0.9
    assert reached.sum() >= 0.95 * best.sum()
    assert result.distance.max() <= 0.2 * (1 + 1e-6)
    robust = oracles.nearest_error_on_grid(
        lambda p: plane.model(torch.as_tensor(p)).argmax(1).numpy(), x.numpy(), y.numpy(),
        [np.linspace(-1.0, 1.0, 701)] * 2, costs, norm,
    ) > 0.2  # fmt: skip
    assert abs(result.robust_accuracy - robust.mean()) <= 1.5 / N_ROWS


def test_one_short_step_of_fgsm_is_within_five_percent_of_the_grid(plane):
    x, y, costs = plane.x[:N_ROWS], plane.y[:N_ROWS], np.array([4.0, 1.0])

    def loss(points, labels):
        with torch.no_grad():
            logits = plane.model(torch.as_tensor(points))
            return torch.nn.functional.cross_entropy(
                logits, torch.as_tensor(labels), reduction="none"
            ).numpy()

    start = loss(x.numpy(), y.numpy())
    for norm in ("l2", "linf"):
        options = AttackOptions(feature_costs=costs, bounds=(-1.0, 1.0))
        result = fgsm(plane.model, x, y, strength=0.005, norm=norm, options=options)
        gain = loss(result.x_adv.numpy(), y.numpy()) - start
        best = (
            oracles.largest_loss_on_grid(
                loss, x.numpy(), y.numpy(), 0.005, (-1.0, 1.0), costs, norm
            )
            - start
        )
        steep = best > 1e-4
        assert steep.sum() > 10
        assert np.median(gain[steep] / best[steep]) >= 0.95
