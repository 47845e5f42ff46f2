"""The answer: the column with the values of the labels that differs between the files, whatever it is called."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import AmbiguousReadingError, Complaints, PossibleReading
from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence, Words
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.names import has_name_of
from shiftmetrics.tables.roles.ranked import first_of_ranked
from shiftmetrics.tables.spelling import common_words, distinct_words

MOST_ANSWERS = 50
"""Distinct answers that are expected of any number of rows."""

FITTING = 0.5
"""Fraction of the answers that are values of the labels."""

_SEEN = 100
_OBJECTS = re.compile(r"\s*\[*\s*\{\s*[\"'].*\}\s*\]*\s*", re.DOTALL)


def find_answers(
    tables: Sequence[TableEvidence],
    free: Sequence[Sequence[str]],
    truth: Words | None,
    options: RoleOptions,
    complaints: Complaints,
) -> list[str | None]:
    """Return the column of answers of each file, or None where it has none.

    Parameters
    ----------
    tables : sequence of TableEvidence
    free : sequence of sequence of str
        The columns of each file that have no role yet; the equal ones are left out where others differ.
    truth : ndarray or None
        The true labels, where there are any.
    """
    if options.prediction is not None:
        return _typed(tables, options, complaints)
    candidates = [
        [name for name in names if may_be_answer(table.columns[name])]
        for table, names in zip(tables, free, strict=True)
    ]
    # One name in all files comes first.
    common = [name for name in candidates[0] if all(name in part for part in candidates)]
    if common:
        name = _best(tables, [[name] * len(tables) for name in common], truth, options, free)
        return [None] * len(tables) if name is None else list(name)
    # A column that all files have is an answer in all of them or in none.
    shared = {name for name in free[0] if all(name in names for names in free)}
    found: list[str | None] = []
    for table, part, own in zip(tables, candidates, free, strict=True):
        names = [name for name in part if name not in shared]
        one = _best([table], [[name] for name in names], truth, options, [own])
        found.append(None if one is None else one[0])
    return found


def may_be_answer(column: ColumnEvidence) -> bool:
    """Return True for words, Booleans and whole numbers of few values; words under the name of an answer always."""
    if column.typed.dtype.kind == "M":
        return False
    if has_name_of(column.name, "answer"):
        return not column.is_fractional
    if has_name_of(column.name, "beside") or column.is_fractional or column.is_unnamed:
        return False
    if column.is_number and has_name_of(column.name, "confidence"):
        return False
    if _holds_objects(column):
        return False
    # Free text and ids have more values. Up to fifty rows let any column of words pass.
    return 0 < column.n_distinct <= max(MOST_ANSWERS, 0.5 * column.n_rows)


def _holds_objects(column: ColumnEvidence) -> bool:
    """Return True if all cells are texts of objects, or lists of them: measures and prompts, and no classes."""
    if column.is_number or column.is_bool:
        return False
    words = distinct_words(column.words[:_SEEN])
    return bool(words) and all(_OBJECTS.match(word) for word in words)


def _typed(
    tables: Sequence[TableEvidence], options: RoleOptions, complaints: Complaints
) -> list[str | None]:
    """Return the column that was typed, which each file must have; ``a=b`` names both."""
    name = str(options.prediction)
    first, mark, second = name.partition("=")
    found: list[str | None] = []
    for place, table in enumerate(tables):
        wanted = name
        if mark and name not in table.columns:
            wanted = first if place == 0 else second
        if wanted not in table.columns:
            complaints.add(
                f"{options.typed('--prediction', name)} must name a column of every file, but {table.label} has "
                f"{first_few(list(table.columns), 8)} only."
            )
        found.append(wanted)
    return found


def _best(
    tables: Sequence[TableEvidence],
    candidates: Sequence[Sequence[str]],
    truth: Words | None,
    options: RoleOptions,
    free: Sequence[Sequence[str]],
) -> Sequence[str] | None:
    """Return the candidate that holds the values of the labels, or else the one with the name of an answer."""
    if not candidates:
        return None
    fitting = []
    for names in candidates:
        columns = [table.columns[name] for table, name in zip(tables, names, strict=True)]
        # Four levels of trust below: values of the labels under a usual name, values of the labels,
        # a usual name, and last a column of words that nobody else claims. Several at one level are
        # asked for; a lower level never settles them.
        # One word in all rows of each file, another in each, is the name of a model.
        differs = len({column.words[0] for column in columns if column.n_distinct == 1}) > 1
        if len(tables) > 1 and differs and not has_name_of(names[0], "answer"):
            continue
        # A flag that is false in all rows of all files says nothing of them.
        if all(column.is_bool and column.n_distinct < 2 for column in columns):
            continue
        if truth is not None and all(fits_labels(column, truth) for column in columns):
            fitting.append(names)
    named = [names for names in candidates if has_name_of(names[0], "answer")]
    both = [names for names in fitting if names in named]
    for group in (both, fitting if truth is not None else [], named):
        if len(group) == 1:
            return group[0]
        if len(group) > 1:
            return _one_of(tables, group, options)
    varying = [names for names in candidates if _may_stand_alone(tables, names, free)]
    # Words that are nobody's: an answer only where there is no other reading.
    if truth is None and len(varying) == 1:
        return varying[0]
    if truth is None and len(varying) > 1:
        return _one_of(tables, varying, options)
    return None


def _may_stand_alone(
    tables: Sequence[TableEvidence], names: Sequence[str], free: Sequence[Sequence[str]]
) -> bool:
    """Return True if a column may hold answers although neither labels nor its name say so.

    It has several values in some file; and whole numbers beside fractions may be counts.
    """
    varies = False
    for table, name, others in zip(tables, names, free, strict=True):
        column = table.columns[name]
        varies = varies or column.n_distinct > 1 or len(table.columns) == 1
        is_count = column.is_number and not column.is_bool
        if is_count and any(table.columns[other].is_fractional for other in others):
            return False
    return varies


def fits_labels(column: ColumnEvidence, truth: Words) -> bool:
    """Return True if most of the cells of a column are values of the labels, in any spelling."""
    own, labels = common_words([column.words, truth])
    known = distinct_words(labels)
    there = [word for word in own if word is not None]
    if not there:
        return False
    return sum(word in known for word in there) >= FITTING * len(there)


def _one_of(
    tables: Sequence[TableEvidence], group: Sequence[Sequence[str]], options: RoleOptions
) -> Sequence[str]:
    """Return one of several candidates where they say the same, words before codes of them; else ask."""
    words = [names for names in group if not tables[0].columns[names[0]].is_number]
    first = next(iter(words), group[0])
    if all(_say_the_same(tables, first, names) for names in group):
        return first
    best = first_of_ranked(tables, [names[0] for names in group])
    if best is not None and all(len(set(names)) == 1 for names in group):
        return next(names for names in group if names[0] == best)
    readings = [
        PossibleReading(
            f"{names[0]} holds the answers",
            options.typed("--prediction", "=".join(dict.fromkeys(names))),
        )
        for names in group[:4]
    ]
    raise AmbiguousReadingError(
        f"{tables[0].label} has several columns that may hold the answers.", readings
    )


def _say_the_same(
    tables: Sequence[TableEvidence], first: Sequence[str], second: Sequence[str]
) -> bool:
    """Return True if each value of one column goes with one value of the other, in all files alike."""
    import pandas as pd

    frames = []
    for table, one, other in zip(tables, first, second, strict=True):
        frame = pd.DataFrame({"one": table.columns[one].words, "other": table.columns[other].words})
        frames.append(frame)
    # As many distinct pairs as values on each side: one to one. A gap makes a pair and is no value,
    # so that columns with gaps are never taken for each other.
    pairs = pd.concat(frames).drop_duplicates()
    return len(pairs) == pairs["one"].nunique() == pairs["other"].nunique()
