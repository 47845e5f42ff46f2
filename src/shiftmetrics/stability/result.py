"""The result of stability: the value, the shift that has it, and the statuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Result, format_number
from shiftmetrics._core.status import Status
from shiftmetrics.stability.losses.base import Kind

NO_ROWS = "result must hold its rows, got one without_rows(). Use the result as it was computed."
_INVERSE = {"measure": "worst_case_risk", "title": "Worst-case risk", "higher_is_better": False}

CONVERGED = Status("converged", "The shift was found and its value certified to the tolerance.")
ALREADY_AT_RISK = Status(
    "already_at_risk",
    "The sample has this risk without any shift.",
    "Choose a higher threshold.",
)
BOUNDARY = Status(
    "boundary",
    "The value is exact but attained in a limit: the threshold is the highest risk that any allowed shift reaches, "
    "or no row has a loss to start from.",
    "A slightly lower threshold has a smooth answer.",
)
HIGHEST_RISK = Status(
    "boundary",
    "The budget pays for the highest risk that any allowed shift reaches; a larger one buys no more.",
)
UNATTAINABLE = Status(
    "unattainable",
    "No allowed shift reaches the threshold, whatever its cost.",
    "Choose a lower threshold, or allow rows to move (finite theta1) or to be reweighted (finite theta2).",
)
UNBOUNDED_LOSS = Status(
    "unbounded_loss",
    "The loss grows faster than the cost of a move, so that a tiny mass moved far reaches any risk at no cost.",
    "Use a loss that grows more slowly, or theta1=inf.",
)
MAX_ITER = Status(
    "max_iter",
    "The evaluations ran out before the requested precision; error_bound is what was reached.",
    "Raise max_iter or rtol.",
    ok=False,
)


def shift_in_words(rms_move: float, share_moved: float, effective_sample_fraction: float) -> str:
    """Say what a shift with these figures does to the rows."""
    parts = []
    if rms_move > 0.0:
        parts.append(
            f"{100 * share_moved:.3g} % of the rows move (root mean square {format_number(rms_move)})"
        )
    if effective_sample_fraction < 0.9995:
        parts.append(
            f"reweighting leaves {100 * effective_sample_fraction:.3g} % of the effective sample size"
        )
    return " and ".join(parts) or "nothing changes"


@dataclass(frozen=True, eq=False, kw_only=True)
class ExcessRisk(Record):
    """How much risk each kind of shift adds; both pairs sum to the risk reached minus the risk as it is.

    Attributes
    ----------
    corruption, reweighting : float
        Moves first, weights after: ``mean(moved loss) - mean(loss)`` and what the weights add to it (equation 4.4 of
        arXiv:2405.03198). With the chi-squared divergence a row may lose all its weight; where it then goes, and
        so this split, is a matter of convention.
    reweighting_first, corruption_after : float
        Weights first, moves after: ``mean(W loss) - mean(loss)`` and ``mean(W (moved loss - loss))``; never
        ambiguous.
    """

    corruption: float
    reweighting: float
    reweighting_first: float
    corruption_after: float

    def to_frame(self) -> Any:
        """Return both decompositions as a pandas DataFrame: a line for each order, summing to ``total``."""
        import pandas as pd

        total = self.corruption + self.reweighting
        lines = {
            "moves first": (self.corruption, self.reweighting, total),
            "weights first": (self.corruption_after, self.reweighting_first, total),
        }
        return pd.DataFrame.from_dict(lines, orient="index", columns=["corruption", "reweighting", "total"])


@dataclass(frozen=True, eq=False, kw_only=True)
class Splits(Record):
    """The second places of rows that are split between two; their first places are in the arrays of the result.

    Attributes
    ----------
    rows : array of shape (n_splits,)
        Positions of the rows.
    weights : array of shape (n_splits,)
        Part of the weight of each row in its second place.
    losses, distances : array of shape (n_splits,)
        The loss here, and the distance of the move.
    choices : array of shape (n_splits,) or None
        Candidate or piece, for losses that have any.
    """

    rows: IntArray
    weights: FloatArray
    losses: FloatArray
    distances: FloatArray
    choices: IntArray | None = None

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Put the splits of consecutive blocks one after another."""
        columns = {name: [getattr(part, name) for part in parts] for name in vars(parts[0])}
        return cls(**{name: np.concatenate(c) for name, c in columns.items() if c[0] is not None})


@dataclass(frozen=True, eq=False, kw_only=True)
class StabilityResult(Drawn, Result):
    """The least shift that raises the risk to a threshold, or the worst shift within a budget.

    ``value`` is the cost of that shift from `stability_criterion`, and its risk from `worst_case_risk`.

    Where moves cost the same, several shifts cost the least. They share ``value``, ``rms_move`` and the ``weights``
    of the rows, with what follows from these; ``share_moved``, ``excess_risk``, ``moved_losses``,
    ``moved_distances``, ``choices`` and ``splits`` describe one of them.

    Attributes
    ----------
    risk : float
        Risk of the shifted sample.
    base_risk : float
        Risk of the sample as it is.
    dual : float
        Cost of one more unit of risk, dR/d threshold.
    kind : {"exact", "upper_bound", "lower_bound"}
        What ``value`` is for the model, given what its loss knows.
    standard_error : float or None
        Sampling error of ``value`` from its influence function; None where there is none.
    excess_risk : ExcessRisk
        What corruption and what reweighting each add to the risk.
    rms_move : float
        Root-mean-square distance of the moves, weighted as in the shifted sample; in units of the distances.
    share_moved : float
        Share of the rows that move (a row that splits counts in part, one that loses all weight not at all).
    effective_sample_fraction : float
        ``1 / mean(W^2)``: 1 when all rows keep their weight, small when a few carry the risk.
    sensitivity_theta1, sensitivity_theta2 : float
        Derivatives of the cost in the two prices, ``mean(W d)`` and ``mean(phi(W))``: the cost is their sum, each
        times its price.
    n_passes : int
        Passes over the data that it took.
    weights : array of shape (n_samples,) or None
        Weight of each row in the shifted sample, relative to its sample weight; mean 1. None after `without_rows`,
        like the next ones.
    base_losses : array of shape (n_samples,) or None
        Loss of each row before its move.
    moved_losses, moved_distances : array of shape (n_samples,) or None
        Loss of each row after its move, and the distance of the move.
    choices : array of shape (n_samples,) or None
        Candidate or piece that each row takes, for losses that have any.
    splits : Splits or None
        Second places of the rows that are split between two.
    influence : array of shape (n_samples,) or (n_groups,), or None
        What one more row like each would add to ``value``, to first order (with ``groups``, one more group, in the
        order of their sorted labels); they sum to 0, and the root of the sum of their squares is
        ``standard_error``. Comparisons are paired through it. None where there is no standard error.
    """

    measure: ClassVar[str] = "stability"
    title: ClassVar[str] = "Stability"
    higher_is_better: ClassVar[bool] = True
    row_fields: ClassVar[tuple[str, ...]] = (
        "weights", "base_losses", "moved_losses", "moved_distances", "choices", "splits", "influence",
    )  # fmt: skip

    status: Status
    risk: float
    base_risk: float
    dual: float
    kind: Kind
    standard_error: float | None
    excess_risk: ExcessRisk
    rms_move: float
    share_moved: float
    effective_sample_fraction: float
    sensitivity_theta1: float
    sensitivity_theta2: float
    n_passes: int
    weights: FloatArray | None = None
    base_losses: FloatArray | None = None
    moved_losses: FloatArray | None = None
    moved_distances: FloatArray | None = None
    choices: IntArray | None = None
    splits: Splits | None = None
    influence: FloatArray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if "budget" in self.settings:
            for name, value in _INVERSE.items():
                object.__setattr__(self, name, value)

    def headline(self) -> str:
        """Say what the value means."""
        value, code = format_number(self.value), self.status.code
        if "budget" in self.settings:
            start = f"Worst-case risk {value} within a budget of {format_number(self.settings['budget'])}"
            if code == "unbounded_loss":
                return f"{start}: the loss grows faster than the cost."
            return f"{start}, up from {format_number(self.base_risk)}: {self.shift_in_words()}."
        start = (
            f"Stability {value} at risk threshold {format_number(self.settings.get('threshold', self.risk))}"
        )
        ends = {
            "already_at_risk": f"the risk is {format_number(self.base_risk)} already",
            "unattainable": f"no allowed shift raises the risk above {format_number(self.risk)}",
            "unbounded_loss": "the loss grows faster than the cost",
        }
        if code in ends:
            return f"{start}: {ends[code]}."
        return (
            f"{start}: in the least shift that raises the risk from {format_number(self.base_risk)} to "
            f"{format_number(self.risk)}, {self.shift_in_words()}."
        )

    def without_rows(self) -> Self:
        """Return the result without what it holds of each row: smaller in memory and on disk.

        The influence of groups of rows stays.
        """
        changes: dict[str, Any] = dict.fromkeys(self.row_fields)
        if self.influence is not None and len(self.influence) < self.n_samples:
            del changes["influence"]
        return replace(self, **changes)

    def atoms(self) -> Any:
        """Return the shifted sample as a pandas DataFrame: one line for each row and each second place.

        Returns
        -------
        pandas.DataFrame
            Columns ``row``, ``weight``, ``loss``, ``distance`` (and ``choice``), sorted by row.

        Raises
        ------
        ValueError
            If the result holds no rows.
        """
        import pandas as pd

        if self.weights is None or self.moved_losses is None or self.moved_distances is None:
            raise ValueError(NO_ROWS)
        splits, weight = self.splits, np.array(self.weights)
        places = [(np.arange(len(weight)), weight, self.moved_losses, self.moved_distances, self.choices)]
        if splits is not None:
            weight[splits.rows] -= splits.weights
            places.append((splits.rows, splits.weights, splits.losses, splits.distances, splits.choices))
        names = ("row", "weight", "loss", "distance", "choice")[: 4 if self.choices is None else 5]
        frames = [pd.DataFrame(dict(zip(names, columns, strict=False))) for columns in places]
        return pd.concat(frames).sort_values("row", kind="stable", ignore_index=True)

    def places(self) -> tuple[Any, Any]:
        """Return the rows as DataFrames before and after their moves (then second places), if it has them."""
        return None, None

    def shift_in_words(self) -> str:
        """Say what the shift does to the rows."""
        return shift_in_words(self.rms_move, self.share_moved, self.effective_sample_fraction)

    def notes(self) -> list[str]:
        """Return the sentences that follow the headline."""
        sentences = super().notes()
        if self.kind == "upper_bound":
            sentences.insert(1, "An upper bound: the true value may be lower, never higher.")
        elif self.kind == "lower_bound":
            sentences.insert(1, "A lower bound: the true value may be higher, never lower.")
        if self.status.ok and self.status.code != "converged":
            sentences.append(f"Status {self.status}: {self.status.text}")
        return sentences
