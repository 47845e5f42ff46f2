"""Invariant risk minimisation: one classifier that is optimal in every domain at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from shiftmetrics._core.validation import check_integer, check_number
from shiftmetrics.lab.learners.objectives import Batch, RowLoss, cross_entropy, distinct


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
