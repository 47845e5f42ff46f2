"""Stability against the risk threshold: one sweep over the dual gives the whole curve, and its inverse."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.result import format_number
from shiftmetrics._core.validation import check_integer, check_vector
from shiftmetrics.stability.criterion import least_shift, pass_counter, settings_with
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses import Loss
from shiftmetrics.stability.options import Options
from shiftmetrics.stability.problem import Problem
from shiftmetrics.stability.series import StabilitySeries

_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False, kw_only=True)
class StabilityCurve(StabilitySeries):
    """Stability against the risk threshold, R(r): convex and nondecreasing, with slope ``duals``.

    ``value`` is the stability at the highest threshold. Beside the fields below it has those of `StabilitySeries`.

    Attributes
    ----------
    highest_risk : float
        The highest risk that any allowed shift reaches; inf where the loss has no upper limit.
    sweep_duals, sweep_risks, sweep_costs : ndarray of shape (n_evaluations,)
        All points of the curve that the sweep evaluated: slope, risk, and the least cost of that risk. The curve
        lies above every tangent and below every chord of them.
    """

    measure: ClassVar[str] = "stability_curve"
    title: ClassVar[str] = "Stability over risk thresholds"
    higher_is_better: ClassVar[bool] = True

    highest_risk: float
    sweep_duals: FloatArray
    sweep_risks: FloatArray
    sweep_costs: FloatArray

    def headline(self) -> str:
        """Say where the curve begins and ends."""
        text = (
            f"Stability at {len(self.thresholds)} risk thresholds: 0 up to {format_number(self.base_risk)}, the risk "
            f"as it is; {format_number(self.value)} at {format_number(float(self.thresholds[-1]))}"
        )
        finite = np.flatnonzero(np.isfinite(self.stability) & np.isfinite(self.duals))
        if np.isfinite(self.value) and len(finite) and finite[-1] == len(self.thresholds) - 1:
            return f"{text}, where the next unit of risk costs {format_number(float(self.duals[-1]))}."
        if np.isfinite(self.value):
            return f"{text}, the highest risk that shifts reach."
        return f"{text}: no allowed shift raises the risk above {format_number(self.highest_risk)}."

    def bounds(self, thresholds: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return certified bounds of the stability at any thresholds, read from the sweep without any data.

        Parameters
        ----------
        thresholds : array_like of shape (n_points,)
            Risks, at least 0.

        Returns
        -------
        low, high : ndarray of shape (n_points,)
            The highest tangent and the chord there; ``high`` is inf beyond the highest risk that was evaluated.
        """
        r = np.atleast_1d(check_vector(thresholds, "thresholds", low=0.0))
        offsets = self.sweep_costs - self.sweep_duals * self.sweep_risks
        low = (np.outer(r, self.sweep_duals) + offsets).max(axis=1, initial=0.0)
        risks, costs = self._envelope()
        high = np.interp(r, risks, costs, left=0.0)
        high[r > risks[-1] * (1.0 + _ROUNDING)] = np.inf
        low = np.where(r <= self.base_risk, 0.0, np.where(r > self.highest_risk, np.inf, low))
        return low, np.maximum(np.where(r > self.highest_risk, np.inf, high), low)

    def worst_case_risk(self, budgets: npt.ArrayLike) -> Any:
        """Return the highest risk within each budget, the inverse of the curve, read from the sweep.

        Parameters
        ----------
        budgets : array_like of shape (n_points,)
            Highest costs of a shift, at least 0.

        Returns
        -------
        pandas.DataFrame
            ``budget``; ``risk``, which some shift within the budget reaches; and ``error_bound``, by which the
            highest risk may lie above it: large for a budget beyond the curve. The function `worst_case_risk`
            solves for one budget exactly.
        """
        import pandas as pd

        b = np.atleast_1d(check_vector(budgets, "budgets", low=0.0))
        risks, costs = self._envelope()
        reached = np.interp(b, costs, risks)
        slopes = self.sweep_duals > 0.0
        duals, offsets = (
            self.sweep_duals[slopes],
            (self.sweep_duals * self.sweep_risks - self.sweep_costs)[slopes],
        )
        limits = ((b[:, None] + offsets) / duals).min(axis=1, initial=np.inf) if len(duals) else np.inf
        limits = np.where(b > 0.0, np.minimum(limits, self.highest_risk), self.base_risk)
        return pd.DataFrame({"budget": b, "risk": reached, "error_bound": np.maximum(limits - reached, 0.0)})

    def _envelope(self) -> tuple[FloatArray, FloatArray]:
        """Return the points of the curve that are known, by rising risk: at each risk its least cost."""
        solved = np.isfinite(self.stability) & (self.stability > 0.0)
        risks = np.concatenate([[self.base_risk], self.sweep_risks, self.risks[solved]])
        costs = np.concatenate([[0.0], self.sweep_costs, self.stability[solved]])
        order = np.lexsort((costs, risks))
        risks, costs = risks[order], costs[order]
        kept = np.concatenate([[True], np.diff(risks) > 0.0])
        return risks[kept], np.maximum.accumulate(costs[kept])


def stability_curve(
    loss: Loss,
    thresholds: npt.ArrayLike | None = None,
    *,
    n_points: int = 25,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    groups: Any = None,
    rtol: float = 1e-10,
    max_iter: int = 200,
    level: float = 0.95,
    executor: Executor | None = None,
    progress: bool = True,
) -> StabilityCurve:
    """Return the stability R(r) at several risk thresholds r, in one sweep; higher is better.

    The curve is convex and its slope is the dual price, so each threshold begins where the one before ended, and
    every evaluation bounds the whole curve. At the thresholds themselves it is as exact as `stability_criterion`.

    Parameters
    ----------
    loss : Loss
        What the model loses on each row, where it stands and where it may move; see `stability_criterion`.
    thresholds : array_like of shape (n_points,), optional
        Risks that count as broken, at least 0; they are put in order. Default: ``n_points`` of them from the risk as
        it is to the highest that shifts reach or, where that has no limit, two standard deviations of the losses
        above it (1 above it where the losses are all the same).
    n_points : int, default 25
        Number of default thresholds.
    theta1, theta2, divergence, sample_weight, groups
        As in `stability_criterion`.
    rtol, max_iter, level, executor
        As in `stability_criterion`, for each threshold.
    progress : bool, default True
        Whether to show a progress bar, over the passes, for work of more than two seconds.

    Returns
    -------
    StabilityCurve
        A point for each threshold, with its interval, what rows do there and its excess risk; ``to_frame()`` is a
        table. ``worst_case_risk(budgets)`` reads the inverse from it.

    Raises
    ------
    TypeError
        If ``loss`` is not a loss object.
    ValueError
        If a number is out of its range, or the weights do not match the rows.

    See Also
    --------
    stability_surface : Along the prices, at one threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import ZeroOneLoss, stability_curve
    >>> loss = ZeroOneLoss(np.maximum(np.linspace(-0.5, 2.4, 30), 0) / 1.5)
    >>> curve = stability_curve(loss, [0.3, 0.4, 0.5])
    >>> curve.stability.round(5)
    array([0.00077, 0.0044 , 0.01265])
    >>> float(curve.worst_case_risk([0.005])["risk"].iloc[0].round(3))
    0.409
    """
    options = Options(
        theta1=theta1, theta2=theta2, divergence=divergence, rtol=rtol, max_iter=max_iter, initial_dual=None,
        level=level, keep_rows=False, executor=executor, progress=progress, groups=groups,
    )  # fmt: skip
    given = None if thresholds is None else np.unique(check_vector(thresholds, "thresholds", low=0.0))
    n_points = check_integer(n_points, "n_points", low=2)
    with pass_counter(progress, "stability curve") as on_pass:
        problem = Problem.of(loss, sample_weight, options, on_pass)
        rising = default_thresholds(problem, n_points) if given is None else given
        points = [least_shift(problem, float(r), {"threshold": float(r)}) for r in rising]
    sweep = [moment for dual, moment in sorted(problem.dual.moments.items()) if dual > 0.0]
    return StabilityCurve.of(
        points,
        -1,
        settings=settings_with(
            loss, options, sample_weight, thresholds=None if given is None else list(given)
        ),
        highest_risk=problem.dual.highest_risk,
        sweep_duals=np.array([moment.dual for moment in sweep]),
        sweep_risks=np.array([moment.risk for moment in sweep]),
        sweep_costs=np.array([moment.cost for moment in sweep]),
        n_passes=problem.dual.n_passes,
    )


def default_thresholds(problem: Problem, n_points: int) -> FloatArray:
    """Return thresholds from the risk as it is to the highest that shifts reach, or two standard deviations up."""
    baseline, highest = problem.dual.baseline, problem.dual.highest_risk
    if not np.isfinite(highest):
        highest = baseline.risk + (2.0 * np.sqrt(baseline.variance) or 1.0)
    return np.unique(np.linspace(baseline.risk, highest, n_points))
