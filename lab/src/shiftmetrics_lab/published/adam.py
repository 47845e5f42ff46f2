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

from shiftmetrics._core.arrays import FloatArray, as_array, to_float64
from shiftmetrics._core.confidence import normal_interval
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.options import Computing, progress_bar
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Status, format_number, settings_of
from shiftmetrics._core.validation import (
    check_choice,
    check_integer,
    check_matrix,
    check_number,
    check_vector,
    check_weights,
)
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.divergence import (
    DIVERGENCES,
    Divergence,
    DivergenceName,
    Moment,
    divergence_of,
)
from shiftmetrics.stability.losses import CandidateLoss, Loss
from shiftmetrics_lab.published.steps import Adam
from shiftmetrics_lab.result import LabResult

PointLoss = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""From points of shape (n, d), one for each row, to their losses (n,) and the gradients of these (n, d)."""

SETTLED_WITHIN = 0.01
"""Difference of risk and threshold, relative to the threshold, up to which the steps have settled."""
SETTLED = Status(
    "settled",
    "All steps were taken, and the risk of the shifted sample is within 1 % of the threshold; that neither the "
    "points nor the price can be improved is not certified by the steps themselves.",
)
ALREADY_AT_RISK = Status(
    "already_at_risk",
    "The sample as it stands has this risk, so no shift is needed.",
    "Choose a higher threshold.",
)
UNSETTLED = Status(
    "unsettled",
    "The steps ended where the risk of the shifted sample is more than 1 % away from the threshold.",
    "Take more steps, or longer ones; the threshold may also be out of reach.",
    ok=False,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class AdamSteps(Record):
    """How many Adam steps the algorithms of the stability paper take, and how long they are.

    Parameters
    ----------
    n_steps, n_inner : int, default 300 and 20
        Steps of the price, and steps of the points before each of them.
    learning_rate, dual_learning_rate : float, default 0.01 and 0.05
        Step sizes of the points (in units) and of the price.
    initial_dual : float, default 1
        Where the price starts.

    Raises
    ------
    TypeError
        If an option is of the wrong type.
    ValueError
        If a number is out of range.
    """

    n_steps: int = 300
    n_inner: int = 20
    learning_rate: float = 0.01
    dual_learning_rate: float = 0.05
    initial_dual: float = 1.0

    def __post_init__(self) -> None:
        check_integer(self.n_steps, "n_steps", low=1)
        check_integer(self.n_inner, "n_inner", low=1)
        for name in ("learning_rate", "dual_learning_rate"):
            check_number(getattr(self, name), name, low=0.0, open_low=True)
        check_number(self.initial_dual, "initial_dual", low=0.0)


def stability_criterion_adam(
    loss: PointLoss,
    points: Any,
    threshold: float,
    *,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    unit: Any = None,
    limits: tuple[Any, Any] | None = None,
    exact: Loss | None = None,
    sample_weight: Any = None,
    steps: AdamSteps | None = None,
    progress: bool = True,
) -> LabResult:
    """Stability as the paper computes it, corrected: Algorithm 1 (KL) or 2 (chi-squared) [1]_.

    For comparison. It needs the gradient of the loss, takes a given number of steps wherever they lead, and certifies
    nothing by itself; `stability_criterion` solves for the price exactly, in a fraction of the time.

    Parameters
    ----------
    loss : callable
        Maps points of shape (n_samples, n_features), one for each row, to their losses (n_samples,) and the gradients
        of these (n_samples, n_features).
    points : array_like of shape (n_samples, n_features)
        The rows before any perturbation. A cell that is NaN stays so, where ``loss`` takes it.
    threshold, theta1, theta2, divergence, sample_weight
        As in `stability_criterion`.
    unit : array_like of shape (n_features,), optional
        A change of a feature by that much is a distance of 1; 0 for features that may not change. Default: 1 for all.
    limits : pair of array_like of shape (n_samples, n_features), optional
        Lowest and highest points; steps beyond them are cut off.
    exact : Loss, optional
        The same loss with exact worst cases, such as `LogisticLoss`: then ``error_bound`` is certified.
    steps : AdamSteps, optional
        How many steps, and how long.
    progress : bool, default True
        Whether to show a progress bar, over the steps, for work of more than two seconds.

    Returns
    -------
    LabResult
        ``value`` is the dual objective at the last price and points, neither an upper nor a lower bound;
        ``error_bound`` its distance from the exact value where that is known, else inf. ``parts`` holds
        ``upper_bound``, the least cost of a shift to the points found that reaches the threshold, a true upper bound;
        ``exact_value`` or None; ``dual``, ``risk`` and ``base_risk``; ``moved_points``, ``moved_losses`` and
        ``moved_distances``; and ``trace_dual``, ``trace_value`` and ``trace_risk`` before each step of the price and
        at the end.

    Raises
    ------
    TypeError
        If ``loss`` is not callable, or an option is not a number.
    ValueError
        If ``loss`` returns other shapes, or an option is out of its range.

    References
    ----------
    .. [1] Blanchet, Cui, Li, Liu, arXiv:2405.03198, appendix B.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics import LogisticLoss
    >>> from shiftmetrics_lab.published import stability_criterion_adam
    >>> weights, points = np.array([1.5, 0.0]), np.stack([np.linspace(-0.3, 1.6, 30), np.zeros(30)], axis=1)
    >>> def loss(points):
    ...     odds = np.exp(-(points @ weights))
    ...     return np.log1p(odds), -(odds / (1.0 + odds))[:, None] * weights
    >>> found = stability_criterion_adam(loss, points, 1.0, exact=LogisticLoss(points @ weights, 1.5))
    >>> exact = found.parts["exact_value"]
    >>> round(exact, 3), abs(found.value - exact) <= found.error_bound < 1e-3
    (0.198, True)
    """
    threshold = check_number(threshold, "threshold", low=0.0)
    theta1 = check_number(theta1, "theta1", low=0.0, open_low=True, allow_inf=True)
    theta2 = check_number(theta2, "theta2", low=0.0, open_low=True, allow_inf=True)
    price = divergence_of(check_choice(divergence, "divergence", DIVERGENCES), theta2)
    if not callable(loss):
        remedy = "It maps points to their losses and gradients."
        raise ArgumentTypeError("loss", "callable", type(loss).__name__, remedy)
    start = np.array(to_float64(as_array(points, "points")))
    check_matrix(np.where(np.isnan(start), 0.0, start), "points")  # a missing number stays missing
    units = np.ones(start.shape[1])
    if unit is not None:
        units = check_vector(unit, "unit", length=start.shape[1], low=0.0)
    base = _checked_losses(loss, start)
    weights = check_weights(sample_weight, "sample_weight", len(base))
    steps = AdamSteps() if steps is None else steps
    run = _take_steps(
        loss, start, units, limits, threshold, theta1, price, weights, steps, progress=progress
    )

    distances = np.sqrt(run.squared)
    known = CandidateLoss(
        np.stack([base, run.losses], axis=1), np.stack([np.zeros_like(base), distances], axis=1)
    )
    quiet = Computing(progress=False)
    prices: dict[str, Any] = {"theta1": theta1, "theta2": theta2, "divergence": divergence}
    solved = stability_criterion(
        known, threshold, **prices, sample_weight=sample_weight, computing=quiet
    )
    status = UNSETTLED
    if threshold <= solved.base_risk:
        status = ALREADY_AT_RISK
    elif abs(run.moment.risk - threshold) <= SETTLED_WITHIN * threshold:
        status = SETTLED
    value = float(run.values[-1])
    exact_value, error = None, math.inf
    if exact is not None:
        best = stability_criterion(
            exact, threshold, **prices, sample_weight=sample_weight, computing=quiet
        )
        exact_value, error = best.value, best.error_bound
        if value != best.value:  # not inf and inf
            error += abs(value - best.value)
    influence, density = run.influence(theta1, price, weights)
    standard_error = float(np.linalg.norm(influence)) if status.ok else None
    certified = "" if exact_value is None else f"; the exact value is {format_number(exact_value)}"
    return LabResult(
        title="Stability by gradient steps",
        higher_is_better=True,
        value=value,
        error_bound=error,
        interval=None
        if standard_error is None
        else normal_interval(value, standard_error, 0.95, "influence function", least=0.0),
        status=status,
        n_samples=len(base),
        settings=settings_of(
            loss=getattr(loss, "__qualname__", type(loss).__name__),
            threshold=threshold,
            **prices,
            sample_weight=None if sample_weight is None else "given",
            steps=steps.to_dict(),
        ),
        warnings=()
        if exact is not None
        else (
            "Nothing certifies how far the value is from the exact one; upper_bound is a bound.",
        ),
        remark=(
            f"{steps.n_steps} Adam steps end at risk "
            f"{format_number(run.moment.risk)} at threshold {format_number(threshold)}{certified}. "
            f"Shifts to the points found reach it at cost {format_number(solved.value)}."
        ),
        standard_error=standard_error,
        parts={
            "upper_bound": solved.value,
            "exact_value": exact_value,
            "dual": run.moment.dual,
            "risk": run.moment.risk,
            "base_risk": solved.base_risk,
            "weights": density,
            "influence": influence,
            "moved_points": start + units * run.moves,
            "moved_losses": run.losses,
            "moved_distances": distances,
            "trace_dual": run.duals,
            "trace_value": run.values,
            "trace_risk": run.risks,
        },
    )


@dataclass(frozen=True, eq=False)
class _Run:
    """Where the steps ended: perturbations (n, d), losses and squared distances (n,), and the trace of the price."""

    moves: FloatArray
    losses: FloatArray
    squared: FloatArray
    moment: Moment
    duals: FloatArray
    values: FloatArray
    risks: FloatArray

    def influence(
        self, theta1: float, price: Divergence, weights: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return what one more row like each adds to the value, to first order, and the weight of each row."""
        value = _transformed(self.moment.dual, theta1, self.losses, self.squared)
        density = price.density(value, self.moment)
        influence = price.influence(value, self.moment)
        share = (
            np.full(len(value), 1.0 / len(value)) if weights is None else weights / weights.sum()
        )
        return -share * (influence - share @ influence), density


def _take_steps(
    loss: PointLoss,
    start: FloatArray,
    unit: FloatArray,
    limits: tuple[Any, Any] | None,
    threshold: float,
    theta1: float,
    divergence: Divergence,
    weights: FloatArray | None,
    steps: AdamSteps,
    *,
    progress: bool,
) -> _Run:
    moves, points = np.zeros_like(start), start.copy()
    rows = Adam(start.shape, steps.learning_rate)
    price, dual = Adam((1,), steps.dual_learning_rate), steps.initial_dual
    losses, gradients = loss(points)
    squared = np.zeros_like(losses)
    trace: list[tuple[float, float, float]] = []
    for _ in progress_bar(progress, "Adam", over=range(steps.n_steps)):
        if math.isfinite(theta1):
            for _ in range(steps.n_inner):
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
    return _Run(moves, losses, squared, moment, duals, values, risks)


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
    return divergence.solve(
        dual, lambda level: divergence.statistic(value, losses, weights, level), start
    )


def _transformed(dual: float, theta1: float, losses: FloatArray, squared: FloatArray) -> FloatArray:
    value = dual * losses
    if math.isfinite(theta1):
        value -= theta1 * squared
    return value


def _checked_losses(loss: PointLoss, start: FloatArray) -> FloatArray:
    """Return the losses where the rows stand; the first call shows whether the shapes are right."""
    answer = loss(start.copy())
    expected = f"a pair of losses {start.shape[:1]} and gradients {start.shape}"
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ArgumentTypeError(
            "loss", f"a function that returns {expected}", type(answer).__name__
        )
    shapes = tuple(np.shape(part) for part in answer)
    if shapes != (start.shape[:1], start.shape):
        raise ArgumentValueError("loss", f"a function that returns {expected}", f"shapes {shapes}")
    return check_vector(answer[0], "losses of the points", low=0.0)
