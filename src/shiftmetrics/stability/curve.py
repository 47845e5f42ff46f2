"""Stability at several risk thresholds, or at several pairs of prices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics._core.result import Status
from shiftmetrics._core.validation import check_integer, check_number, check_vector, describe
from shiftmetrics.stability.criterion import least_shift
from shiftmetrics.stability.curve_result import COLUMNS, CurvePoints, StabilityCurve
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses.base import Loss
from shiftmetrics.stability.problem import Prices, StabilityProblem, counted_passes
from shiftmetrics.stability.result import MAX_ITER, StabilityResult

_SHARES = tuple(np.linspace(0.0, 1.0, 11).tolist())
SOLVED = Status("solved", "The stability of every point is certified.")


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
        Loss of each row, before and after its moves; see `stability_criterion`.
    thresholds : float or array_like of shape (n_points,), optional
        Risks that count as broken, at least 0; they are sorted. Default: ``n_points`` of them from the risk as
        it is to the highest that shifts reach or, where that has no limit, two standard deviations of the losses
        above it (1 above it where the losses are all the same).
    n_points : int, default 25
        Number of default thresholds.
    theta1, theta2, divergence, sample_weight, resampling, computing
        As in `stability_criterion`, for each point.

    Returns
    -------
    StabilityCurve
        A point for each threshold, with its interval, what rows do there and its excess risk; ``to_frame()`` is a
        table.

    Raises
    ------
    TypeError
        If ``loss`` is not a loss object.
    ValueError
        If a number is out of its range, or the weights do not match the rows.

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
        given = np.unique(check_vector(np.atleast_1d(thresholds), "thresholds", low=0.0))
    n_points = check_integer(n_points, "n_points", low=2)
    with counted_passes("stability curve", computing) as on_pass:
        problem = StabilityProblem.of(
            loss, sample_weight, prices, resampling, computing, on_pass, keep_rows=False
        )
        rising = _default_thresholds(problem, n_points) if given is None else given
        points = [least_shift(problem, float(r)) for r in rising]
    return _curve(
        points,
        -1,
        settings=problem.settings(thresholds=None if given is None else list(given)),
        prices={
            "theta1": np.full(len(points), prices.theta1),
            "theta2": np.full(len(points), prices.theta2),
        },
        highest_risk=problem.dual.highest_risk,
        n_passes=problem.dual.n_passes,
    )


def trade_off(
    loss: Loss,
    threshold: float,
    shares: npt.ArrayLike = _SHARES,
    *,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    resampling: Resampling | float | None = 0.95,
    computing: Computing | None = None,
) -> StabilityCurve:
    """Return the least shift to a threshold as moving and reweighting trade their prices.

    The prices say how far a move is as bad as a change of weights; no data tell it. So look at the answer over them:
    how many rows move, how far, and what moves and weights each add to the risk (figure 6a of [1]_).

    Parameters
    ----------
    loss : Loss
        Loss of each row, before and after its moves; see `stability_criterion`.
    threshold : float
        The risk that counts as broken.
    shares : array_like of shape (n_points,), default 0, 0.1, ..., 1
        How cheap moving is at each point, (1/theta1) / (1/theta1 + 1/theta2). At 0 rows may only gain weight, at 1
        they may only move.
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
        If a number is out of its range, both prices are inf, or the weights do not match the rows.

    References
    ----------
    .. [1] Blanchet, Cui, Li, Liu, "Stability Evaluation through Distributional Perturbation Analysis", ICML 2024,
       arXiv:2405.03198, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import ZeroOneLoss, trade_off
    >>> loss = ZeroOneLoss(np.maximum(np.linspace(-0.5, 2.4, 30), 0) / 1.5)
    >>> points = trade_off(loss, 0.5, shares=[0, 0.5, 1]).to_frame()
    >>> points[["theta1", "theta2", "stability", "corruption", "reweighting"]].round(4)
       theta1  theta2  stability  corruption  reweighting
    0     inf     0.2     0.0446      0.0000       0.3000
    1     0.4     0.4     0.0127      0.2415       0.0585
    2     0.2     inf     0.0084      0.3000       0.0000
    """
    prices = Prices(theta1, theta2, divergence)
    threshold = check_number(threshold, "threshold", low=0.0)
    grid = np.unique(check_vector(shares, "shares", low=0.0))
    check_number(grid[-1], "shares", high=1.0)
    total = 1.0 / prices.theta1 + 1.0 / prices.theta2
    if total == 0.0:
        raise ValueError(describe("theta1", "finite, or theta2", "inf for both"))
    with np.errstate(divide="ignore"):
        moving, weighing = 1.0 / (total * grid), 1.0 / (total * (1.0 - grid))
    points = []
    for first, second in zip(moving.tolist(), weighing.tolist(), strict=True):
        pair = Prices(first, second, prices.divergence)
        with counted_passes("stability over prices", computing) as on_pass:
            problem = StabilityProblem.of(
                loss, sample_weight, pair, resampling, computing, on_pass, keep_rows=False
            )
            points.append(least_shift(problem, threshold))
    settings = {**points[0].settings, "total": total}
    for name in ("theta1", "theta2"):
        del settings[name]
    return _curve(
        points,
        int(np.argmin([point.value for point in points])),
        settings=settings,
        prices={"shares": grid, "theta1": moving, "theta2": weighing},
        n_passes=sum(point.n_passes for point in points),
    )


def _curve(
    points: Sequence[StabilityResult], at: int, *, prices: dict[str, FloatArray], **fields: Any
) -> StabilityCurve:
    """Put the results of all points into columns; the one at the position ``at`` gives the value."""

    def column(name: str) -> FloatArray:
        values = [table.get(name) for table in tables]
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    tables: list[dict[str, Any]] = []
    for point in points:
        interval = (
            {}
            if point.interval is None
            else {"low": point.interval.low, "high": point.interval.high}
        )
        tables.append({**vars(point), **vars(point.excess_risk), **interval})
    columns: dict[str, Any] = {name: column(field) for name, field in COLUMNS.items()}
    return StabilityCurve(
        value=points[at].value,
        error_bound=float(columns["errors"].max()),
        interval=points[at].interval,
        status=SOLVED if all(point.status.ok for point in points) else MAX_ITER,
        n_samples=points[0].n_samples,
        warnings=tuple(dict.fromkeys(warning for point in points for warning in point.warnings)),
        kind=points[0].kind,
        base_risk=points[0].base_risk,
        points=CurvePoints(
            thresholds=np.array([point.settings["threshold"] for point in points]),
            stability=column("value"),
            statuses=tuple(str(point.status) for point in points),
            **prices,
            **columns,
        ),
        **fields,
    )


def _default_thresholds(problem: StabilityProblem, n_points: int) -> FloatArray:
    """Return thresholds from the risk as it is to the highest that shifts reach, or two standard deviations up."""
    baseline, highest = problem.dual.baseline, problem.dual.highest_risk
    if not np.isfinite(highest):
        highest = baseline.risk + (2.0 * np.sqrt(baseline.variance) or 1.0)
    return np.unique(np.linspace(baseline.risk, highest, n_points))
