"""A sample with its prices and its dual; and the shift of a plan, as the fields of a result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.confidence import ResamplingUnits
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.options import (
    Computing,
    Resampling,
    check_computing,
    computing_of,
    progress_bar,
    resampling_of,
)
from shiftmetrics._core.placement import check_rows_fit
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.validation import check_choice, check_number, check_weights
from shiftmetrics.stability.divergence import DIVERGENCES, DivergenceName, divergence_of
from shiftmetrics.stability.dual import Dual
from shiftmetrics.stability.losses.base import Loss
from shiftmetrics.stability.passes import blocks_of, passes_over
from shiftmetrics.stability.plan import PlanPart, PlanPass, PlanRows, PlanStatistic
from shiftmetrics.stability.shift import ExcessRisk, ShiftPlan, Slopes

_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
# Bytes of a sample at the peak: what it does in the plan, its influence, and what they are computed
# from.
ROW_BYTES = 128
CHEAPEST, DEAREST = 1e-12, 1e20
"""The lowest and the highest finite price: below, rounding of the losses alone would change the weights."""


@dataclass(frozen=True)
class Prices:
    """What perturbation and reweighting cost."""

    theta1: float
    theta2: float
    divergence: DivergenceName

    def __post_init__(self) -> None:
        for name in ("theta1", "theta2"):
            price = check_number(getattr(self, name), name, low=0.0, open_low=True, allow_inf=True)
            if not math.isinf(price) and not CHEAPEST <= price <= DEAREST:
                remedy = "Take units of the distances and losses in which prices are moderate."
                raise ArgumentValueError(
                    name, f"between {CHEAPEST:g} and {DEAREST:g}, or inf", price, remedy
                )
            object.__setattr__(self, name, price)
        check_choice(self.divergence, "divergence", DIVERGENCES)


@contextmanager
def counted_passes(title: str, computing: Computing | None) -> Iterator[Callable[[], object]]:
    """Count passes over the data on a progress bar: yield what to call after each."""
    with progress_bar(check_computing(computing).progress, title, unit=" passes") as bar:
        yield bar.update


@dataclass(frozen=True)
class StabilityProblem:
    """Samples with a positive weight, and the dual of their stability."""

    loss: Loss
    weights: FloatArray | None
    # Positions of these samples among all; None when all of them are here.
    kept: IntArray | None
    # The loss of all samples.
    whole: Loss
    prices: Prices
    dual: Dual
    # Confidence level of the interval; None for no interval.
    confidence_level: float | None
    # Groups of samples that belong together; None where there are none.
    units: ResamplingUnits | None
    computing: Computing
    # Whether plans hold what each sample does.
    keep_rows: bool = True

    @classmethod
    def of(
        cls,
        loss: Loss,
        sample_weight: Any,
        prices: Prices,
        resampling: Resampling | float | None = None,
        computing: Computing | None = None,
        on_pass: Callable[[], object] | None = None,
        *,
        keep_rows: bool = True,
    ) -> Self:
        """Check the samples and take the first pass over them.

        Raises
        ------
        TypeError
            If ``loss`` is not a loss.
        ValueError
            If the weights or the groups do not match it.
        """
        if not isinstance(loss, Loss):
            expected = "a loss object such as FixedLoss or ZeroOneLoss"
            remedy = (
                "Wrap losses as FixedLoss(losses), distances to an error as ZeroOneLoss(distances)."
            )
            raise ArgumentTypeError("loss", expected, type(loss).__name__, remedy)
        if loss.on_workers and sample_weight is not None:
            raise ArgumentValueError(
                "sample_weight",
                "None for a loss of out-of-core data",
                type(sample_weight).__name__,
            )
        # What each sample does stays on the workers.
        keep_rows = keep_rows and not loss.on_workers
        interval = resampling_of(resampling)
        computing = computing_of(computing, rtol=1e-10, max_iter=200, memory_limit=None)
        arrays = [value for value in vars(loss).values() if hasattr(value, "shape")]
        check_rows_fit(arrays, ROW_BYTES, computing, "loss")
        weights = check_weights(sample_weight, "sample_weight", loss.n_samples)
        groups = None if interval is None else interval.groups
        units = None if groups is None else ResamplingUnits.of(groups, loss.n_samples)
        kept = None
        part = loss
        if weights is not None and not weights.all():
            # samples without weight are not there
            kept = np.flatnonzero(weights)
            part, weights = loss.take(kept), weights[kept]
        # The first pass: the current risk, and the highest one.
        gather = passes_over(part, weights, computing.executor)
        assert computing.rtol is not None
        assert computing.max_iter is not None
        dual = Dual(
            gather,
            prices.theta1,
            divergence_of(prices.divergence, prices.theta2),
            part.largest_dual(prices.theta1),
            on_pass,
            rtol=computing.rtol,
            max_iter=computing.max_iter,
        )
        confidence_level = None if interval is None else interval.confidence_level
        return cls(
            part, weights, kept, loss, prices, dual, confidence_level, units, computing, keep_rows
        )

    def settings(self, **question: Any) -> dict[str, Any]:
        """Return what a result should record of a call."""
        resampling = {"confidence_level": self.confidence_level, "groups": self.units is not None}
        return settings_of(
            **self.whole.describe(),
            loss_in_words=self.whole.in_words(),
            errors=self.dual.baseline.not_binary == 0.0 and self.dual.baseline.top <= 1.0,
            **question,
            **vars(self.prices),
            sample_weight=None if self.weights is None else "given",
            resampling=None if self.confidence_level is None else resampling,
            computing=self.computing.settings(),
        )

    def realise(self, parts: tuple[PlanPart, ...]) -> RealisedPlan:
        """Compute the places and weights of the samples in a plan."""
        if self.loss.on_workers:
            # The arrays stay on the workers, except for one number of each sample.
            rows = PlanRows(0)
            sums = self.dual.gather(PlanPass(parts, self.dual.divergence))
            rows.influence = self.row_influence(parts)
        else:
            rows = PlanRows(self.loss.n_samples)
            sums = self.dual.gather(PlanPass(parts, self.dual.divergence, rows))
            rows.finish(self.weights)
        assert isinstance(sums, PlanStatistic)
        return RealisedPlan(self, sums, rows)

    def row_influence(self, parts: tuple[PlanPart, ...]) -> FloatArray:
        """Return what errors of sampling need of a plan: the one number of each sample that leaves the workers."""
        kernel, loss = PlanPass(parts, self.dual.divergence, None), self.loss
        found = map_blocks(
            lambda block: kernel.influence(loss, block),
            blocks_of(loss),
            executor=self.computing.executor,
        )
        return np.concatenate(list(found))

    def influence(self, of_rows: FloatArray) -> FloatArray:
        """Return what one more sample (or group of samples) like each would add to the least cost, to first order."""
        # Divergences give minus the influence up to a constant: less their mean, influences sum to 0.
        return -self.unit_sums(of_rows - np.average(of_rows, weights=self.weights))

    def unit_sums(self, values: FloatArray) -> FloatArray:
        """Add up values of the samples, each times its weight, by sample or by group of samples.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            Of the samples with a positive weight.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_groups,)
            Divided by the sum of the sample weights.
        """
        # each sample's part of the mean
        if self.weights is None:
            parts = values / len(values)
        else:
            parts = self.weights * values / self.weights.sum()
        # those without weight have none
        if self.kept is not None:
            everywhere = np.zeros(self.whole.n_samples)
            everywhere[self.kept] = parts
            parts = everywhere
        if self.units is None:
            return parts
        return self.units.sums(parts)

    @property
    def n_units(self) -> float:
        """Effective number of samples, or of groups of samples, by their weights (Kish)."""
        # The fraction of the whole weight that each unit has; of n equal ones, 1 / n.
        fractions = self.unit_sums(np.ones(self.loss.n_samples))
        return float(1.0 / (fractions @ fractions))

    @property
    def counts_errors(self) -> bool:
        """Whether this is a 0/1 loss whose samples cannot change: then the error rate alone matters."""
        binary = self.loss.may_count_errors and self.dual.baseline.not_binary == 0.0
        return binary and math.isinf(self.prices.theta1) and not math.isinf(self.prices.theta2)


@dataclass(frozen=True)
class RealisedPlan:
    """A plan carried out on a sample: its sums, and what each sample does."""

    problem: StabilityProblem
    sums: PlanStatistic
    rows: PlanRows

    @property
    def cost(self) -> float:
        """Price of the changes and of the weights."""
        prices = self.problem.prices
        cost = 0.0
        if not math.isinf(prices.theta1):
            cost += prices.theta1 * self.sums.mean("squared_distance")
        if not math.isinf(prices.theta2):
            cost += prices.theta2 * self.sums.mean("penalty")
        return cost

    @property
    def risk(self) -> float:
        """Risk of the shifted sample."""
        return self.sums.mean("loss")

    @cached_property
    def influence(self) -> FloatArray:
        """What one more sample (or group of samples) like each would add to the least cost, to first order."""
        return self.problem.influence(self.rows.influence)

    @property
    def effective_sample_fraction(self) -> float:
        """``1 / mean(W^2)``."""
        mean = self.sums.mean
        if mean("squared_density") == 0.0:  # distances so large that no weight is left
            return 0.0
        return min(mean("density") ** 2 / mean("squared_density"), 1.0)

    @property
    def imbalance(self) -> float:
        """How far the mean weight is from 1."""
        return abs(self.sums.mean("density") - 1.0)

    def slopes(self, dual: float) -> Slopes:
        """Return the derivatives of the least cost, the one in the risk being the dual price."""
        mean = self.sums.mean
        return Slopes(threshold=dual, theta1=mean("squared_distance"), theta2=mean("penalty"))

    def record(self) -> ShiftPlan:
        """Return what a result should hold of the plan."""
        mean = self.sums.mean
        base = mean("base_loss")
        changed = mean("changed_loss")
        reweighted = mean("reweighted_base_loss")
        plan = ShiftPlan(
            risk=self.risk,
            excess_risk=ExcessRisk(
                corruption=_added(changed, base),
                reweighting=_added(self.risk, changed),
                reweighting_first=_added(reweighted, base),
                corruption_after=_added(self.risk, reweighted),
            ),
            changed_fraction=mean("changed"),
            rms_distance=math.sqrt(mean("squared_distance")),
            effective_sample_fraction=self.effective_sample_fraction,
        )
        if not self.problem.keep_rows:
            return plan
        return self._with_rows(plan)

    def _with_rows(self, plan: ShiftPlan) -> ShiftPlan:
        """Add the arrays over the samples; those without sample weight get the weight 0 and stay as they are."""
        rows = self.rows
        kept = self.problem.kept
        arrays: dict[str, Any] = {
            "weights": rows.weights,
            "base_losses": rows.base_losses,
            "losses": rows.losses,
            "distances": rows.distances,
            "choices": rows.choices,
        }
        splits = rows.splits
        if kept is not None:
            whole = self.problem.whole
            base = whole.base(slice(0, whole.n_samples))
            for name, values in arrays.items():
                if values is not None:
                    everywhere = np.zeros(whole.n_samples, dtype=values.dtype)
                    # A sample that stays as it is keeps its loss: 0 would call the model right.
                    if name.endswith("losses"):
                        everywhere = base.copy()
                    everywhere[kept] = values
                    arrays[name] = everywhere
            if splits is not None:
                # Splits count the rows among those with a weight.
                splits = replace(splits, rows=kept[splits.rows])
        return replace(plan, **arrays, splits=splits)


def _added(after: float, before: float) -> float:
    """Return a difference of risks; 0 where it is no more than rounding."""
    if math.isclose(after, before, rel_tol=_ROUNDING):
        return 0.0
    return after - before
