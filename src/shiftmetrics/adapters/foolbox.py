"""Attacks of foolbox as functions ``attack(model, x, y) -> x_adv``."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from shiftmetrics._core.validation import needs
from shiftmetrics.attacks.model import as_module


class FoolboxAttack:
    """A foolbox attack as ``attack(model, x, y) -> x_adv``, to be run by `run_attack`.

    Parameters
    ----------
    attack : foolbox.attacks.Attack
        For example ``foolbox.attacks.LinfPGD()``.
    bounds : tuple of float, default (0, 1)
        Range of the inputs; the same as given to `run_attack`.
    strength : float, optional
        The perturbation's length for attacks of given strength; None for minimum-norm attacks.

    Raises
    ------
    ImportError
        On a call, if foolbox is missing.

    Notes
    -----
    Foolbox 3.3.4's ``L2FMNAttack`` does not project on its radius, and its distances are about twice those of
    ``nearest_error(method="fmn")``.

    Examples
    --------
    ``attack = FoolboxAttack(foolbox.attacks.LinfPGD(), strength=8 / 255)``, then
    ``run_attack(attack, model, X, y, norm="linf", options=AttackOptions(bounds=(0, 1)))``.
    """

    def __init__(
        self, attack: Any, *, bounds: tuple[float, float] = (0.0, 1.0), strength: float | None = None
    ) -> None:
        self.attack = attack
        self.bounds = bounds
        self.strength = strength
        self.name = f"foolbox {type(attack).__name__}"

    def __call__(self, model: Any, x: Tensor, y: Tensor) -> Tensor:
        """Return foolbox's adversarial inputs, within the strength."""
        with needs("FoolboxAttack", "foolbox", "foolbox"):
            import foolbox
        wrapped = foolbox.PyTorchModel(as_module(model, x.device), bounds=self.bounds, device=x.device)
        criterion = foolbox.criteria.Misclassification(y)
        _, x_adv, _ = self.attack(wrapped, x, criterion, epsilons=self.strength)
        result: Tensor = x_adv
        return result
