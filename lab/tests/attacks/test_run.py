"""Attacks of other libraries: recomputed, put back inside the bounds, models left as they were."""

import functools

import numpy as np
import pytest
import torch

from shiftmetrics.attacks import AttackOptions
from shiftmetrics_lab.attacks import pgd, run_attack

BOX = {"options": AttackOptions(bounds=(0.0, 1.0))}


def test_attacks_of_this_package_fit_once_their_options_are_set(digits):
    x, y = digits.x[:20], digits.y[:20]
    attack = functools.partial(pgd, strength=0.1, n_steps=5, **BOX)
    direct, run = (
        attack(digits.model, x, y),
        run_attack(attack, digits.model, x, y, norm="linf", **BOX),
    )
    np.testing.assert_allclose(run.x_adv, direct.x_adv, atol=1e-6)
    np.testing.assert_allclose(run.distance, direct.distance, atol=1e-6)


def test_forbidden_moves_are_put_back_with_a_warning(digits):
    x, y = digits.x[:5], digits.y[:5]
    frozen = torch.zeros(x.shape[1:], dtype=torch.bool)
    frozen[:, 0] = True

    def outside(model, x, y):
        return x - 2.0

    options = AttackOptions(bounds=(0.0, 1.0), frozen=frozen)
    with pytest.warns(
        UserWarning, match="outside returned inputs outside the bounds, or changed frozen features"
    ):
        result = run_attack(outside, digits.model, x, y, options=options)
    assert torch.equal(result.x_adv, x * frozen)


def test_attacks_that_return_something_else_are_refused(digits):
    x, y = digits.x[:5], digits.y[:5]
    with pytest.raises(
        ValueError,
        match=r"attack must be a function that returns finite inputs of shape \(5, 1, 8, 8\)",
    ):
        run_attack(lambda model, x, y: x[:3], digits.model, x, y, **BOX)
    with pytest.raises(ValueError, match="values that are not finite"):
        run_attack(lambda model, x, y: x / 0.0, digits.model, x, y, **BOX)
    with pytest.raises(TypeError, match="attack must be a callable"):
        run_attack("pgd", digits.model, x, y, **BOX)


def test_a_careless_attack_leaves_no_gradient_behind(digits):
    def careless(model, x, y):
        x = x.clone().requires_grad_(True)
        torch.nn.functional.cross_entropy(model(x), y).backward()
        return x + 0.1 * x.grad.sign()

    with pytest.warns(UserWarning, match="put back"):
        result = run_attack(
            careless, digits.model, digits.x[:50], digits.y[:50], norm="linf", **BOX
        )
    assert result.attack == "careless"
    assert all(parameter.grad is None for parameter in digits.model.parameters())


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_foolbox_attack_as_the_docs_write_it(digits, wrapped):
    foolbox = pytest.importorskip("foolbox")
    x, y = digits.x[:60], digits.y[:60]
    model = (lambda x: digits.model(x)) if wrapped else digits.model

    def linf_pgd(model, x, y):
        module = model if isinstance(model, torch.nn.Module) else digits.model
        wrapped_model = foolbox.PyTorchModel(module, bounds=(0, 1))
        _, x_adv, _ = foolbox.attacks.LinfPGD()(wrapped_model, x, y, epsilons=0.1)
        return x_adv

    theirs = run_attack(linf_pgd, model, x, y, norm="linf", **BOX)
    assert theirs.distance.max() <= 0.1 * (1 + 1e-5)
    assert pgd(model, x, y, strength=0.1, **BOX).success.sum() >= theirs.success.sum()
    digits.model.zero_grad(set_to_none=True)
