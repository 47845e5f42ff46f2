"""What both metrics have in common: where states live, and what comes out of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric


class LabelFreeMetric(Metric):
    """Base of both metrics: higher is better, no gradient, states that add up."""

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    plot_lower_bound = 0.0

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:
        """Add the rows of another metric, or of its ``metric_state``."""
        super().merge_state(incoming_state)
        self._computed = None

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw one value, or a list of values as a curve; return figure and axes, as every torchmetric."""
        return self._plot(val, ax)


def device_only(fn: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Let a module's conversion transfer a state, but not round it: sums in half precision lose their digits."""

    def transfer(tensor: Tensor) -> Tensor:
        device = fn(torch.zeros(1, device=tensor.device)).device
        try:
            return tensor.to(device)
        except TypeError:  # the device has no float64
            return tensor

    return transfer


def scalar(value: float, device: Any) -> Tensor:
    """Return a number as a metric value: in float64, where the device has it."""
    try:
        return torch.tensor(value, dtype=torch.float64, device=device)
    except TypeError:  # the device has no float64
        return torch.tensor(value, dtype=torch.float32, device=device)


def check_seen(rows: float) -> None:
    """Raise a ValueError where nothing was added up."""
    if not rows > 0:
        raise ValueError(
            "update must have seen at least one row before compute, got none. Call update first."
        )
