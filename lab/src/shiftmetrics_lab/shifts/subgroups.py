"""Subgroups of a table in other shares: by drawing rows, or by weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_number, first_few, seed_of
from shiftmetrics_lab.shifts.protocol import SampleShift
from shiftmetrics_lab.shifts.streams import RowStreams
from shiftmetrics_lab.shifts.tables import Column, as_frame, check_present

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SubgroupReweighting(SampleShift):
    """Other fractions of subgroups, by drawing rows. Strength in [0, 1]: how far the fractions go towards the target.

    Rows are drawn with replacement within their subgroup, so a shifted row is a copy of an original one:
    `apply_shift` keeps the pairs by recording where each row came from. To keep the rows as they are and weigh
    them instead, use `weights`.

    Parameters
    ----------
    column : column name
        The column whose values are the subgroups.
    shares : mapping
        Target fraction of each subgroup by value, summing to 1; subgroups left out get none.

    Examples
    --------
    >>> import pandas as pd
    >>> from shiftmetrics_lab.shifts import SubgroupReweighting
    >>> table = pd.DataFrame({"region": ["north"] * 2 + ["south"] * 8})
    >>> shift = SubgroupReweighting("region", {"north": 0.5, "south": 0.5})
    >>> shift(table, strength=1.0, rng=0)["region"].value_counts().to_dict()
    {'north': 5, 'south': 5}
    >>> shift.weights(table, strength=1.0)[:3].round(3).tolist()
    [2.5, 2.5, 0.625]
    """

    column: Column
    shares: Mapping[Any, float]
    max_strength: ClassVar[float] = 1.0

    def _check(self, X: Any) -> None:
        self._target(as_frame(X))

    def weights(self, X: Any, *, strength: float) -> FloatArray:
        """Return one weight for each row, of mean 1, that give the subgroups their new shares."""
        frame = as_frame(X)
        groups, observed, target = self._target(frame)
        shares = _between(observed, target, self.check_strength(strength))
        return np.asarray((shares / observed)[groups])

    def origin(self, X: Any, *, strength: float, rng: Any = None) -> IntArray:
        """Return the positions of the rows that this shift draws from ``X``."""
        frame = as_frame(X)
        groups, observed, target = self._target(frame)
        amount = self.check_strength(strength)
        if amount == 0:
            return np.arange(len(frame))
        counts = _whole_shares(_between(observed, target, amount), len(frame))
        streams = RowStreams(seed_of(rng), type(self).__name__)
        picked = [
            streams.generator(group).choice(np.flatnonzero(groups == group), size=count)
            for group, count in enumerate(counts)
        ]
        return np.concatenate(picked).astype(np.int64)

    def _shift(
        self, X: Any, strength: float, streams: RowStreams, first_row: int, progress: bool
    ) -> Any:
        if first_row:
            expected = "0, for subgroups are drawn from the whole table"
            raise ArgumentValueError("first_row", expected, first_row, "Pass it whole.")
        rows = self.origin(X, strength=strength, rng=streams.seed)
        return X[rows] if isinstance(X, np.ndarray) else X.iloc[rows]

    def _target(self, frame: pd.DataFrame) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return each row's subgroup, and the observed and the target fractions of the subgroups."""
        import pandas as pd

        check_present(frame, self.column, "column")
        groups, values = pd.factorize(frame[self.column])
        if (groups < 0).any():
            raise ArgumentValueError(
                f"column {self.column!r}", "free of missing values", "some", "Fill them."
            )
        unknown = [value for value in self.shares if value not in set(values)]
        if unknown:
            expected = f"over the values of {self.column!r}: {first_few(values, 6)}"
            raise ArgumentValueError("shares", expected, first_few(unknown, 6))
        target = np.array(
            [check_number(self.shares.get(value, 0.0), "shares", low=0.0) for value in values]
        )
        if not math.isclose(target.sum(), 1.0, abs_tol=1e-6):
            raise ArgumentValueError(
                "shares", "numbers that sum to 1", f"a sum of {target.sum():g}"
            )
        observed = np.bincount(groups, minlength=len(values)) / len(frame)
        return np.asarray(groups, dtype=np.int64), observed, target / target.sum()


def _between(observed: FloatArray, target: FloatArray, strength: float) -> FloatArray:
    return (1.0 - strength) * observed + strength * target


def _whole_shares(shares: FloatArray, total: int) -> IntArray:
    """Return integers that sum to ``total``, in these proportions (largest remainders)."""
    exact = shares * total
    counts = np.floor(exact).astype(np.int64)
    order = np.argsort(-(exact - counts), kind="stable")
    counts[order[: total - int(counts.sum())]] += 1
    return counts
