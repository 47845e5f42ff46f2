"""The nearest errors of a network of digits: starts, batches, seeds, dtypes and scales."""

import copy
import functools

import numpy as np
import pytest
import torch

from shiftmetrics.attacks import AttackOptions, nearest_error

N_ROWS = 60
BOX = {"options": AttackOptions(bounds=(0.0, 1.0))}
nearest = functools.partial(nearest_error, n_steps=30, restarts=1)
NEAREST = {
    "from the rows": nearest,
    "from several starts": functools.partial(nearest_error, n_steps=20, restarts=3),
}


@pytest.fixture(scope="module")
def rows(digits):
    return digits.model, digits.x[:N_ROWS], digits.y[:N_ROWS]


@pytest.mark.slow
def test_more_starts_are_nearer(rows):
    one, five = nearest(*rows, **BOX), nearest_error(*rows, **BOX)
    assert np.median(five.distance) <= np.median(one.distance)
    assert (five.distance <= 1.001 * one.distance).mean() > 0.9


@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("name", NEAREST)
def test_results_are_recomputed_from_the_model(rows, name, norm):
    model, x, y = rows
    x, y = x[:20].clone(), y[:20]
    before, kept = x.clone(), copy.deepcopy(model.state_dict())
    frozen = torch.zeros(x.shape[1:], dtype=torch.bool)
    frozen[:, :2] = True
    costs = torch.linspace(1.0, 3.0, 64).reshape(x.shape[1:])
    options = AttackOptions(frozen=frozen, feature_costs=costs, bounds=(0.0, 1.0))
    result = NEAREST[name](model, x, y, norm=norm, options=options)
    assert torch.equal(x, before)
    assert all(torch.equal(kept[key], value) for key, value in model.state_dict().items())
    assert all(
        parameter.grad is None and parameter.requires_grad for parameter in model.parameters()
    )
    assert result.x_adv.shape == x.shape
    assert result.x_adv.dtype == x.dtype
    assert torch.equal(result.x_adv[:, :, :2], x[:, :, :2])
    assert 0.0 <= float(result.x_adv.min()) <= float(result.x_adv.max()) <= 1.0
    move = (result.x_adv.double() - x.double()) * costs.double().sqrt()
    length = torch.linalg.vector_norm(move.flatten(1), ord=2 if norm == "l2" else np.inf, dim=1)
    np.testing.assert_allclose(result.distance, length.numpy(), rtol=1e-9)
    assert result.success.tolist() == (model(result.x_adv).argmax(1) != y).tolist()
    assert (result.distance[~result.success] == 0).all()
    with pytest.raises(ValueError, match="read-only"):
        result.distance[0] = 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", NEAREST)
def test_a_seed_repeats_an_attack(rows, name):
    model, x, y = rows
    attack = NEAREST[name]
    options = AttackOptions(rng=7, batch_size=6, bounds=(0.0, 1.0))
    first, second = (attack(model, x[:15], y[:15], options=options) for _ in range(2))
    assert first.equals(second)


def test_batches_change_nothing_but_rounding(rows):
    model, x, y = rows
    whole, parts = (
        nearest(model, x[:30], y[:30], options=AttackOptions(batch_size=size, bounds=(0, 1)))
        for size in (256, 7)
    )
    assert np.median(np.abs(whole.distance - parts.distance)) < 1e-3
    np.testing.assert_allclose(whole.distance, parts.distance, rtol=0.05)


def test_double_precision_agrees_with_single(rows):
    model, x, y = rows
    double = copy.deepcopy(model).double()
    single, exact = nearest(model, x, y, **BOX), nearest(double, x.double(), y, **BOX)
    assert exact.x_adv.dtype == torch.float64
    assert np.median(np.abs(single.distance - exact.distance)) < 2e-3


@pytest.mark.slow
def test_distances_follow_the_scale_of_the_inputs(rows):
    model, x, y = rows
    scaled = lambda z: model(z / 100.0)  # noqa: E731
    for attack in NEAREST.values():
        first = attack(model, x, y, options=AttackOptions(bounds=(0, 1)))
        second = attack(scaled, 100.0 * x, y, options=AttackOptions(bounds=(0, 100)))
        assert np.median(np.abs(second.distance / 100.0 - first.distance)) < 0.01 * np.median(
            first.distance
        )
