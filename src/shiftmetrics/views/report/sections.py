"""The sections of the report: one for each measure that has results, in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from shiftmetrics._core.result import Result
from shiftmetrics.views.report import agreement, comparison, novelty, stability
from shiftmetrics.views.report.context import Context
from shiftmetrics.views.report.facts import facts_of, family_of
from shiftmetrics.views.report.grid import Entry
from shiftmetrics.views.report.templating import fragment

Builder = Callable[[Mapping[str, Result], Context, int], Markup]


@dataclass(frozen=True)
class Section:
    """One section of the page."""

    anchor: str
    name: str
    question: str
    body: Markup


_BUILDERS: dict[str, tuple[str, str, Builder]] = {
    "comparison": ("Models side by side", "Which model holds best, and is it clear?", comparison.build),
    "agreement": ("Agreement", "Do predictions survive the shift?", agreement.build),
    "stability": ("Stability", "How little does it take to break the model?", stability.build),
    "novelty": ("Novelty", "What is new, and what is missing?", novelty.build),
}


def build_sections(results: Mapping[str, Result], context: Context, detail: int) -> list[Section]:
    """Return the sections of ``results``; ``detail`` is how many rows and pictures to show."""
    sections = []
    for family, (name, question, build) in _BUILDERS.items():
        own = {key: result for key, result in results.items() if family_of(result) == family}
        if own:
            sections.append(Section(family, name, question, build(own, context, detail)))
    other = {key: result for key, result in results.items() if family_of(result) not in _BUILDERS}
    if other:
        sections.append(Section("other", "Other results", "What else was measured", _plain(other)))
    return sections


def _plain(results: Mapping[str, Result]) -> Markup:
    entries = [Entry(name=name, facts=facts_of(result)) for name, result in results.items()]
    for entry, result in zip(entries, results.values(), strict=True):
        entry.sentences = result.summary().splitlines()
    return fragment("measure.html.j2", lead="", comparison=None, entries=entries)
