"""Tilted risk: a soft maximum of the losses, which attends to those who fare worst."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from shiftmetrics._core.validation import check_choice, check_number
from shiftmetrics.lab.learners.objectives import Batch, RowLoss, cross_entropy, distinct


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
    if (
        float(spread.detach().abs().max()) < 1.0
    ):  # the log of a sum near n, over a small tilt, would lose all digits
        return mean + torch.log1p(torch.expm1(spread).mean()) / tilt
    return mean + (torch.logsumexp(spread, dim=0) - math.log(len(losses))) / tilt


@dataclass(frozen=True, kw_only=True)
class TiltedERM:
    """Tilted empirical risk minimisation, in either of its two conventions.

    Parameters
    ----------
    tilt : float, optional
        ``log(mean(exp(tilt * loss))) / tilt``, the convention of Li et al. Any sign; 0 is ERM.
    temperature : float, optional
        ``temperature * log(mean(exp(loss / temperature)))``, the convention of Blanchet et al., equation (4.2):
        ``tilt = 1 / temperature``. Positive; infinity is ERM.
    level : {"rows", "domains"}, default "rows"
        Whether single losses are tilted, or the mean losses of the domains, which the batch must carry then.
    loss : callable, default `cross_entropy`
        Loss of each row.

    Raises
    ------
    ValueError
        Unless exactly one of ``tilt`` and ``temperature`` is given.

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
    >>> TiltedERM(temperature=0.5).strength == TiltedERM(tilt=2.0).strength
    True
    """

    tilt: float | None = None
    temperature: float | None = None
    level: Literal["rows", "domains"] = "rows"
    loss: RowLoss = cross_entropy

    def __post_init__(self) -> None:
        if (self.tilt is None) == (self.temperature is None):
            raise ValueError(
                f"Exactly one of tilt and temperature must be given, got tilt={self.tilt} and "
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
        """Return the tilted risk of the batch."""
        losses = self.loss(model(batch.x), batch.y)
        if self.level == "domains":
            if batch.domain is None:
                raise ValueError(
                    'domain must be given for level="domains", got None. Pass the domain of each row.'
                )
            losses = torch.stack([losses[batch.domain == domain].mean() for domain in distinct(batch.domain)])
        return tilted_mean(losses, self.strength)
