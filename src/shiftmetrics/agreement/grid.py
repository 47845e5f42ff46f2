"""Agreement on a fixed grid of betas: sums of the value and two derivatives, for data that passes by only once.

The search of `solve_agreement` asks for betas as it goes, so it needs the pairs again and again. A stream (the
batches of a training loop) is seen once: it leaves f, f' and f'' at each beta of a grid, and its limits.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, namespace, to_float64
from shiftmetrics._core.blocks import map_reduce, row_blocks
from shiftmetrics._core.record import Record
from shiftmetrics._core.statistics import Statistic
from shiftmetrics._core.validation import check_integer, check_number, describe
from shiftmetrics.agreement.scores import ScorePairs, on_cpu

OCTAVES_PER_EXP = 5
"""exp(2 beta s) is the square of exp(beta s); squaring doubles the rounding error, so start afresh this often."""

SETTLED = 45.0
"""A row is at its limit to rounding once beta times its gap (best to next class) exceeds this: e^-45 = 3e-20."""

PLANE_BYTES = 1 << 17
"""Float64 bytes of one sample in one block: the twelve planes at work stay in a core's L2 cache."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BetaGrid(Record):
    """A logarithmic grid of inverse temperatures, the same for all that is to be added up.

    The default reaches over ten decades with 69 points, from 7.6e-6 to 131072: scores whose spread lies between
    1e-4 and 1e4 find their beta inside.

    Parameters
    ----------
    low, high : float, default 2**-17 and 2**17
        Smallest and largest beta. ``high`` moves up to a whole number of steps.
    points_per_octave : int, default 2
        Points for each factor of 2. With 2 the agreement errs by about 1e-9 nats; by more, which `error_bound` says,
        where hundreds of classes share one score exactly.

    Raises
    ------
    TypeError, ValueError
        If ``low`` is not positive, ``high`` not larger, or both are too far apart.

    Examples
    --------
    >>> grid = BetaGrid(low=0.5, high=4.0, points_per_octave=1)
    >>> grid.betas
    array([0.5, 1. , 2. , 4. ])
    """

    low: float = 2.0**-17
    high: float = 2.0**17
    points_per_octave: int = 2

    def __post_init__(self) -> None:
        low = check_number(self.low, "low", low=1e-100, high=1e100)
        high = check_number(self.high, "high", low=1e-100, high=1e100)
        points = check_integer(self.points_per_octave, "points_per_octave", low=1, high=64)
        if high <= low:
            raise ValueError(describe("high", f"greater than low ({low:g})", f"{high:g}"))
        for name, value in (("low", low), ("high", high), ("points_per_octave", points)):
            object.__setattr__(self, name, value)
        super().__post_init__()

    @property
    def n_points(self) -> int:
        """Number of betas."""
        return math.ceil(round(math.log2(self.high / self.low) * self.points_per_octave, 9)) + 1

    @property
    def betas(self) -> FloatArray:
        """The betas, of shape (n_points,); each is twice the one ``points_per_octave`` places before, exactly."""
        steps = np.arange(self.n_points)
        octave, place = np.divmod(steps, self.points_per_octave)
        return np.ldexp(self.low * 2.0 ** (place / self.points_per_octave), octave)


@dataclass(frozen=True, eq=False)
class AgreementGridStatistic(Statistic):
    """Sums over pairs, in nats, at each beta of a grid and at its ends.

    Attributes
    ----------
    weight : float
        Sum of the observation weights.
    value, slope, curvature : ndarray of shape (n_points,)
        Sums of f and of its first two derivatives by beta.
    start_curvature : float
        Sum of f'' at beta = 0, where f and f' are 0.
    limit : float
        Sum of the limits of f towards infinite beta, of the pairs that share a predicted class.
    disagreeing : float
        Weight of those that share none.
    predicted : ndarray of shape (n_classes,)
        Weight of the rows, of either sample, in which a class is predicted; ties share evenly.
    """

    weight: float
    value: FloatArray
    slope: FloatArray
    curvature: FloatArray
    start_curvature: float
    limit: float
    disagreeing: float
    predicted: FloatArray


def grid_statistic(
    pairs: ScorePairs, grid: BetaGrid, *, executor: Executor | None = None
) -> AgreementGridStatistic:
    """Return the sums of some pairs on a grid of betas: one pass.

    Parameters
    ----------
    pairs : ScorePairs
        From `prepare_pairs`.
    grid : BetaGrid
        Statistics add up only when they share it.
    executor : concurrent.futures.Executor, optional
        Threads that work on blocks of rows. Default: one for each CPU.

    Returns
    -------
    AgreementGridStatistic

    Raises
    ------
    ValueError
        If scores are so large that their squares overflow.

    Examples
    --------
    >>> from shiftmetrics.agreement import prepare_pairs
    >>> pairs = prepare_pairs([1.0, 2.0, -1.0], [1.0, 1.5, 0.5])
    >>> statistic = grid_statistic(pairs, BetaGrid(low=0.5, high=4.0))
    >>> statistic.weight, statistic.disagreeing, statistic.value.shape
    (3.0, 1.0, (7,))
    """
    return statistic_at(pairs, grid.betas, grid.points_per_octave, executor=executor)


def statistic_at(
    pairs: ScorePairs, betas: FloatArray, per_octave: int, *, executor: Executor | None = None
) -> AgreementGridStatistic:
    """Return the sums at increasing betas, of which each is twice the one ``per_octave`` places before."""
    if on_cpu(pairs.scores):
        slices = row_blocks(pairs.n_samples, 8 * pairs.n_classes, block_bytes=PLANE_BYTES)
    else:
        slices = pairs.slices()
    return map_reduce(lambda rows: _block_sums(pairs, rows, betas, per_octave), slices, executor=executor)


def _block_sums(pairs: ScorePairs, rows: slice, betas: FloatArray, per_octave: int) -> AgreementGridStatistic:
    """Sum over a slice of pairs. Here f = L(a + b) - L(a) - L(b), as in `shiftmetrics.agreement.statistic`."""
    planes, top = _centred(pairs, rows)
    xp = namespace(planes)
    weights, prior = pairs.row_weights(rows, planes), pairs.prior_vector(planes)
    best = xp.astype(planes == 0.0, xp.float64)
    limits = _difference(xp.log(best @ prior))
    agrees = top == 0.0  # the best classes of a + b reach 0 only where a and b share one
    one, none = xp.ones_like(top), xp.zeros_like(top)
    ends = xp.stack([one, xp.where(agrees, limits, none), xp.where(agrees, none, one)]) @ weights
    weight, limit, disagreeing = (float(part) for part in to_float64(ends))
    share = weights / xp.sum(best[:2, ...], axis=2)
    predicted = np.zeros(pairs.n_classes)
    predicted[pairs.prior > 0.0] = to_float64(share[0, ...] @ best[0, ...] + share[1, ...] @ best[1, ...])
    sums, start = _sums_on_grid(pairs, planes, top, limits, weights, betas, per_octave)
    return AgreementGridStatistic(
        weight=weight,
        value=sums[:, 0],
        slope=sums[:, 1],
        curvature=sums[:, 2],
        start_curvature=start,
        limit=limit,
        disagreeing=disagreeing,
        predicted=predicted,
    )


def _centred(pairs: ScorePairs, rows: slice) -> tuple[Array, Array]:
    """Return a, b and a + b, each row less its maximum, and the maximum of a + b for a and b of maximum 0."""
    block = pairs.block(rows)
    xp = namespace(block)
    top = xp.max(block[2, ...], axis=1)
    if isinstance(block, np.ndarray):
        block[2] -= top[:, None]
    else:
        block = xp.concat([block[:2, ...], (block[2, ...] - top[:, None])[None, ...]])
    if not float(xp.min(block)) > -1e100:
        raise ValueError(describe("scores", "within 1e100 of each other in a row", "more", "Rescale them."))
    return block, top


def _sums_on_grid(
    pairs: ScorePairs,
    planes: Array,
    top: Array,
    limits: Array,
    weights: Array,
    betas: FloatArray,
    per_octave: int,
) -> tuple[FloatArray, float]:
    """Return the sums of f, f' and f'' at each beta, of shape (n_points, 3), and that of f'' at 0."""
    xp = namespace(planes)
    prior, best = pairs.prior_vector(planes), None
    n_rows = planes.shape[1]
    if isinstance(planes, np.ndarray):
        # Rows come in the order in which they settle, the last to do so first: the others drop off the end.
        gap = -np.where(planes < 0.0, planes, -np.inf).max(axis=2).max(axis=0)
        order = np.argsort(gap)
        ordered = pairs.plane_buffer("ordered", planes.shape[1:])
        ordered[...] = planes[:, order]
        planes, top, limits, weights = ordered, top[order], limits[order], weights[order]
        # A class that the prior all but excludes must win by more before the others are lost in rounding.
        active = np.searchsorted(gap[order], (SETTLED + math.log(prior.max() / prior.min())) / betas)
        settled = np.zeros((2, n_rows + 1))  # sums from each row to the end
        settled[:, :-1] = np.cumsum((np.stack([limits, top]) * weights)[:, ::-1], axis=1)[:, ::-1]
        sums = np.stack(
            [settled[0, active] + betas * settled[1, active], settled[1, active], 0.0 * betas], axis=1
        )
        if pairs.n_classes == 2:
            planes, prior, best = _other_class(planes, prior)
        first, second, terms = (
            pairs.plane_buffer(name, planes.shape[1:]) for name in ("first", "second", "terms")
        )
        np.multiply(planes, prior, out=first)
        np.multiply(first, planes, out=second)
    else:
        active = np.full(len(betas), n_rows)
        first = planes * prior
        second = first * planes
        terms = first
        sums = xp.zeros((len(betas), 3), dtype=xp.float64, device=planes.device)
    mean = xp.sum(first, axis=2)
    start = float(_difference(xp.sum(second, axis=2) - mean * mean) @ weights)
    with np.errstate(under="ignore"):
        for place in range(per_octave):
            powers = terms
            for octave, j in enumerate(range(place, len(betas), per_octave)):
                m, beta = int(active[j]), float(betas[j])
                if m == 0:
                    break
                fresh = octave % OCTAVES_PER_EXP == 0
                powers = _next_terms(powers[:, :m, ...], planes[:, :m, ...], beta, fresh=fresh)
                total = powers @ prior if best is None else best[:, :m] + _contract(powers, prior[:, :m, ...])
                mean = _contract(powers, first[:, :m, ...]) / total
                square = _contract(powers, second[:, :m, ...]) / total
                rows = xp.stack(
                    [
                        # two logarithms, not three; of a product they would be one, which tiny priors underflow
                        beta * top[:m] + xp.log(total[2, ...] / total[0, ...]) - xp.log(total[1, ...]),
                        top[:m] + _difference(mean),
                        _difference(square - mean * mean),
                    ]
                )
                sums[j, :] += rows @ weights[:m]
    return to_float64(sums), start


def _difference(parts: Array) -> Array:
    """Return what belongs to a + b less what belongs to a and to b, from an array of shape (3, n_rows)."""
    return parts[2, ...] - parts[0, ...] - parts[1, ...]


def _next_terms(terms: Array, planes: Array, beta: float, *, fresh: bool) -> Array:
    """Return exp(beta s), in place for NumPy: by exponentials, or as the squares of those at half the beta."""
    if isinstance(terms, np.ndarray):
        if fresh:
            np.multiply(planes, beta, out=terms)
            return np.exp(terms, out=terms)
        return np.multiply(terms, terms, out=terms)
    return namespace(planes).exp(beta * planes) if fresh else terms * terms


def _other_class(planes: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Keep the lesser of two classes, of shape (3, n_rows, 1), with its prior, and the prior of the best.

    The best class of a row has score 0, so that its term is 1 at every beta.
    """
    second_is_less = planes[..., 1] < 0.0
    lesser = np.where(second_is_less, planes[..., 1], planes[..., 0])
    of_lesser, of_best = (
        np.where(second_is_less, *pair) for pair in ((prior[1], prior[0]), (prior[0], prior[1]))
    )
    return lesser[..., None], of_lesser[..., None], of_best


def _contract(terms: Array, factors: Array) -> Array:
    """Sum the products over classes."""
    if terms.shape[2] == 1:
        return terms[..., 0] * factors[..., 0]
    if isinstance(terms, np.ndarray):
        return np.einsum("srk,srk->sr", terms, factors)
    return namespace(terms).sum(terms * factors, axis=2)
