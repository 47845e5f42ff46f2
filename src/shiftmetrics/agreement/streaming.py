"""Posterior agreement of a stream: batches pass by once, and the memory does not grow with them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.numerics import UNIT_ROUNDOFF, Workspace, entropy
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Result, format_number, settings_of
from shiftmetrics._core.validation import describe
from shiftmetrics.agreement.channel import equivalent_error
from shiftmetrics.agreement.grid import AgreementGridStatistic, BetaGrid, grid_statistic
from shiftmetrics.agreement.result import BOUNDARY, NO_AGREEMENT
from shiftmetrics.agreement.scores import ScorePairs, prepare_pairs

SAMPLES = 17
"""Points at which each interval of the grid is looked at, its ends included."""

NEIGHBOURS = 3
"""Grid points on either side of the best interval that the final polynomial goes through."""

WORKSPACE = Workspace()
"""Buffers that each thread keeps from batch to batch."""


class StreamStatus(Status):
    """Where the agreement of a stream is largest."""

    converged = ("converged", True, "The maximum lies inside the grid of betas.")
    boundary = BOUNDARY
    no_agreement = NO_AGREEMENT
    below_grid = (
        "below_grid",
        False,
        "The best beta seems to lie below the grid, so the value is too low. Choose a BetaGrid with a smaller low, "
        "divide the scores by a constant, or keep the scores and use posterior_agreement.",
    )
    above_grid = (
        "above_grid",
        False,
        "The agreement still rises at the end of the grid, so the value is too low. Choose a BetaGrid with a larger "
        "high, multiply the scores by a constant, or keep the scores and use posterior_agreement.",
    )


class GridMaximum(NamedTuple):
    """The largest agreement that a statistic on a grid knows of: where, how much, and how sure."""

    beta: float
    value: float
    error: float
    status: StreamStatus


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedAgreementResult(Result):
    """Posterior agreement of a stream, from sums on a grid of betas.

    Attributes
    ----------
    value : float
        Agreement in nats per sample, from 0 (chance) to log K. Higher is better.
    error_bound : float
        Estimated (not certified): by how much two orders of interpolation differ, and rounding. Where the status
        is not ok, the value is a lower bound and this is what is missing to the highest possible one.
    status : StreamStatus
        Not ok where the best beta lies outside the grid.
    beta : float
        Inverse temperature where the agreement is largest; infinity when it is a limit.
    log_pa : float
        The same on the scale of the papers: ``n_samples * (value - log K)``.
    normalized : float
        ``value / log K``.
    equivalent_error : float
        Error rate of the symmetric channel with this capacity. Lower is better.
    disagreement : float
        Share of pairs that have no predicted class in common.
    effective_classes : float
        Exponential of the entropy of the predicted classes of both samples: near 1 when the model has collapsed.
    n_classes : int
        Number of classes K.
    prior : ndarray of shape (n_classes,)
        The class prior used.
    curve_beta, curve_value : ndarray of shape (n_points,)
        The grid, and the agreement on it.
    """

    measure: ClassVar[str] = "streamed_agreement"
    title: ClassVar[str] = "Posterior agreement (stream)"
    unit: ClassVar[str] = "nats"
    higher_is_better: ClassVar[bool] = True

    status: StreamStatus
    beta: float
    log_pa: float
    normalized: float
    equivalent_error: float
    disagreement: float
    effective_classes: float
    n_classes: int
    prior: FloatArray
    curve_beta: FloatArray
    curve_value: FloatArray

    def headline(self) -> str:
        """Return one sentence with the value and the channel it equals."""
        return (
            f"{self.title}: {format_number(self.value)} nats of at most {format_number(math.log(self.n_classes))} "
            f"(normalized {format_number(self.normalized)}); the two sets of predictions agree as well as a "
            f"channel that flips {100 * self.equivalent_error:.3g} % of the labels."
        )

    def notes(self) -> list[str]:
        """Return the sentences on beta and on the classes, and those of every measure."""
        beta = "infinite beta" if math.isinf(self.beta) else f"beta = {format_number(self.beta)}"
        share = (
            f"{100 * self.disagreement:.3g} % of the {self.n_samples} pairs have no predicted class in common"
        )
        classes = f"predictions use {self.effective_classes:.3g} of {self.n_classes} classes in effect"
        return [f"Reached at {beta}; {share}; {classes}.", *super().notes()]


def streamed_agreement(
    batches: Iterable[tuple[Any, Any]],
    *,
    kind: str = "scores",
    prior: Any = None,
    floor: float | None = None,
    grid: BetaGrid | None = None,
    executor: Executor | None = None,
) -> StreamedAgreementResult:
    """Posterior agreement of pairs that pass by once, batch by batch, in constant memory.

    Sums of the agreement and of two derivatives on a fixed grid of betas take the place of the pairs; between the
    points of the grid they are interpolated. `posterior_agreement` needs all pairs, and certifies its value.

    Parameters
    ----------
    batches : iterable of (scores, reference_scores)
        Each a pair of arrays of shape (n_rows, n_classes) or (n_rows,), as in `posterior_agreement`.
    kind : {"scores", "probabilities"}, default "scores"
        Probabilities become scores by their logarithm.
    prior : array of shape (n_classes,), optional
        Class prior. Default: uniform. "predicted" is known only after the last batch, so it needs all pairs at once.
    floor : float, optional
        Smaller probabilities are raised to it; needed where probabilities are 0.
    grid : BetaGrid, optional
        The betas. Default: ``BetaGrid()``, ten decades around 1.
    executor : concurrent.futures.Executor, optional
        Threads that work on blocks of rows. Default: one for each CPU.

    Returns
    -------
    StreamedAgreementResult
        Value in nats per sample; higher is better.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`; also if there is no batch, if batches differ in their number of classes, or if
        probabilities are 0 without a ``floor``.

    References
    ----------
    .. [1] Carvalho et al., "Rethinking Robustness in Machine Learning: A Posterior Agreement Approach", TMLR 2025,
       arXiv:2503.16271, eq. (10) and theorem 2.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import streamed_agreement
    >>> shifted = np.where(np.arange(1000) < 300, -1.0, 1.0)  # 300 of 1000 binary margins change sign
    >>> result = streamed_agreement((shifted[part::10], np.ones(100)) for part in range(10))
    >>> round(result.value, 6), round(result.equivalent_error, 4), result.n_samples
    (0.082283, 0.3, 1000)
    """
    grid = check_grid(grid)
    check_stream_prior(prior)
    total: AgreementGridStatistic | None = None
    pairs: ScorePairs | None = None
    for scores, reference_scores in batches:
        n_classes = None if pairs is None else pairs.n_classes
        pairs = batch_pairs(
            scores, reference_scores, kind=kind, prior=prior, floor=floor, n_classes=n_classes
        )
        part = grid_statistic(pairs, grid, executor=executor)
        total = part if total is None else total + part
    if total is None or pairs is None:
        raise ValueError(describe("batches", "at least one pair of arrays", "none"))
    return stream_result(total, grid, pairs.prior, kind=kind, floor=floor, uniform=prior is None)


def check_grid(grid: Any) -> BetaGrid:
    """Return ``grid``, the default one for None, or raise a TypeError."""
    if grid is None:
        return BetaGrid()
    if not isinstance(grid, BetaGrid):
        raise TypeError(describe("grid", "a BetaGrid or None", repr(grid)))
    return grid


def check_stream_prior(prior: Any) -> None:
    """Raise a ValueError where the prior can be known only after the stream."""
    if isinstance(prior, str):
        raise ValueError(
            describe(
                "prior",
                "an array of shape (n_classes,) or None in a stream",
                repr(prior),
                "The predicted classes are known only at its end: keep the scores for posterior_agreement, or give "
                "the class shares of the training data.",
            )
        )


def batch_pairs(
    scores: Any,
    reference_scores: Any,
    *,
    kind: str,
    prior: Any,
    floor: float | None,
    n_classes: int | None,
) -> ScorePairs:
    """Check one batch: as `prepare_pairs`, and nothing in it may depend on the batch alone.

    Raises
    ------
    TypeError, ValueError
        As in `streamed_agreement`.
    """
    got = getattr(scores, "shape", None)
    if n_classes is not None and got is not None:
        n_columns = got[1] if len(got) == 2 else 2
        if len(got) in (1, 2) and n_columns != n_classes:
            raise ValueError(describe("scores", f"of {n_classes} classes in every batch", f"{n_columns}"))
    pairs = prepare_pairs(scores, reference_scores, kind=kind, prior=prior, floor=floor)
    if pairs.floor is not None and floor is None:
        raise ValueError(
            describe(
                "floor",
                "given where probabilities are 0",
                "None",
                "A floor taken from each batch would differ between batches: pass floor=1e-6, say.",
            )
        )
    return pairs.replace(workspace=WORKSPACE)


def maximum_on_grid(
    statistic: AgreementGridStatistic, grid: BetaGrid, highest: float = math.inf
) -> GridMaximum:
    """Return the largest agreement over beta in [0, inf], as far as the grid tells, and at most ``highest``."""
    betas, weight = grid.betas, statistic.weight
    value, slope, curvature = (
        part / weight for part in (statistic.value, statistic.slope, statistic.curvature)
    )
    beta, best, error = maximum_between(betas, value, slope, curvature)
    status = StreamStatus.converged
    rounding = 64.0 * UNIT_ROUNDOFF * max(1.0, abs(best))
    if slope[-1] > 0.0 and value[-1] >= best:
        beta, best, status = float(betas[-1]), float(value[-1]), StreamStatus.above_grid
    if best <= rounding:
        beta, best, error, status = 0.0, 0.0, 0.0, StreamStatus.no_agreement
    # It rises from 0 and falls at the first point: how high it comes between them, only its curvature tells.
    rise = statistic.start_curvature / weight * betas[0] ** 2 / 2.0
    if slope[0] < 0.0 and rise > best + rounding:
        status = StreamStatus.below_grid
    if not status.ok:
        error = highest - best
    limit = statistic.limit / weight
    if statistic.disagreeing == 0.0 and limit > rounding and limit >= best - rounding:
        beta, best, error, status = math.inf, limit, 0.0, StreamStatus.boundary
    return GridMaximum(beta, best, error + rounding, status)


def stream_result(
    statistic: AgreementGridStatistic,
    grid: BetaGrid,
    prior: FloatArray,
    *,
    kind: str = "scores",
    floor: float | None = None,
    uniform: bool = False,
) -> StreamedAgreementResult:
    """Turn the sums of a stream into its result."""
    best = maximum_on_grid(statistic, grid, -math.log(float(prior[prior > 0.0].min())))
    n_classes, n_samples = len(prior), round(statistic.weight)
    log_classes = math.log(n_classes)
    value = min(best.value, log_classes) if uniform else best.value
    shares = statistic.predicted / statistic.predicted.sum()
    return StreamedAgreementResult(
        value=value,
        error_bound=best.error,
        status=best.status,
        n_samples=n_samples,
        beta=best.beta,
        log_pa=n_samples * (value - log_classes),
        normalized=value / log_classes,
        equivalent_error=equivalent_error(value, n_classes),
        disagreement=statistic.disagreeing / statistic.weight,
        effective_classes=math.exp(entropy(shares)),
        n_classes=n_classes,
        prior=prior,
        curve_beta=grid.betas,
        curve_value=statistic.value / statistic.weight,
        settings=settings_of(kind=kind, prior="uniform" if uniform else "given", floor=floor, grid=grid),
    )


def maximum_between(
    betas: FloatArray, value: FloatArray, slope: FloatArray, curvature: FloatArray
) -> tuple[float, float, float]:
    """Return the beta of largest agreement between the ends of a logarithmic grid, its value and estimated error.

    Quintics find the interval; there, one polynomial through the values and derivatives at several points on either
    side takes over. How far it departs from the quintic tells how far to trust it.
    """
    from scipy.interpolate import BPoly, KroghInterpolator
    from scipy.optimize import minimize_scalar

    # In the logarithm of beta the agreement has one scale everywhere.
    x = np.log(betas)
    derivatives = np.stack([value, betas * slope, betas * (betas * curvature + slope)], axis=1)
    places = np.linspace(x[:-1], x[1:], SAMPLES, axis=1)
    tried = BPoly.from_derivatives(x, derivatives)(places)
    interval, column = (int(i) for i in np.unravel_index(int(np.argmax(tried)), tried.shape))
    top, step = places[interval, column], places[0, 1] - places[0, 0]
    found = []
    for reach in (1, NEIGHBOURS):
        part = slice(max(0, interval + 1 - reach), interval + 1 + reach)
        polynomial = KroghInterpolator(np.repeat(x[part] - top, 3), derivatives[part].ravel())
        best = minimize_scalar(
            lambda shift, polynomial=polynomial: -float(polynomial(shift)),
            bounds=(max(x[0] - top, -step), min(x[-1] - top, step)),
            method="bounded",
            options={"xatol": 1e-9},
        )
        found.append((float(top + best.x), -float(best.fun)))
    place, best_value = found[-1]
    return math.exp(place), best_value, abs(best_value - found[0][1])
