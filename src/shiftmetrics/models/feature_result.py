"""The result of `feature_stability`: what moves of each column can do to a model, and for whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval, Result, Status, format_number
from shiftmetrics._core.validation import first_few
from shiftmetrics.stability.losses import Kind

EVERYTHING = "all features"
"""The name of all columns together among the features."""

MoveKind = Literal["number", "whole steps", "category", "columns"]


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureStability(Record):
    """What moves of one feature, or one group of them, can do to a model while the others stay.

    Attributes
    ----------
    feature : str
        Its name; "all features" where all may move.
    columns : tuple of str
        The columns that move.
    moves : {"number", "whole steps", "category", "columns"}
        How they move; "columns" where several do.
    unit : float or None
        A move by that much is a distance of 1, where a single column of numbers moves.
    subgroup : str or None
        The part of the population; None for all of it.
    worst_case_risk : float
        The risk at worst when the values of the feature are drawn anew, without regard to the rest of a row: from a
        distribution that differs from today's by at most 0.02 nats of relative entropy, the same for all features.
    permutation_importance : float
        By how much the risk grows when they are drawn as they occur today: the mean over shuffles of the feature.
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
        Rows.
    base_risk, risk : float
        Risk as it is, and the highest that moves reach, up to the threshold.
    largest_move, rms_move : float
        Largest and root-mean-square distance of the moves that reach the threshold.
    share_moved : float
        Share of the rows that move to reach the threshold.
    effective_sample_fraction : float
        How evenly the weights are spread after the shift.
    """

    feature: str
    columns: tuple[str, ...]
    moves: MoveKind
    unit: float | None = None
    subgroup: str | None = None
    worst_case_risk: float
    permutation_importance: float
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
    largest_move: float
    rms_move: float
    share_moved: float
    effective_sample_fraction: float


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureStabilityResult(Drawn, Result):
    """Features by the risk at worst when their values are drawn anew, the most harmful first.

    Attributes
    ----------
    value : float
        Stability of the most harmful feature or group at the threshold.
    features : tuple of FeatureStability
        Features and groups on the whole sample, by ``worst_case_risk``, equal ones by ``value``.
    subgroups : tuple of FeatureStability
        The same for the subgroups of ``Perturbation.by``.
    frozen : tuple of str
        Columns that cannot move.
    n_queries : int
        Rows that the model has predicted.
    """

    measure = "feature_stability"
    title = "Feature stability"
    higher_is_better = True

    status: Status
    features: tuple[FeatureStability, ...]
    subgroups: tuple[FeatureStability, ...] = ()
    frozen: tuple[str, ...] = ()
    n_queries: int = 0

    @property
    def most_harmful(self) -> FeatureStability:
        """The feature or group whose moves can do most harm."""
        return self.features[0]

    def harms(self, part: FeatureStability) -> bool:
        """Return True if moves of a feature, or other values of it, raise the risk at all."""
        slack = 1e-9 * (1.0 + part.base_risk)
        return part.share_moved > 0.0 or part.worst_case_risk > part.base_risk + slack

    def headline(self) -> str:
        """Say which features do most harm, what it takes, and which do none."""
        threshold = float(self.settings["threshold"])
        first = self.most_harmful
        start = self._risk(first.base_risk)
        end = self._risk(threshold)
        harmful = [part for part in self.features if self.harms(part)]
        idle = [part.feature for part in self.features[len(harmful) :]]
        worst = f"drawn anew, its values lead to {self._risk(first.worst_case_risk)} at worst"
        most = f"`{first.feature}` does most harm"
        if not harmful:
            text = f"No move of a single feature does harm: {self._what} stay at {start}."
        elif first.status.code == "already_at_risk":
            text = f"{most}: {self._what} are {start} already, and {worst}."
        elif first.status.code == "unattainable":
            text = f"{most}: {worst}, and its moves from {start} to {self._risk(first.risk)}, not to {end}."
        else:
            how = "changing" if first.moves == "category" else "moving"
            text = f"{most}: {how} it {self._least(first)} of the rows takes {self._what} from {start} to {end}."
        if harmful[1:]:
            others = (f"`{part.feature}` ({self._least(part)})" for part in harmful[1:3])
            text += f" Next: {', '.join(others)}."
        if harmful and idle:
            text += f" Without effect: {first_few(idle, show=str)}."
        if self.frozen:
            text += f" Cannot move: {first_few(self.frozen, show=str)}."
        return text

    @property
    def _what(self) -> str:
        if self.settings.get("loss") != "zero_one":
            return "the mean loss"
        if "costs" in self.settings.get("decision", {}):
            return "the mean cost of errors"
        return "errors"

    def _risk(self, risk: float) -> str:
        if self._what == "errors":
            return f"{100.0 * risk:.3g} %"
        return format_number(risk)

    def _largest(self, part: FeatureStability) -> str:
        """Say how far rows move to reach the threshold, in units of the column and in standard deviations."""
        cost = self.settings["perturbation"].get("cost")
        by_deviations = cost == "std" or (
            isinstance(cost, dict) and not cost.keys() & set(part.columns)
        )
        spread = (
            f"{part.largest_move:.2g} sd"
            if by_deviations
            else f"a distance of {part.largest_move:.2g}"
        )
        if part.unit is None:
            return spread
        own = f"{part.largest_move * part.unit:.3g}"
        return f"{own} ({spread})" if by_deviations else own

    def _least(self, part: FeatureStability) -> str:
        """Say what it takes to reach the threshold by a feature."""
        if part.status.code == "unattainable":
            return f"{self._risk(part.risk)} at most"
        share = f"in {100.0 * part.share_moved:.2g} %"
        if part.moves == "category":
            return share
        return f"by at most {self._largest(part)} {share}"

    def notes(self) -> list[str]:
        """Return the sentences that follow the headline."""
        sentences = super().notes()
        shown = (
            f"{part.feature} {self._risk(part.worst_case_risk)} "
            f"({self._risk(part.base_risk + part.permutation_importance)} on average)"
            for part in self.features[:3]
        )
        sentences.insert(
            0,
            f"Features stand in the order of the risk when their values are drawn anew, without regard to the rest "
            f"of the row, from the least favourable mixture of them: {', '.join(shown)}.",
        )
        first = self.most_harmful
        sentences.insert(
            1, f"Stability of `{first.feature}` at the threshold: {format_number(first.value)}."
        )
        n_bounds = sum(part.kind != "exact" for part in self.features)
        if n_bounds:
            sentences.insert(
                2, f"Upper bounds: {n_bounds} of {len(self.features)} stabilities; see kind."
            )
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
        """Return one row for each feature and group as a pandas DataFrame, the most harmful first."""
        return _frame(self.features, ["feature"])

    def subgroups_frame(self, feature: str | None = None) -> Any:
        """Return one row for each subgroup and feature as a pandas DataFrame, by feature, the least stable first.

        Parameters
        ----------
        feature : str, optional
            The feature or group that may move; "all features" for all columns together. Default: a row for each.
        """
        parts = tuple(part for part in self.subgroups if feature in (None, part.feature))
        return _frame(parts, ["subgroup", "feature"])


def _frame(parts: Iterable[FeatureStability], labels: list[str]) -> Any:
    import pandas as pd

    columns = [
        *labels, "worst_case_risk", "permutation_importance", "base_risk", "risk", "value", "share_moved",
        "largest_move", "rms_move", "moves", "unit", "kind", "lower_bound", "standard_error", "interval_low",
        "interval_high", "status", "n_samples", "effective_sample_fraction",
    ]  # fmt: skip
    lines = []
    for part in parts:
        low, high = (
            (None, None) if part.interval is None else (part.interval.low, part.interval.high)
        )
        ends = {"interval_low": low, "interval_high": high, "status": str(part.status)}
        lines.append({**vars(part), **ends})
    return pd.DataFrame(lines, columns=columns)
