"""The result of `feature_stability`: the stability of each feature and group, and of each subgroup of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval, Result, format_number
from shiftmetrics._core.status import Status
from shiftmetrics.stability.losses import Kind

EVERYTHING = "all features"


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureStability(Record):
    """The stability of a model when one feature, or one group of them, may move and the others may not.

    Attributes
    ----------
    feature : str
        Its name; "all features" where all may move.
    columns : tuple of str
        The columns that move.
    subgroup : str or None
        The part of the population; None for all of it.
    value : float
        The stability; lower is more sensitive.
    standard_error : float or None
        Sampling error of ``value``.
    interval : Interval or None
        Of ``value``.
    comparison_interval : Interval or None
        Among the subgroups of one feature: two of them differ at this level, on the average of all pairs, where
        these do not overlap. Narrower than ``interval``.
    kind : {"exact", "upper_bound", "lower_bound"}
        What ``value`` is for the model.
    lower_bound : float or None
        A certified lower bound, where ``value`` is an upper one.
    status : Status
        How the solver ended.
    error_bound : float
        Numerical error.
    n_samples : int
        Rows.
    base_risk : float
        Risk as it is.
    dual : float
        Cost of one more unit of risk.
    rms_move : float
        Root-mean-square distance of the moves.
    share_moved : float
        Share of the rows that move.
    effective_sample_fraction : float
        How evenly the weights are spread after the shift.
    """

    feature: str
    columns: tuple[str, ...]
    subgroup: str | None = None
    value: float
    standard_error: float | None
    interval: Interval | None
    comparison_interval: Interval | None = None
    kind: Kind
    lower_bound: float | None = None
    status: Status
    error_bound: float
    n_samples: int
    base_risk: float
    dual: float
    rms_move: float
    share_moved: float
    effective_sample_fraction: float


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureStabilityResult(Drawn, Result):
    """Features by their stability, the most sensitive first.

    Attributes
    ----------
    value : float
        Stability of the most sensitive feature or group.
    features : tuple of FeatureStability
        Features and groups on the whole sample, sorted by value.
    subgroups : tuple of FeatureStability
        The same for the subgroups of ``Moves.by``.
    reweighting_alone : float
        Stability when no feature may move: a feature of the same stability adds nothing to it.
    n_queries : int
        Rows that the model has predicted.
    """

    measure: ClassVar[str] = "feature_stability"
    title: ClassVar[str] = "Feature stability"
    higher_is_better: ClassVar[bool] = True

    status: Status
    features: tuple[FeatureStability, ...]
    subgroups: tuple[FeatureStability, ...] = ()
    reweighting_alone: float
    n_queries: int = 0

    @property
    def most_sensitive(self) -> FeatureStability:
        """The feature or group of the lowest stability."""
        return self.features[0]

    def headline(self) -> str:
        """Say which features are most sensitive."""
        threshold = format_number(self.settings.get("threshold", 0.0))
        first = self.most_sensitive
        if self.status.code == "already_at_risk":
            return f"Feature stability 0: the risk is {format_number(first.base_risk)} already."
        if self.status.code == "unattainable":
            return f"Feature stability inf: no feature alone brings the risk to {threshold}."
        if not self._adds(first):
            return (
                f"No feature alone makes the model less stable than reweighting does: {format_number(first.value)} "
                f"at risk threshold {threshold}."
            )
        others = ", ".join(
            f"{part.feature} ({format_number(part.value)})" for part in self.features[1:5] if self._adds(part)
        )
        then = f" Next: {others}." if others else ""
        return (
            f"The model is most sensitive to {first.feature}: stability {format_number(first.value)} at risk "
            f"threshold {threshold}, where {100 * first.share_moved:.3g} % of the rows move "
            f"(root mean square {format_number(first.rms_move)}).{then}"
        )

    def _adds(self, part: FeatureStability) -> bool:
        """Tell whether moves of a feature make the model less stable than reweighting alone does."""
        return part.value < self.reweighting_alone - part.error_bound

    def notes(self) -> list[str]:
        """Return the sentences that follow the headline."""
        sentences = super().notes()
        if self.reweighting_alone > 0.0:
            sentences.insert(
                1,
                f"Reweighting alone, with no feature moving, costs {format_number(self.reweighting_alone)}.",
            )
        kinds = {part.kind for part in self.features}
        if kinds != {"exact"}:
            n_bounds = sum(part.kind != "exact" for part in self.features)
            sentences.insert(1, f"Upper bounds: {n_bounds} of {len(self.features)} values; see kind.")
        whole = [part for part in self.subgroups if part.feature == EVERYTHING]
        if whole:
            weakest = min(whole, key=lambda part: part.value)
            sentences.append(
                f"The least stable subgroup is {weakest.subgroup} ({weakest.n_samples} rows): "
                f"{format_number(weakest.value)} with all features free, from a risk of "
                f"{format_number(weakest.base_risk)}."
            )
        if self.status.ok and self.status.code != "converged":
            sentences.append(f"Status {self.status}: {self.status.text}")
        return sentences

    def to_frame(self) -> Any:
        """Return one row for each feature and group as a pandas DataFrame, the most sensitive first."""
        return _frame(self.features, ())

    def subgroups_frame(self, feature: str | None = None) -> Any:
        """Return one row for each subgroup and feature as a pandas DataFrame, by feature, the least stable first.

        Parameters
        ----------
        feature : str, optional
            The feature or group that may move; "all features" for all columns together. Default: a row for each.
        """
        parts = tuple(part for part in self.subgroups if feature in (None, part.feature))
        return _frame(parts, ("subgroup",))


def _frame(parts: tuple[FeatureStability, ...], labels: tuple[str, ...]) -> Any:
    import pandas as pd

    return pd.DataFrame(
        [
            {
                **{label: getattr(part, label) for label in labels},
                "feature": part.feature,
                "value": part.value,
                "standard_error": part.standard_error,
                **_ends("interval", part.interval),
                **(_ends("comparison", part.comparison_interval) if labels else {}),
                "kind": part.kind,
                "lower_bound": part.lower_bound,
                "status": str(part.status),
                "n_samples": part.n_samples,
                "base_risk": part.base_risk,
                "rms_move": part.rms_move,
                "share_moved": part.share_moved,
                "effective_sample_fraction": part.effective_sample_fraction,
            }
            for part in parts
        ]
    )


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {f"{name}_low": None, f"{name}_high": None}
    return {f"{name}_low": interval.low, f"{name}_high": interval.high}
