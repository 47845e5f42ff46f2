"""A sample, its prices and its dual, ready to be solved; and a plan for it, turned into the fields of a result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.resampling import Units
from shiftmetrics._core.validation import check_weights, describe
from shiftmetrics.stability.dual import Dual
from shiftmetrics.stability.losses import Loss
from shiftmetrics.stability.options import Options
from shiftmetrics.stability.passes import Gather, in_memory
from shiftmetrics.stability.plan import Part, PlanPass, PlanStatistic, RowOutputs
from shiftmetrics.stability.result import ExcessRisk


@dataclass(frozen=True)
class Problem:
    """Rows with a positive sample weight, and the dual of their stability."""

    loss: Loss
    weights: FloatArray | None
    kept: IntArray | None
    """Positions of these rows among all; None when all of them are here."""
    n_samples: int
    """Number of all rows."""
    whole: Loss
    options: Options
    dual: Dual
    gather: Gather
    units: Units | None = None
    """Which of all rows belong together; None when each stands for itself."""

    @classmethod
    def of(
        cls, loss: Loss, sample_weight: Any, options: Options, on_pass: Callable[[], object] | None = None
    ) -> Self:
        """Check the rows and take the first pass over them.

        Raises
        ------
        TypeError
            If ``loss`` is not a loss.
        ValueError
            If the weights do not match it.
        """
        if not isinstance(loss, Loss):
            raise TypeError(
                describe(
                    "loss",
                    "a loss object such as FixedLoss or ZeroOneLoss",
                    type(loss).__name__,
                    "Wrap losses as FixedLoss(losses), distances to an error as ZeroOneLoss(distances).",
                )
            )
        weights = check_weights(sample_weight, "sample_weight", loss.n_samples)
        units = None if options.groups is None else Units.of(options.groups, loss.n_samples)
        kept, part = None, loss
        if weights is not None and not weights.all():  # rows without weight are not there
            kept = np.flatnonzero(weights)
            part, weights = loss.take(kept), weights[kept]
        gather = in_memory(part, weights, options.executor)
        upper = part.largest_dual(options.theta1)
        dual = Dual(gather, options.theta1, options.price_of_weights, upper, on_pass)
        return cls(part, weights, kept, loss.n_samples, loss, options, dual, gather, units)

    def realise(self, parts: tuple[Part, ...]) -> Shift:
        """Place and weigh the rows as a plan says."""
        wanted = self.options.keep_rows or self.units is not None
        rows = RowOutputs(self.loss.n_samples) if wanted else None
        statistic = self.dual.gather(PlanPass(parts, self.dual.divergence, rows))
        assert isinstance(statistic, PlanStatistic)
        if rows is not None:
            rows.finish()
        return Shift(self, statistic, rows)

    def unit_sums(self, values: FloatArray) -> FloatArray:
        """Add up values of the rows, each times its sample weight, by row or by group of rows.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            Of the rows with a positive sample weight.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_groups,)
            Divided by the sum of the sample weights.
        """
        weighted = values if self.weights is None else self.weights * values
        whole = np.zeros(self.n_samples)
        whole[slice(None) if self.kept is None else self.kept] = weighted
        whole /= len(values) if self.weights is None else self.weights.sum()
        return whole if self.units is None else self.units.sums(whole)

    @property
    def counts_errors(self) -> bool:
        """Whether this is a 0/1 loss whose rows cannot move: then the error rate alone matters."""
        binary = self.loss.may_count_errors and self.dual.baseline.not_binary == 0.0
        return binary and math.isinf(self.options.theta1) and not math.isinf(self.options.theta2)


@dataclass(frozen=True)
class Shift:
    """A plan carried out: its sums, and what each row does."""

    problem: Problem
    statistic: PlanStatistic
    rows: RowOutputs | None

    @property
    def cost(self) -> float:
        """Price of the moves and of the weights."""
        options, cost = self.problem.options, 0.0
        if not math.isinf(options.theta1):
            cost += options.theta1 * self.statistic.mean("squared_distance")
        if not math.isinf(options.theta2):
            cost += options.theta2 * self.statistic.mean("penalty")
        return cost

    @property
    def risk(self) -> float:
        """Risk of the shifted sample."""
        return self.statistic.mean("loss")

    @property
    def influence(self) -> FloatArray | None:
        """What one more row (or group of rows) like each would add to the least cost, to first order."""
        if self.rows is None:
            return None
        return -self.problem.unit_sums(self.rows.influence - self.statistic.mean("influence"))

    @property
    def standard_error(self) -> float:
        """Sampling error of the least cost."""
        influence = None if self.problem.units is None else self.influence
        if influence is None:
            return self.statistic.standard_error
        return float(np.linalg.norm(influence))

    @property
    def imbalance(self) -> float:
        """How far the mean weight is from 1."""
        return abs(self.statistic.mean("density") - 1.0)

    def fields(self) -> dict[str, Any]:
        """Return the fields that describe the shift in a result."""
        mean, problem = self.statistic.mean, self.problem
        base, risk = mean("base_loss"), self.risk
        moved, reweighted = mean("moved_loss"), mean("reweighted_base_loss")
        return {
            "n_samples": problem.n_samples,
            "risk": risk,
            "base_risk": base,
            "excess_risk": ExcessRisk(
                corruption=moved - base,
                reweighting=risk - moved,
                reweighting_first=reweighted - base,
                corruption_after=risk - reweighted,
            ),
            "rms_move": math.sqrt(mean("squared_distance")),
            "share_moved": mean("moved"),
            "effective_sample_fraction": min(mean("density") ** 2 / mean("squared_density"), 1.0),
            "sensitivity_theta1": mean("squared_distance"),
            "sensitivity_theta2": mean("penalty"),
            "n_passes": problem.dual.n_passes,
            **self._row_fields(),
        }

    def _row_fields(self) -> dict[str, Any]:
        rows, kept, n_samples = self.rows, self.problem.kept, self.problem.n_samples
        if rows is None or not self.problem.options.keep_rows:
            return {}
        if kept is None:
            return {
                "weights": rows.weights,
                "base_losses": rows.base_losses,
                "moved_losses": rows.losses,
                "moved_distances": rows.distances,
                "choices": rows.choices,
                "splits": rows.splits,
            }
        everything = slice(0, n_samples)
        weights, distances = np.zeros(n_samples), np.zeros(n_samples)
        base, choices = self.problem.whole.base(everything), None
        losses = base.copy()
        weights[kept], distances[kept], losses[kept] = rows.weights, rows.distances, rows.losses
        if rows.choices is not None:
            choices = np.zeros(n_samples, dtype=np.int64)
            choices[kept] = rows.choices
        splits = None
        if rows.splits is not None:
            splits = replace(rows.splits, rows=kept[rows.splits.rows])
        return {
            "weights": weights,
            "base_losses": base,
            "moved_losses": losses,
            "moved_distances": distances,
            "choices": choices,
            "splits": splits,
        }
