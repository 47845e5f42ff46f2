"""Stability as a conic program, solved by Clarabel through cvxpy.

Theorems 2 (KL, exponential cones) and 3 (chi-squared, second-order cones) of arXiv:2405.03198, corrected: the
intercepts ``b_k`` are multiplied by h, and alpha stands in the objective of Theorem 3. They hold for any loss whose
worst case is the greatest of a few pieces ``h u + h^2 q - c``. The program finds the dual price and the value by
itself; the plan is then that of the price found, and what it costs bounds the error of the program.
"""

from __future__ import annotations

import importlib
import math
import warnings
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, to_float64
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import Resampling
from shiftmetrics._core.root import Bracket, Probe
from shiftmetrics._core.validation import check_number
from shiftmetrics.stability.criterion import least_shift
from shiftmetrics.stability.divergence import DivergenceName, Moment
from shiftmetrics.stability.losses import (
    CandidateLoss,
    FixedLoss,
    HingeLoss,
    Loss,
    PiecewiseLinearLoss,
    SquaredLoss,
    ZeroOneLoss,
)
from shiftmetrics.stability.problem import Prices, StabilityProblem
from shiftmetrics.stability.result import StabilityResult
from shiftmetrics.stability.solution import DualSolution, least_cost, parts_of
from shiftmetrics.stability.status import CONVERGED, MAX_ITER

PRECISION = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
TOLERANCE = 1e-6
"""Error, relative to values above 0.001, up to which a program counts as solved; Clarabel asks for far less."""
_NEARBY = (0.0, *(10.0**-k for k in range(12, 1, -1)))
"""How far, relatively, the plans on both sides of the price found may lie: a kink is where it is, to rounding."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Worst cases ``max_k (h u_ik + h^2 q_ik - c_ik)`` of some rows, each array of shape (n_rows, n_pieces)."""

    u: FloatArray
    q: FloatArray
    c: FloatArray
    there: BoolArray
    """False where a row lacks the piece."""
    stretched: FloatArray | None = None
    """Losses of shape (n_rows,) with one more piece each, ``h l / (1 - h / largest)``: squared ones."""
    largest: float = math.inf


def stability_criterion_conic(
    loss: Loss,
    threshold: float,
    *,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    resampling: Resampling | float | None = 0.95,
) -> StabilityResult:
    """Stability by a conic program over all rows: Theorem 2 (KL) or 3 (chi-squared) of the paper, corrected [1]_.

    A second opinion on `stability_criterion`, which takes a small part of the time. For a model, pass the ``loss`` of
    its `ModelStabilityResult`.

    Parameters
    ----------
    loss, threshold, theta1, theta2, divergence, sample_weight, resampling
        As in `stability_criterion`; the worst case of the logistic loss has no conic form.

    Returns
    -------
    StabilityResult
        The value of the program, and the shift at the price that it finds; ``error_bound`` encloses the exact value.

    Raises
    ------
    ImportError
        If cvxpy or Clarabel is missing.
    ValueError
        If the worst case of the loss has no conic form, or an argument is out of its range.
    RuntimeError
        If Clarabel fails.

    References
    ----------
    .. [1] Blanchet, Cui, Li, Liu, arXiv:2405.03198.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.published import stability_criterion_conic
    >>> from shiftmetrics.stability import HingeLoss
    >>> round(stability_criterion_conic(HingeLoss(np.linspace(-0.5, 2.4, 30), 1.5), 1.0).value, 6)
    0.069033
    """
    threshold = check_number(threshold, "threshold", low=0.0)
    problem = StabilityProblem.of(
        loss, sample_weight, Prices(theta1, theta2, divergence), resampling
    )
    return least_shift(problem, threshold, _least_cost_by_program(problem, threshold))


def _least_cost_by_program(problem: StabilityProblem, threshold: float) -> DualSolution:
    program = _Program(problem, threshold)
    edge = _least_cost_at_edges(problem, threshold)
    if edge is not None:
        return edge
    price, value = program.solve()
    bracket = _around(problem, threshold, price)
    error = bracket.gap + abs(value + bracket.least)
    return DualSolution(
        CONVERGED if error <= TOLERANCE * max(value, 1e-3) else MAX_ITER,
        parts_of(bracket, problem.prices.theta1),
        price,
        -bracket.least,
        value=value,
        computed=True,
        has_influence=True,
    )


def _least_cost_at_edges(problem: StabilityProblem, threshold: float) -> DualSolution | None:
    """Return the answer where none needs to be computed, such as a threshold out of reach; else None."""
    dual = problem.dual
    inside = dual.baseline.risk * (1.0 + 1e-12) < threshold < dual.highest_risk * (1.0 - 1e-12)
    if inside and (math.isinf(dual.upper) or dual.baseline.risk > 0.0):
        return None
    return least_cost(dual, threshold)


class _Program:
    """The dual in the variables of the paper: price ``h``, worst cases ``p`` of the rows, those of the weights."""

    def __init__(self, problem: StabilityProblem, threshold: float) -> None:
        try:
            self.cp: Any = importlib.import_module("cvxpy")
            importlib.import_module("clarabel")
        except ImportError as error:
            raise ImportError(
                "stability_criterion_conic needs cvxpy and Clarabel. Install them: pip install 'shiftmetrics[conic]'"
            ) from error
        self.prices, self.threshold = problem.prices, threshold
        self.pieces = _conic_form(problem.loss, problem.prices.theta1)
        n = problem.loss.n_samples
        self.weights = (
            np.ones(n) / n if problem.weights is None else problem.weights / problem.weights.sum()
        )

    def solve(self) -> tuple[float, float]:
        """Return the price and the value."""
        cp, theta2, weights = self.cp, self.prices.theta2, self.weights
        h, p = cp.Variable(nonneg=True), cp.Variable(len(weights))
        constraints = self._worst_cases(h, p)
        if math.isinf(theta2):
            conjugate = weights @ p
        elif self.prices.divergence == "kl":  # Theorem 2
            t, eta = cp.Variable(), cp.Variable(len(weights))
            constraints += [
                cp.ExpCone(
                    p - t, np.full(len(weights), theta2), eta
                ),  # theta2 exp((p - t) / theta2) <= eta
                weights @ eta <= theta2,
            ]
            conjugate = t
        else:  # Theorem 3
            alpha, t = cp.Variable(), cp.Variable()
            eta = cp.Variable(len(weights), nonneg=True)
            constraints += [
                p + alpha + 2.0 * theta2 <= 2.0 * theta2 * eta,
                theta2 * cp.sum_squares(cp.multiply(np.sqrt(weights), eta)) <= t,
            ]
            conjugate = t - alpha - theta2
        program = cp.Problem(cp.Minimize(conjugate - h * self.threshold), constraints)
        try:
            with warnings.catch_warnings():  # more digits are asked for than it can always give
                warnings.filterwarnings("ignore", "DualSolution may be inaccurate")
                program.solve(solver=cp.CLARABEL, **PRECISION)
        except cp.error.SolverError as error:
            raise RuntimeError(f"Clarabel failed ({error}). Use stability_criterion.") from error
        if program.status not in ("optimal", "optimal_inaccurate"):
            raise RuntimeError(
                f"Clarabel ended with status {program.status}. Use stability_criterion."
            )
        return float(h.value), -float(program.value)

    def _worst_cases(self, h: Any, p: Any) -> list[Any]:
        """Return ``h u + h^2 q - c <= p`` for every piece of every row."""
        cp, pieces = self.cp, self.pieces
        constraints = []
        square = cp.Variable()
        if pieces.q.any():
            constraints.append(cp.square(h) <= square)
        for k in range(pieces.u.shape[1]):
            rows = np.flatnonzero(pieces.there[:, k])
            if rows.size == 0:
                continue
            worst = h * pieces.u[rows, k] - pieces.c[rows, k]
            if pieces.q[rows, k].any():
                worst = worst + square * pieces.q[rows, k]
            constraints.append(worst <= p[rows])
        if (
            pieces.stretched is not None
        ):  # h l / (1 - h / h_max) = h_max l (1 / (1 - h / h_max) - 1)
            growth, largest = cp.Variable(), pieces.largest
            constraints.append(cp.inv_pos(1.0 - h / largest) <= growth)
            constraints.append(largest * pieces.stretched * (growth - 1.0) <= p)
        return constraints


def _around(problem: StabilityProblem, threshold: float, price: float) -> Bracket[Moment]:
    """Enclose the price at which the risk crosses ``threshold``, as near to ``price`` as it takes."""

    def probe(dual: float) -> Probe[Moment]:
        moment = problem.dual.moment(dual)
        return Probe(dual, moment.conjugate - dual * threshold, moment.risk - threshold, moment)

    upper = problem.dual.upper
    low = high = probe(price)
    for nearby in _NEARBY:
        if low.slope > 0.0:
            low = probe(price * (1.0 - nearby))
        if high.slope < 0.0:
            high = probe(min(price * (1.0 + nearby), 0.5 * (price + upper)))
        if low.slope <= 0.0 <= high.slope:
            break
    return Bracket(low, high, len(_NEARBY), closed=low.slope <= 0.0 <= high.slope)


@singledispatch
def _conic_form(loss: Loss, theta1: float) -> Pieces:
    """Return the pieces of a loss.

    Raises
    ------
    ValueError
        If its worst case is not made of any.
    """
    expected = "piecewise linear, zero-one, fixed, candidates or squared for a conic program"
    raise ArgumentValueError("loss", expected, type(loss).__name__, "Use stability_criterion.")


@_conic_form.register
def _(loss: FixedLoss, theta1: float) -> Pieces:
    return _linear(loss.losses[:, None], 0.0, theta1)


@_conic_form.register
def _(loss: ZeroOneLoss, theta1: float) -> Pieces:
    base = loss.base(slice(0, loss.n_samples))
    losses, rest = np.stack([base, np.ones_like(base)], axis=1), np.zeros_like(base)
    return _points(losses, np.stack([rest, loss.distances], axis=1), theta1)


@_conic_form.register
def _(loss: HingeLoss, theta1: float) -> Pieces:
    values = np.stack([1.0 - loss.margins, np.zeros_like(loss.margins)], axis=1)
    return _linear(values, np.array([loss.weight_norm, 0.0]), theta1)


@_conic_form.register
def _(loss: PiecewiseLinearLoss, theta1: float) -> Pieces:
    return _linear(to_float64(loss.values), to_float64(loss.slope_norms), theta1)


@_conic_form.register
def _(loss: CandidateLoss, theta1: float) -> Pieces:
    return _points(loss.losses, loss.distances, theta1)


@_conic_form.register
def _(loss: SquaredLoss, theta1: float) -> Pieces:
    base, largest = loss.base(slice(0, loss.n_samples)), loss.largest_dual(theta1)
    pieces = _linear(base[:, None], 0.0, theta1)
    return replace(pieces, stretched=base, largest=largest) if math.isfinite(largest) else pieces


def _linear(u: FloatArray, norms: FloatArray | float, theta1: float) -> Pieces:
    """Return linear pieces with slopes: q = |a|^2 / (4 theta1)."""
    squared = np.broadcast_to(np.square(norms), u.shape)
    return Pieces(u, squared / (4.0 * theta1), np.zeros_like(u), np.ones(u.shape, dtype=bool))


def _points(losses: FloatArray, distances: FloatArray, theta1: float) -> Pieces:
    """Return points that cost ``theta1 d^2``, those that can be reached."""
    there = np.isfinite(distances) if math.isfinite(theta1) else distances == 0.0
    cost = np.zeros_like(losses)
    moved = there & (distances > 0.0)
    cost[moved] = theta1 * distances[moved] ** 2
    return Pieces(np.where(there, losses, 0.0), np.zeros_like(losses), cost, there)
