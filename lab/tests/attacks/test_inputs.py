"""What attacks of a given strength accept and refuse."""

import numpy as np
import pytest
import torch

from shiftmetrics.attacks import AttackOptions
from shiftmetrics_lab.attacks import apgd, noise, pgd

X = torch.tensor([[1.0, 0.0], [0.0, 0.6], [0.7, 0.7]])
Y = [0, 1, 0]


def linear(x):
    return torch.stack(
        [3 * x[:, 0] + 4 * x[:, 1], torch.ones_like(x[:, 0]), x[:, 0] - 9.0, x[:, 1] - 9.0], dim=1
    )


SHARED = ("bounds", "feature_costs", "frozen", "batch_size", "rng", "progress")


def attack(model=linear, x=X, y=Y, **arguments):
    shared = {name: arguments.pop(name) for name in SHARED if name in arguments}
    return pgd(
        model,
        x,
        y,
        **{"strength": 0.1, "n_steps": 3, "options": AttackOptions(**shared), **arguments},
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": -0.1}, r"strength must be"),
        (
            {"strength": 8, "bounds": (0, 1)},
            r"strength must be at most 1, the width of bounds, got 8. .*8/255",
        ),
        (
            {"strength": 2, "bounds": (0, 1), "norm": "l2"},
            r"strength must be at most 1.41421, the width of bounds",
        ),
        ({"strength": [0.1, 0.2]}, r"strength must be of length 3"),
        ({"strength": np.nan}, r"strength"),
        ({"loss": "hinge"}, r"loss must be one of 'ce', 'dlr', 'margin'"),
        (
            {"model": lambda x: x, "loss": "dlr", "y": [0, 1, 0]},
            r"loss must be one for 2 classes, got one that needs 3",
        ),
    ],
)
def test_bad_values(options, message):
    with pytest.raises(ValueError, match=message):
        attack(**options)


def test_a_strength_is_a_number():
    with pytest.raises(TypeError, match="strength"):
        attack(strength="much")


def test_a_dlr_loss_names_the_classes_that_it_needs():
    with pytest.raises(ValueError, match="one that needs 4"):
        apgd(
            lambda x: torch.cat([x, -x[:, :1]], 1), X, [0, 0, 0], strength=0.1, loss="dlr-targeted"
        )


@pytest.mark.parametrize("loss", ["ce", "dlr", "dlr-targeted"])
def test_every_loss_of_apgd_runs(loss):
    assert apgd(linear, X, Y, strength=0.6, loss=loss, n_steps=5).success.all()


def test_noise_needs_no_gradient():
    assert noise(lambda x: linear(x.detach()), X, Y, strength=0.1).distance == pytest.approx(0.1)


def test_the_strength_is_recorded_and_kept():
    result = attack(bounds=(0, 1), strength=0.1)
    assert result.settings["strength"] == 0.1
    assert result.robust_accuracy == 1 - result.success.mean()
    integers = attack(x=np.array([[1, 0], [0, 1]]), y=[0, 0])
    assert integers.distance == pytest.approx(0.1)
