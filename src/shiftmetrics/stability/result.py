"""The result of stability: the value, the shift that has it, and the statuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Result, Status, format_number
from shiftmetrics.stability.losses.base import Kind
from shiftmetrics.stability.words import (
    growth_in_words,
    halves_in_words,
    risk_in_words,
    shift_in_words,
    times_in_words,
)

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
    "The value is exact but attained in a limit: to within rounding, the threshold is the highest risk that any "
    "allowed shift reaches, or no row has a loss to start from.",
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


@dataclass(frozen=True, eq=False, kw_only=True)
class ExcessRisk(Record):
    """How much risk each kind of shift adds; both pairs sum to the risk reached minus the risk as it is.

    Attributes
    ----------
    corruption, reweighting : float
        Moves first, weights after: ``mean(moved loss) - mean(loss)`` and what the weights add to it (equation
        4.4 of arXiv:2405.03198). With the chi-squared divergence a row may lose all its weight; where it then
        goes, and so this split, is a matter of convention.
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
        return pd.DataFrame.from_dict(
            lines, orient="index", columns=["corruption", "reweighting", "total"]
        )


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
    mean_distance : float or None
        Mean distance to an error of the rows that are right and can be moved to one; None for other losses.
    growth : tuple of str and float, or None
        The class that gains most weight by reweighting alone, and how many times; where labels are known.
    weights : array of shape (n_samples,) or None
        Weight of each row in the shifted sample, relative to its sample weight; mean 1. None after `without_rows`,
        like the next ones.
    weights_alone : array of shape (n_samples,) or None
        Weights of the least shift to the same risk by reweighting alone; None where there is none, or none moves.
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

    measure = "stability"
    title = "Stability"
    higher_is_better = True
    row_fields: ClassVar[tuple[str, ...]] = (
        "weights", "weights_alone", "base_losses", "moved_losses", "moved_distances", "choices", "splits",
        "influence",
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
    mean_distance: float | None = None
    growth: tuple[str, float] | None = None
    weights: FloatArray | None = None
    weights_alone: FloatArray | None = None
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

    @property
    def secondary_metrics(self) -> dict[str, Any]:
        """Return figures that a comparison shows beside the value."""
        return {
            "base_risk": self.base_risk,
            "rms_move": self.rms_move,
            "share_moved": self.share_moved,
            "effective_sample_fraction": self.effective_sample_fraction,
        }

    def headline(self) -> str:
        """Say what moves, and by reweighting alone who gains weight; the value follows in `notes`."""
        budget, code = self.settings.get("budget"), self.status.code
        now, then = (risk_in_words(risk, self.settings) for risk in (self.base_risk, self.risk))
        if code == "already_at_risk":
            return f"The sample has {now} already."
        if code == "unattainable":
            return f"No allowed shift leads to more than {then}."
        if code == "unbounded_loss":
            return "Any risk is reached at no cost: the loss grows faster than the cost."
        then = risk_in_words(self.risk, self.settings, self.base_risk)
        if budget is not None:
            return f"At worst {then} within a budget of {format_number(budget)}: {self.shift_in_words()}."
        start = then[0].upper() + then[1:]
        if not self.rms_move:
            return f"{start} by reweighting alone: once {self._growth_in_words(self.weights)}."
        alone = self.weights_alone
        growth = (
            "" if alone is None else f"; by reweighting alone, once {self._growth_in_words(alone)}"
        )
        return f"{start} once {self.shift_in_words()}{growth}."

    def _growth_in_words(self, weights: FloatArray | None) -> str:
        if weights is None or self.base_losses is None:
            return self.shift_in_words()
        words = growth_in_words(weights, self.base_losses, bool(self.settings.get("errors")))
        if self.growth is None:
            return words
        return f"{words} (so class {self.growth[0]} {times_in_words(self.growth[1])})"

    def without_rows(self) -> Self:
        """Return the result without what it holds of each row: smaller in memory and on disk.

        The influence of groups of rows stays.
        """
        changes: dict[str, Any] = dict.fromkeys(self.row_fields)
        if self.influence is not None and len(self.influence) < self.n_samples:
            del changes["influence"]
        return replace(self, **changes)

    def to_frame(self) -> Any:
        """Return one row of a pandas DataFrame with the scalar fields: first what moves, then the value."""
        frame = super().to_frame()
        first = [
            "measure",
            "base_risk",
            "risk",
            "share_moved",
            "rms_move",
            "effective_sample_fraction",
        ]
        rest = [name for name in frame if name not in (*first, *self.row_fields)]
        return frame[first + rest]

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

        return pd.DataFrame(self.all_places()).sort_values("row", kind="stable", ignore_index=True)

    def all_places(self) -> dict[str, Any]:
        """Return the arrays of `atoms`: the first places of all rows, then the second ones."""
        if self.weights is None:
            raise ValueError(NO_ROWS)
        weights, splits = np.array(self.weights), self.splits
        places: dict[str, Any] = {
            "row": np.arange(self.n_samples), "weight": weights, "loss": self.moved_losses,
            "distance": self.moved_distances, "choice": self.choices,
        }  # fmt: skip
        if splits is not None:
            weights[splits.rows] -= splits.weights
            second = (splits.rows, splits.weights, splits.losses, splits.distances, splits.choices)
            pairs = zip(places.items(), second, strict=True)
            places = {
                name: part if part is None else np.concatenate([part, more])
                for (name, part), more in pairs
            }
        return {name: part for name, part in places.items() if part is not None}

    def places(self) -> tuple[Any, Any]:
        """Return the rows as DataFrames before and after their moves (then second places), if it has them."""
        return None, None

    def shift_in_words(self) -> str:
        """Say what the shift does to the rows."""
        longest = None if self.moved_distances is None else float(self.moved_distances.max())
        return shift_in_words(
            self.rms_move,
            self.share_moved,
            self.effective_sample_fraction,
            longest,
            self.distance_unit,
        )

    @property
    def distance_unit(self) -> str:
        """The unit of a distance, to write after a number."""
        return " in units of the distances"

    def reference_values(self) -> list[str]:
        """Return sentences to compare the shift with: random halves of the sample, rows that stand equally far."""
        sentences = []
        if self.base_losses is not None and self.n_samples > 1:
            sentences.append(halves_in_words(self.base_losses, self.settings))
        if self.mean_distance is not None and self.rms_move > 0.0 and "budget" not in self.settings:
            sentences.append(
                f"If all rows that are right stood equally far from an error ({format_number(self.mean_distance)}"
                f"{self.distance_unit}, their mean), {100 * (self.risk - self.base_risk):.3g} % would move that far."
            )
        return sentences

    def notes(self) -> list[str]:
        """Return the sentences that follow the headline."""
        first, *sentences = super().notes()
        prices = ", ".join(
            f"{name} = {self.settings.get(name, 0.4):g}" for name in ("theta1", "theta2")
        )
        value = format_number(self.value)
        if "budget" in self.settings:
            value = f"Worst-case risk {value} at the prices {prices} of moves and weights."
        else:
            threshold = format_number(self.settings.get("threshold", self.risk))
            value = f"Stability {value} at risk threshold {threshold}: the least cost, at the prices {prices}."
        sentences.insert(0, f"{value} {first}")
        if self.status.code == "converged":
            sentences += self.reference_values()
        if self.kind == "upper_bound":
            sentences.insert(1, "An upper bound: the true value may be lower, never higher.")
        elif self.kind == "lower_bound":
            sentences.insert(1, "A lower bound: the true value may be higher, never lower.")
        if self.status.ok and self.status.code != "converged":
            sentences.append(f"Status {self.status}: {self.status.text}")
        return sentences
