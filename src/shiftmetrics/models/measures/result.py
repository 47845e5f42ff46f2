"""The result of `model_stability`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Result, format_number
from shiftmetrics.models.domain.table import CodedTable
from shiftmetrics.stability.criterion import worst_case_risk
from shiftmetrics.stability.losses import Loss
from shiftmetrics.stability.result import StabilityResult, common_budget
from shiftmetrics.stability.shift import NO_ROWS


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
class ChangedRows(Record):
    """The rows of a sample, and where the least shift puts them.

    Attributes
    ----------
    table : CodedTable
        The rows as they are, coded.
    units : array of shape (n_features,)
        A change of a number by that much is a distance of 1.
    codes : array of shape (n_samples, n_features)
        Where each row is after the shift, coded likewise.
    split_codes : array of shape (n_splits, n_features)
        Second places of the rows that are split between two, in the order of ``plan.splits``.
    """

    table: CodedTable
    units: FloatArray
    codes: FloatArray
    split_codes: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchRecord(Record):
    """How the worst case of a model was found.

    Attributes
    ----------
    route : str
        The route that found it: "linear", "pairs", "tree", "ensemble", "torch", "blackbox", or "weights" where no
        sample changes.
    n_queries : int
        Rows that the model has predicted.
    lower_bound : float or None
        A certified lower bound of the stability, where its value is an upper one.
    neighbour_distance : float or None
        Mean distance of samples of one random half to the nearest sample of the other half.
    trace : SearchTrace or None
        The rounds of a search; None where one sufficed.
    changed : ChangedRows or None
        The rows before and after the shift; None for out-of-core data.
    loss : Loss or None
        The loss of each sample and how far it may change. Not part of the JSON, so None in results that were read
        back.
    """

    route: str
    n_queries: int = 0
    lower_bound: float | None = None
    neighbour_distance: float | None = None
    trace: SearchTrace | None = None
    changed: ChangedRows | None = None
    loss: Loss | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelStabilityResult(StabilityResult):
    """The stability of a model on a sample, with the rows where the least shift puts them.

    Attributes
    ----------
    search : SearchRecord
        The route that found it, a certified lower bound, and what the search took.
    """

    measure = "model_stability"
    title = "Stability"
    higher_is_better = True

    search: SearchRecord

    @property
    def changed(self) -> ChangedRows | None:
        """The rows before and after the shift; None for out-of-core data and after `without_rows`."""
        return self.search.changed

    @property
    def lower_bound(self) -> float | None:
        """The certified lower bound of the search, beside ``value``."""
        return self.search.lower_bound

    @property
    def loss(self) -> Loss | None:
        """The loss of each sample, as far as the route found out: for `stability_curve` and `worst_case_risk`."""
        return self.search.loss

    def secondary_metrics_among(self, results: Sequence[Result]) -> dict[str, Any]:
        """Return the highest risk within the budget that breaks the least stable of the models.

        Nothing where losses are not known, or samples have weights, which a result does not hold.
        """
        losses_known = all(getattr(result, "loss", None) is not None for result in results)
        if self.loss is None or not losses_known or self.settings.get("sample_weight") is not None:
            return {}
        budget = common_budget(results)
        prices: dict[str, Any] = {}
        for price in ("theta1", "theta2", "divergence"):
            prices[price] = self.settings[price]
        risk = worst_case_risk(self.loss, budget, **prices).value
        return {"worst_case_risk": risk, "common_budget": budget}

    def without_rows(self) -> Self:
        """Return the result without what it holds of each sample: smaller in memory and on disk."""
        search = replace(self.search, loss=None, changed=None)
        return replace(super().without_rows(), search=search)

    def to_frame(self) -> Any:
        """Return one row of a pandas DataFrame with the scalar fields, those of the search among them."""
        scalars = vars(self.search).copy()
        for name in ("trace", "changed", "loss"):
            del scalars[name]
        return super().to_frame().assign(**scalars)

    @property
    def distance_unit(self) -> str:
        """Standard deviations, unless other costs were given; flips have a price on the same scale."""
        if self.settings.get("perturbation", {}).get("cost", "std") == "std":
            return " standard deviations"
        return " in the unit of the costs"

    def changed_rows(self) -> Any:
        """Return the rows after the shift, in the columns, dtypes and order of ``X``.

        The loss of these rows, with the weights of the plan, is at the threshold within one row: where rows are tied,
        at most one stands in two places. It is here in its first; `split_rows` has the second.

        Returns
        -------
        DataFrame or ndarray of shape (n_samples, n_features), or of the shape of ``X``

        Raises
        ------
        ValueError
            If the result holds no rows.
        """
        held = self._kept_rows()
        return held.table.given_back(held.codes, held.table.labels)

    def split_rows(self) -> Any:
        """Return the second places of the rows that stand in two, in the columns of ``X``; see ``plan.splits.rows``.

        Returns
        -------
        DataFrame or ndarray of shape (n_splits, n_features)

        Raises
        ------
        ValueError
            If the result holds no rows.
        """
        held = self._kept_rows()
        labels = held.table.labels
        if labels is not None:
            splits = self.plan.splits
            if splits is None:
                labels = labels[:0]
            else:
                labels = labels[splits.rows]
        return held.table.given_back(held.split_codes, labels)

    def samples(self) -> Any:
        """Return the rows as a DataFrame before the shift, or None."""
        if self.changed is None:
            return None
        table = self.changed.table
        rows = table.given_back(table.codes, table.labels)
        return self._as_frame(rows)

    def places(self) -> tuple[Any, Any]:
        """Return the rows as DataFrames before and after the shift, second places last."""
        import pandas as pd

        before = self.samples()
        if before is None:
            return None, None
        after = self._as_frame(self.changed_rows())
        second = self._as_frame(self.split_rows())
        # The second places of split rows come last, as in the plan.
        if len(second):
            after = pd.concat([after, second], ignore_index=not self._kept_rows().table.is_frame)
        return before, after

    def _as_frame(self, rows: Any) -> Any:
        """Return rows as a DataFrame; rows of several axes become flat: a column for each place."""
        import pandas as pd

        table = self._kept_rows().table
        if table.is_frame:
            return rows
        names = list(table.names)
        # No copy: the rows may be most of the memory, and are read-only.
        return pd.DataFrame(rows.reshape(len(rows), len(names)), columns=names, copy=False)

    def _kept_rows(self) -> ChangedRows:
        if self.changed is None:
            raise ValueError(NO_ROWS)
        return self.changed

    def reference_values(self) -> list[str]:
        """Return sentences to compare the shift with; distances with the gaps between two halves of the sample."""
        sentences = super().reference_values()
        distance = self.search.neighbour_distance
        if distance is not None and self.plan.rms_distance > 0.0:
            far = f"{format_number(distance)}{self.distance_unit}"
            sentences.append(
                f"Samples of one random half are {far} from the nearest of the other on the average."
            )
        return sentences

    def details(self) -> list[str]:
        """Return the sentences on the value, and the certified bound below it."""
        sentences = super().details()
        lower = self.lower_bound
        if self.kind == "upper_bound" and lower is not None and lower > 0.0:
            ratio = format_number(self.value / lower)
            text = f"Certified lower bound: {format_number(lower)} (the upper one is {ratio} times as high)."
            sentences.insert(2, text)
        return sentences
