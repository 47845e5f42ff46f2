"""What all learners share: a batch, the loss of a row, and the plain average of the losses (ERM)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor, nn

RowLoss: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Loss of each row from the model's outputs and the labels, of shape (n_samples,)."""


class Batch(NamedTuple):
    """Some rows of a training set.

    Attributes
    ----------
    x : Tensor of shape (n_samples, ...)
        Inputs.
    y : Tensor of shape (n_samples,) or (n_samples, n_classes)
        Integer labels, or a distribution over the classes where rows were mixed.
    domain : Tensor of shape (n_samples,) or None
        Integer domain of each row.
    epoch : int
        Passes over the data that are complete; objectives may start gently.
    generator : torch.Generator or None
        Source of randomness for transforms and random starts.

    Examples
    --------
    >>> import torch
    >>> Batch(torch.zeros(3, 2), torch.tensor([0, 1, 1])).y.tolist()
    [0, 1, 1]
    """

    x: Tensor
    y: Tensor
    domain: Tensor | None = None
    epoch: int = 0
    generator: torch.Generator | None = None


class Objective(Protocol):
    """Anything that maps a model and a batch to the loss to minimise."""

    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:  # noqa: D102
        ...


def cross_entropy(scores: Tensor, y: Tensor) -> Tensor:
    """Return the cross-entropy of each row in nats; ``y`` holds labels, or a distribution over the classes.

    Examples
    --------
    >>> import torch
    >>> cross_entropy(torch.zeros(2, 4), torch.tensor([1, 3]))
    tensor([1.3863, 1.3863])
    """
    return nn.functional.cross_entropy(scores, y, reduction="none")


def squared_error(outputs: Tensor, y: Tensor) -> Tensor:
    """Return the squared error of each row, for regression with one output.

    Examples
    --------
    >>> import torch
    >>> squared_error(torch.tensor([[1.0], [2.0]]), torch.tensor([0.0, 0.0]))
    tensor([1., 4.])
    """
    return (outputs.reshape(len(y)) - y).square()


def distinct(values: Tensor) -> list[int]:
    """Return the different integers of a tensor, sorted."""
    return sorted({int(value) for value in values.tolist()})


@dataclass(frozen=True, kw_only=True)
class ERM:
    """Empirical risk minimisation: the mean loss.

    Parameters
    ----------
    loss : callable, default `cross_entropy`
        Loss of each row.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(2, 3)
    >>> float(ERM()(model, Batch(torch.zeros(4, 2), torch.tensor([0, 1, 2, 0])))) > 0
    True
    """

    loss: RowLoss = cross_entropy

    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        """Return the mean loss of the batch."""
        return self.loss(model(batch.x), batch.y).mean()
