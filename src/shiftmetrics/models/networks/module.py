"""A network as a differentiable function of coded rows, in float64 outside and in its own dtype inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import describe
from shiftmetrics.attacks.model import evaluation_mode, parameter_of
from shiftmetrics.models.outputs import batch_size
from shiftmetrics.models.question import QueryCount


def module_of(model: Any) -> torch.nn.Module:
    """Return the module behind a model: itself, or that of a `NetworkClassifier` with its standardisation."""
    module = model if isinstance(model, torch.nn.Module) else model.module_
    assert isinstance(module, torch.nn.Module)
    return module


class Network:
    """The scores of a network at coded rows.

    Parameters
    ----------
    model : torch.nn.Module or NetworkClassifier
    classifies : bool
        Whether it has scores of classes (one column is the margin of the second), or one value for each row.
    count : QueryCount, optional
        Counts the rows that it is asked for.
    row_shape : tuple of int, optional
        The shape in which the module takes a row, where that is not flat.
    """

    def __init__(
        self,
        model: Any,
        *,
        classifies: bool,
        count: QueryCount | None = None,
        row_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.module, self.classifies, self.row_shape = module_of(model), classifies, row_shape
        self._count = QueryCount() if count is None else count
        like = parameter_of(self.module)
        self.dtype = torch.get_default_dtype() if like is None else like.dtype
        self.device = torch.device("cpu") if like is None else like.device
        self.was_training = any(part.training for part in self.module.modules())

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Switch to evaluation mode, and back."""
        with evaluation_mode(self.module):
            yield

    def tensor(self, values: Any) -> Tensor:
        """Return numbers as a float64 tensor on the device of the network (float32 where it has no float64)."""
        wide = torch.float32 if self.device.type == "mps" else torch.float64
        return torch.as_tensor(np.array(values, dtype=np.float64)).to(self.device, wide)

    def __call__(self, points: Tensor) -> Tensor:
        """Return scores (n, n_classes), or values (n,), in the dtype of the points."""
        self._count.rows += len(points)
        rows = points if self.row_shape is None else points.reshape(-1, *self.row_shape)
        output = self.module(rows.to(self.dtype))
        if not isinstance(output, Tensor) or output.shape[0] != points.shape[0]:
            got = type(output).__name__ if not isinstance(output, Tensor) else f"shape {tuple(output.shape)}"
            raise ValueError(describe("model", f"a module with {points.shape[0]} outputs, one a row", got))
        output = output.to(points.dtype)
        if self.classifies:
            if output.ndim == 2 and output.shape[1] > 1:
                return output
            margin = output.reshape(len(points))
            return torch.stack([torch.zeros_like(margin), margin], dim=1)
        if output.numel() != len(points):
            raise ValueError(
                describe("model", "a module with one value for each row", f"shape {tuple(output.shape)}")
            )
        return output.reshape(len(points))

    def logits(self, x: Tensor) -> Tensor:
        """Return scores in the dtype of the network, for attacks."""
        return self(x)

    def scores(self, points: FloatArray) -> FloatArray:
        """Return scores (n, n_classes) or values (n,) of coded points, in evaluation mode."""
        parts: list[FloatArray] = []
        with self.evaluating(), torch.no_grad():
            parts += [self(self.tensor(points[rows])).cpu().double().numpy() for rows in batches(points)]
        return np.concatenate(parts)

    def seen(self, points: FloatArray, start: FloatArray) -> FloatArray:
        """Return points as the network sees them after rounding to its dtype; what did not move stays as it is."""
        if self.dtype == torch.float64:
            return points
        narrow = np.float32 if self.dtype == torch.float32 else np.float16
        rounded = points.astype(narrow).astype(np.float64)
        unmoved = rounded == start.astype(narrow).astype(np.float64)
        return np.where(unmoved, start, rounded)


def mode_warning(network: Network) -> tuple[str, ...]:
    """Say that a network in training mode was evaluated in the other."""
    if not network.was_training:
        return ()
    return ("The model was in training mode; it was measured in evaluation mode and put back.",)


def batches(points: FloatArray) -> Iterator[slice]:
    """Cut rows into batches, the smaller the wider they are."""
    n_rows, size = len(points), batch_size(points.shape[1])
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
