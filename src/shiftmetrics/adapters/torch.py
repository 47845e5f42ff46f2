"""Posterior agreement as a training objective in torch: differentiable in the scores."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.validation import check_number, needs
from shiftmetrics.agreement.grid import check_range
from shiftmetrics.agreement.scores import named_prior, prepare_pairs

with needs("shiftmetrics.adapters.torch", "torch", "'shiftmetrics[torch]'"):
    import torch
    from torch import Tensor

POINTS_PER_OCTAVE = 2
"""Betas of the first look at the bracket for each factor of 2."""

FEW = 1 << 13
"""Scores of either sample that the first look reads, unless it has to be thorough."""

STEPS = 30
"""Most betas that a climb evaluates; two or three suffice from a beta that is about right."""

TOLERANCE = {torch.float32: 5e-3, torch.float64: 1e-9}
"""Relative step of beta that is no longer taken: the gradient errs by about as much, the agreement by its square."""

BLOCK = 1 << 15
"""Scores of either sample in one block: its planes stay in a core's cache."""

LEAST = -80.0
"""Exponents are raised to it: smaller terms add nothing, and are slow where they are denormal."""

STEPS_BETWEEN_LOOKS = 32
"""Steps of a training loop from one look at the whole bracket to the next."""


class AgreementLoss(torch.nn.Module):
    """Minus the posterior agreement of batches, as `agreement_loss`, each searched from the beta of the one before.

    Every 32 batches the whole bracket is searched anew. The loss and its gradient then cost about six times those of
    a cross-entropy.

    Parameters
    ----------
    prior, beta_range
        As in `agreement_loss`.

    Attributes
    ----------
    beta : float or None
        The inverse temperature of the last batch: the lower end of the bracket where its pairs hardly agree, the
        upper one where hardly any of them contradict.

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
        Class prior. With the shares of the predicted classes of the batch a model that collapses to one class has
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
    >>> bool(loss < 0), scores.grad[2].sign().tolist()  # the third pair contradicts: lower its first score
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
            starts = pairs.thinned().starts(ends)
            start = starts[0] if len(starts) == 1 else pairs.highest(starts, ends)
        point = pairs.climb(start, ends)
        if not (math.isfinite(point.value) and math.isfinite(point.rise)):
            prepare_pairs(scores, reference_scores, prior=prior)  # names what is not finite
        ctx.like, parts = [], []
        for side, given in enumerate((scores, reference_scores)):
            if ctx.needs_input_grad[side]:
                ctx.like.append((side, given.ndim, given.dtype))
                parts.append(pairs.gradient(side, point.beta))
                if places is not None:
                    whole = parts[-1].new_zeros(
                        len(given), given.shape[1] if given.ndim == 2 else 2
                    )
                    parts[-1] = whole.index_copy_(1, places, parts[-1])
        ctx.save_for_backward(*parts)
        return pairs.both.new_tensor(-point.value), point.beta

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Any) -> Any:
        parts: list[Any] = [None] * 5
        for part, (side, ndim, dtype) in zip(ctx.saved_tensors, ctx.like, strict=True):
            parts[side] = (gradient * (part if ndim == 2 else part[:, 1])).to(dtype)
        return tuple(parts)


class _Point(NamedTuple):
    """A beta, the agreement there, and its derivative by log beta."""

    beta: float
    value: float
    rise: float


class _ScoreBlock:
    """Rows of both samples and of their sum, of shape (3, n_rows, n_classes) and with row maxima of 0.

    ``fall`` is the sum over rows of what was taken off the sum of the centred samples.
    """

    def __init__(self, both: Tensor, prior: Tensor) -> None:
        pair = both[0] + both[1]
        top = pair.amax(dim=1, keepdim=True)
        self.sides, self.fall = torch.stack([both[0], both[1], pair.sub_(top)]), float(top.sum())
        self.prior, self.terms = prior, torch.empty_like(self.sides)
        self.total = self.sides[:, :, 0]

    def logs(self, beta: float) -> Tensor:
        """Return L of both samples and of their sum less ``beta * fall``; keep its terms and their sums."""
        torch.mul(self.sides, beta, out=self.terms).clamp_(min=LEAST).exp_()
        self.total = self.terms @ self.prior
        return self.total.log()

    def sums(self, beta: float) -> Tensor:
        """Return the sums over rows of these and of their first two derivatives, of shape (3 derivatives, 3)."""
        logs = self.logs(beta)
        moments = self.terms * self.sides
        first = (moments @ self.prior) / self.total
        second = (moments.mul_(self.sides) @ self.prior) / self.total
        return torch.stack([logs, first, second.addcmul_(first, first, value=-1.0)]).sum(dim=2)

    def gradient(self, side: int, factor: float) -> Tensor:
        """Return ``factor`` times the posterior of a sample less that of both, at the beta of the last sums."""
        share = (factor / self.total)[:, :, None]
        return (
            (self.terms[side] * share[side])
            .addcmul_(self.terms[2], share[2], value=-1.0)
            .mul_(self.prior)
        )


class _Pairs:
    """Blocks of rows that fit into a cache, and the prior of the classes."""

    def __init__(self, both: Tensor, prior: Tensor) -> None:
        self.both, self.prior, self.n_rows = both, prior, both.shape[1]
        self.blocks = [_ScoreBlock(part, prior) for part in _blocks(both)]
        self.fall = sum(block.fall for block in self.blocks)

    @classmethod
    def of(
        cls, scores: Tensor, reference_scores: Tensor, prior: Any
    ) -> tuple[_Pairs, Tensor | None]:
        """Return the pairs, and the places of their classes if those are not all: the ones of positive prior."""
        both = torch.stack([scores.detach(), reference_scores.detach()])
        both = both if both.dtype == torch.float64 else both.float()
        if both.ndim == 2:  # a margin s is the pair of scores (0, s)
            both = torch.stack([torch.zeros_like(both), both], dim=2)
        if isinstance(prior, str):
            both -= both.amax(dim=2, keepdim=True)
            weights = torch.stack([_predictions(part) for part in _blocks(both)]).sum(dim=0) / (
                2 * both.shape[1]
            )
        else:
            blank = np.zeros((1, both.shape[2]))
            given = prepare_pairs(blank, blank, prior=prior).prior
            weights = torch.as_tensor(given, dtype=both.dtype, device=both.device)
        places = None
        if not bool(weights.all()):
            places = weights.nonzero()[:, 0]
            both, weights = both.index_select(2, places), weights[places]
        if not isinstance(prior, str):  # what a class of prior 0 holds does not count
            both -= both.amax(dim=2, keepdim=True)
        return cls(both, weights), places

    def thinned(self) -> _Pairs:
        """Return some of the rows, for a first look."""
        step = max(1, self.both[0].numel() // FEW)
        return self if step == 1 else _Pairs(self.both[:, ::step], self.prior)

    def starts(self, ends: tuple[float, float]) -> list[float]:
        """Return the betas of a grid at which the agreement is largest around, the best one first."""
        low, high = ends
        n_betas = math.ceil(POINTS_PER_OCTAVE * math.log2(high / low)) + 2
        betas = [low * (high / low) ** (place / (n_betas - 1)) for place in range(n_betas)]
        values = [-math.inf]
        for beta in betas:
            a, b, pair = (
                torch.stack([block.logs(beta).sum(dim=1) for block in self.blocks])
                .sum(dim=0)
                .tolist()
            )
            values.append(pair - a - b + beta * self.fall)
        values.append(-math.inf)
        tops = [j for j in range(n_betas) if values[j] <= values[j + 1] >= values[j + 2]]
        return [betas[j] for j in sorted(tops, key=lambda j: -values[j + 1])] or betas[:1]

    def highest(self, starts: list[float], ends: tuple[float, float]) -> float:
        """Return the beta of the highest of several maxima."""
        return max(
            (self.climb(start, ends) for start in starts), key=lambda point: point.value
        ).beta

    def climb(self, start: float, ends: tuple[float, float]) -> _Point:
        """Return the maximum that Newton's method in log beta reaches from a start, inside the bracket."""
        low, high = left, right = (
            ends  # the agreement rises at ``left`` and falls at ``right``, or they are the ends
        )
        aim, tolerance = min(high, max(low, start)), TOLERANCE[self.both.dtype]
        for _ in range(STEPS):
            beta = aim
            parts = torch.stack([block.sums(beta) for block in self.blocks]).sum(dim=0).tolist()
            value, slope, bend = (pair - a - b for a, b, pair in parts)
            value, rise = value + beta * self.fall, beta * (slope + self.fall)
            curvature = beta * beta * bend + rise
            left, right = (beta, right) if rise > 0.0 else (left, beta)
            step = -rise / curvature if curvature < 0.0 else math.copysign(1.0, rise)
            aim = min(high, max(low, beta * math.exp(max(-1.0, min(1.0, step)))))
            if not left <= aim <= right:
                aim = math.sqrt(left * right)
            if not abs(aim - beta) > tolerance * beta:
                break
        return _Point(beta, value / self.n_rows, rise)

    def gradient(self, side: int, beta: float) -> Tensor:
        """Return the gradient of the loss by the scores of one sample, at the beta that was looked at last."""
        return torch.cat([block.gradient(side, beta / self.n_rows) for block in self.blocks])


def _blocks(both: Tensor) -> list[Tensor]:
    """Cut the rows into blocks whose planes stay in a core's cache."""
    size = max(1, BLOCK // both.shape[2])
    return [both[:, start : start + size] for start in range(0, both.shape[1], size)]


def _predictions(both: Tensor) -> Tensor:
    """Count the predictions of each class in both samples, centred; ties share evenly."""
    best = both.sign().add_(1.0)  # 1 where the score is the largest, else 0
    share = 1.0 / best.sum(dim=2)
    return share[0] @ best[0] + share[1] @ best[1]
