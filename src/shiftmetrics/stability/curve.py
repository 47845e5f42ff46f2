"""Stability at several risk thresholds, or at several pairs of prices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, as_array, to_numpy
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics._core.validation import check_integer, check_number, check_vector
from shiftmetrics.stability.criterion import least_shift
from shiftmetrics.stability.curve_result import CurvePoints, StabilityCurve
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses.base import Loss
from shiftmetrics.stability.problem import Prices, StabilityProblem, counted_passes
from shiftmetrics.stability.result import StabilityResult
from shiftmetrics.stability.status import MAX_ITER, SOLVED

_TENTHS = tuple(np.linspace(0.0, 1.0, 11).tolist())


def stability_curve(
    loss: Loss,
    thresholds: npt.ArrayLike | None = None,
    *,
    n_points: int = 25,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    resampling: Resampling | float | None = 0.95,
    computing: Computing | None = None,
) -> StabilityCurve:
    """Return the stability R(r) at several risk thresholds r; higher is better.

    The slope is the dual price, so each threshold begins where the one before ended, and every evaluation bounds the
    whole curve. Each point is as exact as that of `stability_criterion`.

    Parameters
    ----------
    loss : Loss
        Loss of each sample, before and after it changes; see `stability_criterion`.
    thresholds : float or array_like of shape (n_points,), optional
        Risks that count as broken, at least 0; they are sorted. Default: ``n_points`` of them from the current
        risk to the highest that shifts reach or, where that has no limit, two standard deviations of the losses
        above it (1 above it where the losses are all the same).
    n_points : int, default 25
        Number of default thresholds.
    theta1, theta2, divergence, sample_weight, resampling, computing
        As in `stability_criterion`, for each point.

    Returns
    -------
    StabilityCurve
        A point for each threshold, with its interval, what changes there and its excess risk; ``to_frame()`` is a
        table.

    Raises
    ------
    TypeError
        If ``loss`` is not a loss object.
    ValueError
        If a number is out of its range, or the weights do not match the samples.

    See Also
    --------
    trade_off : The stability over prices.
    worst_case_risk : The inverse: the highest risk within a cost.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import ZeroOneLoss, stability_curve
    >>> loss = ZeroOneLoss(np.maximum(np.linspace(-0.5, 2.4, 30), 0) / 1.5)
    >>> curve = stability_curve(loss, [0.3, 0.4, 0.5])
    >>> curve.points.stability.round(5)
    array([0.00077, 0.0044 , 0.01265])
    """
    prices = Prices(theta1, theta2, divergence)
    given = None
    if thresholds is not None:
        listed = np.atleast_1d(to_numpy(as_array(thresholds, "thresholds")))
        given = np.unique(check_vector(listed, "thresholds", low=0.0))
    n_points = check_integer(n_points, "n_points", low=2)
    with counted_passes("stability curve", computing) as on_pass:
        problem = StabilityProblem.of(
            loss, sample_weight, prices, resampling, computing, on_pass, keep_rows=False
        )
        # In rising order, so that each threshold begins where the one before ended.
        rising = _default_thresholds(problem, n_points) if given is None else given
        points = [least_shift(problem, float(threshold)) for threshold in rising]
    return StabilityCurve(
        value=points[-1].value,
        interval=points[-1].interval,
        points=CurvePoints(
            theta1=np.full(len(points), prices.theta1),
            theta2=np.full(len(points), prices.theta2),
            **_columns(points),
        ),
        settings=problem.settings(thresholds=None if given is None else list(given)),
        highest_risk=problem.dual.highest_risk,
        n_passes=problem.dual.n_passes,
        **_shared(points),
    )


def trade_off(
    loss: Loss,
    threshold: float,
    cheapness: npt.ArrayLike = _TENTHS,
    *,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    resampling: Resampling | float | None = 0.95,
    computing: Computing | None = None,
) -> StabilityCurve:
    """Return the least shift to a threshold as perturbation and reweighting trade their prices.

    The prices say which perturbation is as bad as which change of weights; no data tell it. So look at the answer
    over them: how many samples change, by how much, and what perturbation and weights each add to the risk (figure
    6a of [1]_).

    Parameters
    ----------
    loss : Loss
        Loss of each sample, before and after it changes; see `stability_criterion`.
    threshold : float
        The risk that counts as broken.
    cheapness : array_like of shape (n_points,), default 0, 0.1, ..., 1
        How cheap perturbation is at each point, (1/theta1) / (1/theta1 + 1/theta2). At 0 samples may only gain
        weight, at 1 they may only change.
    theta1, theta2 : float, default 0.4
        The sum 1/theta1 + 1/theta2 of theirs is that of all points.
    divergence, sample_weight, resampling, computing
        As in `stability_criterion`, for each point.

    Returns
    -------
    StabilityCurve
        A point for each pair of prices; ``to_frame()`` is a table, and ``plot(kind="excess_risk")`` draws it.

    Raises
    ------
    TypeError
        If ``loss`` is not a loss object.
    ValueError
        If a number is out of its range, both prices are inf, or the weights do not match the samples.

    References
    ----------
    .. [1] Blanchet, Cui, Li, Liu, "Stability Evaluation through Distributional Perturbation Analysis", ICML 2024,
       arXiv:2405.03198, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import ZeroOneLoss, trade_off
    >>> loss = ZeroOneLoss(np.maximum(np.linspace(-0.5, 2.4, 30), 0) / 1.5)
    >>> points = trade_off(loss, 0.5, cheapness=[0, 0.5, 1]).to_frame()
    >>> points[["theta1", "theta2", "stability", "corruption", "reweighting"]].round(4)
       theta1  theta2  stability  corruption  reweighting
    0     inf     0.2     0.0446      0.0000       0.3000
    1     0.4     0.4     0.0127      0.2415       0.0585
    2     0.2     inf     0.0084      0.3000       0.0000
    """
    prices = Prices(theta1, theta2, divergence)
    threshold = check_number(threshold, "threshold", low=0.0)
    grid = np.unique(check_vector(cheapness, "cheapness", low=0.0))
    check_number(grid[-1], "cheapness", high=1.0)
    total = 1.0 / prices.theta1 + 1.0 / prices.theta2
    if total == 0.0:
        raise ArgumentValueError("theta1", "finite, or theta2", "inf for both")
    # At either end one of the prices is infinite.
    with np.errstate(divide="ignore"):
        # 1 / theta1 = cheapness (1 / theta1 + 1 / theta2), and 1 / theta2 has the rest of the sum.
        of_perturbation = 1.0 / (total * grid)
        of_weights = 1.0 / (total * (1.0 - grid))
    points = []
    for first, second in zip(of_perturbation.tolist(), of_weights.tolist(), strict=True):
        pair = Prices(first, second, prices.divergence)
        with counted_passes("stability over prices", computing) as on_pass:
            problem = StabilityProblem.of(
                loss, sample_weight, pair, resampling, computing, on_pass, keep_rows=False
            )
            points.append(least_shift(problem, threshold))
    cheapest = min(points, key=lambda point: point.value)
    # Prices differ from point to point, and stand among the points; what they share is their total.
    settings = {**points[0].settings, "total": total}
    for name in ("theta1", "theta2"):
        del settings[name]
    return StabilityCurve(
        value=cheapest.value,
        interval=cheapest.interval,
        points=CurvePoints(
            cheapness=grid, theta1=of_perturbation, theta2=of_weights, **_columns(points)
        ),
        settings=settings,
        n_passes=sum(point.n_passes for point in points),
        **_shared(points),
    )


def _shared(points: list[StabilityResult]) -> dict[str, Any]:
    """Return the fields of a curve that follow from its points alone."""
    first = points[0]
    # Warnings that differ in their numbers alone are said once.
    warnings: dict[str, str] = {}
    for point in points:
        for warning in point.warnings:
            warnings.setdefault(warning.split(":")[0], warning)
    return {
        "error_bound": max(point.error_bound for point in points),
        "status": SOLVED if all(point.status.ok for point in points) else MAX_ITER,
        "n_samples": first.n_samples,
        "kind": first.kind,
        "base_risk": first.base_risk,
        "warnings": tuple(warnings.values()),
    }


def _columns(points: list[StabilityResult]) -> dict[str, Any]:
    """Return the columns of `CurvePoints` that the results of its points hold."""
    lines = []
    for point in points:
        line = {
            "threshold": point.settings["threshold"],
            "stability": point.value,
            "error_bound": point.error_bound,
            # A point without an interval keeps its place: all columns have one length.
            "standard_error": np.nan,
            "interval_low": np.nan,
            "interval_high": np.nan,
            **{f"slope_{name}": slope for name, slope in vars(point.slopes).items()},
            "risk": point.plan.risk,
            **vars(point.plan.excess_risk),
            "rms_distance": point.plan.rms_distance,
            "changed_fraction": point.plan.changed_fraction,
            "effective_sample_fraction": point.plan.effective_sample_fraction,
        }
        if point.standard_error is not None:
            line["standard_error"] = point.standard_error
        if point.interval is not None:
            line["interval_low"] = point.interval.low
            line["interval_high"] = point.interval.high
        lines.append(line)
    columns: dict[str, Any] = {
        name: np.array([line[name] for line in lines], dtype=np.float64) for name in lines[0]
    }
    columns["status"] = tuple(str(point.status) for point in points)
    return columns


def _default_thresholds(problem: StabilityProblem, n_points: int) -> FloatArray:
    """Return thresholds from the current risk to the highest that shifts reach, or two standard deviations up."""
    baseline, highest = problem.dual.baseline, problem.dual.highest_risk
    if not np.isfinite(highest):
        highest = baseline.risk + (2.0 * np.sqrt(baseline.variance) or 1.0)
    return np.unique(np.linspace(baseline.risk, highest, n_points))
