"""Standardise columns inside a network, so that moves of its rows are in the units of the data."""

from __future__ import annotations

import torch
from torch import nn

from shiftmetrics._core.arrays import FloatArray


class Standardize(nn.Module):
    """Subtract a mean and divide by a scale: the normalisation belongs inside the model."""

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, mean: FloatArray, scale: FloatArray) -> None:
        super().__init__()
        self.register_buffer("mean", torch.as_tensor(mean))
        self.register_buffer("scale", torch.as_tensor(scale))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the standardised rows."""
        return (x - self.mean) / self.scale
