"""Attacks against each other on digits: relations between them, batches, seeds and dtypes."""

import copy
import functools

import numpy as np
import pytest
import torch

from shiftmetrics.attacks import AttackOptions, nearest_error
from shiftmetrics_lab.attacks import apgd, fgsm, noise, pgd

N_ROWS = 60
BOX = {"options": AttackOptions(bounds=(0.0, 1.0))}
nearest = functools.partial(nearest_error, n_steps=30, restarts=1)
FIXED = {
    "fgsm": fgsm,
    "pgd": functools.partial(pgd, n_steps=10),
    "apgd": functools.partial(apgd, n_steps=10),
    "noise": noise,
}


@pytest.fixture(scope="module")
def rows(digits):
    return digits.model, digits.x[:N_ROWS], digits.y[:N_ROWS]


@pytest.mark.parametrize(("norm", "strength"), [("linf", 0.1), ("l2", 0.5)])
def test_apgd_leaves_at_most_the_robust_accuracy_of_pgd(rows, norm, strength):
    options = {"strength": strength, "norm": norm, **BOX}
    of_pgd = pgd(*rows, n_steps=50, **options).robust_accuracy
    assert 0.1 < of_pgd < 0.9
    assert apgd(*rows, n_steps=50, **options).robust_accuracy <= of_pgd
    assert of_pgd <= fgsm(*rows, **options).robust_accuracy
    assert (
        apgd(*rows, n_steps=20, loss="dlr-targeted", n_targets=4, **options).robust_accuracy
        <= of_pgd
    )
    assert apgd(*rows, n_steps=50, loss="dlr", **options).robust_accuracy <= of_pgd + 0.1
    assert pgd(*rows, n_steps=50, loss="margin", **options).robust_accuracy <= of_pgd + 0.05


@pytest.mark.slow
def test_a_row_falls_within_a_strength_iff_its_distance_is_below(rows):
    distance = nearest_error(*rows, norm="linf", **BOX).distance_to_error
    fallen = apgd(*rows, strength=0.1, loss="dlr-targeted", n_steps=30, **BOX).success
    clear = np.abs(distance - 0.1) > 0.005
    assert (fallen == (distance <= 0.1))[clear].mean() > 0.95


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_noise_is_as_long_as_the_attack_and_does_less(rows, norm):
    attack = nearest(*rows, norm=norm, **BOX)
    random = noise(*rows, strength=attack.distance, norm=norm, **BOX)
    np.testing.assert_allclose(random.distance, attack.distance, rtol=1e-4, atol=1e-6)
    assert random.success.mean() < 0.3 < attack.success.mean()


@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("name", FIXED)
def test_results_are_recomputed_from_the_model(rows, name, norm):
    model, x, y = rows
    x, y = x[:20].clone(), y[:20]
    before, kept = x.clone(), copy.deepcopy(model.state_dict())
    frozen = torch.zeros(x.shape[1:], dtype=torch.bool)
    frozen[:, :2] = True
    costs = torch.linspace(1.0, 3.0, 64).reshape(x.shape[1:])
    options = AttackOptions(frozen=frozen, feature_costs=costs, bounds=(0.0, 1.0))
    result = FIXED[name](model, x, y, strength=0.2, norm=norm, options=options)
    assert result.distance.max() <= 0.2 * (1 + 1e-6)
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
    with pytest.raises(ValueError, match="read-only"):
        result.distance[0] = 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", FIXED)
def test_a_seed_repeats_an_attack(rows, name):
    model, x, y = rows
    attack = FIXED[name]
    options = AttackOptions(rng=7, batch_size=6, bounds=(0.0, 1.0))
    first, second = (attack(model, x[:15], y[:15], strength=0.1, options=options) for _ in range(2))
    assert first.equals(second)


def test_early_stop_finds_the_same_errors(rows):
    options = {"strength": 0.1, "n_steps": 30, **BOX}
    stopped, full = pgd(*rows, early_stop=True, **options), pgd(*rows, **options)
    assert stopped.success.tolist() == full.success.tolist()
    more = pgd(*rows, early_stop=True, restarts=3, **options)
    assert more.success.sum() >= stopped.success.sum()
    assert (
        apgd(*rows, early_stop=True, restarts=2, **options).success.sum() >= stopped.success.sum()
    )


def test_strength_may_differ_by_row_and_zero_is_the_identity(rows):
    model, x, y = rows
    strength = np.linspace(0.0, 0.2, len(x))
    for attack in FIXED.values():
        result = attack(model, x, y, strength=strength, **BOX)
        assert (result.distance <= strength * (1 + 1e-5) + 1e-9).all()
        none = attack(model, x, y, strength=0, **BOX)
        assert torch.equal(none.x_adv, x)
        assert none.success.tolist() == (model(x).argmax(1) != y).tolist()


@pytest.mark.slow
@pytest.mark.realdata
def test_attacks_on_mnist(data_folder):
    """A small network on half of the MNIST test set: the orders that hold on digits hold there."""
    stored = np.load(data_folder / "mnist_test" / "mnist_t10k.npz")
    x = torch.tensor(stored["images"][:, None] / 255.0, dtype=torch.float32)
    y = torch.tensor(stored["labels"].astype(int))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 16, 5, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, stride=2),
            torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32 * 25, 10),
        )  # fmt: skip
        optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
        for step in range(300):
            part = slice(128 * (step % 39), 128 * (step % 39 + 1))
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(x[part]), y[part]).backward()
            optimiser.step()
    x, y = x[5000:5200], y[5000:5200]
    assert nearest(model, x, y, **BOX).success.all()
    options = {"strength": 0.08, **BOX}
    assert (
        apgd(model, x, y, **options).robust_accuracy <= pgd(model, x, y, **options).robust_accuracy
    )
