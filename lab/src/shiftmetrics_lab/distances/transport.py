"""Optimal transport between the class distributions of a row: closed forms, and exact linear programs in batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, to_float64
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.validation import check_matrix
from shiftmetrics_lab.distances.inputs import OutputPairs

Route = Literal["total variation", "line", "linear program"]

BATCH_VARIABLES = 2000
"""Variables of one linear program: it holds the transport plans of as many rows as fit."""

_TOLERANCE = 1e-10
_TINY = 1e-13
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class TransportCost:
    """What moving probability between classes costs, and the fastest exact route for that cost.

    Attributes
    ----------
    cost : ndarray of shape (n_classes, n_classes)
    route : str
        "total variation" for equal costs, "line" for distances of positions, else "linear program".
    positions : ndarray of shape (n_classes,) or None
        The positions, for the route "line".
    metric : bool
        Whether the triangle inequality holds: then probability that both distributions have need not be transported.
    """

    cost: FloatArray
    route: Route
    positions: FloatArray | None = None
    metric: bool = True

    @classmethod
    def of(cls, cost: Any, n_classes: int) -> TransportCost:
        """Check a cost matrix and choose the route; None costs 1 between any two classes.

        Raises
        ------
        ValueError
            If it is negative, not 0 on its diagonal, or of another shape.
        """
        equal = 1.0 - np.eye(n_classes)
        if cost is None:
            return cls(equal, "total variation")
        matrix = to_float64(check_matrix(cost, "cost"))
        expected = (n_classes, n_classes)
        if matrix.shape != expected:
            raise ArgumentValueError(
                "cost", f"a matrix of shape {expected}", f"shape {matrix.shape}"
            )
        if (matrix < 0.0).any():
            row, column = np.argwhere(matrix < 0.0)[0]
            got = f"{matrix[row, column]:g} from class {row} to {column}"
            raise ArgumentValueError("cost", "non-negative", got)
        if np.diagonal(matrix).any():
            where = int(np.flatnonzero(np.diagonal(matrix))[0])
            got = f"{matrix[where, where]:g} at class {where}"
            raise ArgumentValueError("cost", "0 from each class to itself", got)
        largest = float(matrix.max())
        if np.array_equal(matrix, largest * equal):
            return cls(matrix, "total variation")
        end = int(matrix[0].argmax())
        line = matrix[end]  # distances from one end of the line
        if np.allclose(np.abs(line[:, None] - line), matrix, rtol=0.0, atol=_SAME * largest):
            return cls(matrix, "line", positions=line)
        return cls(matrix, "linear program", metric=_is_metric(matrix))

    @property
    def largest(self) -> float:
        """The largest cost."""
        return float(self.cost.max())

    def solve(self, pairs: OutputPairs, *, progress: bool) -> FloatArray:
        """Return the transport cost of each row and a bound on its error: an array of shape (n_samples, 2)."""
        kernel = {
            "total variation": self._total_variation,
            "line": self._line,
            "linear program": self._programs,
        }[self.route]
        title = f"transport by {self.route}"
        with progress_bar(progress, title, pairs.n_samples) as bar:

            def rows_of(p: Array, _log_p: Array, q: Array, _log_q: Array) -> FloatArray:
                found = kernel(to_float64(p), to_float64(q))
                bar.update(len(found))
                return found

            return pairs.map_rows(rows_of)

    def _total_variation(self, p: FloatArray, q: FloatArray) -> FloatArray:
        moved = 0.5 * np.abs(p - q).sum(axis=1)
        return _with_bound(self.largest * moved)

    def _line(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Each gap between neighbours is crossed by the difference of the distribution functions there."""
        assert self.positions is not None
        order = np.argsort(self.positions)
        crossed = np.abs(np.cumsum((p - q)[:, order], axis=1))[:, :-1]
        return _with_bound(crossed @ np.diff(self.positions[order]))

    def _programs(self, p: FloatArray, q: FloatArray) -> FloatArray:
        found = np.zeros((len(p), 2))
        batch: list[_Plan] = []
        size = 0
        for row in range(len(p)):
            plan = _Plan.of(row, p[row], q[row], cancel=self.metric)
            if plan is None:
                continue
            batch.append(plan)
            size += plan.n_variables
            if size >= BATCH_VARIABLES:
                self._solve_batch(batch, found)
                batch, size = [], 0
        if batch:
            self._solve_batch(batch, found)
        return found

    def _solve_batch(self, batch: list[_Plan], found: FloatArray) -> None:
        """Solve many small transport problems as one block-diagonal linear program.

        The value is that of the dual, made feasible exactly; its distance from the primal value bounds the error.
        """
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        costs = np.concatenate(
            [self.cost[np.ix_(plan.sources, plan.sinks)].ravel() for plan in batch]
        )
        supply_of, demand_of, masses = [], [], []
        first_row = 0
        for plan in batch:
            n_sources, n_sinks = len(plan.sources), len(plan.sinks)
            supply_of.append(first_row + np.repeat(np.arange(n_sources), n_sinks))
            demand_of.append(first_row + n_sources + np.tile(np.arange(n_sinks), n_sources))
            masses += [plan.supplies, plan.demands]
            first_row += n_sources + n_sinks
        supplies, demands = np.concatenate(supply_of), np.concatenate(demand_of)
        variables = np.arange(len(costs))
        entries = (np.ones(2 * len(costs)), (np.r_[supplies, demands], np.r_[variables, variables]))
        constraints: Any = csr_array(entries, shape=(first_row, len(costs)))
        mass = np.concatenate(masses)
        # What the largest sink of a problem gets follows from the rest: without its equation rounding cannot make the
        # program infeasible.
        sizes = np.array([len(plan.sources) + len(plan.sinks) for plan in batch])
        kept = np.delete(np.arange(first_row), np.cumsum(sizes) - 1)
        solution = linprog(
            costs,
            A_eq=constraints[kept],
            b_eq=mass[kept],
            method="highs",
            options={
                "primal_feasibility_tolerance": _TOLERANCE,
                "dual_feasibility_tolerance": _TOLERANCE,
            },
        )
        if solution.status != 0:  # it is feasible and bounded by construction
            raise RuntimeError(f"The transport program was not solved: {solution.message}")
        potentials = np.zeros(first_row)
        potentials[kept] = solution.eqlin.marginals
        # The largest potentials of the sinks that those of the sources allow.
        reduced = np.full(first_row, np.inf)
        np.minimum.at(reduced, demands, costs - potentials[supplies])
        potentials = np.where(np.isfinite(reduced), reduced, potentials)
        violation = np.abs(constraints @ solution.x - mass) * self.largest
        problem = np.repeat(np.arange(len(batch)), sizes)
        of_variable = np.repeat(np.arange(len(batch)), [plan.n_variables for plan in batch])
        lower = np.bincount(problem, weights=mass * potentials)
        upper = np.bincount(of_variable, weights=costs * solution.x)
        gap = np.maximum(upper - lower, 0.0) + np.bincount(problem, weights=violation)
        gap += self.largest * np.array([plan.dropped for plan in batch])
        rows = [plan.row for plan in batch]
        scale = np.array([plan.scale for plan in batch])
        found[rows] = np.stack([np.maximum(lower, 0.0) * scale, gap * scale], axis=1)


@dataclass(frozen=True, eq=False)
class _Plan:
    """One transport problem: what leaves which classes and arrives at which, scaled to a total of 1.

    The sink that gets most comes last.
    """

    row: int
    sources: IntArray
    sinks: IntArray
    supplies: FloatArray
    demands: FloatArray
    scale: float
    dropped: float
    """Mass too small for the solver."""

    @classmethod
    def of(cls, row: int, p: FloatArray, q: FloatArray, *, cancel: bool) -> _Plan | None:
        """Return the problem of a row, or None when nothing is transported."""
        shared = np.minimum(p, q) if cancel else 0.0
        left, arriving = p - shared, q - shared
        out, arrived = float(left.sum()), float(arriving.sum())
        if min(out, arrived) <= 0.0:
            return None
        left, arriving = left / out, arriving / arrived
        sources, sinks = np.flatnonzero(left > _TINY), np.flatnonzero(arriving > _TINY)
        sinks = sinks[np.argsort(arriving[sinks], kind="stable")]
        supplies, demands = left[sources], arriving[sinks]
        return cls(
            row,
            sources,
            sinks,
            supplies / supplies.sum(),
            demands / demands.sum(),
            scale=0.5 * (out + arrived),
            dropped=max(0.0, 2.0 - float(supplies.sum()) - float(demands.sum())),
        )

    @property
    def n_variables(self) -> int:
        return len(self.sources) * len(self.sinks)


def _is_metric(cost: FloatArray) -> bool:
    """Return True if no detour is cheaper than the direct way."""
    slack = _SAME * float(cost.max())
    return all(bool((cost <= cost[:, [via]] + cost[via] + slack).all()) for via in range(len(cost)))


def _with_bound(values: FloatArray) -> FloatArray:
    return np.stack([values, np.zeros_like(values)], axis=1)
