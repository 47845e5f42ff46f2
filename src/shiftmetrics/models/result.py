"""The results of `model_stability` and `feature_stability`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number
from shiftmetrics.models.table import CodedTable
from shiftmetrics.stability.losses import Loss
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
    neighbour_distance : float or None
        How far rows of one random half of the sample are from the nearest row of the other half, on the average.
    trace : SearchTrace or None
        The rounds of a search; None where one sufficed.
    table : CodedTable or None
        The rows as they are, coded; None after `without_rows`, like the next ones.
    units : array of shape (n_features,) or None
        A move of a number by that much is a distance of 1.
    moved_codes : array of shape (n_samples, n_features) or None
        Where each row stands after its move, coded likewise.
    split_codes : array of shape (n_splits, n_features) or None
        Second places, in the order of ``splits``.
    loss : Loss or None
        What each row loses and where it may move, as far as the route found out: for `stability_curve`
        and `worst_case_risk`. Not part of the JSON, so None in results that were read back.
    """

    measure = "model_stability"
    title = "Stability"
    higher_is_better = True
    row_fields: ClassVar[tuple[str, ...]] = (
        *StabilityResult.row_fields,
        "table", "units", "moved_codes", "split_codes", "loss",
    )  # fmt: skip

    route: str
    lower_bound: float | None = None
    n_queries: int = 0
    neighbour_distance: float | None = None
    trace: SearchTrace | None = None
    table: CodedTable | None = None
    units: FloatArray | None = None
    moved_codes: FloatArray | None = None
    split_codes: FloatArray | None = None
    loss: Loss | None = field(default=None, repr=False)

    @property
    def distance_unit(self) -> str:
        """Standard deviations, unless other costs were given; flips have a price on the same scale."""
        default = self.settings.get("perturbation", {}).get("cost", "std") == "std"
        return " standard deviations" if default else " in the unit of the costs"

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

    def _kept_table(self) -> CodedTable:
        if self.table is None:
            raise ValueError(NO_ROWS)
        return self.table

    def yardsticks(self) -> list[str]:
        """Return sentences to compare the shift with; moves with the gaps between two random halves of the sample."""
        sentences = super().yardsticks()
        if self.neighbour_distance is not None and self.rms_move > 0.0:
            far = f"{format_number(self.neighbour_distance)}{self.distance_unit}"
            sentences.append(
                f"Rows of one random half are {far} from the nearest of the other on the average."
            )
        return sentences

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
