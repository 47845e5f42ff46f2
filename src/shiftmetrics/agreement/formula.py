"""The formula of posterior agreement, for a block of rows of any array library.

With a class prior ``pi`` (uniform unless given) the posteriors of one row are ``p(k) ~ pi_k exp(beta a_k)`` and
``q(k) ~ pi_k exp(beta b_k)`` [arXiv:2503.16271, eq. (10)], and its contribution to the kernel of theorem 2 is

    f(beta) = log sum_k p(k) q(k) / pi_k = L(a + b) - L(a) - L(b),    L(s) = log sum_k pi_k exp(beta s_k)

with f(0) = 0. Summed over rows it is a difference of two convex functions of ``beta``: the sums of L(a + b) and of
L(a) + L(b). A block holds the planes [a, b, a + b]; rows are centred (max a = max b = 0), so that both fall from 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, as_like, namespace

FEW_CLASSES = 50
"""Up to here, sums over the classes of a row are too short for the processor's vector units."""

DOUBLINGS = 7
"""exp(2 beta s) is the square of exp(beta s); squaring doubles the rounding error, so start afresh after so many."""

Buffer = Callable[[str], Array]
"""Returns the array of this name in the shape of a block, which NumPy's numbers are written into."""


def log_partitions(
    block: Array,
    prior: Array,
    betas: Sequence[float],
    *,
    derivatives: int = 1,
    buffer: Buffer | None = None,
) -> Iterator[list[Array]]:
    """Yield, for each beta, L of the planes [a, b, a + b] and its derivatives by beta, each of shape (3, n_rows).

    Parameters
    ----------
    block : array of shape (3, n_rows, n_classes)
        The planes a, b and a + b, where max a = max b = 0 in each row.
    prior : array of shape (n_classes,)
        Positive.
    betas : sequence of float
        Each that is twice the one before costs no exponentials.
    derivatives : {0, 1, 2}, default 1
        How many follow L.
    buffer : callable, optional
        Memory that is used again, for a block of NumPy.
    """
    xp = namespace(block)
    limits = xp.finfo(block.dtype)
    least = _least_exponent(limits)
    # Above this exponent of a + b the terms of a row are far from vanishing, whatever their prior.
    # Terms that were raised to exp(least) then add less than eps^1.5 of the sum of their row.
    deep = least - 1.5 * math.log(limits.eps) - math.log(float(xp.min(prior)))
    # What serves all betas: prior * scores, and how low the largest a + b of a row lies.
    factors = _factors(block, prior, derivatives, buffer)
    pair = block[2, ...]
    top = xp.max(pair, axis=1)
    lowest = float(xp.min(top))
    terms = None
    last = 0.0
    doubled = 0
    for beta in betas:
        if terms is not None and beta == 2.0 * last and doubled < DOUBLINGS:
            terms *= terms
            doubled += 1
        else:
            terms = _exponentials(block, beta, least, buffer)
            doubled = 0
        last = beta
        parts = _moments(terms, block, prior, derivatives, factors)
        # Where a and b contradict each other, every product may vanish: such rows get a shift of their own.
        if beta * lowest < deep:
            below = (pair - top[:, None])[None, ...]
            own = _moments(xp.exp(beta * below), below, prior, derivatives, [])
            # L = log sum pi exp(beta (s - top)) + beta top, and its derivative gets top back; the variance has no
            # shift.
            own[0] = own[0] + beta * top
            if derivatives:
                own[1] = own[1] + top
            of_pair = as_like(np.array([[False], [False], [True]]), block)
            rows = (beta * top < deep) & of_pair
            parts = [xp.where(rows, mine, part) for mine, part in zip(own, parts, strict=True)]
        yield parts


def difference(part: Array) -> Array:
    """Return what belongs to a + b less what belongs to a and to b, from an array of shape (..., 3, n_rows)."""
    return part[..., 2, :] - part[..., 0, :] - part[..., 1, :]


def score_gradients(
    block: Array, prior: Array, beta: float, sides: Sequence[int]
) -> tuple[Array, list[Array]]:
    """Return f of each row, and its derivative by the scores of some sides, each of shape (n_rows, n_classes).

    The derivative is beta times the posterior of a + b less that of the side (0 for a, 1 for b).
    """
    xp = namespace(block)
    # Each plane with its own shift: no exponential overflows, and no row vanishes.
    top = xp.max(block[2, ...], axis=1)
    planes = xp.concat([block[:2, ...], (block[2, ...] - top[:, None])[None, ...]])
    least = _least_exponent(xp.finfo(block.dtype))
    terms = xp.exp(xp.clip(beta * planes, min=least))
    # f = beta max(a + b) + log Z(a + b) - log Z(a) - log Z(b), and its derivative.
    total = terms @ prior
    value = difference(xp.log(total)) + beta * top
    weights = (beta / total)[..., None]
    pair = terms[2, ...] * weights[2, ...]
    return value, [prior * (pair - terms[side, ...] * weights[side, ...]) for side in sides]


def _least_exponent(limits: Any) -> float:
    """Return the least exponent of a term: smaller ones would be denormal numbers, which are slow."""
    return math.log(limits.smallest_normal) + 1.0


def _exponentials(block: Array, beta: float, least: float, buffer: Buffer | None) -> Array:
    """Return exp(beta a), exp(beta b) and exp(beta (a + b)); in NumPy the last one is the product of the others."""
    if buffer is None or not isinstance(block, np.ndarray):
        xp = namespace(block)
        return xp.exp(xp.clip(beta * block, min=least))
    terms = buffer("terms")
    # Scores that lie far below the largest one may become minus infinity, whose exponential is 0.
    with np.errstate(over="ignore"):
        np.multiply(block[:2], beta, out=terms[:2])
    np.exp(terms[:2], out=terms[:2])
    np.multiply(terms[0], terms[1], out=terms[2])
    return terms


def _factors(block: Array, prior: Array, derivatives: int, buffer: Buffer | None) -> list[Array]:
    """Return scores and scores^2, times the prior where it is not uniform, in memory of NumPy: they serve all betas.

    A uniform prior cancels in means under w: the scores themselves serve, and a plane of memory less is read.
    """
    factors: list[Array] = []
    if buffer is None or not isinstance(block, np.ndarray):
        return factors
    factor = block if _is_uniform(prior) else np.multiply(prior, block, out=buffer("factor 0"))
    for order in range(derivatives):
        if order > 0:
            factor = np.multiply(factor, block, out=buffer(f"factor {order}"))
        factors.append(factor)
    return factors


def _is_uniform(prior: Array) -> bool:
    return bool((prior == prior[0]).all())


def _moments(
    terms: Array, planes: Array, prior: Array, derivatives: int, factors: list[Array]
) -> list[Array]:
    """Return log sum_k w_k with w = prior * terms, then the mean and the variance of the scores under w."""
    # E[s] and E[s^2] under w, less the square of the mean.
    total = terms @ prior
    parts = [namespace(terms).log(total)]
    weighted = terms
    for order in range(derivatives):
        if factors:
            # The loop of einsum is along the rows, where these are the long axis.
            sums = np.einsum("srk,srk->sr", terms, factors[order])
            if _is_uniform(prior):
                sums *= prior[0]
        else:
            weighted = weighted * planes
            sums = weighted @ prior
        parts.append(sums / total)
    if derivatives > 1:
        parts[2] = parts[2] - parts[1] * parts[1]
    return parts
