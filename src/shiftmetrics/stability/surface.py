"""Stability against the prices, along 1/theta1 + 1/theta2 = total: from weights alone to moves alone."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.result import format_number
from shiftmetrics._core.validation import check_integer, check_number, check_vector
from shiftmetrics.stability.criterion import least_shift, pass_counter, settings_with
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses import Loss
from shiftmetrics.stability.options import Options
from shiftmetrics.stability.problem import Problem
from shiftmetrics.stability.series import StabilitySeries


@dataclass(frozen=True, eq=False, kw_only=True)
class StabilitySurface(StabilitySeries):
    """Stability at one risk threshold, over pairs of prices with one sum of their inverses.

    ``value`` is the lowest stability of all pairs: the kind of shift that breaks the model at the least cost.
    Stability is 1-homogeneous in the prices, so that this line holds the whole surface: ``bounds`` reads any pair of
    prices from it. Beside the fields below it has those of `StabilitySeries`.

    Attributes
    ----------
    threshold : float
        The risk that counts as broken.
    total : float
        1/theta1 + 1/theta2 of every point.
    shares : ndarray of shape (n_points,)
        How cheap moving is: (1/theta1) / total. At 0 rows may not move, at 1 weights may not change.
    theta1, theta2 : ndarray of shape (n_points,)
        The prices.
    """

    measure: ClassVar[str] = "stability_surface"
    title: ClassVar[str] = "Stability over prices"
    higher_is_better: ClassVar[bool] = True

    threshold: float
    total: float
    shares: FloatArray
    theta1: FloatArray
    theta2: FloatArray

    def headline(self) -> str:
        """Say at which prices the model breaks first."""
        start = (
            f"Stability at risk threshold {format_number(self.threshold)} over {len(self.shares)} pairs of prices "
            f"with 1/theta1 + 1/theta2 = {self.total:g}"
        )
        finite = np.flatnonzero(np.isfinite(self.stability))
        if not len(finite):
            return f"{start}: no allowed shift reaches the threshold at any of them."
        low, high = finite[[self.stability[finite].argmin(), self.stability[finite].argmax()]]
        return f"{start}: lowest {self._at(low)}, highest {self._at(high)}."

    def _at(self, place: int) -> str:
        theta1, theta2 = float(self.theta1[place]), float(self.theta2[place])
        return f"{format_number(float(self.stability[place]))} at ({theta1:.3g}, {theta2:.3g})"

    def bounds(self, theta1: float, theta2: float) -> tuple[float, float]:
        """Return certified bounds of the stability at any pair of prices, read from the line without any data.

        Stability is concave and 1-homogeneous in the prices: it lies below the cost of every shift that is known,
        and above the chord between the neighbours on the line.

        Parameters
        ----------
        theta1, theta2 : float
            The prices, positive; inf forbids moves or weights.

        Returns
        -------
        low, high : float
            Where prices lie between two of the line; beyond its ends ``low`` may be 0.
        """
        first = check_number(theta1, "theta1", low=0.0, open_low=True, allow_inf=True)
        second = check_number(theta2, "theta2", low=0.0, open_low=True, allow_inf=True)
        costs = [
            _cost(first, float(move)) + _cost(second, float(weight))
            for move, weight, value in zip(
                self.sensitivity_theta1, self.sensitivity_theta2, self.stability, strict=True
            )
            if math.isfinite(value)
        ]
        high = min(costs, default=math.inf)
        return min(self._chord(first, second), high), high

    def _chord(self, theta1: float, theta2: float) -> float:
        """Return the highest lower bound that the values on the line give, by concavity and monotony."""
        points = list(zip(self.theta1.tolist(), self.theta2.tolist(), self.stability.tolist(), strict=True))
        best = 0.0
        for (
            a,
            b,
            value,
        ) in points:  # R(theta1, theta2) >= s R(a, b) where neither price is below s times that one
            scale = min(_ratio(theta1, a), _ratio(theta2, b))
            if math.isfinite(scale) and scale > 0.0:
                best = max(best, scale * value)
        if math.isinf(theta1) or math.isinf(theta2):
            return best
        inner = [point for point in points if all(map(math.isfinite, point))]
        for (a, b, value), (c, d, other) in itertools.pairwise(inner):
            determinant = a * d - b * c  # (theta1, theta2) = s (a, b) + t (c, d)
            s, t = (theta1 * d - theta2 * c) / determinant, (a * theta2 - b * theta1) / determinant
            if min(s, t) >= 0.0:
                best = max(best, s * value + t * other)
        return best


def stability_surface(
    loss: Loss,
    threshold: float,
    *,
    total: float = 5.0,
    shares: npt.ArrayLike | None = None,
    n_points: int = 21,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    groups: Any = None,
    rtol: float = 1e-10,
    max_iter: int = 200,
    level: float = 0.95,
    executor: Executor | None = None,
    progress: bool = True,
) -> StabilitySurface:
    """Return the stability over pairs of prices with 1/theta1 + 1/theta2 = total; higher is better.

    At one end of this line rows may only gain weight, at the other they may only move. Each point comes with what
    moves and weights add to the risk (figure 6a of [1]_) and with the derivatives of the stability in the prices.

    Parameters
    ----------
    loss : Loss
        What the model loses on each row, where it stands and where it may move; see `stability_criterion`.
    threshold : float
        The risk that counts as broken, at least 0.
    total : float, default 5
        Sum of the inverse prices; the paper's.
    shares : array_like of shape (n_points,), optional
        How cheap moving is at each point, (1/theta1) / total in [0, 1]; they are put in order. Default: ``n_points``
        of them evenly from 0 (theta1 = inf) to 1 (theta2 = inf).
    n_points : int, default 21
        Number of default points.
    divergence, sample_weight, groups
        As in `stability_criterion`.
    rtol, max_iter, level, executor
        As in `stability_criterion`, for each point.
    progress : bool, default True
        Whether to show a progress bar, over the passes, for work of more than two seconds.

    Returns
    -------
    StabilitySurface
        A point for each pair of prices; ``to_frame()`` is a table, ``bounds(theta1, theta2)`` reads any other pair.

    Raises
    ------
    TypeError
        If ``loss`` is not a loss object.
    ValueError
        If a number is out of its range, or the weights do not match the rows.

    References
    ----------
    .. [1] Blanchet, Cui, Li, Liu, "Stability Evaluation through Distributional Perturbation Analysis", ICML 2024,
       arXiv:2405.03198, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import ZeroOneLoss, stability_surface
    >>> loss = ZeroOneLoss(np.maximum(np.linspace(-0.5, 2.4, 30), 0) / 1.5)
    >>> surface = stability_surface(loss, 0.5, shares=[0, 0.5, 1])
    >>> surface.to_frame()[["theta1", "theta2", "stability", "corruption", "reweighting"]].round(4)
       theta1  theta2  stability  corruption  reweighting
    0     inf     0.2     0.0446      0.0000       0.3000
    1     0.4     0.4     0.0127      0.2415       0.0585
    2     0.2     inf     0.0084      0.3000       0.0000
    """
    threshold = check_number(threshold, "threshold", low=0.0)
    total = check_number(total, "total", low=0.0, open_low=True)
    n_points = check_integer(n_points, "n_points", low=2)
    grid = np.linspace(0.0, 1.0, n_points)
    if shares is not None:
        grid = np.unique(check_vector(shares, "shares", low=0.0))
        check_number(grid[-1], "shares", high=1.0)
    with np.errstate(divide="ignore"):
        theta1, theta2 = 1.0 / (total * grid), 1.0 / (total * (1.0 - grid))
    points, n_passes, ratio = [], 0, math.nan
    with pass_counter(progress, "stability surface") as on_pass:
        for first, second in zip(theta1.tolist(), theta2.tolist(), strict=True):
            # A row moves where h / theta1 is large enough: the neighbour's ratio is a good first guess.
            guess = ratio * first if math.isfinite(first) and 0.0 < ratio < math.inf else None
            options = Options(
                theta1=first, theta2=second, divergence=divergence, rtol=rtol, max_iter=max_iter,
                initial_dual=guess, level=level, keep_rows=False, executor=executor, progress=progress,
                groups=groups,
            )  # fmt: skip
            problem = Problem.of(loss, sample_weight, options, on_pass)
            points.append(least_shift(problem, threshold, {"threshold": threshold}))
            n_passes += problem.dual.n_passes
            ratio = points[-1].dual / first
    settings = settings_with(loss, options, sample_weight, threshold=threshold, total=total)
    for name in ("theta1", "theta2", "initial_dual"):
        del settings[name]
    return StabilitySurface.of(
        points,
        int(np.argmin([point.value for point in points])),
        settings=settings,
        threshold=threshold,
        total=total,
        shares=grid,
        theta1=theta1,
        theta2=theta2,
        n_passes=n_passes,
    )


def _cost(price: float, amount: float) -> float:
    """Return price times amount, where what is not used costs nothing at any price."""
    return 0.0 if amount == 0.0 else price * amount


def _ratio(price: float, other: float) -> float:
    """Return how many times ``other`` fits into ``price``; two that forbid what they price set no limit."""
    return (math.inf if math.isinf(price) else 0.0) if math.isinf(other) else price / other
