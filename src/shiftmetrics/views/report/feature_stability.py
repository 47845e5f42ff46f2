"""The features that break a model most easily, and for whom: part of the stability section."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from shiftmetrics._core.result import format_number
from shiftmetrics.models.feature_result import FeatureStability, FeatureStabilityResult
from shiftmetrics.views.plot import plot_feature_stability
from shiftmetrics.views.report.facts import facts_of, percent
from shiftmetrics.views.report.figures import figure_svg
from shiftmetrics.views.report.grid import Column, Entry, Grid

MOST_BARS = 15
EVERYTHING = "all features"


def entry_of(name: str, result: FeatureStabilityResult, detail: int) -> Entry:
    """Return what the section says about the features of a model."""
    entry = Entry(name=name, facts=facts_of(result), sentences=[result.headline()])
    entry.figures.append(
        _bars(
            result,
            len(result.features),
            alt="Stability when one feature alone may move",
            caption="How little it takes to break the model through one feature while the others stay: the "
            "shortest bars are the features to measure well.",
        )
    )
    whole = [part for part in result.subgroups if part.feature == EVERYTHING]
    if whole:
        entry.figures.append(
            _bars(
                result,
                len(whole),
                alt="Stability within each group, all features free",
                caption="The same within each group of people, all features free. Two groups differ where their "
                "bands do not overlap.",
                by=True,
            )
        )
    if detail:
        entry.tables.append(_table(result.features[:detail], "The most sensitive features."))
        if whole:
            entry.tables.append(_table(whole[: 2 * detail], "Groups, the least stable first.", by=True))
    return entry


def _bars(result: Any, n_bars: int, *, alt: str, caption: str, by: bool = False) -> Markup:
    def draw(ax: Any) -> None:
        plot_feature_stability(result, ax, top=MOST_BARS, by=by)
        ax.set_title("Stability by group" if by else "Stability by feature")

    return figure_svg(draw, alt=alt, caption=caption, height=max(1.0 + 0.24 * min(n_bars, MOST_BARS), 2.2))


def _table(parts: Any, caption: str, *, by: bool = False) -> Grid:
    columns = [Column("Group" if by else "Feature")]
    columns += [Column("Rows", numeric=True), Column("Risk as it is", numeric=True)] if by else []
    columns += [Column("Stability", numeric=True), Column("Interval", numeric=True)]
    columns += [Column("Typical move", numeric=True), Column("Rows moved", numeric=True), Column("Kind")]
    lines = [[*_first(part, by), *_line(part)] for part in parts]
    return Grid(columns=columns, rows=lines, caption=caption)


def _first(part: FeatureStability, by: bool) -> list[str]:
    if not by:
        return [part.feature]
    return [str(part.subgroup), f"{part.n_samples:,}", format_number(part.base_risk)]


def _line(part: FeatureStability) -> list[str]:
    interval = part.interval
    ends = "–" if interval is None else f"{format_number(interval.low)} to {format_number(interval.high)}"
    kind = str(part.kind).replace("_", " ")
    if not part.status.ok or part.status.value != "converged":
        kind = str(part.status).replace("_", " ")
    return [
        format_number(part.value), ends, format_number(part.rms_move), percent(part.share_moved), kind,
    ]  # fmt: skip
