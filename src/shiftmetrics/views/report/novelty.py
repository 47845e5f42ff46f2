"""The novelty section: the spectrum, and each mode as a card with its most typical rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any

import numpy as np

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.result import p_words
from shiftmetrics.novelty import NoveltyResult
from shiftmetrics.novelty.result_words import something_is_missing, what_is_new
from shiftmetrics.views.report.answer import Answer, Tile, answers
from shiftmetrics.views.report.context import Rows
from shiftmetrics.views.report.parts import Entry, Fact, number, percent, render, reports
from shiftmetrics.views.report.pictures import is_image_batch
from shiftmetrics.views.report.typical import TypicalSide, typical_columns, typical_rows

MOST_MODES = 7
FEW_MODES = 3
"""Where no room is for more."""
MOST_MISSING = 3
MOST_COLUMNS = 5
FEW_COLUMNS = 2
"""Columns of the typical rows in a narrow card."""


_NOTHING = "NOTHING NEW"


@answers(NoveltyResult)
def novelty_answer(result: NoveltyResult) -> Answer:
    """Return whether anything is new or missing, and how much."""
    word, sentence = _in_short(result)
    has_modes = bool(result.new or result.missing)
    steps: tuple[str, ...] = ()
    if word != _NOTHING:
        steps = ("See since when, and which columns: shiftmetrics audit REFERENCE TEST",)
    if result.new:
        steps += ("Look at the typical rows of each mode, and label some before a model is used.",)
    return Answer(
        word=word,
        tone="plain" if word == _NOTHING else "open",
        sentence=f"{sentence[0].upper()}{sentence[1:]}.",
        steps=steps,
        tiles=tuple(_figures(result)),
        chart="modes" if has_modes else "spectrum",
    )


def _in_short(result: NoveltyResult) -> tuple[str, str]:
    """Return the word and the sentence, of what the headline says."""
    n = f"{result.n_samples:,}"
    missing = f"about {percent(result.missing_fraction)} of the reference is missing"
    if result.new:
        new = f"about {percent(result.fraction)} of {n} samples are new, in {_modes(result.new)}"
        return ("NEW, MISSING", f"{new}; {missing}") if result.missing else ("NEW", new)
    if result.missing:
        return "MISSING", f"{missing}, in {_modes(result.missing)}"
    found = what_is_new(result)
    if found == "gradual":
        return "CHANGED", f"the {n} samples have changed gradually, and no mode of them is new"
    if found == "groups":
        return "CHANGED", f"something in the {n} samples differs, and no group is confirmed as new"
    if found == "something":
        return "NEW", f"something in the {n} samples is new, without one clear mode"
    if something_is_missing(result):
        return "MISSING", "something of the reference is missing, without one clear mode"
    if any(not mode.missing for mode in result.changes.modes):
        return _NOTHING, f"none of the {n} samples is shown to be new; some are more frequent"
    return _NOTHING, f"none of the {n} samples is shown to be new"


def _modes(modes: Any) -> str:
    return "one mode" if len(modes) == 1 else f"{len(modes)} modes"


def _figures(result: NoveltyResult) -> list[Tile]:
    """Return the fractions that are new and missing, and how clear it is."""
    bound = result.fraction_interval
    level = f"{100 * bound.confidence_level:g} %"
    meaning = (
        f"at least {percent(bound.low)} ({level})" if result.fraction > 0.0 else "nothing is shown"
    )
    n_members = sum(mode.n_members for mode in result.new)
    members = f"in {result.n_samples:,} samples"
    if result.new:
        members = f"with {n_members:,} of {result.n_samples:,} samples"
    return [
        Tile(name="New", value=percent(result.fraction), meaning=meaning),
        Tile(name="New modes", value=str(len(result.new)), meaning=members),
        Tile(name="Missing", value=percent(result.missing_fraction), meaning="of the reference"),
        Tile(name="Novelty", value=number(result.value), meaning="nats; more with each mode"),
    ]


_TITLES = {
    (False, False): "Mode",
    (False, True): "Missing",
    (True, False): "More frequent",
    (True, True): "Less frequent",
}
"""Of cards: whether the mode is only more or less frequent, and whether the reference has more of it."""


def novelty_facts(result: Any) -> list[Fact]:
    """Return the figures beside the score; the kernel and the route are among the settings."""
    n_modes = len(result.new)
    modes = {0: "no mode", 1: "one mode"}.get(n_modes, f"{n_modes} modes")
    missing = f"of the reference, {p_words(result.test.missing_p_value)}"
    facts = [
        Fact("new", percent(result.fraction), f"{modes}, {p_words(result.p_value)}", said=True),
        Fact("missing", percent(result.missing_fraction), missing, said=True),
    ]
    score = result.score
    if score.reverse is not None:
        reverse = number(score.reverse, result.unit)
        facts.append(Fact("the other way round", reverse, "what the test sample lacks", said=True))
    if score.bandwidth is not None:
        facts.append(Fact("bandwidth", number(score.bandwidth), "of the kernel"))
    sizes = f"{result.n_samples:,} and {result.n_reference:,}"
    facts.append(Fact("samples", sizes, "test and reference"))
    counts = f"{number(score.mode_count)} and {number(score.reference_mode_count)}"
    meaning = "as many as samples would mean too narrow a bandwidth"
    facts.append(Fact("modes within each", counts, meaning))
    return facts


@reports("novelty", NoveltyResult, facts=novelty_facts)
def fill_novelty(entry: Entry) -> None:
    """Show the spectrum, what the score depends on, and a card for each mode."""
    result, rows, detail = entry.result, entry.rows, entry.detail
    # rows of another sample would be shown as typical
    _check_rows(entry.name, rows, result)
    changed = result.changes.modes
    modes = (*result.new, *result.missing, *changed)
    entry.draw("spectrum")
    most = MOST_MODES if detail else FEW_MODES
    shown = result.new[:most]
    missing = result.missing[:MOST_MISSING]
    if len(result.new) > len(shown):
        entry.sentences.append(
            f"{len(result.new)} modes are new; the first {len(shown)} are shown."
        )
    if rows.bandwidth_sweep is not None:
        sweep = rows.bandwidth_sweep
        caption = f"{sweep.headline()} From {sweep.n_test:,} and {sweep.n_reference:,} rows."
        entry.draw(None, caption, result=sweep)
    if modes:
        # the first card is as wide as the page, and has room for twice as much
        described = [*shown, *missing, *changed[:MOST_MISSING]]
        cards = []
        for place, mode in enumerate(described):
            shown_rows = detail // 2 if place else detail
            cards.append(_card(mode, rows, shown_rows, wide=not place, changed=mode in changed))
        entry.extra = render("modes.html.j2", {"name": entry.name, "modes": cards})


def _check_rows(name: str, rows: Rows, result: NoveltyResult) -> None:
    """Raise a ValueError where there is not one entry for each row, or pictures are none."""
    # each field of rows has an entry for each sample, but for the names of the classes
    for entry in fields(rows):
        value = getattr(rows, entry.name)
        if value is None or entry.name == "class_names" or not hasattr(value, "__len__"):
            continue
        expected = result.n_reference if entry.name.startswith("reference") else result.n_samples
        argument = f"rows[{name!r}].{entry.name}"
        if len(value) != expected:
            raise ArgumentValueError(
                argument, f"of {expected} rows, as the sample", f"{len(value)} rows"
            )
        if entry.name.endswith("images") and not is_image_batch(value):
            shape = "of shape (n_samples, height, width), or (n_samples, height, width, 1, 3 or 4)"
            raise ArgumentValueError(argument, shape, f"{np.shape(value)}", "Put channels last.")


def _card(mode: Any, rows: Rows, detail: int, *, wide: bool, changed: bool) -> dict[str, Any]:
    """Return what the card of a mode shows: pictures, else texts, else columns of a table, else names of rows."""
    top = max(mode.fraction, mode.reference_fraction, 1e-12)
    test = TypicalSide(mode, rows)
    reference = TypicalSide(mode, rows, reference=True)
    # a missing mode is described by the reference, in which it is frequent
    side, opposite = (reference, test) if mode.missing else (test, reference)
    members = side.members()
    typical = side.typical(detail)
    nearest = opposite.exemplars[: max(detail // 2, 3)]
    card: dict[str, Any] = {
        "title": f"{_TITLES[changed, mode.missing]} {mode.index + 1}",
        "chip": p_words(mode.p_value),
        "bars": [
            (part.sample, 100 * part.fraction / top, percent(part.fraction))
            for part in (test, reference)
        ],
        "says": _members_in_words(side, opposite, members),
        "pictures": (),
        "texts": (),
        "columns": [],
        "table": None,
        "rows": "",
        "headings": (
            f"Most typical of the {side.sample}",
            f"Nearest to it in the {opposite.sample}",
        ),
    }
    if side.images is not None and detail:
        return card | {"pictures": (side.pictures(typical), opposite.pictures(nearest))}
    columns = {} if side.table is None else typical_columns(members, side.table)
    card["columns"] = list(columns.values())
    if side.texts is not None and detail:
        own = side.excerpts(typical[: max(detail // 2, 2)])
        card["texts"] = (own, opposite.excerpts(nearest[:2]))
    elif columns and detail:
        most = MOST_COLUMNS if wide else FEW_COLUMNS
        few = list(columns)[:most]
        card["table"] = typical_rows(side, opposite, few, max(detail // 2, 3))
    else:
        card["rows"] = ", ".join(side.name(i) for i in side.typical(max(detail, 5)))
    return card


def _members_in_words(side: TypicalSide, opposite: TypicalSide, members: Any) -> str:
    """Say how many rows belong to a mode and, where labels are known, which ones they are."""
    text = "No row is a member of it."
    if side.n_members:
        noun = "member" if side.n_members == 1 else "members"
        text = f"{side.n_members:,} {noun} in the {side.sample}, {opposite.n_members:,} in the {opposite.sample}."
    if side.labels is None or not len(members):
        return text
    counts = Counter(str(side.labels[i]) for i in members).most_common(3)
    fractions = ", ".join(f"{label} ({percent(n / len(members))})" for label, n in counts)
    who = "members" if side.has_members else "most typical rows"
    return f"Labels of its {who}: {fractions}. {text}"
