"""What a comparison finds: models with their ranks, and the differences of every two."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Interval, Result, format_number
from shiftmetrics.stability.result import shift_in_words


class ComparisonStatus(Status):
    """How clear the ranking is."""

    separated = ("separated", True, "The best model differs from every other one by more than chance.")
    tied = (
        "tied",
        True,
        "The best model cannot be told from others whose rank may be 1 too: choose among them by other "
        "criteria, or compare them on more rows.",
    )
    collapsed = (
        "collapsed",
        False,
        "Every model predicts only a few of the classes, so that its agreement means little. "
        "Compare models that use their classes.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedModel(Record):
    """One model in a comparison.

    Attributes
    ----------
    name : str
    value : float
        The measure.
    interval : Interval
        Of the value.
    rank : int
        By value, 1 for the best; models that have collapsed come last.
    rank_low, rank_high : int
        Ranks that the model may have in truth; together they hold for all models at the confidence level.
    probability_best : float
        Share of the draws in which it is the best.
    collapsed : bool
        Whether it predicts far fewer classes than the others.
    companions : dict of str to float
        Readable figures of its measure, such as the equivalent error.
    """

    name: str
    value: float
    interval: Interval
    rank: int
    rank_low: int
    rank_high: int
    probability_best: float
    collapsed: bool
    companions: dict[str, float]

    @property
    def ranks(self) -> str:
        """The ranks that the model may have, such as "1" or "2–3"."""
        low, high = self.rank_low, self.rank_high
        return str(low) if low == high else f"{low}–{high}"


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelDifference(Record):
    """The paired difference of two models.

    Attributes
    ----------
    first, second : str
        Their names, the better one first.
    difference : float
        Value of the first minus that of the second.
    interval : Interval
        Of the difference.
    p_value : float
        Two-sided, of no difference, for this pair alone.
    p_adjusted : float
        The same, holding for all pairs together.
    standard_error : float or None
        Sampling error of the difference.
    simultaneous_interval : Interval or None
        Of the difference, holding for all pairs together.
    """

    first: str
    second: str
    difference: float
    interval: Interval
    p_value: float
    p_adjusted: float
    standard_error: float | None = None
    simultaneous_interval: Interval | None = None

    def reversed(self) -> ModelDifference:
        """Return the same difference the other way round: of the second minus the first."""
        return dataclasses.replace(
            self,
            first=self.second,
            second=self.first,
            difference=-self.difference,
            interval=_turned(self.interval),
            simultaneous_interval=None
            if self.simultaneous_interval is None
            else _turned(self.simultaneous_interval),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparisonResult(Drawn, Result):
    """Models ranked by a measure.

    Attributes
    ----------
    value : float
        The measure of the best model.
    error_bound : float
        The largest numerical error of the models.
    interval : Interval
        Of the best model.
    status : ComparisonStatus
        Whether the best model is clearly the best.
    compared : str
        Title of the measure.
    compared_unit : str
        Its unit.
    models : tuple of RankedModel
        The best first.
    differences : tuple of ModelDifference
        Of every pair of models.
    wording : tuple of str
        What is compared, and what the first and the higher one are called: models, best, better.
    """

    measure: ClassVar[str] = "comparison"
    title: ClassVar[str] = "Comparison of models"
    unit: ClassVar[str] = ""
    higher_is_better: ClassVar[bool] = True

    status: ComparisonStatus
    compared: str
    compared_unit: str
    models: tuple[RankedModel, ...]
    differences: tuple[ModelDifference, ...]
    wording: tuple[str, str, str] = ("models", "best", "better")

    @property
    def best(self) -> RankedModel:
        """The model of rank 1."""
        return self.models[0]

    @property
    def contenders(self) -> tuple[RankedModel, ...]:
        """The models whose rank may be 1."""
        return tuple(model for model in self.models if model.rank_low == 1)

    def headline(self) -> str:
        """Return one sentence with the best model and those that may be as good."""
        best, rivals = self.best, [model.name for model in self.contenders if model is not self.best]
        unit = f" {self.compared_unit}" if self.compared_unit else ""
        things, first, higher = self.wording
        told = (
            f"; {_listed(rivals)} cannot be told from it" if rivals else f", {higher} than each of the others"
        )
        return (
            f"{self.compared}: {best.name} is the {first} of {len(self.models)} {things} with "
            f"{format_number(best.value)}{unit}, interval {best.interval}{told}."
        )

    def notes(self) -> list[str]:
        """Return the sentences on what the ranks mean, and those of every measure."""
        ranks = ", ".join(
            f"{model.name} {model.rank_low}"
            + (f" to {model.rank_high}" if model.rank_high > model.rank_low else "")
            for model in self.models
        )
        sentences = [
            f"Ranks at {100 * self.best.interval.level:g} % for all {self.wording[0]} together: {ranks}."
        ]
        fallen = [model.name for model in self.models if model.collapsed]
        if fallen:
            sentences.append(f"Collapsed, and ranked last: {_listed(fallen)}.")
        if {"rms_move", "share_moved", "effective_sample_fraction"} <= self.best.companions.keys():
            sentences += [f"{model.name}: {self._shift_in_words(model)}." for model in self.models]
        return [*sentences, *super().notes()[1:]]

    def _shift_in_words(self, model: RankedModel) -> str:
        """Say what the worst shift of a model does, and the risk that a common budget buys."""
        figures = model.companions
        said = shift_in_words(
            figures["rms_move"], figures["share_moved"], figures["effective_sample_fraction"]
        )
        if "worst_case_risk" not in figures:
            return said
        risk, budget = figures["worst_case_risk"], self.settings["budget"]
        return f"{said}; risk {format_number(risk)} at worst within a budget of {format_number(budget)}"

    def to_frame(self) -> Any:
        """Return one row for each model as a pandas DataFrame, the best first."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "model": model.name,
                    "value": model.value,
                    "interval_low": model.interval.low,
                    "interval_high": model.interval.high,
                    "rank": model.rank,
                    "rank_low": model.rank_low,
                    "rank_high": model.rank_high,
                    "probability_best": model.probability_best,
                    "collapsed": model.collapsed,
                    **model.companions,
                }
                for model in self.models
            ]
        )

    def differences_frame(self) -> Any:
        """Return one row for each pair of models as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "first": pair.first,
                    "second": pair.second,
                    "difference": pair.difference,
                    "standard_error": pair.standard_error,
                    "interval_low": pair.interval.low,
                    "interval_high": pair.interval.high,
                    "p_value": pair.p_value,
                    "p_adjusted": pair.p_adjusted,
                    "simultaneous_low": _end(pair.simultaneous_interval, "low"),
                    "simultaneous_high": _end(pair.simultaneous_interval, "high"),
                }
                for pair in self.differences
            ]
        )


def _turned(interval: Interval) -> Interval:
    return dataclasses.replace(interval, low=-interval.high, high=-interval.low)


def _end(interval: Interval | None, side: str) -> float:
    return math.nan if interval is None else float(getattr(interval, side))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
