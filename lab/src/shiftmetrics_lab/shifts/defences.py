"""Two defences around a model: JPEG compression before it, reverse-sigmoid perturbation after it.

Together they are the weak model of arXiv:2503.16271: low confidence at every input, attacked or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_integer, check_number
from shiftmetrics_lab.shifts.images import compress_jpeg


class JPEGDefence(torch.nn.Module):
    """Compress images as JPEG before the model sees them (arXiv:1705.02900).

    Parameters
    ----------
    model : callable
        Maps images of shape (n_samples, channels, height, width) with 1 or 3 channels in [0, 1] to logits.
    quality : int, default 75
        JPEG quality, from 1 to 95.
    straight_through : bool, default True
        JPEG has no useful gradient. Whether gradient attacks see the identity in its place, as is usual when
        such a defence is to be tested (arXiv:1802.00420); otherwise they refuse the model.

    Raises
    ------
    ValueError
        On a call, if the images are of another shape or range.

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics_lab.shifts.defences import JPEGDefence
    >>> defended = JPEGDefence(torch.nn.Flatten(), quality=50)
    >>> defended(torch.full((2, 3, 8, 8), 0.5)).shape
    torch.Size([2, 192])
    """

    def __init__(self, model: Any, *, quality: int = 75, straight_through: bool = True) -> None:
        super().__init__()
        self.model = model
        self.quality = check_integer(quality, "quality", low=1, high=95)
        self.straight_through = straight_through

    def forward(self, x: Tensor) -> Any:
        """Return the model's logits of the compressed images."""
        if x.ndim != 4 or x.shape[1] not in (1, 3):
            expected = "images of shape (n_samples, 1 or 3, height, width)"
            raise ArgumentValueError("x", expected, f"shape {tuple(x.shape)}")
        seen = x.detach()
        if len(seen) and (float(seen.min()) < -1e-3 or float(seen.max()) > 1.001):
            got = f"values from {float(seen.min()):g} to {float(seen.max()):g}"
            raise ArgumentValueError("x", "images in [0, 1]", got)
        compressed = torch.as_tensor(
            np.stack(
                [
                    np.moveaxis(compress_jpeg(np.moveaxis(image, 0, -1), self.quality), -1, 0)
                    for image in seen.cpu().numpy()
                ]
            )
            if len(seen)
            else seen.cpu().numpy()
        ).to(dtype=x.dtype, device=x.device)
        # The value is that of the compressed image, the gradient that of the identity.
        return self.model(x + (compressed - seen) if self.straight_through else compressed)


class ReverseSigmoid(torch.nn.Module):
    """Perturb a model's probabilities by a reverse sigmoid, which hides its confidence (arXiv:1806.00054).

    ``p - strength * (sigmoid(slope * logit(p)) - 1/2)``, normalised; returned as logarithms, so that their
    softmax is the perturbed posterior. The largest probability may lose its place where no class had much more
    than the others: the accuracy is not always kept.

    Parameters
    ----------
    model : callable
        Maps inputs to logits.
    strength : float, default 1.0
        Size of the perturbation (beta in the paper).
    slope : float, default 0.1
        Its rate (gamma in the paper).

    Examples
    --------
    >>> import torch
    >>> from shiftmetrics_lab.shifts.defences import ReverseSigmoid
    >>> ReverseSigmoid(torch.nn.Identity())(torch.tensor([[9.0, 0.0, 0.0]])).softmax(1).round(decimals=2)
    tensor([[0.6600, 0.1700, 0.1700]])
    """

    def __init__(self, model: Any, *, strength: float = 1.0, slope: float = 0.1) -> None:
        super().__init__()
        self.model = model
        self.strength = check_number(strength, "strength", low=0.0)
        self.slope = check_number(slope, "slope", low=0.0)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logarithms of the perturbed probabilities."""
        log_p = torch.log_softmax(self.model(x), dim=1)
        # logit(p) = log p - log(1 - p), with 1 - p kept away from 0
        log_rest = torch.log((-torch.expm1(log_p)).clamp_min(torch.finfo(log_p.dtype).eps))
        perturbation = self.strength * (torch.sigmoid(self.slope * (log_p - log_rest)) - 0.5)
        perturbed = (log_p.exp() - perturbation).clamp_min(torch.finfo(log_p.dtype).eps)
        return torch.log(perturbed / perturbed.sum(dim=1, keepdim=True))
