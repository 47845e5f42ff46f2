"""Posterior agreement as a training objective in torch: differentiable in the scores."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.status import Status
from shiftmetrics._core.validation import check_number
from shiftmetrics.agreement.grid import check_range, grid_statistic, maximum_between
from shiftmetrics.agreement.scores import ScorePairs, named_prior, prepare_pairs
from shiftmetrics.agreement.statistic import limits_of

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise ImportError("shiftmetrics.adapters.torch needs torch: pip install 'shiftmetrics[torch]'") from error

NEWTON_STEPS = 3
"""Steps from the interpolated maximum to the true one; each doubles the number of right digits."""

NEAR = 1e-6
"""Relative distance from an end of the bracket within which beta counts as there."""


INSIDE = Status("inside", "The agreement is largest at a beta inside the bracket.")
LOWER_END = Status(
    "lower_end",
    "The agreement falls from the lower end of the bracket on: the pairs hardly agree. Beta stays at that end, "
    "because at beta = 0 there is no gradient.",
)
UPPER_END = Status(
    "upper_end",
    "The agreement still rises at the upper end of the bracket: (almost) no pair contradicts. Beta stays at that "
    "end, because at infinite beta there is no gradient.",
)


class BracketedBeta(NamedTuple):
    """The beta of largest agreement inside a bracket, the agreement there (nats), and where it lies."""

    beta: float
    value: float
    status: Status


def bracketed_beta(
    scores: Tensor,
    reference_scores: Tensor,
    *,
    prior: Any = "predicted",
    beta_range: tuple[float, float] = (0.1, 10.0),
) -> BracketedBeta:
    """Inverse temperature at which scores agree most, kept inside a bracket.

    Parameters
    ----------
    scores, reference_scores : Tensor of shape (n_rows, n_classes) or (n_rows,)
        Of the shifted and of the original sample; no gradient flows through here.
    prior : array, "predicted" or None, default "predicted"
        As in `agreement_loss`.
    beta_range : (float, float), default (0.1, 10)
        The bracket. It has the unit of 1 / scores: the default suits logits of a network trained by cross-entropy.

    Returns
    -------
    BracketedBeta
        ``beta``, ``value`` in nats (higher is better) and ``status``, which says where an end of the bracket was met.

    Raises
    ------
    TypeError, ValueError
        As in `shiftmetrics.posterior_agreement`, or if the bracket is not ``0 < low < high``.

    Examples
    --------
    >>> import torch
    >>> found = bracketed_beta(torch.tensor([1.0, 2.0, -1.0]), torch.tensor([1.5, 2.0, -2.0]))
    >>> found.beta, str(found.status)
    (10.0, 'upper_end')
    """
    low, high = check_range(beta_range)
    pairs = _with_prior(prepare_pairs(scores, reference_scores, prior=prior), prior)
    betas = np.geomspace(low, high, math.ceil(2.0 * math.log2(high / low)) + 2)
    statistic = grid_statistic(pairs, betas, len(betas))
    beta, value, _ = maximum_between(
        betas, *(part / statistic.weight for part in (statistic.value, statistic.slope, statistic.curvature))
    )
    for _ in range(NEWTON_STEPS):
        here = grid_statistic(pairs, np.array([beta]), 1)
        value = float(here.value[0]) / here.weight
        rise = beta * float(here.slope[0])
        bend = beta**2 * float(here.curvature[0]) + rise  # both by the logarithm of beta
        if bend < 0.0:
            beta = min(high, max(low, beta * math.exp(max(-1.0, min(1.0, -rise / bend)))))
    status = INSIDE
    if rise > 0.0 and beta > high * (1.0 - NEAR):
        beta, status = high, UPPER_END
    elif rise <= 0.0 and beta < low * (1.0 + NEAR):
        beta, status = low, LOWER_END
    return BracketedBeta(beta, value, status)


def agreement_loss(
    scores: Tensor,
    reference_scores: Tensor,
    *,
    prior: Any = "predicted",
    beta: float | None = None,
    beta_range: tuple[float, float] = (0.1, 10.0),
) -> Tensor:
    """Minus the posterior agreement of a batch, differentiable in both samples' scores: a term of a training loss.

    At the best beta the derivative by beta vanishes, so the gradient is that at fixed beta (envelope theorem), and
    beta is found without a gradient, inside a bracket: at beta = 0 the gradient is 0, at infinity there is none.

    Parameters
    ----------
    scores, reference_scores : Tensor of shape (n_rows, n_classes) or (n_rows,)
        Of the shifted and of the original sample; the gradient flows to both. Detach one to pull only the other.
    prior : array, "predicted" or None, default "predicted"
        Class prior. With the shares of the predicted classes of the batch a model that collapses to one class has
        loss 0, the worst of an agreeing one; with None (uniform) collapse would be a minimum, ``-log K``.
    beta : float, optional
        A positive inverse temperature to use instead of the best one, such as that of `bracketed_beta` on more rows.
    beta_range : (float, float), default (0.1, 10)
        The bracket; `bracketed_beta` says whether an end of it was met.

    Returns
    -------
    Tensor
        A scalar in nats per row; lower is better. In float64 for float64 scores, else in float32.

    Raises
    ------
    TypeError, ValueError
        As in `shiftmetrics.posterior_agreement`, or if ``beta`` or the bracket is out of range.

    References
    ----------
    .. [1] Carvalho et al., "Rethinking Robustness in Machine Learning: A Posterior Agreement Approach", TMLR 2025,
       arXiv:2503.16271, eq. (10).

    Examples
    --------
    >>> import torch
    >>> scores = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.2, 0.0]], requires_grad=True)
    >>> loss = agreement_loss(scores, torch.tensor([[2.0, 0.0], [0.0, 2.0], [0.0, 0.5]]))
    >>> loss.backward()
    >>> bool(loss < 0), scores.grad[2].sign().tolist()  # the third pair contradicts: lower its first score
    (True, [1.0, -1.0])
    """
    if beta is None:
        beta = bracketed_beta(scores, reference_scores, prior=prior, beta_range=beta_range).beta
    beta = check_number(beta, "beta", low=0.0, open_low=True)
    pairs = _with_prior(prepare_pairs(scores, reference_scores, prior=prior), prior)
    kept = np.flatnonzero(pairs.prior)
    sides = []
    for side in (scores, reference_scores):
        side = side if side.dtype == torch.float64 else side.float()
        side = torch.stack([torch.zeros_like(side), side], dim=1) if side.ndim == 1 else side
        side = side[:, torch.as_tensor(kept, device=side.device)]
        sides.append(side - side.detach().amax(dim=1, keepdim=True))
    first, second = sides
    log_prior = torch.as_tensor(np.log(pairs.prior[kept]), dtype=first.dtype, device=first.device)

    def log_partition(side: Tensor) -> Tensor:
        return torch.logsumexp(beta * side + log_prior, dim=1)

    kernel = log_partition(first + second) - log_partition(first) - log_partition(second)
    loss: Tensor = -kernel.mean()
    return loss


def _with_prior(pairs: ScorePairs, prior: Any) -> ScorePairs:
    if not isinstance(named_prior(prior), str):
        return pairs
    return pairs.replace(prior=limits_of(pairs).shares)
