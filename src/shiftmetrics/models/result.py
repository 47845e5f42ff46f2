"""The results of `model_stability` and `feature_stability`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval, Result, format_number
from shiftmetrics._core.status import Status
from shiftmetrics.models.table import Table
from shiftmetrics.stability.losses import Kind, Loss
from shiftmetrics.stability.result import NO_ROWS, StabilityResult


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchTrace(Record):
    """The rounds of a search: each solves exactly among the points known so far, then looks for better ones.

    Attributes
    ----------
    values : tuple of float
        Stability after each round; it never rises.
    duals : tuple of float
        The dual price of each round, at which better points were sought.
    risks : tuple of float
        The risk of the worst case at the dual price of each round, once the points sought there are known: away from
        the threshold while better points are found, and there in the end.
    gaps : tuple of float
        What the value could still fall by among the points known after the round: it minus their dual bound. In the
        last round, its numerical error. Points that were not found are not in it.
    queries : tuple of int
        Rows that the model has predicted until then.
    """

    values: tuple[float, ...]
    duals: tuple[float, ...]
    risks: tuple[float, ...]
    gaps: tuple[float, ...]
    queries: tuple[int, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelStabilityResult(StabilityResult):
    """The stability of a model on a sample, with the rows where the least shift puts them.

    Attributes
    ----------
    route : str
        How the moves were found: "linear", "tree", "ensemble", "torch", "blackbox", ...
    lower_bound : float or None
        A certified lower bound of the stability, where ``value`` is an upper one.
    n_queries : int
        Rows that the model has predicted.
    trace : SearchTrace or None
        The rounds of a search; None where one sufficed.
    table : Table or None
        The rows as they are, coded; None after `without_rows`, like the next ones.
    units : array of shape (n_features,) or None
        A move of a number by that much is a distance of 1.
    moved_codes : array of shape (n_samples, n_features) or None
        Where each row stands after its move, coded likewise.
    split_codes : array of shape (n_splits, n_features) or None
        Second places, in the order of ``splits``.
    flipped_labels : bool array of shape (n_samples,) or None
        Rows whose label changes in their first place, where labels may change.
    split_flipped_labels : bool array of shape (n_splits,) or None
        Likewise in their second places.
    loss : Loss or None
        What each row loses and where it may move, as far as the route found out: for `stability_curve`
        and `worst_case_risk`. Not part of the JSON, so None in results that were read back.
    """

    measure: ClassVar[str] = "model_stability"
    title: ClassVar[str] = "Stability"
    higher_is_better: ClassVar[bool] = True
    row_fields: ClassVar[tuple[str, ...]] = (
        *StabilityResult.row_fields,
        "table", "units", "moved_codes", "split_codes", "flipped_labels", "split_flipped_labels", "loss",
    )  # fmt: skip

    route: str
    lower_bound: float | None = None
    n_queries: int = 0
    trace: SearchTrace | None = None
    table: Table | None = None
    units: FloatArray | None = None
    moved_codes: FloatArray | None = None
    split_codes: FloatArray | None = None
    flipped_labels: BoolArray | None = None
    split_flipped_labels: BoolArray | None = None
    loss: Loss | None = field(default=None, repr=False)

    def moved_rows(self) -> Any:
        """Return the rows after their moves, in the columns, dtypes and order of ``X``.

        A row that stands in two places is here in its first; `split_rows` has the second.

        Returns
        -------
        DataFrame or ndarray of shape (n_samples, n_features), or of the shape of ``X``

        Raises
        ------
        ValueError
            If the result holds no rows.
        """
        table = self._kept_table()
        assert self.moved_codes is not None
        return table.decode(self.moved_codes, index=table.labels)

    def split_rows(self) -> Any:
        """Return the second places of the rows that stand in two, in the columns of ``X``; see ``splits.rows``.

        Returns
        -------
        DataFrame or ndarray of shape (n_splits, n_features)

        Raises
        ------
        ValueError
            If the result holds no rows.
        """
        table = self._kept_table()
        if self.splits is None or self.split_codes is None:
            return table.decode(table.codes[:0], index=None if table.labels is None else table.labels[:0])
        labels = None if table.labels is None else table.labels[self.splits.rows]
        return table.decode(self.split_codes, index=labels)

    def places(self) -> tuple[Any, Any]:
        """Return the rows as DataFrames where they stand and after their moves, then second places."""
        import pandas as pd

        if self.table is None:
            return None, None
        rows = self.table.decode(self.table.codes, index=self.table.labels)
        moved, second = self.moved_rows(), self.split_rows()
        if self.table.is_frame:
            return rows, pd.concat([moved, second]) if len(second) else moved
        names = list(self.table.names)
        ends = np.concatenate([moved, second])
        before, after = (
            pd.DataFrame(part.reshape(len(part), len(names)), columns=names) for part in (rows, ends)
        )
        return before, after

    def _kept_table(self) -> Table:
        if self.table is None:
            raise ValueError(NO_ROWS)
        return self.table

    def notes(self) -> list[str]:
        """Return the sentences that follow the headline."""
        sentences = super().notes()
        if self.kind == "upper_bound" and self.lower_bound is not None and self.lower_bound > 0.0:
            ratio = self.value / self.lower_bound
            sentences.insert(
                2,
                f"Certified lower bound: {format_number(self.lower_bound)} "
                f"(the upper one is {format_number(ratio)} times as high).",
            )
        return sentences


EVERYTHING = "all features"
"""The name of all columns together among the features."""


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
        *labels, "value", "standard_error", "interval_low", "interval_high", "comparison_low", "comparison_high",
        "kind", "lower_bound", "status", "n_samples", "base_risk", "rms_move", "share_moved",
        "effective_sample_fraction",
    ]  # fmt: skip
    if "subgroup" not in labels:
        columns = [name for name in columns if not name.startswith("comparison")]
    lines = []
    for part in parts:
        line = {**vars(part), "status": str(part.status)}
        for name, ends in (("interval", part.interval), ("comparison", part.comparison_interval)):
            line[f"{name}_low"] = None if ends is None else ends.low
            line[f"{name}_high"] = None if ends is None else ends.high
        lines.append(line)
    return pd.DataFrame(lines, columns=columns)
