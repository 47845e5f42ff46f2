"""Algorithms 1 and 2 of the stability paper, corrected: Adam on the points of all rows, and on the dual price.

In each outer step every row climbs ``h loss - theta1 distance^2`` by some Adam steps from where it stands; then the
price h takes one Adam step along ``threshold - risk``. Corrected are sums over rows that must be means (with sums the
value is off by ``theta2 log n``, or h is driven to 0), and h is kept at least 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.adam import Adam
from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.stability.divergence import Divergence
from shiftmetrics.stability.statistics import Moment

PointLoss = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""From points of shape (n, d), one for each row, to their losses (n,) and the gradients of these (n, d)."""


@dataclass(frozen=True, kw_only=True)
class AdamOptions:
    """How many steps, and how long: see `stability_criterion_adam`."""

    n_steps: int = 300
    n_inner: int = 20
    learning_rate: float = 0.01
    dual_learning_rate: float = 0.05
    initial_dual: float = 1.0


@dataclass(frozen=True, eq=False)
class AdamRun:
    """Where the steps ended, and the way there.

    Attributes
    ----------
    moves : ndarray of shape (n, d)
        How far each row was moved.
    losses, squared : ndarray of shape (n,)
        Loss and squared distance of each row there.
    moment : Moment
        At the last price.
    duals, values, risks : ndarray of shape (n_steps + 1,)
        The price, the dual objective and the reweighted risk in each outer step, and at the end.
    """

    moves: FloatArray
    losses: FloatArray
    squared: FloatArray
    moment: Moment
    duals: FloatArray
    values: FloatArray
    risks: FloatArray

    def transformed(self, theta1: float) -> FloatArray:
        """Return ``h loss - theta1 distance^2`` of each row at the last price."""
        return _transformed(self.moment.dual, theta1, self.losses, self.squared)


def run_adam(
    loss: PointLoss,
    start: FloatArray,
    threshold: float,
    *,
    unit: FloatArray,
    theta1: float,
    divergence: Divergence,
    weights: FloatArray | None,
    options: AdamOptions,
    limits: tuple[FloatArray, FloatArray] | None = None,
    progress: bool = True,
) -> AdamRun:
    """Take all steps.

    Parameters
    ----------
    loss : callable
        Losses and gradients at points.
    start : ndarray of shape (n, d)
        Where the rows stand.
    threshold : float
        Risk to reach.
    unit : ndarray of shape (d,)
        A move by that much is a distance of 1; 0 for a column that may not move.
    theta1 : float
        Price of moving; inf for no moves.
    divergence : Divergence
        The divergence with its price.
    weights : ndarray of shape (n,), optional
        Sample weights.
    options : AdamOptions
        How many steps, and how long.
    limits : pair of ndarray of shape (n, d), optional
        Lowest and highest points; steps beyond are cut off.
    progress : bool
        Whether to show a progress bar for work of more than two seconds.
    """
    from tqdm.auto import tqdm

    moves, points = np.zeros_like(start), start.copy()
    rows = Adam(start.shape, options.learning_rate)
    price, dual = Adam((1,), options.dual_learning_rate), options.initial_dual
    losses, gradients = loss(points)
    squared = np.zeros_like(losses)
    trace: list[tuple[float, float, float]] = []
    for _ in tqdm(range(options.n_steps), desc="Adam", delay=2.0, disable=not progress, leave=False):
        if math.isfinite(theta1):
            for _ in range(options.n_inner):
                gradients = gradients * (dual * unit)
                gradients -= 2.0 * theta1 * moves
                moves += rows.step(gradients)
                moves *= unit > 0.0
                np.multiply(moves, unit, out=points)
                points += start
                if limits is not None:
                    np.clip(points, *limits, out=points)
                    np.divide(points - start, unit, out=moves, where=unit > 0.0)
                    np.nan_to_num(moves, copy=False, nan=0.0)  # cells that are missing stay so
                losses, gradients = loss(points)
            squared = np.einsum("ij,ij->i", moves, moves)
        moment = _moment(dual, theta1, losses, squared, weights, divergence)
        trace.append((dual, dual * threshold - moment.conjugate, moment.risk))
        dual = max(0.0, dual + price.step_of_number(threshold - moment.risk))
    moment = _moment(dual, theta1, losses, squared, weights, divergence)
    trace.append((dual, dual * threshold - moment.conjugate, moment.risk))
    duals, values, risks = (np.asarray(part) for part in zip(*trace, strict=True))
    return AdamRun(moves, losses, squared, moment, duals, values, risks)


def _moment(
    dual: float,
    theta1: float,
    losses: FloatArray,
    squared: FloatArray,
    weights: FloatArray | None,
    divergence: Divergence,
) -> Moment:
    """Return the conjugate at fixed points: its mean over rows, and alpha where the divergence has one."""
    value = _transformed(dual, theta1, losses, squared)
    start = float(np.average(value, weights=weights))  # from here Newton's method is monotone
    return divergence.solve(dual, lambda level: divergence.statistic(value, losses, weights, level), start)


def _transformed(dual: float, theta1: float, losses: FloatArray, squared: FloatArray) -> FloatArray:
    value = dual * losses
    if math.isfinite(theta1):
        value -= theta1 * squared
    return value


def as_options(**options: Any) -> AdamOptions:
    """Check the options of the steps."""
    from shiftmetrics._core.validation import check_integer, check_number

    checked = AdamOptions(**options)
    check_integer(checked.n_steps, "n_steps", low=1)
    check_integer(checked.n_inner, "n_inner", low=1)
    for name in ("learning_rate", "dual_learning_rate"):
        check_number(getattr(checked, name), name, low=0.0, open_low=True)
    check_number(checked.initial_dual, "initial_dual", low=0.0)
    return checked
