"""Typical rows of a mode, as a person reads them: columns that set it apart, rows of a table, beginnings of texts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.result import format_number
from shiftmetrics.views.report.context import Rows
from shiftmetrics.views.report.facts import percent
from shiftmetrics.views.report.grid import Column, Grid

MOST_COLUMNS = 5
MOST_WORDS = 8
LONGEST_TEXT = 240
"""Characters of a text to show."""

_COUNTED_TEXTS = 2000
"""Texts whose words are counted, evenly from all of them."""


@dataclass(frozen=True)
class Trait:
    """A column in which the rows of a mode differ from the whole sample.

    Attributes
    ----------
    column : object
        Name of the column in the table.
    text : str
        What is typical: the mean of the mode's rows, or their commonest value; that of all rows in brackets.
    difference : float
        How far that is from the whole sample, in standard deviations.
    """

    column: Any
    text: str
    difference: float


@dataclass(frozen=True)
class Excerpt:
    """The beginning of a text, with the name of its row."""

    name: str
    text: str


def traits(positions: Any, table: Any) -> list[Trait]:
    """Return the columns in which the rows at these positions differ most from all rows, the most different first."""
    found = []
    for place, name in enumerate(table.columns):
        values = table.iloc[:, place].to_numpy()
        trait = _number(values, positions) if values.dtype.kind in "biuf" else _word(values, positions)
        if trait is not None:
            found.append(Trait(name, f"{name} {trait[0]}", trait[1]))
    found.sort(key=lambda trait: (-abs(trait.difference), str(trait.column)))
    return found[:MOST_COLUMNS]


def typical_rows(mode: Any, rows: Rows, columns: list[Any], detail: int, *, other: str = "reference") -> Grid:
    """Return the most typical rows of a mode, and those of the other sample that are nearest to it, as a table."""
    grid = Grid(
        columns=[
            Column("Row"),
            *([Column("Label")] if rows.labels is not None else []),
            *[Column(str(name), numeric=_is_numeric(rows.table[name])) for name in columns],
        ],
        rows=[],
        caption="Most typical rows"
        + (f", then the nearest to them in the {other}" if _has_reference(rows) else ""),
    )
    for i in mode.exemplars[:detail]:
        grid.rows.append(_line(i, _name(rows.names, i), rows.labels, rows.table, columns, rows))
    if _has_reference(rows):
        for i in mode.reference_exemplars[: max(detail // 2, 1)]:
            name = f"{_name(rows.reference_names, i)} ({other})"
            grid.rows.append(_line(i, name, rows.reference_labels, rows.reference_table, columns, rows))
    return grid


def typical_words(positions: Any, texts: Any) -> list[str]:
    """Return the words that the texts at these positions hold more often than all texts, with both shares.

    They are ordered like the columns of a table: by the difference in standard deviations. Markup is left out.
    """
    members = [_words(texts[i]) for i in positions[:_COUNTED_TEXTS]]
    step = max(1, -(-len(texts) // _COUNTED_TEXTS))
    everyone = [_words(texts[i]) for i in range(0, len(texts), step)]
    counts, all_counts = (Counter(word for words in part for word in words) for part in (members, everyone))
    found = []
    for word, count in counts.items():
        if count < min(2, len(members)):  # a word of one text is typical of nothing
            continue
        share, overall = count / len(members), all_counts[word] / len(everyone)
        usual = max(overall, 1.0 / (1.0 + len(everyone)))  # it may be in none of those that were counted
        difference = (share - overall) / (usual * (1.0 - usual)) ** 0.5 if usual < 1.0 else 0.0
        if difference > 0.0:
            found.append(
                (-difference, word, f"{word} {_beside(percent(share, digits=0), percent(overall, digits=0))}")
            )
    return [text for _, _, text in sorted(found)[:MOST_WORDS]]


def excerpts(texts: Any, positions: Any, names: Any) -> list[Excerpt]:
    """Return the beginnings of the texts at these positions."""
    return [Excerpt(_name(names, i), excerpt(str(texts[i]))) for i in positions]


def excerpt(text: str) -> str:
    """Return the beginning of a text on one line, cut between words."""
    line = " ".join(text.split())
    if len(line) <= LONGEST_TEXT:
        return line
    return line[: LONGEST_TEXT + 1].rsplit(" ", 1)[0][:LONGEST_TEXT] + " …"


def _number(values: npt.NDArray[Any], positions: Any) -> tuple[str, float] | None:
    numbers = values.astype(np.float64)
    spread = float(np.nanstd(numbers)) if np.isfinite(numbers).any() else 0.0
    if not np.isfinite(numbers[positions]).any() or not spread > 0.0:
        return None
    mean = float(np.nanmean(numbers[positions]))
    overall = float(np.nanmean(numbers))
    return _beside(f"{mean:.3g}", f"{overall:.3g}"), (mean - overall) / spread


def _word(values: npt.NDArray[Any], positions: Any) -> tuple[str, float] | None:
    """Return the value that the rows hold more often than all do, by the most standard deviations."""
    words = np.array([str(value) for value in values])
    best: tuple[str, float] | None = None
    for word in set(words[positions].tolist()):
        holds: FloatArray = (words == word).astype(np.float64)
        share, overall, spread = float(holds[positions].mean()), float(holds.mean()), float(holds.std())
        difference = (share - overall) / spread if spread > 0.0 else 0.0
        if difference > 0.0 and (best is None or (difference, word) > (best[1], best[0])):
            shares = _beside(percent(share, digits=0), percent(overall, digits=0))
            best = f"{excerpt(word)} {shares}", difference
    return best


def _words(text: Any) -> set[str]:
    without_markup = re.sub(r"</?[a-z][^<>]*>", " ", str(text).lower())
    return set(re.findall(r"[^\W\d_]{2,}", without_markup))


def _beside(own: str, overall: str) -> str:
    return f"{own} ({overall})".replace(" %", "\N{NO-BREAK SPACE}%")


def _line(i: int, name: str, labels: Any, table: Any, columns: list[Any], rows: Rows) -> list[Any]:
    line = [name]
    if rows.labels is not None:
        line.append("–" if labels is None else str(labels[i]))
    return line + [_cell(table[column].iloc[i]) if column in table.columns else "–" for column in columns]


def _cell(value: Any) -> str:
    return format_number(float(value)) if isinstance(value, float | np.floating) else excerpt(str(value))


def _is_numeric(column: Any) -> bool:
    return column.to_numpy().dtype.kind in "iuf"


def _has_reference(rows: Rows) -> bool:
    return rows.reference_table is not None


def _name(names: Any, i: int) -> str:
    return str(names[i]) if names is not None else str(i)
