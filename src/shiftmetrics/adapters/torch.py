"""Posterior agreement as a training objective in torch: differentiable in the scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import to_numpy
from shiftmetrics._core.validation import check_number, needs
from shiftmetrics.agreement.formula import log_partitions, score_gradients
from shiftmetrics.agreement.grid import check_range
from shiftmetrics.agreement.priors import named_prior
from shiftmetrics.agreement.scores import prepare_pairs

with needs("shiftmetrics.adapters.torch", "torch", "'shiftmetrics[torch]'"):
    import torch
    from torch import Tensor

FEW = 1 << 11
"""Scores of either sample that the first look reads, unless it has to be thorough."""

STEPS = 30
"""Most betas that a climb evaluates; two or three suffice from a beta that is about right."""

TOLERANCE = {torch.float32: 0.1, torch.float64: 3e-5}
"""Relative step of beta that is the last one: Newton's steps square their error."""

BLOCK = 1 << 15
"""Scores of either sample in one block: its planes stay in a core's cache."""

STEPS_BETWEEN_LOOKS = 32
"""Steps of a training loop from one look at the whole bracket to the next."""


class AgreementLoss(torch.nn.Module):
    """Minus the posterior agreement of batches, as `agreement_loss`, each searched from the beta of the one before.

    Every 32 batches the whole bracket is searched again. The loss and its gradient then cost about six times those of
    a cross-entropy.

    Parameters
    ----------
    prior, beta_range
        As in `agreement_loss`.

    Attributes
    ----------
    beta : float or None
        The inverse temperature of the last batch: the lower end of the bracket where its pairs hardly agree, the
        upper one where hardly any of them disagree.

    Examples
    --------
    >>> import torch
    >>> loss = AgreementLoss()
    >>> scores = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.2, 0.0]], requires_grad=True)
    >>> value = loss(scores, torch.tensor([[2.0, 0.0], [0.0, 2.0], [0.0, 0.5]]))
    >>> round(value.item(), 4), round(loss.beta, 2)
    (-0.3604, 2.86)
    """

    def __init__(
        self, *, prior: Any = "predicted", beta_range: tuple[float, float] = (0.1, 10.0)
    ) -> None:
        super().__init__()
        self.prior, self.beta_range = named_prior(prior), check_range(beta_range)
        self.beta: float | None = None
        self._steps = 0

    def forward(self, scores: Tensor, reference_scores: Tensor) -> Tensor:
        """Return minus the agreement of a batch, in nats per row; lower is better."""
        start = self.beta if self._steps % STEPS_BETWEEN_LOOKS else None
        self._steps += 1
        loss, self.beta = _loss(scores, reference_scores, self.prior, self.beta_range, start)
        return loss


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
    prior : array of shape (n_classes,), "uniform" or "predicted", default "predicted"
        Class prior. With the fractions of the predicted classes of the batch a model that collapses to one class has
        loss 0, the worst of an agreeing one; with the uniform one collapse would be a minimum, ``-log K``.
    beta : float, optional
        A positive inverse temperature to use instead of the best one, such as that of `posterior_agreement` on more
        rows.
    beta_range : (float, float), default (0.1, 10)
        The bracket. It has the unit of 1 / scores: the default suits logits of a network trained by cross-entropy.

    Returns
    -------
    Tensor
        A scalar in nats per row; lower is better. In float64 for float64 scores, else in float32.

    Raises
    ------
    TypeError, ValueError
        As in `shiftmetrics.posterior_agreement`, or if ``beta`` or the bracket is out of range.

    See Also
    --------
    AgreementLoss : The same for a training loop, at less than half the cost: beta is kept from step to step.

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
    >>> bool(loss < 0), scores.grad[2].sign().tolist()  # the third pair disagrees: lower its first score
    (True, [1.0, -1.0])
    """
    ends = check_range(beta_range)
    if beta is not None:
        beta = check_number(beta, "beta", low=0.0, open_low=True)
        ends = (beta, beta)
    loss, _ = _loss(scores, reference_scores, named_prior(prior), ends, beta)
    return loss


def _loss(
    scores: Tensor,
    reference_scores: Tensor,
    prior: Any,
    ends: tuple[float, float],
    start: float | None,
) -> tuple[Tensor, float]:
    """Return the loss and its beta; what the sums cannot tell to be fit is validated first."""
    plain = isinstance(scores, Tensor) and isinstance(reference_scores, Tensor)
    plain = (
        plain
        and scores.ndim == 2
        and scores.shape == reference_scores.shape
        and scores.shape[1] > 1
    )
    if not (plain and scores.is_floating_point() and scores.dtype == reference_scores.dtype):
        prepare_pairs(scores, reference_scores, prior=prior)
    loss: Tensor
    loss, beta = _Envelope.apply(scores, reference_scores, prior, ends, start)  # type: ignore[no-untyped-call]
    return loss, beta


class _Envelope(torch.autograd.Function):
    """The loss at the best beta, with the gradient at fixed beta."""

    @staticmethod
    def forward(
        ctx: Any,
        scores: Tensor,
        reference_scores: Tensor,
        prior: Any,
        ends: tuple[float, float],
        start: Any,
    ) -> tuple[Tensor, float]:
        pairs, places = _Pairs.of(scores, reference_scores, prior)
        if start is None:
            start = pairs.best_start(ends)
        beta = pairs.climb(start, ends)
        given = scores, reference_scores
        sides = [side for side in (0, 1) if ctx.needs_input_grad[side]]
        value, gradients = pairs.value_and_gradients(beta, sides)
        # checks take longer than the sums, so they are made when these have failed
        if not math.isfinite(value):
            prepare_pairs(scores, reference_scores, prior=prior)  # names what is not finite
        # classes that were left out have gradient 0
        if places is not None:
            for k, gradient in enumerate(gradients):
                whole = gradient.new_zeros(
                    len(gradient), scores.shape[1] if scores.ndim == 2 else 2
                )
                gradients[k] = whole.scatter_(1, places.expand(gradient.shape), gradient)
        ctx.like = [(side, given[side].ndim, given[side].dtype) for side in sides]
        ctx.save_for_backward(*gradients)
        return pairs.both.new_tensor(-value), beta

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Any) -> Any:
        # a margin is the second of two scores, the first of which is fixed at 0
        parts: list[Any] = [None] * 5
        for part, (side, ndim, dtype) in zip(ctx.saved_tensors, ctx.like, strict=True):
            parts[side] = (gradient * (part if ndim == 2 else part[:, 1])).to(dtype)
        return tuple(parts)


class _Pairs:
    """The scores of both samples, centred, with the prior of their classes.

    Attributes
    ----------
    both : Tensor of shape (2, n_rows, n_classes)
    prior : Tensor of shape (n_classes,)
    blocks : list of Tensor of shape (3, n_rows of the block, n_classes)
        The planes a, b and a + b of rows that fit into a cache.
    """

    def __init__(self, both: Tensor, prior: Tensor) -> None:
        self.both = both
        self.prior = prior
        size = max(1, BLOCK // both.shape[2])
        self.blocks = []
        for start in range(0, both.shape[1], size):
            part = both[:, start : start + size]
            self.blocks.append(torch.cat([part, part[:1] + part[1:]]))

    @classmethod
    def of(
        cls, scores: Tensor, reference_scores: Tensor, prior: Any
    ) -> tuple[_Pairs, Tensor | None]:
        """Return the pairs, and the places of their classes if those are not all: the ones of positive prior."""
        both = torch.stack([scores.detach(), reference_scores.detach()])
        if both.dtype != torch.float64:
            both = both.float()
        if both.ndim == 2:  # a margin s is the pair of scores (0, s)
            both = torch.stack([torch.zeros_like(both), both], dim=2)
        n_classes = both.shape[2]
        if isinstance(prior, str):
            # The fraction of rows, of both samples, in which each class is predicted.
            # On a processor NumPy finds them thirty times faster than torch.
            predicted = both.argmax(dim=2) if both.is_cuda else to_numpy(both).argmax(axis=2)
            counts = torch.as_tensor(predicted).ravel().bincount(minlength=n_classes)
            weights = counts.to(both) / (2 * len(scores))
        else:
            blank = np.zeros((1, n_classes))
            weights = torch.as_tensor(prepare_pairs(blank, blank, prior=prior).prior).to(both)
        places = None
        if not bool(weights.all()):
            # What a class of prior 0 holds does not count.
            places = weights.nonzero()[:, 0]
            both = both.index_select(2, places)
            weights = weights[places]
        # a constant added to a row changes no posterior, and without it no exponential overflows
        return cls(both - both.amax(dim=2, keepdim=True), weights), places

    def sums(self, betas: Sequence[float], derivatives: int) -> list[list[float]]:
        """Return, for each beta, the sum over rows of f and of its derivatives by beta."""
        total: Any = 0.0
        for block in self.blocks:
            parts: list[Tensor] = []
            for found in log_partitions(block, self.prior, betas, derivatives=derivatives):
                parts += found
            total = total + torch.stack(parts).sum(dim=2)
        # The columns are the planes a, b and a + b; the rows, for each beta, L and its derivatives.
        sums = (total[:, 2] - total[:, 0] - total[:, 1]).tolist()
        n_parts = 1 + derivatives
        return [sums[first : first + n_parts] for first in range(0, len(sums), n_parts)]

    def best_start(self, ends: tuple[float, float]) -> float:
        """Look at the whole bracket: return a beta close to the highest maximum.

        Betas at steps of a factor of 2 are evaluated on some of the rows. A maximum lies where the agreement rises at
        one beta and falls at the next one; of several maxima the highest is found on all rows.
        """
        step = math.ceil(self.both[0].numel() / FEW)
        some = self
        if step > 1:
            some = _Pairs(self.both[:, ::step], self.prior)
        low, high = ends
        betas = [low]
        while 2.0 * betas[-1] < high:
            betas.append(2.0 * betas[-1])
        sums = some.sums(betas, derivatives=1)
        starts: list[float] = []
        for j in range(len(betas) - 1):
            if sums[j][1] > 0.0 >= sums[j + 1][1]:
                # The root of the slope by log beta, on a straight line between both.
                rise = betas[j] * sums[j][1]
                fall = -betas[j + 1] * sums[j + 1][1]
                starts.append(betas[j] * 2.0 ** (rise / (rise + fall)))
        if sums[-1][1] > 0.0:
            starts.append(high)
        # Where the agreement falls from the lower end on, that end may be the best.
        if sums[0][1] <= 0.0 or not starts:
            starts.append(low)
        if len(starts) == 1:
            return starts[0]
        tops = [self.climb(start, ends) for start in starts]
        values = [value for (value,) in self.sums(tops, derivatives=0)]
        return tops[values.index(max(values))]

    def climb(self, start: float, ends: tuple[float, float]) -> float:
        """Return the maximum that Newton's method in log beta reaches from a start, inside the bracket."""
        low, high = ends
        # The agreement rises at ``left`` and falls at ``right``, or they are the ends of the bracket.
        left, right = ends
        beta = min(high, max(low, start))
        for _ in range(STEPS):
            ((_, slope, bend),) = self.sums([beta], derivatives=2)
            if not math.isfinite(slope):
                break
            # Derivatives by log beta.
            rise = beta * slope
            curvature = beta * beta * bend + rise
            if rise > 0.0:
                left = beta
            else:
                right = beta
            # where the curve bends up, a step by a factor of e uphill; else Newton's, at most as long
            step = math.copysign(1.0, rise)
            if curvature < 0.0:
                step = max(-1.0, min(1.0, -rise / curvature))
            before = beta
            beta = min(high, max(low, beta * math.exp(step)))
            # a step beyond the bracket is replaced by one to its middle
            if not left <= beta <= right:
                beta = math.sqrt(left * right)
            if not abs(beta - before) > TOLERANCE[self.both.dtype] * before:
                break
        return beta

    def value_and_gradients(self, beta: float, sides: Sequence[int]) -> tuple[float, list[Tensor]]:
        """Return the agreement, and minus its gradient by the scores of some sides."""
        n_rows = self.both.shape[1]
        total = 0.0
        gradients: list[list[Tensor]] = [[] for _ in sides]
        for block in self.blocks:
            values, parts = score_gradients(block, self.prior, beta, sides)
            total += float(values.sum())
            for gradient, part in zip(gradients, parts, strict=True):
                gradient.append(part.mul_(-1.0 / n_rows))
        return total / n_rows, [torch.cat(gradient) for gradient in gradients]
