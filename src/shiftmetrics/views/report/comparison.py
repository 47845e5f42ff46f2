"""The comparison section: models with their ranks, drawn and in a table, and the difference of every two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftmetrics._core.result import format_number, p_number
from shiftmetrics._core.validation import first_few
from shiftmetrics.comparison.result import AGREES_MOST, ComparisonResult
from shiftmetrics.views.drawings.style import cut
from shiftmetrics.views.report.answer import Answer, Tile, Tone, answers
from shiftmetrics.views.report.parts import Entry, Fact, Number, number, percent, reports

SECONDARY_METRICS: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "accuracy": ("Accuracy", percent),
    "accuracy_low": ("at least", percent),
    "accuracy_high": ("at most", percent),
    "vote": ("Match with the vote", percent),
    "source_accuracy": ("Accuracy on the labelled rows", percent),
    "estimated_accuracy_low": ("Accuracy from", percent),
    "estimated_accuracy_high": ("to", percent),
    "unchanged": ("Unchanged", percent),
    "kappa": ("Kappa", number),
    "agreement": ("Agreement (nats)", number),
    "normalized": ("Of its ceiling", percent),
    "equivalent_error": ("Equivalent error", percent),
    "mse": ("MSE before the shift", number),
    "mean_squared_change": ("Mean squared change", number),
    "base_risk": ("Risk", number),
    "rms_distance": ("Root-mean-square change", number),
    "changed_fraction": ("Samples changed", percent),
    "effective_sample_fraction": ("Effective sample", percent),
    "worst_case_risk": ("Risk within the budget", number),
}
"""Readable figures of some measures: the heading of their column, and how they are printed."""


MOST_TILES = 4
"""Models on the first screen."""


@answers(ComparisonResult)
def comparison_answer(result: ComparisonResult) -> Answer:
    """Return which model is the best, and whether that is clear."""
    best = result.best
    things, first, higher = result.wording
    rivals = [model.name for model in result.contenders if model is not best]
    value = number(best.value, result.compared_unit)
    word, tone = _word_of(result)
    claim = f"is the {first} of"
    clear = f", and clearly {higher}."
    if result.wording == AGREES_MOST:
        claim = "agrees most with the others of"
        clear = ", clearly more than any other."
    sentence = f"{cut(best.name)} {claim} {len(result.models)} {things}: {value}"
    sentence += clear if not rivals else f", but {_rivals(rivals)} may be as good."
    steps = []
    if best.collapsed:
        sentence = f"Each of the {len(result.models)} {things} predicts (almost) a single class."
        steps.append(f"Compare {things} that use their classes.")
    elif result.to_label:
        # what the headline asks for: the first one by this figure is not the first by another
        rows = first_few(result.to_label, 5, show=str)
        steps.append(f"Label {len(result.to_label)} rows to decide, in this order: {rows}.")
    elif rivals:
        steps.append("Give more rows, or choose among the tied ones by cost, size or speed.")
    else:
        steps.append(f"Take {best.name}.")
    if not best.collapsed and len(result.models) > 1:
        steps.append(
            "See whether it is safe to ship, with labels of the changed rows: shiftmetrics diff OLD NEW --allow 0.01"
        )
    return Answer(
        word=word,
        tone=tone,
        sentence=sentence,
        steps=tuple(steps),
        tiles=tuple(_tiles(result)),
        chart="models",
    )


def _word_of(result: ComparisonResult) -> tuple[str, Tone]:
    if result.status.code == "separated":
        # clear by this figure, and another model is the first by another one
        return ("UNDECIDED", "open") if result.to_label else ("CLEAR", "good")
    if result.status.code == "collapsed":
        return "COLLAPSED", "bad"
    return "TIED", "open"


def _rivals(names: list[str]) -> str:
    if len(names) == 1:
        return cut(names[0])
    return f"{len(names)} others"


def _tiles(result: ComparisonResult) -> list[Tile]:
    """Return the first models with their intervals, and by how much the best one leads."""
    figures = []
    for model in result.models[:MOST_TILES]:
        low, high = format_number(model.interval.low), format_number(model.interval.high)
        figures.append(
            Tile(
                name=f"{model.ranks}  {cut(model.name)}",
                value=number(model.value),
                meaning=f"{100 * model.interval.confidence_level:g} %: {low} to {high}",
            )
        )
    if len(result.models) > 1:
        second = result.models[1].name
        lead = next(
            pair
            for pair in result.differences
            if {pair.first, pair.second} == {result.best.name, second}
        )
        if lead.first != result.best.name:
            lead = lead.reversed()
        low, high = format_number(lead.interval.low), format_number(lead.interval.high)
        figures.append(
            Tile(
                name=f"Lead over {cut(second)}",
                value=number(lead.difference),
                meaning=f"{100 * lead.interval.confidence_level:g} %: {low} to {high}",
            )
        )
    return figures


def comparison_facts(result: Any) -> list[Fact]:
    """Return the value, the ranks and the secondary metrics of each model."""
    facts = []
    for model in result.models:
        value = f"{number(model.value, result.compared_unit)} {model.interval}"
        meaning = f"rank {model.ranks}"
        for heading, text in _secondary_metrics(model).items():
            meaning += f", {heading} {text}"
        if model.collapsed:
            meaning += ", (almost) a single class"
        facts.append(Fact(model.name, value, meaning, is_answer=True))
    return facts


def _secondary_metrics(model: Any) -> dict[str, str]:
    """Return the readable figures of a model by the headings of their columns."""
    figures = {}
    for name, (heading, show) in SECONDARY_METRICS.items():
        # a measure has some of them, and may have others that only experts read
        if name in model.secondary_metrics:
            figures[heading] = show(model.secondary_metrics[name])
    return figures


@reports("comparison", ComparisonResult, facts=comparison_facts)
def fill_comparison(entry: Entry) -> None:
    """Draw the models, and list them, their secondary metrics and their differences."""
    result = entry.result
    # how the ranking came about
    entry.sentences += [*([result.basis] if result.basis else []), result.status.text]
    entry.draw("models", height=1.4 + 0.25 * len(result.models))
    unit = f" ({result.compared_unit})" if result.compared_unit else ""
    # ranks, values and intervals
    models = [
        {
            "Rank": model.ranks,
            "Model": model.name,
            f"{result.compared}{unit}": number(model.value),
            "Interval": Number(model.interval),
            "Best in resamples": Number("constant")
            if model.collapsed
            else percent(model.probability_best),
        }
        for model in result.models
    ]
    entry.add_table(models, "Models, the best first")
    figures = [_secondary_metrics(model) for model in result.models]
    if any(figures):
        caption = "Beside the values"
        budget = result.best.secondary_metrics.get("common_budget")
        if budget is not None:
            caption += f"; the budget is {format_number(budget)}"
        lines = [
            {"Model": model.name, **line}
            for model, line in zip(result.models, figures, strict=True)
        ]
        entry.add_table(lines, caption)
    # every pair, the clearest first
    differences = [
        {
            "Better": pair.first,
            "Worse": pair.second,
            "Difference": number(pair.difference),
            "Interval": Number(pair.interval),
            "p": Number(p_number(pair.p_value)),
            "p, all pairs": Number(p_number(pair.p_adjusted)),
            "Interval, all pairs": Number(pair.simultaneous_interval),
        }
        for pair in result.differences[: 10 * entry.detail]
    ]
    entry.add_table(differences, "Paired differences")
