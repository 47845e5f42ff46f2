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
    """Return the value and the ranks of each model."""
    facts = []
    for model in result.models:
        # what stands beside the value
        known = model.secondary_metrics
        meaning = f"rank {model.ranks}"
        if "accuracy" in known:
            ends = " to ".join(percent(known[f"accuracy_{end}"]) for end in ("low", "high"))
            accuracy = (
                "estimated accuracy" if result.settings.get("labelled_scores") else "accuracy"
            )
            meaning += f", {accuracy} {percent(known['accuracy'])} ({ends})"
        if "unchanged" in known:
            meaning += f", {percent(known['unchanged'])} of predictions unchanged (kappa {number(known['kappa'])})"
        if "normalized" in known:
            meaning += f", agreement {percent(known['normalized'])} of its ceiling"
        value = f"{number(model.value, result.compared_unit)} {model.interval}"
        facts.append(
            Fact(
                model.name,
                value,
                meaning + (", (almost) a single class" if model.collapsed else ""),
            )
        )
    return facts


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
    # figures that all models have
    known = {
        name: shown
        for name, shown in SECONDARY_METRICS.items()
        if all(name in model.secondary_metrics for model in result.models)
    }
    if known:
        secondary_metrics = [
            {
                "Model": model.name,
                **{
                    head: show(model.secondary_metrics[name])
                    for name, (head, show) in known.items()
                },
            }
            for model in result.models
        ]
        caption = "Beside the values"
        if "worst_case_risk" in known:
            caption += (
                f"; the budget is {format_number(result.best.secondary_metrics['common_budget'])}"
            )
        entry.add_table(secondary_metrics, caption)
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
