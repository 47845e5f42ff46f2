"""The comparison section: models with their ranks, drawn and in a table, and the difference of every two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup

from shiftmetrics._core.result import Result, format_number
from shiftmetrics.views.plot import plot_comparison
from shiftmetrics.views.report.context import Context
from shiftmetrics.views.report.facts import facts_of, percent
from shiftmetrics.views.report.figures import figure_svg
from shiftmetrics.views.report.grid import Column, Entry, Grid
from shiftmetrics.views.report.templating import fragment

LEAD = (
    "All models saw the same rows, and are compared row by row, so that what the rows have in common cancels. Ranks "
    "hold for all models together: a model's ranks leave out only those that these rows rule out."
)
COMPANIONS: dict[str, tuple[str, Callable[[float], str]]] = {
    "equivalent_error": ("Equivalent error", percent),
    "base_risk": ("Risk", format_number),
    "rms_move": ("Root-mean-square move", format_number),
    "share_moved": ("Rows moved", percent),
    "effective_sample_fraction": ("Effective sample", percent),
    "worst_case_risk": ("Risk within the budget", format_number),
}
"""Readable figures of some measures: the heading of their column, and how they are printed."""


def build(results: Mapping[str, Result], context: Context, detail: int) -> Markup:
    """Return the section; ``detail`` limits the table of differences, 0 leaves it out."""
    entries = [_entry(name, result, context, detail) for name, result in results.items()]
    return fragment("measure.html.j2", lead=LEAD, comparison=None, entries=entries)


def _entry(name: str, result: Any, context: Context, detail: int) -> Entry:
    entry = Entry(name=name, facts=facts_of(result))
    entry.sentences = [*([context.remarks[name]] if name in context.remarks else []), result.status.text]
    entry.figures.append(
        figure_svg(
            lambda ax: plot_comparison(result, ax),
            alt=f"Models with intervals and ranks: {name}",
            caption="Bars are intervals of each model alone. Models that may be the best are in orange.",
            height=1.4 + 0.25 * len(result.models),
        )
    )
    entry.tables.append(_models(result))
    beside = _companions(result)
    if beside is not None:
        entry.tables.append(beside)
    if detail:
        entry.tables.append(_differences(result, 10 * detail))
    return entry


def _models(result: Any) -> Grid:
    columns = [
        Column("Rank"),
        Column("Model"),
        Column(
            result.compared + (f" ({result.compared_unit})" if result.compared_unit else ""), numeric=True
        ),
        Column("Interval", numeric=True),
        Column("Best in draws", numeric=True),
    ]
    rows = []
    for model in result.models:
        line = [ranks_of(model), model.name, format_number(model.value), str(model.interval)]
        line.append("collapsed" if model.collapsed else percent(model.probability_best))
        rows.append(line)
    return Grid(columns=columns, rows=rows, caption="Models, the best first")


def _companions(result: Any) -> Grid | None:
    """Return the readable figures beside the values, where the measure has any."""
    shown = [name for name in COMPANIONS if all(name in model.companions for model in result.models)]
    if not shown:
        return None
    columns = [Column("Model"), *(Column(COMPANIONS[name][0], numeric=True) for name in shown)]
    rows = [
        [model.name, *(COMPANIONS[name][1](model.companions[name]) for name in shown)]
        for model in result.models
    ]
    caption = "Beside the values"
    if "worst_case_risk" in shown:
        caption += f"; the budget is {format_number(result.settings['budget'])}"
    return Grid(columns=columns, rows=rows, caption=caption)


def _differences(result: Any, limit: int) -> Grid:
    columns = [
        Column("Better"),
        Column("Worse"),
        Column("Difference", numeric=True),
        Column("Interval", numeric=True),
        Column("p", numeric=True),
        Column("p, all pairs", numeric=True),
        Column("Interval, all pairs", numeric=True),
    ]
    rows = [
        [pair.first, pair.second, format_number(pair.difference), str(pair.interval), f"{pair.p_value:.2g}",
         f"{pair.p_adjusted:.2g}", "–" if pair.simultaneous_interval is None else str(pair.simultaneous_interval)]
        for pair in result.differences[:limit]
    ]  # fmt: skip
    return Grid(columns=columns, rows=rows, caption="Paired differences")


def ranks_of(model: Any) -> str:
    """Print the ranks that a model may have."""
    return str(model.rank_low) if model.rank_low == model.rank_high else f"{model.rank_low}–{model.rank_high}"
