"""The result of `feature_stability`: what changes of each feature do to a model, and for whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval, Result, Status, format_number, format_percent
from shiftmetrics._core.validation import first_few
from shiftmetrics.stability.losses import Kind

EVERYTHING = "all features"
"""The name of all columns together among the features."""
_MOST_NAMED = 12  # features that a headline names; more are counted

ChangeKind = Literal["number", "integer", "category", "columns"]


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureStability(Record):
    """What changes of one feature, or one group of them, do to a model while the others stay.

    Attributes
    ----------
    feature : str
        Its name; "all features" where all may change.
    columns : tuple of str
        The columns that change.
    change : {"number", "integer", "category", "columns"}
        How they change; "columns" where several do.
    unit : float or None
        A change by that much is a distance of 1, where a single column of numbers changes.
    subgroup : str or None
        The part of the population; None for all of it.
    permutation_importance : float
        By how much the risk grows on average over all permutations of the feature's values; with target samples,
        when the values are sampled from theirs.
    importance_interval : Interval or None
        Of ``permutation_importance``; None for subgroups.
    worst_case_risk : float
        The risk at worst when the values are sampled, without regard to the rest of a sample, from a distribution
        that differs from theirs by at most 0.02 nats of relative entropy, the same for all features.
    value : float
        The stability at the threshold; lower breaks more easily.
    standard_error : float or None
        Sampling error of ``value``.
    interval : Interval or None
        Of ``value``.
    kind : {"exact", "upper_bound", "lower_bound"}
        What ``value`` is for the model.
    lower_bound : float or None
        A certified lower bound, where ``value`` is an upper one.
    status : Status
        How the solver ended.
    error_bound : float
        Numerical error.
    n_samples : int
        Samples.
    base_risk, risk : float
        Current risk, and the highest that changes reach, up to the threshold.
    largest_distance, rms_distance : float
        Largest and root-mean-square distance of the changes that reach the threshold.
    changed_fraction : float
        Fraction of the samples that change to reach the threshold.
    effective_sample_fraction : float
        How evenly the weights are spread after the shift.
    """

    feature: str
    columns: tuple[str, ...]
    change: ChangeKind
    unit: float | None = None
    subgroup: str | None = None
    permutation_importance: float
    importance_interval: Interval | None = None
    worst_case_risk: float
    value: float
    standard_error: float | None
    interval: Interval | None
    kind: Kind
    lower_bound: float | None = None
    status: Status
    error_bound: float
    n_samples: int
    base_risk: float
    risk: float
    largest_distance: float
    rms_distance: float
    changed_fraction: float
    effective_sample_fraction: float

    @property
    def reaches_threshold(self) -> bool:
        """Whether changes of this feature alone reach the threshold."""
        return self.status.code != "unattainable"


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureStabilityResult(Drawn, Result):
    """Features by their permutation importance, with the stability of the model when each changes alone.

    Attributes
    ----------
    value : float
        The least stability of a feature or group at the threshold, with its error bound, interval and status.
    features : tuple of FeatureStability
        Features and groups on the whole sample, by ``permutation_importance``, equal ones by ``value``.
    subgroups : tuple of FeatureStability
        The same for the subgroups of ``Perturbation.by``.
    fixed : tuple of str
        Columns that cannot change.
    n_queries : int
        Rows that the model has predicted.
    """

    measure = "feature_stability"
    title = "Feature stability"
    higher_is_better = True

    status: Status
    features: tuple[FeatureStability, ...]
    subgroups: tuple[FeatureStability, ...] = ()
    fixed: tuple[str, ...] = ()
    n_queries: int = 0

    @property
    def most_important(self) -> FeatureStability:
        """The feature or group of the greatest permutation importance."""
        return self.features[0]

    @property
    def least_stable(self) -> FeatureStability:
        """The feature or group whose changes reach the threshold at the least cost."""
        return min(self.features, key=lambda part: part.value)

    def headline(self) -> str:
        """Say which features alone reach the threshold, and what it takes; then which matter on average."""
        first = self.least_stable
        what = self._what.capitalize()
        now = self._risk(first.base_risk)
        threshold = self._risk(float(self.settings["threshold"]))
        # Features that reach the threshold, the least stable first; or the one that comes nearest.
        reaching = [part for part in self.features if part.reaches_threshold]
        reaching.sort(key=lambda part: part.value)
        if first.status.code == "already_at_risk":
            text = f"{what} {now} already, at a threshold of {threshold}."
        elif reaching:
            name = f"`{first.feature}` alone changes"
            text = f"{what} reach {threshold} (currently {now}) if {name} {self._least(first)} of the samples."
            others = [f"`{part.feature}` ({self._least(part)})" for part in reaching[1:]]
            if others:
                text += f" Next: {_listed(others)}."
        else:
            highest = max(self.features, key=lambda part: part.risk)
            text = f"No feature alone brings {self._what} to {threshold} (currently {now})"
            if self.has_effect(highest):
                text += f": `{highest.feature}` reaches {self._risk(highest.risk)}"
            text += "."
        best = self.most_important
        # Below that it is rounding.
        if round(best.permutation_importance, 12) > 0.0:
            text += (
                f" Most important: `{best.feature}`, {self._importance(best)} when it is permuted."
            )
        idle = [part.feature for part in self.features if not self.has_effect(part)]
        if idle:
            text += f" No effect: {first_few(idle, show=str)}."
        if self.fixed:
            text += f" Cannot change: {first_few(self.fixed, show=str)}."
        return text

    def has_effect(self, part: FeatureStability) -> bool:
        """Return True if changes of a feature, or other values of it, raise the risk at all."""
        slack = 1e-9 * (1.0 + part.base_risk)
        return part.changed_fraction > 0.0 or part.worst_case_risk > part.base_risk + slack

    @property
    def _what(self) -> str:
        if self.settings.get("loss") != "zero_one":
            return "mean losses"
        if "costs" in self.settings.get("decision", {}):
            return "mean costs of errors"
        return "errors"

    def _risk(self, risk: float) -> str:
        if self._what == "errors":
            return format_percent(risk)
        return format_number(risk)

    def _importance(self, part: FeatureStability) -> str:
        """Say by how much the risk grows when a feature is permuted, with the interval."""
        text = f"{self._risk(part.permutation_importance)} more"
        interval = part.importance_interval
        if interval is None:
            return text
        return f"{text} [{self._risk(interval.low)}, {self._risk(interval.high)}]"

    def _least(self, part: FeatureStability) -> str:
        """Say what it takes to reach the threshold by a feature: how far, in how many samples."""
        fraction = f"in {format_percent(part.changed_fraction)}"
        if part.change == "category":
            return fraction
        # Distances are standard deviations but for columns whose cost was given.
        cost = self.settings["perturbation"].get("cost")
        in_deviations = cost == "std"
        if isinstance(cost, dict):
            in_deviations = not cost.keys() & set(part.columns)
        far = f"a distance of {part.largest_distance:.2g}"
        if in_deviations:
            far = f"{part.largest_distance:.2g} sd"
        if part.unit is not None:
            own = _two_digits(part.largest_distance * part.unit)
            if in_deviations:
                far = f"{own} ({far})"
            else:
                far = own
        return f"by at most {far} {fraction}"

    def notes(self) -> list[str]:
        """Return the sentences that follow the headline."""
        sentences = super().notes()
        whole = [part for part in self.subgroups if part.feature == EVERYTHING]
        if whole:
            weakest = min(whole, key=lambda part: part.value)
            sentences.append(
                f"The least stable subgroup is {weakest.subgroup} ({weakest.n_samples} samples): "
                f"{format_number(weakest.value)} with all features free, from a risk of "
                f"{format_number(weakest.base_risk)}."
            )
        if self.status.ok and self.status.code != "converged":
            sentences.append(f"Status {self.status}: {self.status.text}")
        return sentences

    def details(self) -> list[str]:
        """Return the most important features in figures, the least stability, and the sentences of every measure."""
        shown = [
            f"{part.feature} {self._importance(part)}, {self._risk(part.worst_case_risk)} at worst"
            for part in self.features[:3]
        ]
        sentences = [
            f"By permutation importance, the exact mean over all permutations: {'; '.join(shown)}.",
            f"Stability of `{self.least_stable.feature}`, the least: {format_number(self.value)}.",
        ]
        # Which stabilities are not exact?
        n_bounds = sum(part.kind != "exact" for part in self.features)
        if n_bounds:
            text = f"Upper bounds: {n_bounds} of {len(self.features)} stabilities; see kind."
            sentences.append(text)
        return [*sentences, *super().details()]

    def to_frame(self) -> Any:
        """Return one row for each feature and group as a pandas DataFrame, the most important first."""
        return _frame(self.features, ["feature"])

    def subgroups_frame(self, feature: str | None = None) -> Any:
        """Return one row for each subgroup and feature as a pandas DataFrame, by feature, the least stable first.

        Parameters
        ----------
        feature : str, optional
            The feature or group that may change; "all features" for all columns together. Default: a row for each.
        """
        parts = [part for part in self.subgroups if feature in (None, part.feature)]
        return _frame(parts, ["subgroup", "feature"])


def _two_digits(number: float) -> str:
    """Return a number with two significant digits, and no exponent above 10."""
    if abs(number) < 10.0:
        return f"{number:.2g}"
    return f"{number:.0f}"


def _listed(names: Sequence[str]) -> str:
    """Return all names, or the first ones and how many more there are."""
    shown = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    if more > 0:
        return f"{shown} and {more} more"
    return shown


_COLUMNS = (
    "permutation_importance",
    "importance_low",
    "importance_high",
    "worst_case_risk",
    "base_risk",
    "risk",
    "value",
    "changed_fraction",
    "largest_distance",
    "rms_distance",
    "change",
    "unit",
    "kind",
    "lower_bound",
    "standard_error",
    "interval_low",
    "interval_high",
    "status",
    "n_samples",
    "effective_sample_fraction",
)


def _frame(parts: Iterable[FeatureStability], labels: list[str]) -> Any:
    import pandas as pd

    lines = []
    for part in parts:
        line = vars(part).copy()
        line["status"] = str(part.status)
        if part.interval is not None:
            line["interval_low"] = part.interval.low
            line["interval_high"] = part.interval.high
        if part.importance_interval is not None:
            line["importance_low"] = part.importance_interval.low
            line["importance_high"] = part.importance_interval.high
        lines.append(line)
    return pd.DataFrame(lines, columns=[*labels, *_COLUMNS])
