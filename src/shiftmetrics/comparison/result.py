"""The result of a comparison: models with their ranks, and the differences of every two."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval, Result, Status, format_number
from shiftmetrics.stability.words import shift_in_words

SEPARATED = Status("separated", "The best model differs from every other one by more than chance.")
TIED = Status(
    "tied",
    "The best model cannot be told from others whose rank may be 1 too.",
    "Choose among them by other criteria, or compare them on more rows.",
)
COLLAPSED = Status(
    "collapsed",
    "Every model predicts (almost) a single class, so that its robustness means little.",
    "Compare models that use their classes.",
    ok=False,
)

AGREES_MOST = ("models", "most agreeing", "more agreeing")
"""The wording of a ranking by a vote, which is no accuracy."""


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
        By value, 1 for the best; by agreement, models that have collapsed come last.
    rank_low, rank_high : int
        Ranks that the model may have in truth; together they hold for all models at the confidence level.
    probability_best : float
        Fraction of the resamples in which it is the best.
    collapsed : bool
        Whether it predicts (almost) a single class.
    secondary_metrics : dict of str to float
        Figures beside its value, such as the fraction of predictions that stay as they were.
    """

    name: str
    value: float
    interval: Interval
    rank: int
    rank_low: int
    rank_high: int
    probability_best: float
    collapsed: bool
    secondary_metrics: dict[str, float]

    @property
    def ranks(self) -> str:
        """The ranks that the model may have, such as "1" or "2–3"."""
        if self.rank_low == self.rank_high:
            return str(self.rank_low)
        return f"{self.rank_low}–{self.rank_high}"


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelDifference(Record):
    """The paired difference of two models.

    Attributes
    ----------
    first, second : str
        Their names, the better one first.
    difference : float
        Value of the first minus that of the second.
    standard_error : float
        Sampling error of the difference.
    interval : Interval
        Of the difference.
    p_value : float
        Two-sided, of no difference, for this pair alone.
    p_adjusted : float
        The same, holding for all pairs together.
    simultaneous_interval : Interval
        Of the difference, holding for all pairs together.
    """

    first: str
    second: str
    difference: float
    standard_error: float
    interval: Interval
    p_value: float
    p_adjusted: float
    simultaneous_interval: Interval

    def reversed(self) -> ModelDifference:
        """Return the same difference the other way round: of the second minus the first."""
        return dataclasses.replace(
            self,
            first=self.second,
            second=self.first,
            difference=-self.difference,
            interval=_reversed(self.interval),
            simultaneous_interval=_reversed(self.simultaneous_interval),
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
    status : Status
        Whether the best model is clearly the best: "separated", "tied", or "collapsed" where all models have.
    compared : str
        Title of the measure.
    compared_unit : str
        Its unit.
    models : tuple of RankedModel
        The best first.
    differences : tuple of ModelDifference
        Of every pair of models.
    basis : str
        What the values rest on, where that depends on what was given.
    wording : tuple of str
        What is compared, and what the first and the higher one are called: models, best, better.
    beside : str
        What follows the headline: which model is the best by another figure of the table, and what would decide.
    to_label : tuple of str
        Names, else positions, of the rows whose labels would decide, in random order: those on which the choices
        differ.
    """

    measure = "comparison"
    title = "Comparison of models"
    higher_is_better = True
    rule_field = ""

    status: Status
    compared: str
    compared_unit: str
    models: tuple[RankedModel, ...]
    differences: tuple[ModelDifference, ...]
    basis: str = ""
    wording: tuple[str, str, str] = ("models", "best", "better")
    beside: str = ""
    to_label: tuple[str, ...] = ()

    @property
    def best(self) -> RankedModel:
        """The model of rank 1."""
        return self.models[0]

    @property
    def criterion(self) -> str:
        """What is compared, as it stands inside a sentence."""
        return self.compared[:1].lower() + self.compared[1:]

    @property
    def contenders(self) -> tuple[RankedModel, ...]:
        """The models whose rank may be 1."""
        return tuple(model for model in self.models if model.rank_low == 1)

    def headline(self) -> str:
        """Return one sentence with the best model and those that may be as good."""
        # The best, its value, and whether others may be as good.
        best = self.best
        rivals = [model.name for model in self.contenders if model is not best]
        things, first, higher = self.wording
        value = f"{format_number(best.value)} {self.compared_unit}".rstrip()
        claim = f"is the {first} of {len(self.models)} {things} by {self.criterion}"
        clear = f", {higher} than each of the others"
        # A vote of the models says who agrees with them, and not who is right.
        if self.wording == AGREES_MOST:
            claim = (
                f"agrees most with the others of {len(self.models)} {things}, by {self.criterion}"
            )
            clear = ", more than each of the others does"
        if rivals:
            clear = f"; {_listed(rivals)} cannot be told from it"
        text = f"{best.name} {claim}: {value}, interval {best.interval}{clear}."
        return f"{text} {self.beside}".rstrip()

    def notes(self) -> list[str]:
        """Return the sentences on what the ranks mean, and those of every measure."""
        ranks = ", ".join(
            f"{model.name} {model.ranks.replace('–', ' to ')}" for model in self.models
        )
        confidence_level = f"{100 * self.best.interval.confidence_level:g} %"
        # What the values rest on comes first, then what the ranks mean.
        sentences = [self.basis] if self.basis else []
        if self.to_label:
            sentences.append(f"Rows to label: {', '.join(self.to_label)}.")
        sentences.append(
            f"Ranks at {confidence_level} for all {self.wording[0]} together: {ranks}."
        )
        collapsed = [model.name for model in self.models if model.collapsed]
        if collapsed:
            sentences.append(
                f"Collapsed, with (almost) a single predicted class: {_listed(collapsed)}."
            )
        return [*sentences, *super().notes()]

    def details(self) -> list[str]:
        """Return the worst shift of each model, where there is one, and the interval."""
        sentences = []
        if {
            "changed_fraction",
            "rms_distance",
            "effective_sample_fraction",
        } <= self.best.secondary_metrics.keys():
            sentences += [f"{model.name}: {self._shift_in_words(model)}." for model in self.models]
        # Without the first general sentence: the direction is said by the ranks.
        return [*sentences, *super().details()[1:]]

    def _shift_in_words(self, model: RankedModel) -> str:
        """Say what the worst shift of a model does, and the risk that a common budget buys."""
        # Only results of stability have these figures.
        figures = model.secondary_metrics
        text = shift_in_words(
            figures["changed_fraction"],
            figures["rms_distance"],
            figures["effective_sample_fraction"],
        )
        if "worst_case_risk" not in figures:
            return text
        risk = format_number(figures["worst_case_risk"])
        budget = format_number(figures["common_budget"])
        return f"{text}; risk {risk} at worst within a budget of {budget}"

    def to_frame(self) -> Any:
        """Return one row for each model as a pandas DataFrame, the best first."""
        import pandas as pd

        return pd.DataFrame([_line(model) for model in self.models]).rename(
            columns={"name": "model"}
        )

    def differences_frame(self) -> Any:
        """Return one row for each pair of models as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame([_line(pair) for pair in self.differences])


def _line(record: Record) -> dict[str, Any]:
    """Return the fields of a record, each interval as two of them, the secondary metrics one by one."""
    # Flat: a table has a column for either end of an interval, and for each secondary metric.
    line: dict[str, Any] = {}
    for name, part in record.to_dict().items():
        if name.endswith("interval"):
            stem = name.removesuffix("_interval")
            line[f"{stem}_low"] = part["low"]
            line[f"{stem}_high"] = part["high"]
        elif name == "secondary_metrics":
            line.update(part)
        else:
            line[name] = part
    return line


def _reversed(interval: Interval) -> Interval:
    return dataclasses.replace(interval, low=-interval.high, high=-interval.low)


def _listed(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
