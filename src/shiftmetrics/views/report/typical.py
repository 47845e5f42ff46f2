"""Typical rows of a mode, as a person reads them: columns that set it apart, rows of a table, beginnings of texts."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from shiftmetrics.stability.weight_gain import compare_columns
from shiftmetrics.views.report.context import Rows
from shiftmetrics.views.report.parts import Number, Table, cell_of, excerpt, percent

MOST_COLUMNS = 5
MOST_WORDS = 8
COUNTED_TEXTS = 2000
"""Texts whose words are counted, evenly from all of them."""


def typical_columns(positions: Any, table: Any) -> dict[Any, str]:
    """Return the columns in which the rows at these positions differ most from all rows, the most different first.

    Each comes with the mean of these rows, or the value that they have more often than all do; that of all rows in
    brackets. Differences are in standard deviations.
    """
    members = np.zeros(len(table))
    members[positions] = 1.0
    if not members.any():
        return {}
    lines = compare_columns(table, np.ones(len(table)), members)
    found: dict[Any, str] = {}
    names = {str(name): name for name in table.columns}
    for line in lines.itertuples():
        name, is_number = names[line.column], line.level == ""
        varies = table[name].nunique() > 1
        if (
            name in found
            or len(found) == MOST_COLUMNS
            or not varies
            or (not is_number and line.difference <= 0.0)
        ):
            continue
        if is_number:
            found[name] = f"{name} {_beside(f'{line.after:.3g}', f'{line.before:.3g}')}"
        else:
            shares = _beside(percent(line.after, digits=0), percent(line.before, digits=0))
            found[name] = f"{name} {excerpt(line.level)} {shares}"
    return found


def typical_rows(
    mode: Any, rows: Rows, columns: list[Any], detail: int, *, other: str = "reference"
) -> Table:
    """Return the most typical rows of a mode, and those of the other sample that are nearest to it, as a table."""
    caption = "Most typical rows"

    def line(i: int, name: str, labels: Any, table: Any) -> dict[str, Any]:
        cells: dict[str, Any] = {"Row": name}
        if rows.labels is not None:
            cells["Label"] = "–" if labels is None else str(labels[i])
        for column in columns:
            numeric = rows.table[column].to_numpy().dtype.kind in "iuf"
            cell = cell_of(table[column].iloc[i]) if column in table.columns else "–"
            cells[str(column)] = Number(cell) if numeric else cell
        return cells

    lines = [line(i, rows.name(i), rows.labels, rows.table) for i in mode.exemplars[:detail]]
    if rows.reference_table is not None:
        caption += f", then the nearest to them in the {other}"
        for i in mode.reference_exemplars[: max(detail // 2, 1)]:
            name = i if rows.reference_names is None else rows.reference_names[i]
            lines.append(line(i, f"{name} ({other})", rows.reference_labels, rows.reference_table))
    return Table(lines, caption)


def typical_words(positions: Any, texts: Any) -> list[str]:
    """Return the words that the texts at these positions hold more often than all texts, with both shares.

    They are ordered like the columns of a table: by the difference in standard deviations. Markup is left out.
    """
    members = [_words(texts[i]) for i in positions[:COUNTED_TEXTS]]
    step = max(1, -(-len(texts) // COUNTED_TEXTS))
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
            shares = _beside(percent(share, digits=0), percent(overall, digits=0))
            found.append((-difference, word, f"{word} {shares}"))
    return [text for _, _, text in sorted(found)[:MOST_WORDS]]


def excerpts(texts: Any, positions: Any, names: Any) -> list[tuple[str, str]]:
    """Return the names of rows and the beginnings of their texts."""
    return [(str(i if names is None else names[i]), excerpt(str(texts[i]))) for i in positions]


def _words(text: Any) -> set[str]:
    without_markup = re.sub(r"</?[a-z][^<>]*>", " ", str(text).lower())
    return set(re.findall(r"[^\W\d_]{2,}", without_markup))


def _beside(own: str, overall: str) -> str:
    return f"{own} ({overall})".replace(" %", "\N{NO-BREAK SPACE}%")
