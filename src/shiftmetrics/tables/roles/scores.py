"""The columns of the classes: those whose rows add up to one constant, else scores of like spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import (
    AmbiguousReadingError,
    Complaints,
    PossibleReading,
    UnreadableTableError,
)
from shiftmetrics.tables.cells import is_generated_name
from shiftmetrics.tables.classes import are_places, classes_by_name, place_numbers
from shiftmetrics.tables.evidence import TableEvidence
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.beside import derived_columns, unlike_columns
from shiftmetrics.tables.roles.names import has_name_of
from shiftmetrics.tables.roles.ranked import ranked_scores
from shiftmetrics.tables.roles.score_names import (
    affixes_of_longest,
    are_beside,
    is_plain_role,
    is_single_score,
    middle_of,
    otherwise_named,
    without_beginning,
)
from shiftmetrics.tables.roles.sums import constant_sums

ScoreNames = tuple[str, ...]


def find_scores(
    tables: Sequence[TableEvidence],
    free: Sequence[Sequence[str]],
    equal: set[str],
    known: set[str],
    options: RoleOptions,
    complaints: Complaints,
    has_answers: Sequence[bool] = (),
) -> list[ScoreNames]:
    """Return the columns of the classes of each file; none where it has no column for each class.

    Parameters
    ----------
    tables : sequence of TableEvidence
    free : sequence of sequence of str
        Columns that have no role yet.
    equal : set of str
        Columns that are equal in all files.
    known : set of str
        Classes that labels and answers name.
    has_answers : sequence of bool
        Whether each file holds answers, so that it needs no scores.
    """
    # In order of trust: columns that are typed; columns that add up to one constant; columns with
    # the names of the classes; what is left and has one unit. At each step columns of all files
    # come before columns that each file names in its own way.
    if options.columns is not None:
        return _typed(tables, options, complaints)
    numeric = [
        [name for name in names if table.columns[name].is_number]
        for table, names in zip(tables, free, strict=True)
    ]
    common = [name for name in numeric[0] if all(name in part for part in numeric)]
    if all(has_answers) and has_answers:
        # The scores of the best answers of each row are those of other classes in other rows.
        ranked = ranked_scores(tables, common)
        common = [name for name in common if name not in ranked]
        numeric = [[name for name in names if name not in ranked] for names in numeric]
    varying = [name for name in common if name not in equal]
    # Columns that differ between the files come first; a class may be equal in both all the same.
    for names in (varying, common):
        chosen = _adding_up(tables, names, known, options)
        if chosen:
            chosen = _with_empty_classes(tables, numeric[0], chosen, known)
            return [chosen] * len(tables)
        if names and known:
            chosen = _named_classes(tables, names, known, options)
            # a number that merely counts the columns of a file without names is no class
            if chosen and not (equal & set(chosen) and all(map(is_generated_name, chosen))):
                return [chosen] * len(tables)
    # Each file may call its columns by its own model.
    own = [
        _adding_up([table], [name for name in names if name not in common], known, options)
        for table, names in zip(tables, numeric, strict=True)
    ]
    served = has_answers or [False] * len(tables)
    own = own if any(own) else _of_own_names(tables, numeric, common, known, served, options)
    if any(own) and all(part or is_served for part, is_served in zip(own, served, strict=True)):
        return own
    # Two equal files have the same scores, where scores are asked for.
    left = varying
    if options.task == "scores" and not varying:
        left = common
    if left and not is_single_score(left):
        chosen = _of_like_spread(tables, left, known, options)
        if chosen:
            _refuse_classes_of_one_file(tables, numeric, chosen, options)
        return [chosen] * len(tables)
    return [()] * len(tables)


def _of_own_names(
    tables: Sequence[TableEvidence],
    numeric: Sequence[Sequence[str]],
    common: Sequence[str],
    known: set[str],
    served: Sequence[bool],
    options: RoleOptions,
) -> list[ScoreNames]:
    """Return scores whose columns each file names in its own way: after known classes, or alike but the beginning."""
    left = [
        [name for name in names if name not in common and not are_beside([name])]
        for names in numeric
    ]
    by_name = [
        () if is_served else _named_classes([table], names, known, options)
        for table, names, is_served in zip(tables, numeric, served, strict=True)
    ]
    if any(served) and any(by_name):
        return by_name
    middles = [without_beginning(names) for names in left]
    if len(middles[0]) > 1 and all(set(part) == set(middles[0]) for part in middles[1:]):
        return [tuple(names) for names in left]
    return [()] * len(tables)


def _refuse_classes_of_one_file(
    tables: Sequence[TableEvidence],
    numeric: Sequence[Sequence[str]],
    chosen: ScoreNames,
    options: RoleOptions,
) -> None:
    """Refuse scores where one file alone has a further column like them, which may be one more class."""
    for table, names in zip(tables, numeric, strict=True):
        alone = [name for name in names if any(name not in other.columns for other in tables)]
        alone = [name for name in alone if not are_beside([name]) and not is_plain_role(name)]
        unlike = unlike_columns([table], [*chosen, *alone]) if alone else set()
        further = [
            name for name in alone if name not in unlike and not table.columns[name].is_whole
        ]
        if further:
            raise UnreadableTableError(
                f"All files must have the same classes, but {first_few(further, 3)} is only in {table.label}. "
                f"Add the column to all files, or leave it out with {options.typed('--exclude', tuple(further))}."
            )


def _typed(
    tables: Sequence[TableEvidence], options: RoleOptions, complaints: Complaints
) -> list[ScoreNames]:
    """Return the columns that were typed, which each file must have as numbers."""
    names = options.columns or ()
    for table in tables:
        lacking = [name for name in names if name not in table.columns]
        if lacking:
            complaints.add(
                f"{options.typed('--columns', names)} must name columns of every file, but {table.label} lacks "
                f"{first_few(lacking)}; it has {first_few(list(table.columns), 8)}."
            )
            continue
        words = [name for name in names if not table.columns[name].is_number]
        if words and len(names) > 1:
            cell = table.columns[words[0]].words[0]
            complaints.add(
                f"{options.typed('--columns', names)} must name columns of numbers, but {words[0]!r} of "
                f"{table.label} "
                f"holds {str(cell)[:60]!r}."
            )
    chosen = names if len(names) > 1 else ()
    return [chosen] * len(tables)


def _adding_up(
    tables: Sequence[TableEvidence],
    names: Sequence[str],
    known: set[str],
    options: RoleOptions,
) -> ScoreNames:
    """Return the one set of columns whose rows add up to one constant; none where there is none.

    Raises
    ------
    AmbiguousReadingError
        If there are several, and neither names nor roles tell which one.
    """
    found = constant_sums(tables, names)
    if not found:
        found = _log_probabilities(tables, names)
    # A confidence and one minus it add up to 1 and are no classes.
    found = [part for part in found if not are_beside(part)] or found
    if len(found) > 1 and known:
        fitting = [part for part in found if classes_by_name(part, known)]
        found = fitting or found
    if not found:
        return ()
    if len(found) > 1:
        readings = [
            PossibleReading(
                f"{first_few(part, 4)} are the classes", options.typed("--columns", part)
            )
            for part in found[:4]
        ]
        raise AmbiguousReadingError(
            f"{tables[0].label} has several sets of columns whose rows add up to one constant.",
            readings,
        )
    only = found[0]
    if are_beside(only) and not (known and classes_by_name(only, known)):
        return ()
    return only


def _log_probabilities(tables: Sequence[TableEvidence], names: Sequence[str]) -> list[ScoreNames]:
    """Return the columns of numbers of at most 0 whose exponentials add up to 1."""
    usable = []
    for name in names:
        columns = [table.columns[name].numbers for table in tables]
        if all(column is not None and len(column) and column.max() <= 0.0 for column in columns):
            usable.append(name)
    if len(usable) < 2:
        return []
    for table in tables:
        sums = np.exp(table.numeric(usable)).sum(axis=1)
        if np.abs(sums - 1.0).max() > 1e-3:
            return []
    return [tuple(usable)]


def _with_empty_classes(
    tables: Sequence[TableEvidence],
    numeric: Sequence[str],
    chosen: ScoreNames,
    known: set[str],
) -> ScoreNames:
    """Add columns of zeros that are classes no model ever gives: among the others, or under the name of a label."""
    # Zeros change no sum, so that the search for constant sums has left such columns out.
    places = [tables[0].columns[name].place for name in chosen]
    inside = range(min(places), max(places))
    numbered = bool(place_numbers(chosen))
    added = []
    for name in numeric:
        if name in chosen or not all(name in table.columns for table in tables):
            continue
        columns = [table.columns[name] for table in tables]
        if any(column.numbers is None or column.numbers.any() for column in columns):
            continue
        follows = numbered and bool(place_numbers([*chosen, name]))
        is_named = bool(known) and bool(classes_by_name([*chosen, name], known))
        fits_without = bool(known) and bool(classes_by_name(chosen, known))
        if columns[0].place in inside or follows or (is_named and not fits_without):
            added.append(name)
    if not added:
        return chosen
    return tuple(name for name in numeric if name in chosen or name in added)


def _named_classes(
    tables: Sequence[TableEvidence],
    names: Sequence[str],
    known: set[str],
    options: RoleOptions,
) -> ScoreNames:
    """Return the columns with the names of the classes, and others of like name and spread.

    Raises
    ------
    AmbiguousReadingError
        If a further column may be one more class.
    """
    if len(known) < 2:
        return ()
    named: ScoreNames = ()
    # Beginnings and ends are told by the longest class: a short one, such as a, stands inside many
    # names.
    for beginning, ending in affixes_of_longest(names, known):
        part = tuple(
            name
            for name in names
            if name.startswith(beginning)
            and name.endswith(ending)
            and middle_of(name, beginning, ending)
        )
        if not beginning and not ending:
            part = tuple(name for name in names if name in known)
        if classes_by_name(part, known):
            named = part
            break
    if not named:
        return ()
    rest = [name for name in names if name not in named]
    rest = [name for name in rest if not are_beside([name])]
    follow = derived_columns(tables, [*named, *rest])
    rest = [name for name in rest if name not in follow]
    unlike = unlike_columns(tables, [*named, *rest])
    # Columns such as prob_cat tell themselves from the rest by their beginning; bare class names do
    # not.
    doubtful = [name for name in rest if name not in unlike]
    if doubtful and not any(mark in named[0] for mark in "_.:("):
        readings = [
            PossibleReading(
                f"{first_few(named, 4)} alone are the classes", options.typed("--columns", named)
            ),
            PossibleReading(
                f"{first_few(doubtful, 3)} as well", options.typed("--columns", (*named, *doubtful))
            ),
        ]
        raise AmbiguousReadingError(
            f"{tables[0].label} has columns beside those of the labels' classes that may be classes too.",
            readings,
        )
    return named


def _of_other_signs(tables: Sequence[TableEvidence], names: Sequence[str]) -> set[str]:
    """Return columns without a negative number where most columns have some: times and sizes beside scores."""
    found: set[str] = set()
    for table in tables:
        lows = table.numeric(names).min(axis=0)
        if (lows < 0.0).mean() > 0.5:
            found |= {name for name, low in zip(names, lows, strict=True) if low >= 0.0}
    return found


def _numbered(names: Sequence[str], known: set[str]) -> ScoreNames:
    """Return the columns that count the classes from 0 on, one for each known class."""
    parts: dict[str, list[str]] = {}
    for name in names:
        beginning = name.strip().rstrip("0123456789")
        if beginning != name.strip():
            parts.setdefault(beginning, []).append(name)
    fitting = [part for part in parts.values() if are_places(part) and len(part) == len(known) > 1]
    return tuple(fitting[0]) if len(fitting) == 1 else ()


def _of_like_spread(
    tables: Sequence[TableEvidence],
    names: Sequence[str],
    known: set[str],
    options: RoleOptions,
) -> ScoreNames:
    """Return all columns of scores that add up to nothing, where all that is left has one unit.

    Raises
    ------
    AmbiguousReadingError
        If some column has another unit and no name that says what it is.
    """
    left = [name for name in names if not has_name_of(name, "beside")]
    follow = derived_columns(tables, left)
    left = [name for name in left if name not in follow and not has_name_of(name, "confidence")]
    # An answer or a truth of numbers is none of several scores.
    left = [name for name in left if not is_plain_role(name)]
    if len(left) < 2:
        return ()
    numbered = _numbered(left, known)
    if numbered:
        return numbered
    if known and not classes_by_name(left, known) and not place_numbers(left):
        return ()
    # The rule of last resort, and a heuristic: numbers that lie and spread like the scores are
    # scores. It fails for a column of another meaning in the same range, unless its name or its
    # signs tell it.
    unlike = unlike_columns(tables, left)
    if not known:
        unlike |= _of_other_signs(tables, left) | otherwise_named(left)
    if not unlike:
        return tuple(left)
    alike = [name for name in left if name not in unlike]
    if are_places(alike) or (known and classes_by_name(alike, known)):
        return tuple(alike)
    readings = [
        PossibleReading(f"{first_few(left, 4)} are the classes", options.typed("--columns", left))
    ]
    if len(alike) > 1:
        readings.insert(
            0,
            PossibleReading(
                f"{first_few(alike, 4)} alone are the classes", options.typed("--columns", alike)
            ),
        )
    raise AmbiguousReadingError(
        f"{tables[0].label} has columns of numbers of different units, such as {first_few(sorted(unlike), 3)}.",
        readings,
    )
