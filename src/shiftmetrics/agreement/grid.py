"""Agreement from sums on a fixed grid of betas, for data that passes by only once.

The search of `solve_agreement` needs the pairs again and again. Batches of a training loop are seen once: they leave
f, f' and f'' at each beta of a grid, and their limits. Between the points of the grid the sums are interpolated.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from shiftmetrics._core.arrays import UNIT_ROUNDOFF, FloatArray, namespace, to_float64
from shiftmetrics._core.blocks import Statistic, map_reduce
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.result import Status, settings_of
from shiftmetrics._core.validation import check_number
from shiftmetrics.agreement.channel import channel_of
from shiftmetrics.agreement.formula import difference, log_partitions
from shiftmetrics.agreement.result import (
    BOUNDARY,
    NO_AGREEMENT,
    BetaSearch,
    PosteriorAgreementResult,
    PredictionChanges,
)
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.agreement.statistic import VANISHING, PredictionSums, limits_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

BETA_RANGE = (2.0**-10, 2.0**9)
"""Nearly six decades: scores whose spread lies between 0.02 and 2000 have their beta inside."""

CHAINS = 2
"""Betas for each factor of 2, in as many chains of which each beta is twice the one before. The agreement errs by
about 1e-9 nats; by more, which the error bound says, where hundreds of classes have exactly the same score."""

NEIGHBOURS = 3
"""Grid points on either side of the maximum that the final polynomial goes through."""


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
        Sum of the limits of f towards infinite beta, where every pair has a predicted class in common.
    """

    value: FloatArray
    slope: FloatArray
    curvature: FloatArray
    start_curvature: float
    limit: float

    @classmethod
    def empty(cls, n_betas: int, n_classes: int) -> Self:
        """Return the sums over no pair."""
        sums: dict[str, Any] = dict.fromkeys(cls.field_names(), 0.0)
        for name in ("value", "slope", "curvature"):
            sums[name] = np.zeros(n_betas)
        for name in ("predicted", "reference_predicted"):
            sums[name] = np.zeros(n_classes)
        return cls(**sums)


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
        raise ArgumentTypeError("beta_range", "two numbers (low, high)", value=value) from error
    low = check_number(low, "beta_range[0]", low=1e-100, high=1e100)
    high = check_number(high, "beta_range[1]", low=low, open_low=True, high=1e100)
    return low, high


def grid_betas(low: float, high: float) -> FloatArray:
    """Return betas from ``low`` to at least ``high``, each twice the one `CHAINS` places before."""
    n_betas = math.ceil(round(math.log2(high / low) * CHAINS, 9)) + 1
    octave, place = np.divmod(np.arange(n_betas), CHAINS)
    # `ldexp` doubles without rounding: `log_partitions` squares exponentials only where a beta is exactly twice the
    # last one.
    return np.ldexp(low * 2.0 ** (place / CHAINS), octave)


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
    # No agreement exceeds this: it bounds the error where the maximum lies outside the grid.
    highest = -math.log(float(prior[prior > 0.0].min()))
    beta, best, error = maximum_between(betas, value, slope, curvature)
    status = INSIDE
    rounding = 64.0 * UNIT_ROUNDOFF * max(1.0, abs(best))
    # Interpolation may exceed the last point by rounding where the maximum is that point.
    if slope[-1] > 0.0 and value[-1] >= best - rounding:
        beta = float(betas[-1])
        best = float(value[-1])
        status = ABOVE
    # Nothing above 0, which beta = 0 gives: no agreement.
    if best <= rounding:
        beta, best, error, status = 0.0, 0.0, 0.0, NO_AGREEMENT
    # It rises from 0 and falls at the first point: how high it comes between them, only its curvature tells.
    rise = statistic.start_curvature / weight * betas[0] ** 2 / 2.0
    if slope[0] < 0.0 and rise > best + rounding:
        status = BELOW
    if not status.ok:
        error = highest - best
    # Where no pair contradicts, the limit towards infinite beta is a candidate too.
    limit = statistic.limit / weight
    if statistic.disagreeing == 0.0 and limit > rounding and limit >= best - rounding:
        beta, best, error, status = math.inf, limit, 0.0, BOUNDARY
    return PosteriorAgreementResult(
        value=min(best, channel_of(prior, statistic.class_fractions).ceiling),
        n_samples=round(weight),
        prior=prior,
        class_fractions=statistic.class_fractions,
        error_bound=error + rounding,
        status=status,
        beta=beta,
        changes=PredictionChanges(
            disagreement=statistic.changed / weight,
            kappa=statistic.kappa,
            n_tied=round(statistic.n_tied),
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

    # In the logarithm of beta the agreement has one scale everywhere: df/dx = beta f'.
    x = np.log(betas)
    derivatives = np.stack([value, betas * slope, betas * (betas * curvature + slope)], axis=1)
    quintic = PPoly.from_bernstein_basis(BPoly.from_derivatives(x, derivatives))
    tried = np.concatenate([x, quintic.derivative().roots(extrapolate=False)])
    # The highest of the grid points and of the maxima between them.
    place = float(tried[np.nanargmax(quintic(tried))])
    after = int(np.searchsorted(x, place))
    part = slice(max(0, after - NEIGHBOURS), after + NEIGHBOURS)
    # Each point three times, for its value and two derivatives: a polynomial of degree 17 where three points are on
    # either side.
    best = float(KroghInterpolator(np.repeat(x[part] - place, 3), derivatives[part].ravel())(0.0))
    return math.exp(place), best, abs(best - float(quintic(place)))


def grid_statistic(
    pairs: ScorePairs, betas: FloatArray, *, executor: Executor | None = None
) -> AgreementGridStatistic:
    """Return the sums at the betas of a grid: one pass."""
    limits = limits_of(pairs, executor=executor)
    kernel = functools.partial(_block_sums, pairs, betas=betas)
    sums: FloatArray = map_reduce(kernel, pairs.slices(), executor=executor)
    # Row 0 of the sums is beta = 0, of which the curvature alone says anything: f and f' are 0 there.
    return AgreementGridStatistic(
        weight=limits.weight,
        value=sums[1:, 0],
        slope=sums[1:, 1],
        curvature=sums[1:, 2],
        start_curvature=float(sums[0, 2]),
        limit=limits.pair_limit - limits.single_limit,
        changed=limits.changed,
        disagreeing=limits.disagreeing,
        n_tied=limits.n_tied,
        predicted=limits.predicted,
        reference_predicted=limits.reference_predicted,
    )


def _block_sums(pairs: ScorePairs, rows: slice, *, betas: FloatArray) -> FloatArray:
    """Sum f, f' and f'' over a slice of pairs at beta = 0, then at each beta: shape (n_betas + 1, 3)."""
    block = pairs.block(rows)
    xp = namespace(block)
    # The curvature takes squares of scores, and betas reach 1e100: within these limits neither overflows.
    if not float(xp.min(block)) > -1e100:
        raise ArgumentValueError(
            "scores", "within 1e100 of each other in a row", "more", "Rescale them."
        )
    weights = pairs.row_weights(rows, block)
    # Chain by chain, so that all but the first exponentials are squares; then back in the order of the betas.
    order = np.concatenate([np.arange(first, len(betas), CHAINS) for first in range(CHAINS)])
    found = log_partitions(
        block,
        pairs.prior_vector(block),
        [0.0, *betas[order].tolist()],
        derivatives=2,
        buffer=pairs.buffer_of(block),
    )
    with np.errstate(**VANISHING):
        in_chains = to_float64(xp.stack([difference(xp.stack(parts)) @ weights for parts in found]))
    sums = np.empty((len(betas) + 1, 3))
    sums[0] = in_chains[0]
    sums[1 + order] = in_chains[1:]
    return sums
