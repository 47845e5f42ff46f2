"""The steps of Adam are those of torch."""

import numpy as np
import pytest
import torch

from shiftmetrics_lab.published.steps import Adam


def test_the_steps_are_those_of_adam() -> None:
    rng = np.random.default_rng(1)
    ours, place = Adam((4, 3), 0.01), np.zeros((4, 3))
    theirs = torch.zeros((4, 3), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([theirs], lr=0.01, maximize=True)
    for _ in range(20):
        gradient = rng.normal(size=(4, 3))
        theirs.grad = torch.as_tensor(gradient.copy())
        optimiser.step()
        place += ours.step(gradient)
    np.testing.assert_allclose(place, theirs.detach().numpy(), rtol=1e-10)


def test_the_first_step_has_the_learning_rate_whatever_the_gradient() -> None:
    assert Adam((1,), 0.1).step_of_number(1e6) == pytest.approx(0.1)
    assert Adam((1,), 0.1).step_of_number(-1e-3) == pytest.approx(-0.1, rel=1e-4)
