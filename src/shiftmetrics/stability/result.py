"""What stability returns: the value, the shift behind it, and how to read both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Result, format_number
from shiftmetrics.stability.losses.base import Kind

ResultKind = Kind | Literal["estimate"]
"""What a value is for the model; an estimate is no bound on either side."""


class StabilityStatus(Status):
    """How `stability_criterion` ended."""

    CONVERGED = ("converged", True, "The least shift was found and its cost certified.")
    ALREADY_AT_RISK = (
        "already_at_risk",
        True,
        "The sample as it stands has this risk, so no shift is needed. Choose a higher threshold.",
    )
    BOUNDARY = (
        "boundary",
        True,
        "The value is exact but attained in a limit: the threshold is the highest risk that any allowed shift "
        "reaches, or no row has a loss to start from. A slightly lower threshold has a smooth answer.",
    )
    UNATTAINABLE = (
        "unattainable",
        True,
        "No allowed shift reaches the threshold, whatever its cost. Choose a lower threshold, or allow rows to move "
        "(finite theta1) or to be reweighted (finite theta2).",
    )
    UNBOUNDED_LOSS = (
        "unbounded_loss",
        True,
        "The loss grows faster than the cost of a move, so that a tiny mass moved far reaches any risk at no cost. "
        "Use a loss that grows more slowly, or theta1=inf.",
    )
    MAX_ITER = (
        "max_iter",
        False,
        "The evaluations ran out before the requested precision; error_bound says what was reached. "
        "Raise max_iter or rtol.",
    )


class WorstCaseStatus(Status):
    """How `worst_case_risk` ended."""

    CONVERGED = ("converged", True, "The highest risk within the budget was found and certified.")
    BOUNDARY = (
        "boundary",
        True,
        "The budget pays for the highest risk that any allowed shift reaches; a larger one buys no more.",
    )
    UNBOUNDED_LOSS = (
        "unbounded_loss",
        True,
        "The loss grows faster than the cost of a move, so that any budget buys any risk. "
        "Use a loss that grows more slowly, or theta1=inf.",
    )
    MAX_ITER = (
        "max_iter",
        False,
        "The evaluations ran out before the requested precision; error_bound says what was reached. "
        "Raise max_iter or rtol.",
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
    """The second places of rows that stand in two at once; their first is in the arrays of the result.

    Attributes
    ----------
    rows : array of shape (n_splits,)
        Positions of the rows.
    weights : array of shape (n_splits,)
        Part of the weight of each row that stands here.
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
        choices = [part.choices for part in parts if part.choices is not None]
        return cls(
            rows=np.concatenate([part.rows for part in parts]),
            weights=np.concatenate([part.weights for part in parts]),
            losses=np.concatenate([part.losses for part in parts]),
            distances=np.concatenate([part.distances for part in parts]),
            choices=np.concatenate(choices) if choices else None,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ShiftResult(Drawn, Result):
    """Base of results that come with a shift of the sample: the most sensitive one.

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
    kind : {"exact", "upper_bound", "lower_bound", "estimate"}
        What ``value`` is for the model, given what its loss knows; an estimate is no bound on either side.
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
        Weight of each row in the shifted sample, relative to its sample weight; mean 1. None with
        ``keep_rows=False``, like the next four.
    base_losses : array of shape (n_samples,) or None
        Loss of each row where it stands.
    moved_losses, moved_distances : array of shape (n_samples,) or None
        Loss of each row after its move, and the distance of the move.
    choices : array of shape (n_samples,) or None
        Candidate or piece that each row takes, for losses that have any.
    splits : Splits or None
        Second places of the rows that stand in two at once.
    influence : array of shape (n_samples,) or (n_groups,), or None
        What one more row like each would add to ``value``, to first order (with ``groups``, one more group, in the
        order of their sorted labels); they sum to 0, and the root of the sum of their squares is
        ``standard_error``. Comparisons are paired through it. None where there is no standard error, and with
        ``keep_rows=False`` unless there are groups.
    """

    risk: float
    base_risk: float
    dual: float
    kind: ResultKind
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

    def atoms(self) -> Any:
        """Return the shifted sample as a pandas DataFrame: one line for each row and each second place.

        Returns
        -------
        pandas.DataFrame
            Columns ``row``, ``weight``, ``loss``, ``distance`` (and ``choice``), sorted by row.

        Raises
        ------
        ValueError
            If the result was computed with ``keep_rows=False``.
        """
        import pandas as pd

        if self.weights is None or self.moved_losses is None or self.moved_distances is None:
            raise ValueError(
                "atoms() needs the rows, which were not kept. Compute the result with keep_rows=True."
            )
        weight = np.array(self.weights)
        columns = {"row": np.arange(len(weight)), "weight": weight}
        columns |= {"loss": self.moved_losses, "distance": self.moved_distances}
        if self.choices is not None:
            columns["choice"] = self.choices
        splits = self.splits
        if splits is None:
            return pd.DataFrame(columns)
        weight[splits.rows] -= splits.weights
        second = {"row": splits.rows, "weight": splits.weights}
        second |= {"loss": splits.losses, "distance": splits.distances}
        if splits.choices is not None:
            second["choice"] = splits.choices
        both = pd.concat([pd.DataFrame(columns), pd.DataFrame(second)], ignore_index=True)
        return both.sort_values("row", kind="stable", ignore_index=True)

    def places(self) -> tuple[Any, Any]:
        """Return the rows as DataFrames where they stand and after their moves (then second places), if known."""
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
        elif self.kind == "estimate":
            sentences.insert(1, "An estimate: the true value may be lower or higher.")
        if self.status.ok and str(self.status) != "converged":
            sentences.append(f"Status {self.status}: {self.status.text}")
        return sentences


@dataclass(frozen=True, eq=False, kw_only=True)
class StabilityResult(ShiftResult):
    """The stability of a model: the least cost of a shift that brings its risk to the threshold.

    Beside the fields of every result it has those of `ShiftResult`, which describe that shift.
    """

    measure: ClassVar[str] = "stability"
    title: ClassVar[str] = "Stability"
    higher_is_better: ClassVar[bool] = True

    status: StabilityStatus

    def headline(self) -> str:
        """Say what the value means."""
        threshold = format_number(self.settings.get("threshold", self.risk))
        start = f"Stability {format_number(self.value)} at risk threshold {threshold}"
        if self.status is StabilityStatus.ALREADY_AT_RISK:
            return f"{start}: the risk is {format_number(self.base_risk)} already."
        if self.status is StabilityStatus.UNATTAINABLE:
            return f"{start}: no allowed shift raises the risk above {format_number(self.risk)}."
        if self.status is StabilityStatus.UNBOUNDED_LOSS:
            return f"{start}: the loss grows faster than the cost."
        return (
            f"{start}: in the least shift that raises the risk from {format_number(self.base_risk)} to "
            f"{format_number(self.risk)}, {self.shift_in_words()}."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class WorstCaseRisk(ShiftResult):
    """The highest risk that a shift within a budget reaches.

    Beside the fields of every result it has those of `ShiftResult`, which describe that shift.
    """

    measure: ClassVar[str] = "worst_case_risk"
    title: ClassVar[str] = "Worst-case risk"
    higher_is_better: ClassVar[bool] = False

    status: WorstCaseStatus

    def headline(self) -> str:
        """Say what the value means."""
        budget = format_number(self.settings.get("budget", math.nan))
        start = f"Worst-case risk {format_number(self.value)} within a budget of {budget}"
        if self.status is WorstCaseStatus.UNBOUNDED_LOSS:
            return f"{start}: the loss grows faster than the cost."
        return f"{start}, up from {format_number(self.base_risk)}: {self.shift_in_words()}."
