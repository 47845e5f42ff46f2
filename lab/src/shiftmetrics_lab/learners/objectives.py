"""Batches, losses of rows, and the objectives that average them: ERM, plain or tilted, and IRM."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor, nn

from shiftmetrics._core.validation import check_choice, check_integer, check_number

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


def tilted_mean(losses: Tensor, tilt: float) -> Tensor:
    """Return ``log(mean(exp(tilt * losses))) / tilt``: the mean at 0, the maximum as ``tilt`` grows.

    Parameters
    ----------
    losses : Tensor of shape (n_samples,)
        Losses.
    tilt : float
        Positive values attend to large losses, negative ones discount them.

    Examples
    --------
    >>> import torch
    >>> losses = torch.tensor([0.0, 1.0])
    >>> [round(float(tilted_mean(losses, tilt)), 3) for tilt in (0.0, 1.0, 100.0)]
    [0.5, 0.62, 0.993]
    """
    mean = losses.mean()
    if tilt == 0.0:
        return mean
    spread = tilt * (losses - mean)
    # The logarithm of a sum near n, divided by a small tilt, would lose all digits.
    if float(spread.detach().abs().max()) < 1.0:
        return mean + torch.log1p(torch.expm1(spread).mean()) / tilt
    return mean + (torch.logsumexp(spread, dim=0) - math.log(len(losses))) / tilt


@dataclass(frozen=True, kw_only=True)
class ERM:
    """Empirical risk minimisation: the mean loss, or its tilted mean, which attends to those who fare worst.

    Parameters
    ----------
    tilt : float, optional
        ``log(mean(exp(tilt * loss))) / tilt``, the convention of Li et al. Any sign; 0, the default, is the mean.
    temperature : float, optional
        ``temperature * log(mean(exp(loss / temperature)))``, the convention of Blanchet et al., equation (4.2):
        ``tilt = 1 / temperature``. Positive; infinity is the mean. In place of ``tilt``.
    level : {"rows", "domains"}, default "rows"
        Whether single losses are averaged, or the mean losses of the domains, which the batch must carry then.
    loss : callable, default `cross_entropy`
        Loss of each row.

    Raises
    ------
    ValueError
        If both ``tilt`` and ``temperature`` are given.

    Notes
    -----
    In mini-batches the tilted mean of a batch estimates that of the data with a bias, the larger the smaller the
    batch. Use large batches, or all rows, with strong tilts.

    References
    ----------
    Li, Beirami, Sanjabi, Smith, "On Tilted Losses in Machine Learning" (arXiv:2109.06141); Blanchet, Cui, Li, Liu
    (arXiv:2405.03198).

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(2, 3)
    >>> float(ERM()(model, Batch(torch.zeros(4, 2), torch.tensor([0, 1, 2, 0])))) > 0
    True
    >>> ERM(temperature=0.5).strength == ERM(tilt=2.0).strength
    True
    """

    tilt: float | None = None
    temperature: float | None = None
    level: Literal["rows", "domains"] = "rows"
    loss: RowLoss = cross_entropy

    def __post_init__(self) -> None:
        if self.tilt is not None and self.temperature is not None:
            raise ValueError(
                f"At most one of tilt and temperature must be given, got tilt={self.tilt} and "
                f"temperature={self.temperature}. They are each other's inverse."
            )
        if self.tilt is not None:
            check_number(self.tilt, "tilt")
        if self.temperature is not None:
            check_number(self.temperature, "temperature", low=0.0, open_low=True, allow_inf=True)
        check_choice(self.level, "level", ("rows", "domains"))

    @property
    def strength(self) -> float:
        """The tilt, whichever convention it was given in."""
        return 1.0 / self.temperature if self.temperature is not None else float(self.tilt or 0.0)

    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        """Return the risk of the batch."""
        losses = self.loss(model(batch.x), batch.y)
        if self.level == "domains":
            if batch.domain is None:
                raise ValueError(
                    'domain must be given for level="domains", got None. Pass the domain of each row.'
                )
            losses = torch.stack(
                [losses[batch.domain == domain].mean() for domain in distinct(batch.domain)]
            )
        return tilted_mean(losses, self.strength)


def irm_penalty(scores: Tensor, y: Tensor, *, loss: RowLoss = cross_entropy) -> Tensor:
    """Return the squared slope of a domain's risk in a common factor on its scores.

    It is 0 where scaling the scores up or down would not lower the risk of that domain: where the classifier on top
    of the features is optimal for it.

    Parameters
    ----------
    scores : Tensor of shape (n_samples, n_classes)
        Scores of rows of one domain.
    y : Tensor of shape (n_samples,)
        Labels.
    loss : callable, default `cross_entropy`
        Loss of each row.

    Returns
    -------
    Tensor of shape ()
        Differentiable in the scores.

    Examples
    --------
    >>> import torch
    >>> scores = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> float(irm_penalty(scores, torch.tensor([0, 1])).detach()) > 0.07  # larger scores would be better
    True
    """
    with torch.enable_grad():  # the slope is wanted even where gradients are off, as in validation
        scale = torch.ones((), dtype=scores.dtype, device=scores.device, requires_grad=True)
        risk = loss(scale * scores, y).mean()
        (slope,) = torch.autograd.grad(risk, scale, create_graph=True)
        return slope.square()


@dataclass(frozen=True, kw_only=True)
class IRM:
    """Invariant risk minimisation by penalty (IRMv1).

    Over the domains, the mean of ``risk + penalty * squared slope of the risk in a factor on the scores``. The batch
    must carry ``domain``. As in the authors' experiments, the sum is divided by the penalty where that exceeds 1, so
    that the step size need not change when the penalty sets in.

    Parameters
    ----------
    penalty : float
        Weight of the invariance; 0 is ERM over domains of equal weight.
    warmup : int, default 0
        Epochs at penalty 1 (or less) before the full penalty sets in: features must form first.
    loss : callable, default `cross_entropy`
        Loss of each row.

    Raises
    ------
    ValueError
        If a batch has no domains.

    References
    ----------
    Arjovsky, Bottou, Gulrajani, Lopez-Paz, "Invariant Risk Minimization" (arXiv:1907.02893).

    Examples
    --------
    >>> import torch
    >>> batch = Batch(torch.eye(4), torch.tensor([0, 1, 0, 1]), torch.tensor([0, 0, 1, 1]))
    >>> IRM(penalty=10.0)(torch.nn.Linear(4, 2), batch).shape
    torch.Size([])
    """

    penalty: float
    warmup: int = 0
    loss: RowLoss = cross_entropy

    def __post_init__(self) -> None:
        check_number(self.penalty, "penalty", low=0.0)
        check_integer(self.warmup, "warmup", low=0)

    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        """Return the penalised risk of the batch."""
        if batch.domain is None:
            raise ValueError("domain must be given for IRM, got None. Pass the domain of each row.")
        penalty = self.penalty if batch.epoch >= self.warmup else min(self.penalty, 1.0)
        scores = model(batch.x)
        terms = []
        for domain in distinct(batch.domain):
            rows = batch.domain == domain
            risk = self.loss(scores[rows], batch.y[rows]).mean()
            terms.append(risk + penalty * irm_penalty(scores[rows], batch.y[rows], loss=self.loss))
        return torch.stack(terms).mean() / max(1.0, penalty)
