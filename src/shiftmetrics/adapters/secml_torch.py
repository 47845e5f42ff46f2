"""Attacks of secml-torch as functions ``attack(model, x, y) -> x_adv``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from shiftmetrics._core.validation import needs
from shiftmetrics.attacks.model import as_module


class SecmlTorchAttack:
    """A secml-torch attack as ``attack(model, x, y) -> x_adv``, to be run by `run_attack`.

    Parameters
    ----------
    attack : secmlt.adv.evasion.base_evasion_attack.BaseEvasionAttack
        Its own options hold the strength and the bounds.

    Raises
    ------
    ImportError
        On a call, if secml-torch is missing.

    Notes
    -----
    secml-torch requires torchvision but does not import it; ``pip install --no-deps secml-torch`` leaves torch as
    it is.

    Examples
    --------
    ``run_attack(SecmlTorchAttack(PGD("linf", 8 / 255, 40, 0.01, backend="native")), model, X, y, norm="linf")``
    """

    def __init__(self, attack: Any) -> None:
        self.attack = attack
        self.name = f"secml-torch {type(attack).__name__}"

    def __call__(self, model: Any, x: Tensor, y: Tensor) -> Tensor:
        """Return secml-torch's adversarial inputs."""
        with needs("SecmlTorchAttack", "secml-torch", "--no-deps secml-torch"):
            from secmlt.models.pytorch.base_pytorch_nn import BasePyTorchClassifier
        loader = DataLoader(TensorDataset(x, y), batch_size=len(x))
        attacked = self.attack(BasePyTorchClassifier(as_module(model, x.device)), loader)
        return torch.cat([x_adv for x_adv, _ in attacked]).detach()
