"""The result of stability: the value, and the shift that has it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.result import Result, format_number
from shiftmetrics.stability.losses.base import Kind
from shiftmetrics.stability.shift import ShiftPlan, Slopes
from shiftmetrics.stability.words import (
    current_risk,
    halves_in_words,
    risk_in_words,
    risk_name,
    risk_number,
    shift_in_words,
)

_INVERSE = {"measure": "worst_case_risk", "title": "Worst-case risk", "higher_is_better": False}

# Settings that must be equal in results to be compared.
_SHARED = ("threshold", "budget", "theta1", "theta2", "divergence", "sample_weight")


@dataclass(frozen=True, eq=False, kw_only=True)
class StabilityResult(Drawn, Result):
    """The least shift that raises the risk to a threshold, or the worst shift within a budget.

    ``value`` is the cost of that shift from `stability_criterion`, and its risk from `worst_case_risk`.

    Where changes cost the same, several shifts cost the least. They agree in ``value``, ``plan.rms_distance`` and the
    weights, and for the 0/1 loss in ``plan.changed_fraction``; which samples split is then a matter of convention.

    Attributes
    ----------
    kind : {"exact", "upper_bound", "lower_bound"}
        What ``value`` is for the model, given what its loss knows.
    base_risk : float
        Current risk of the sample.
    plan : ShiftPlan
        The shifted sample: what changes in it, and where each sample is.
    slopes : Slopes
        Derivatives of the cost in the threshold and in the prices.
    standard_error : float or None
        Sampling error of ``value`` from its influence function; None where there is none.
    influence : array of shape (n_samples,) or (n_groups,), or None
        What one more sample like each would add to ``value``, to first order (with ``groups``, one more group, in
        the order of their sorted labels); they sum to 0, and the root of the sum of their squares is
        ``standard_error``. Comparisons are paired through it. None where there is no standard error.
    n_passes : int
        Passes over the data that it took.
    """

    measure = "stability"
    title = "Stability"
    higher_is_better = True
    # Rank correlations of stability, log loss and error rate with the growth of errors under noise, and with the
    # error rate on other domains, over 12 tables: .37, and .03 against .61 and .65.
    ranked_for = (
        "Stability forecasts whose errors grow under measurement noise. It does not say which model is best on "
        "other data: compare log losses or error rates for that."
    )

    kind: Kind
    base_risk: float
    plan: ShiftPlan
    slopes: Slopes
    standard_error: float | None
    influence: FloatArray | None = None
    n_passes: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if "budget" in self.settings:
            for name, value in _INVERSE.items():
                object.__setattr__(self, name, value)

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what must be equal in results to be compared: the question, its prices and weights."""
        return {name: (self.settings.get(name), "") for name in _SHARED}

    @property
    def secondary_metrics(self) -> dict[str, Any]:
        """Return figures that a comparison shows beside the value."""
        return {
            "base_risk": self.base_risk,
            "risk": self.plan.risk,
            "changed_fraction": self.plan.changed_fraction,
            "rms_distance": self.plan.rms_distance,
            "effective_sample_fraction": self.plan.effective_sample_fraction,
        }

    def headline(self) -> str:
        """Say what changes; the value follows in `notes`."""
        settings = self.settings
        code = self.status.code
        if code == "already_at_risk":
            return f"The sample has {risk_in_words(self.base_risk, settings)} already."
        # The plan is the worst one that is allowed here, so that its risk is the limit.
        if code == "unattainable":
            return f"No allowed shift leads to more than {risk_in_words(self.plan.risk, settings)}."
        if code == "unbounded_loss":
            return "Any risk is reached at no cost: the loss grows faster than the cost."
        if "budget" in settings:
            worst = risk_in_words(self.plan.risk, settings, self.base_risk)
            budget = format_number(settings["budget"])
            return f"At worst {worst} within a budget of {budget}: {self.shift_in_words()}."
        reached = risk_number(self.plan.risk, settings)
        now = current_risk(self.base_risk, reached, settings)
        start = f"The {risk_name(settings)} reaches {reached} (currently {now})"
        # The growth of one group may do the same, and is easier to judge than weights of samples.
        change = self.plan.named_change
        group = ""
        if change is not None and change.is_found:
            group = f"; or {change.in_words()}"
        if self.plan.rms_distance == 0.0:
            return f"{start} by reweighting alone: {self.shift_in_words()}{group}."
        return f"{start} if {self.shift_in_words()}{group}."

    def without_rows(self) -> Self:
        """Return the result without what it holds of each sample: smaller in memory and on disk.

        The influence of groups of samples stays.
        """
        influence = self.influence
        if influence is not None and len(influence) == self.n_samples:
            influence = None
        return replace(self, plan=self.plan.without_rows(), influence=influence)

    def to_frame(self) -> Any:
        """Return one row of a pandas DataFrame with the scalar fields: first what changes, then the value."""
        frame = super().to_frame()
        first = ["measure", *self.secondary_metrics]
        rest = [name for name in frame if name not in first]
        slopes = {f"slope_{name}": slope for name, slope in vars(self.slopes).items()}
        return frame[first + rest].assign(**slopes)

    def places(self) -> tuple[Any, Any]:
        """Return the rows as DataFrames before and after they change (then second places), if it has them."""
        return None, None

    def shift_in_words(self) -> str:
        """Say what the shift does to the samples."""
        plan = self.plan
        return shift_in_words(
            plan.changed_fraction,
            plan.rms_distance,
            plan.effective_sample_fraction,
            plan.largest_distance,
            self.distance_unit,
        )

    @property
    def distance_unit(self) -> str:
        """The unit of a distance, to write after a number."""
        return " in units of the distances"

    def reference_values(self) -> list[str]:
        """Return sentences to compare the shift with: how far random halves of the sample are apart."""
        losses = self.plan.base_losses
        # halves of samples of one loss do not differ at all, which says nothing
        if losses is None or self.n_samples < 2 or losses.min() == losses.max():
            return []
        return [halves_in_words(losses, self.settings)]

    def notes(self) -> list[str]:
        """Return the sentences that follow the headline."""
        sentences = super().notes()
        change = self.plan.named_change
        if change is not None and not change.is_found:
            words = change.in_words()
            sentences.append(f"{words[0].upper()}{words[1:]}.")
        if self.status.ok and self.status.code != "converged":
            sentences.append(f"Status {self.status}: {self.status.text}")
        return sentences

    def details(self) -> list[str]:
        """Return the value with its prices, whether it is a bound, and what to compare the shift with."""
        first, *rest = super().details()
        sentences = [f"{self._value_in_words()} {first}"]
        if self.kind == "upper_bound":
            sentences.append("An upper bound: the true value may be lower, never higher.")
        elif self.kind == "lower_bound":
            sentences.append("A lower bound: the true value may be higher, never lower.")
        sentences += rest
        if self.status.code == "converged":
            sentences += self.reference_values()
        return sentences

    def _value_in_words(self) -> str:
        """Say what the value is, and at which prices."""
        theta1 = self.settings.get("theta1", 0.4)
        theta2 = self.settings.get("theta2", 0.4)
        prices = f"theta1 = {theta1:g}, theta2 = {theta2:g}"
        value = format_number(self.value)
        if "budget" in self.settings:
            return f"Worst-case risk {value} at the prices {prices}."
        threshold = format_number(self.settings.get("threshold", self.plan.risk))
        return f"Stability {value} at risk threshold {threshold}: the least cost, at the prices {prices}."


def common_budget(results: Iterable[Result]) -> float:
    """Return the smallest stability above 0, which is what breaks the least stable model; 0 where there is none."""
    stable = [result.value for result in results if 0.0 < result.value < math.inf]
    return min(stable, default=0.0)
