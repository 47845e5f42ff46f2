"""The comparison section: models with their ranks, drawn and in a table, and the difference of every two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftmetrics._core.result import format_number
from shiftmetrics.comparison.result import ComparisonResult
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
            "p": Number(f"{pair.p_value:.2g}"),
            "p, all pairs": Number(f"{pair.p_adjusted:.2g}"),
            "Interval, all pairs": Number(pair.simultaneous_interval),
        }
        for pair in result.differences[: 10 * entry.detail]
    ]
    entry.add_table(differences, "Paired differences")
