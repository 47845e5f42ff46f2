"""The novelty section: the spectrum, and each mode as a card with its most typical rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from markupsafe import Markup

from shiftmetrics._core.result import Result
from shiftmetrics._core.validation import describe
from shiftmetrics.novelty import Mode, NoveltyResult, NoveltyTable
from shiftmetrics.views.plot import (
    plot,
    plot_bandwidth_sweep,
    plot_mode_frequencies,
    plot_novelty,
    plot_novelty_ranks,
    plot_novelty_sizes,
)
from shiftmetrics.views.report.context import Context, Rows
from shiftmetrics.views.report.facts import facts_of, percent
from shiftmetrics.views.report.figures import figure_svg
from shiftmetrics.views.report.grid import Entry, Grid
from shiftmetrics.views.report.templating import fragment
from shiftmetrics.views.report.thumbnails import is_image_batch, range_of, thumbnail
from shiftmetrics.views.report.typical import (
    MOST_COLUMNS,
    Excerpt,
    excerpts,
    traits,
    typical_rows,
    typical_words,
)

LEAD = (
    "Each mode is a pattern that the test sample shows more often than the reference. A row belongs to "
    "it with a membership from 0 to 1; rows with a membership of at least a quarter count as members."
)
MOST_MODES = 7
FEW_MODES = 3
"""So many are shown even where fewer stand out."""
MOST_MISSING = 3
FEW_COLUMNS = 2
"""Columns of the typical rows in a narrow card."""


@dataclass(frozen=True)
class Bar:
    """One labelled bar of a card."""

    name: str
    width: float
    text: str
    new: bool


@dataclass(kw_only=True)
class Card:
    """One mode."""

    title: str
    chip: str
    bars: list[Bar]
    own: str = "test sample"
    other: str = "reference"
    says: str = ""
    pictures: list[Markup] = field(default_factory=list)
    reference_pictures: list[Markup] = field(default_factory=list)
    texts: list[Excerpt] = field(default_factory=list)
    reference_texts: list[Excerpt] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    label: str = "Typical values (of all rows)"
    table: Grid | None = None
    rows: str = ""


def build(results: Mapping[str, Result], context: Context, detail: int) -> Markup:
    """Return the section."""
    entries = [
        _entry(name, result, context.rows.get(name, Rows()), context.remarks.get(name), detail)
        for name, result in results.items()
    ]
    return fragment("measure.html.j2", lead=LEAD, comparison=None, entries=entries)


def _entry(name: str, result: Any, rows: Rows, remark: str | None, detail: int) -> Entry:
    entry = Entry(name=name, facts=facts_of(result))
    if remark:
        entry.sentences.append(remark)
    if not isinstance(result, NoveltyResult):  # a table of several samples, or modes on held-out rows
        entry.sentences += result.notes()
        entry.figures.append(
            figure_svg(lambda ax: plot(result, ax), alt=f"{result.title}: {name}", caption="")
        )
        if isinstance(result, NoveltyTable) and result.bandwidths.size > 1:
            entry.figures.append(
                figure_svg(
                    lambda ax: plot_novelty_ranks(result, ax),
                    alt=f"Rank of each sample at each setting: {name}",
                    caption="Where lines keep their order, the ranking depends on neither bandwidth nor features.",
                )
            )
        return entry
    entry.figures.append(
        figure_svg(
            lambda ax: plot_novelty(result, ax),
            alt=f"Eigenvalues of what is new and of what is missing: {name}",
            caption="A bar that reaches out of the grey band is a mode that stands out; the slope within it is "
            "what two finite samples of one distribution differ by anyway.",
        )
    )
    _check_rows(name, rows, result)
    shown = _shown(result, MOST_MODES if detail else FEW_MODES)
    # What is missing is shown where it stands out, and where nothing is new at all.
    missing = [mode for mode in result.lost_modes if mode.significant or not shown][:MOST_MISSING]
    if shown:
        entry.figures.append(
            figure_svg(
                lambda ax: plot_mode_frequencies(result, ax),
                alt=f"Frequency of each mode in the test sample and in the reference: {name}",
                caption="How frequent each mode is on either side. The distance between two dots is the "
                "eigenvalue, at eta = 1.",
            )
        )
        if result.n_significant == 0:
            entry.sentences.append(
                "No mode stands out from relabelled rows; these are the first ones all the same."
            )
        elif (result.n_significant or 0) > len(shown):
            entry.sentences.append(
                f"{result.n_significant} modes stand out; the first {len(shown)} are shown."
            )
    else:
        entry.sentences.append("No mode of the test sample is in excess of the reference.")
    entry.figures += _sensitivity(name, rows)
    if shown or missing:
        if result.kept_note:
            entry.sentences.append(result.kept_note)
        cards = [
            _card(mode, rows, detail if place == 0 else detail // 2, wide=place == 0)
            for place, mode in enumerate((*shown, *missing))
        ]
        entry.extra = fragment("modes.html.j2", modes=cards)
    return entry


def _sensitivity(name: str, rows: Rows) -> list[Markup]:
    """Draw the score against what it depends on beside the data: the bandwidth, and the number of rows."""
    figures = []
    if rows.bandwidth_sweep is not None:
        sweep = rows.bandwidth_sweep
        figures.append(
            figure_svg(
                lambda ax: plot_bandwidth_sweep(sweep, ax),
                alt=f"Novelty at each bandwidth: {name}",
                caption=f"{sweep.headline()} From {sweep.n_test:,} and {sweep.n_reference:,} rows.",
            )
        )
    if rows.sizes is not None:
        sizes = rows.sizes
        figures.append(
            figure_svg(
                lambda ax: plot_novelty_sizes(sizes, ax),
                alt=f"Novelty at each number of rows: {name}",
                caption="The score of few rows differs from that of many, and so does that of relabelled rows: "
                "compare the distance between the two.",
            )
        )
    return figures


def _check_rows(name: str, rows: Rows, result: NoveltyResult) -> None:
    """Raise a ValueError where there is not one entry for each row, or pictures are none."""
    kept = result.settings.get("kept_rows")  # modes of a stream are of the rows that it kept
    for entry in fields(rows):
        value = getattr(rows, entry.name)
        if value is None or entry.name == "class_names" or not hasattr(value, "__len__"):
            continue
        n_rows = result.n_reference if entry.name.startswith("reference") else result.n_samples
        expected = n_rows if kept is None else min(n_rows, kept)
        argument = f"rows[{name!r}].{entry.name}"
        if len(value) != expected:
            raise ValueError(describe(argument, f"of {expected} rows, as the sample", f"{len(value)} rows"))
        if entry.name.endswith("images") and not is_image_batch(value):
            shape = "of shape (n_samples, height, width), or (n_samples, height, width, 1, 3 or 4)"
            raise ValueError(describe(argument, shape, f"{np.shape(value)}", "Put channels last."))


def _shown(result: NoveltyResult, most: int) -> tuple[Mode, ...]:
    """Return the modes that stand out, or the first few; without a null all count."""
    if result.n_significant is not None:
        most = min(most, max(result.n_significant, FEW_MODES))
    return result.modes[:most]


def _card(mode: Any, rows: Rows, detail: int, *, wide: bool) -> Card:
    top = max(mode.frequency, mode.reference_frequency, 1e-12)
    chip = f"excess {percent(mode.eigenvalue)}" + (", stands out" if mode.significant else "")
    card = Card(
        title=f"{'Missing' if mode.lost else 'Mode'} {mode.index + 1}",
        chip=chip,
        bars=[
            Bar("in the test", 100 * mode.frequency / top, percent(mode.frequency), new=True),
            Bar(
                "in the reference",
                100 * mode.reference_frequency / top,
                percent(mode.reference_frequency),
                new=False,
            ),
        ],
    )
    if mode.lost:  # what is missing shows itself in the reference
        mode, rows = _swapped(mode), _swapped(rows)
        card.own, card.other = card.other, card.own
    card.says = _says(mode, rows, card.own, card.other)
    exemplars, reference_exemplars = mode.exemplars[:detail], mode.reference_exemplars[: max(detail // 2, 3)]
    if rows.images is not None and detail:
        card.pictures = _pictures(rows.images, exemplars, rows.labels, rows.names)
        if rows.reference_images is not None:
            card.reference_pictures = _pictures(
                rows.reference_images, reference_exemplars, rows.reference_labels, rows.reference_names
            )
        return card
    found = [] if rows.table is None else traits(_members(mode)[0], rows.table)
    card.columns = [trait.text for trait in found]
    if rows.texts is not None and detail:
        card.columns = typical_words(_members(mode)[0], rows.texts)
        card.label = "Typical words, with the share of texts that hold them (of all texts)"
        card.texts = excerpts(rows.texts, exemplars[: max(detail // 2, 2)], rows.names)
        if rows.reference_texts is not None:
            card.reference_texts = excerpts(
                rows.reference_texts, reference_exemplars[:2], rows.reference_names
            )
    elif found and detail:
        few = [trait.column for trait in found][: MOST_COLUMNS if wide else FEW_COLUMNS]
        card.table = typical_rows(mode, rows, few, max(detail // 2, 3), other=card.other)
    else:
        names = rows.names
        shown = exemplars[: max(detail, 5)]
        card.rows = ", ".join(str(names[i]) if names is not None else str(i) for i in shown)
    return card


def _says(mode: Any, rows: Rows, own: str, other: str) -> str:
    """Say how many rows belong to the mode and, where labels are known, which ones they are."""
    if mode.n_members:
        noun = "member" if mode.n_members == 1 else "members"
        text = f"{mode.n_members:,} {noun} in the {own}, {mode.n_reference_members:,} in the {other}."
    else:
        text = "No row belongs to it by a quarter or more."
    if rows.labels is None:
        return text
    positions, who = _members(mode)
    counts = Counter(str(rows.labels[i]) for i in positions)
    total = sum(counts.values())
    shares = ", ".join(f"{label} ({percent(n / total, digits=0)})" for label, n in counts.most_common(3))
    return f"Labels of its {who}: {shares}. {text}" if total else text


def _swapped(part: Any) -> Any:
    """Return a mode, or the rows behind a result, with the two samples in each other's place."""
    known = {entry.name for entry in fields(part)}
    pairs = {name: f"reference_{name}" for name in known if f"reference_{name}" in known}
    if isinstance(part, Mode):
        pairs["n_members"] = "n_reference_members"
    swapped = {name: getattr(part, other) for name, other in pairs.items()}
    return replace(part, **swapped, **{other: getattr(part, name) for name, other in pairs.items()})


def _members(mode: Any) -> tuple[Any, str]:
    """Return the members; those of a mode without any, or read from a file, are its exemplars."""
    if mode.membership is None or mode.n_members == 0:
        return mode.exemplars, "most typical rows"
    return mode.members(), "members"


def _pictures(images: Any, positions: Any, labels: Any, names: Any) -> list[Markup]:
    value_range = range_of(images)
    pictures = []
    for i in positions:
        alt = f"row {names[i] if names is not None else i}"
        if labels is not None:
            alt += f", label {labels[i]}"
        pictures.append(thumbnail(np.asarray(images[i]), value_range=value_range, alt=alt))
    return pictures
