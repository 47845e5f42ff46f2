"""Agreement from sums on a fixed grid of betas, for data that passes by only once.

The search of `solve_agreement` needs the pairs again and again. Batches of a training loop are seen once: they leave
f, f' and f'' at each beta of a grid, and their limits. Between the points of the grid the sums are interpolated.
"""

from __future__ import annotations

import functools
import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import UNIT_ROUNDOFF, Array, FloatArray, namespace, to_float64
from shiftmetrics._core.blocks import Statistic, map_reduce
from shiftmetrics._core.result import Status, settings_of
from shiftmetrics._core.validation import check_number, describe
from shiftmetrics.agreement.result import (
    BOUNDARY,
    NO_AGREEMENT,
    BetaSearch,
    PosteriorAgreementResult,
    PredictionChanges,
)
from shiftmetrics.agreement.scores import FEW_CLASSES, ScorePairs
from shiftmetrics.agreement.solver import value_fields
from shiftmetrics.agreement.statistic import PredictionSums, limits_of

BETA_RANGE = (2.0**-17, 2.0**17)
"""Ten decades around 1: scores whose spread lies between 1e-4 and 1e4 have their beta inside."""

POINTS_PER_OCTAVE = 2
"""Betas for each factor of 2. The agreement errs by about 1e-9 nats; by more, which the error bound says, where
hundreds of classes share one score exactly."""

NEIGHBOURS = 3
"""Grid points on either side of the maximum that the final polynomial goes through."""

LEAST_EXPONENT = -707.0
"""Below it exponentials are next to nothing, and ten times as slow."""

OCTAVES_PER_EXP = 8
"""exp(2 beta s) is the square of exp(beta s); squaring doubles the rounding error, so start afresh this often."""


INSIDE = Status("converged", "The maximum lies inside the grid of betas.")
BELOW = Status(
    "below_grid",
    "The best beta seems to lie below the grid, so the value is too low.",
    "Choose a beta_range with a smaller low, divide the scores by a constant, or keep the scores (exact=True).",
    ok=False,
)
ABOVE = Status(
    "above_grid",
    "The agreement still rises at the end of the grid, so the value is too low.",
    "Choose a beta_range with a larger high, multiply the scores by a constant, or keep the scores (exact=True).",
    ok=False,
)


@dataclass(frozen=True, eq=False)
class AgreementGridStatistic(PredictionSums, Statistic):
    """Sums over pairs, in nats, at each beta of a grid and at its ends.

    Attributes
    ----------
    value, slope, curvature : ndarray of shape (n_points,)
        Sums of f and of its first two derivatives by beta.
    start_curvature : float
        Sum of f'' at beta = 0, where f and f' are 0.
    limit : float
        Sum of the limits of f towards infinite beta, where every pair shares a predicted class.
    """

    value: FloatArray
    slope: FloatArray
    curvature: FloatArray
    start_curvature: float
    limit: float


def check_range(value: Any) -> tuple[float, float]:
    """Return a range of positive betas as two numbers.

    Raises
    ------
    TypeError, ValueError
        If it is not ``0 < low < high``, or reaches beyond 1e-100 to 1e100.
    """
    try:
        low, high = value
    except (TypeError, ValueError) as error:
        raise TypeError(describe("beta_range", "two numbers (low, high)", value=value)) from error
    low = check_number(low, "beta_range[0]", low=1e-100, high=1e100)
    high = check_number(high, "beta_range[1]", low=low, open_low=True, high=1e100)
    return low, high


def grid_betas(low: float, high: float, points: int = POINTS_PER_OCTAVE) -> FloatArray:
    """Return a logarithmic grid: each beta is exactly twice the one ``points`` places before."""
    n_points = math.ceil(round(math.log2(high / low) * points, 9)) + 1
    octave, place = np.divmod(np.arange(n_points), points)
    return np.ldexp(low * 2.0 ** (place / points), octave)


def grid_result(
    statistic: AgreementGridStatistic,
    betas: FloatArray,
    prior: FloatArray,
    *,
    kind: str = "auto",
    floor: float | None = None,
    uniform: bool = False,
) -> PosteriorAgreementResult:
    """Return the result of sums on a grid; its error bound is an estimate, not a certificate."""
    weight = statistic.weight
    value, slope, curvature = (
        part / weight for part in (statistic.value, statistic.slope, statistic.curvature)
    )
    highest = -math.log(float(prior[prior > 0.0].min()))
    beta, best, error = maximum_between(betas, value, slope, curvature)
    status = INSIDE
    rounding = 64.0 * UNIT_ROUNDOFF * max(1.0, abs(best))
    # Interpolation may exceed the last point by rounding where the maximum is that point.
    if slope[-1] > 0.0 and value[-1] >= best - rounding:
        beta = float(betas[-1])
        best = float(value[-1])
        status = ABOVE
    if best <= rounding:
        beta, best, error, status = 0.0, 0.0, 0.0, NO_AGREEMENT
    # It rises from 0 and falls at the first point: how high it comes between them, only its curvature tells.
    rise = statistic.start_curvature / weight * betas[0] ** 2 / 2.0
    if slope[0] < 0.0 and rise > best + rounding:
        status = BELOW
    if not status.ok:
        error = highest - best
    limit = statistic.limit / weight
    if statistic.disagreeing == 0.0 and limit > rounding and limit >= best - rounding:
        beta, best, error, status = math.inf, limit, 0.0, BOUNDARY
    return PosteriorAgreementResult(
        **value_fields(best, round(weight), prior, statistic.shares),
        error_bound=error + rounding,
        status=status,
        beta=beta,
        changes=PredictionChanges(
            disagreement=statistic.disagreeing / weight, kappa=statistic.kappa
        ),
        search=BetaSearch(beta=betas, value=value, n_evaluations=len(betas), n_passes=1),
        settings=settings_of(
            kind=kind,
            prior="uniform" if uniform else "given",
            floor=floor,
            beta_range=(float(betas[0]), float(betas[-1])),
        ),
    )


def maximum_between(
    betas: FloatArray, value: FloatArray, slope: FloatArray, curvature: FloatArray
) -> tuple[float, float, float]:
    """Return the beta of largest agreement between the ends of a logarithmic grid, its value and estimated error.

    Quintics find the place; there, one polynomial through the values and derivatives at several points on either
    side takes over. How far it departs from the quintic tells how far to trust it.
    """
    from scipy.interpolate import BPoly, KroghInterpolator, PPoly

    # In the logarithm of beta the agreement has one scale everywhere.
    x = np.log(betas)
    derivatives = np.stack([value, betas * slope, betas * (betas * curvature + slope)], axis=1)
    quintic = PPoly.from_bernstein_basis(BPoly.from_derivatives(x, derivatives))
    tried = np.concatenate([x, quintic.derivative().roots(extrapolate=False)])
    place = float(tried[np.nanargmax(quintic(tried))])
    after = int(np.searchsorted(x, place))
    part = slice(max(0, after - NEIGHBOURS), after + NEIGHBOURS)
    best = float(KroghInterpolator(np.repeat(x[part] - place, 3), derivatives[part].ravel())(0.0))
    return math.exp(place), best, abs(best - float(quintic(place)))


def grid_statistic(
    pairs: ScorePairs,
    betas: FloatArray,
    per_octave: int = POINTS_PER_OCTAVE,
    *,
    executor: Executor | None = None,
) -> AgreementGridStatistic:
    """Return the sums at increasing betas, of which each is twice the one ``per_octave`` places before: one pass."""
    limits = limits_of(pairs, executor=executor)
    kernel = functools.partial(_block_sums, pairs, betas=betas, per_octave=per_octave)
    sums: FloatArray = map_reduce(kernel, pairs.slices(), executor=executor)
    return AgreementGridStatistic(
        weight=limits.weight,
        value=sums[:-1, 0],
        slope=sums[:-1, 1],
        curvature=sums[:-1, 2],
        start_curvature=float(sums[-1, 2]),
        limit=limits.pair_limit - limits.single_limit,
        disagreeing=limits.disagreeing,
        predicted=limits.predicted,
        reference_predicted=limits.reference_predicted,
    )


def _block_sums(
    pairs: ScorePairs, rows: slice, *, betas: FloatArray, per_octave: int
) -> FloatArray:
    """Sum f, f' and f'' over a slice of pairs at each beta, and at 0 in the last row: shape (n_points + 1, 3).

    Here f = L(a + b) - L(a) - L(b), as in `shiftmetrics.agreement.statistic`.
    """
    planes, top = _centred(pairs, rows)
    xp, prior = namespace(planes), pairs.prior_vector(planes)
    weights = pairs.row_weights(rows, planes)
    first = planes * prior
    second = first * planes
    mean = xp.sum(first, axis=2)
    sums = xp.zeros((len(betas) + 1, 3), dtype=xp.float64, device=getattr(planes, "device", None))
    sums[-1, 2] = _difference(xp.sum(second, axis=2) - mean * mean) @ weights
    contract = xp.vecdot
    if isinstance(planes, np.ndarray) and planes.shape[2] <= FEW_CLASSES:
        contract = functools.partial(
            np.einsum, "srk,srk->sr"
        )  # its loop is along the rows, the long axis
    with np.errstate(under="ignore"):
        for place in range(per_octave):
            terms = None
            for octave, j in enumerate(range(place, len(betas), per_octave)):
                beta = float(betas[j])
                terms = _next_terms(
                    pairs, planes, beta, None if octave % OCTAVES_PER_EXP == 0 else terms
                )
                total = terms @ prior
                mean = contract(terms, first) / total
                square = contract(terms, second) / total
                # two logarithms, not three; of a product they would be one, which tiny priors underflow
                value = beta * top + xp.log(total[2, ...] / total[0, ...]) - xp.log(total[1, ...])
                sums[j, 0] = value @ weights
                sums[j, 1] = (top + _difference(mean)) @ weights
                sums[j, 2] = _difference(square - mean * mean) @ weights
    return to_float64(sums)


def _next_terms(pairs: ScorePairs, planes: Array, beta: float, half: Array | None) -> Array:
    """Return exp(beta s), as the square of that of half the beta where it is given; NumPy's in one buffer."""
    if not isinstance(planes, np.ndarray):
        return namespace(planes).exp(beta * planes) if half is None else half * half
    if half is not None:
        return np.multiply(half, half, out=half)
    terms = pairs.plane_buffer("terms", planes.shape[1:])
    np.multiply(planes, beta, out=terms)
    return np.exp(np.maximum(terms, LEAST_EXPONENT, out=terms), out=terms)


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
        raise ValueError(
            describe("scores", "within 1e100 of each other in a row", "more", "Rescale them.")
        )
    return block, top


def _difference(parts: Array) -> Array:
    """Return what belongs to a + b less what belongs to a and to b, from an array of shape (3, n_rows)."""
    return parts[2, ...] - parts[0, ...] - parts[1, ...]
