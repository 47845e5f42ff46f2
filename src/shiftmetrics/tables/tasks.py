"""Tasks that no command serves: named and refused, so that another question is never answered in their place."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.ids import RowKey
from shiftmetrics.tables.roles.names import has_name_of, plain_name
from shiftmetrics.tables.roles.queries import QUERY_NAMES, RELEVANCE_NAMES

BOX_SIDES = (
    {"xmin", "ymin", "xmax", "ymax"}, {"x1", "y1", "x2", "y2"}, {"left", "top", "right", "bottom"},
    {"x_min", "y_min", "x_max", "y_max"}, {"left", "top", "width", "height"}, {"xc", "yc", "w", "h"},
    {"x_center", "y_center", "width", "height"}, {"x", "y", "w", "h"}, {"x", "y", "width", "height"},
)  # fmt: skip
"""Names of the sides of boxes."""
_BOX = re.compile(r"^(bbox|box|boxes|bounding_?box|rect)_")
"""What stands before the sides where a box is a list or an object in one cell."""

CENSOR_NAMES = {
    "event", "censored", "censor", "status", "event_observed", "death", "died", "event_indicator", "is_censored",
    "delta", "failure",
}  # fmt: skip
TIME_NAMES = {
    "time", "duration", "t", "survival_time", "time_to_event", "followup", "follow_up", "tte", "os_time", "os",
    "futime", "predicted_time", "survival", "days", "months",
}  # fmt: skip
SPAN_NAMES = ({"start", "end"}, {"onset", "offset"}, {"begin", "end"}, {"start_time", "end_time"})

TAG_MARKS = ",;|"

AS_SETS = "`shiftmetrics diff OLD NEW --labels FILE --metric jaccard_samples` compares them"
"""What serves several labels a row."""


def refuse_other_tasks(
    tables: Sequence[TableEvidence],
    labels: TableEvidence | None,
    key: RowKey | None,
    answers: Sequence[str | None],
    options: RoleOptions,
) -> str | None:
    """Return the sentence that names a task which is not served, or None.

    Parameters
    ----------
    tables : sequence of TableEvidence
        The files of predictions.
    labels : TableEvidence or None
        A file of labels.
    key : RowKey or None
        How rows are paired; None where ids repeat.
    answers : sequence of str or None
        The columns of answers.
    """
    everything = [*tables, *([] if labels is None else [labels])]
    names = {plain_name(name) for table in everything for name in table.columns}
    # Who names classes or columns says that the rows are to be compared as classes.
    if options.classes is not None or options.columns is not None:
        return None
    if _have_boxes(names) and (key is None or _has_many_rows_of_one(tables)):
        return "The files hold boxes, several for one image: no command compares detections yet."
    if any(span <= names for span in SPAN_NAMES) and (key is None or _has_many_rows_of_one(tables)):
        return "The files hold segments with a start and an end: no command compares segments yet."
    if names & CENSOR_NAMES and names & TIME_NAMES and _has_censoring(everything):
        return (
            "The files hold survival times beside a column that says which are censored: no command compares such "
            "models yet."
        )
    if names & QUERY_NAMES and names & RELEVANCE_NAMES:
        query = _query_column(tables)
        if query is not None:
            return (
                "The files hold rankings, several rows of one query: `shiftmetrics diff OLD NEW --metric ndcg "
                f"--group {query}` compares them by the relevances of the documents."
            )
    return (
        _stacked(tables)
        or _tags(tables, answers)
        or _ordered_grades(tables, labels, answers, options)
    )


MOST_CLASSES = 1000
FEWEST_GROUPS = 4
ROUNDED_SUM = 2e-3
"""How far the probabilities of one row may be from 1 together where they are written with three digits."""


def _stacked(tables: Sequence[TableEvidence]) -> str | None:
    """Return the sentence on one long column whose every K numbers add up to 1, as the flat softprob of XGBoost."""
    columns = [next(iter(table.columns.values())) for table in tables if len(table.columns) == 1]
    if not columns or len(columns) < len(tables):
        return None
    numbers = [column.numbers for column in columns if column.numbers is not None]
    n_numbers = {column.n_rows for column in columns}
    if len(n_numbers) > 1 or len(numbers) < len(columns):
        return None
    both = np.stack(numbers)
    if not np.isfinite(both).all() or both.min() < 0.0 or both.max() > 1.0 or (both % 1 == 0).all():
        return None
    n_all = both.shape[1]
    for n_classes in range(2, min(MOST_CLASSES, n_all // FEWEST_GROUPS) + 1):
        # The first row tells of most numbers of classes that they are not it, before all rows are added up.
        first = both[:, :n_classes].sum(axis=1)
        if n_all % n_classes or np.abs(first - 1.0).max() > ROUNDED_SUM:
            continue
        groups = both.reshape(-1, n_classes)
        # equal numbers add up to 1 in any grouping
        if np.ptp(both) > ROUNDED_SUM and np.abs(groups.sum(axis=1) - 1.0).max() <= ROUNDED_SUM:
            return (
                f"The files hold one column in which every {n_classes} numbers add up to 1: the probabilities of "
                f"{n_classes} classes, row after row. Write them as a matrix, such as by "
                f"np.save('old.npy', predictions.reshape(-1, {n_classes})), or --columns "
                f"{columns[0].name!r} takes each number as a row."
            )
    return None


def _have_boxes(names: set[str]) -> bool:
    """Return True if four columns are the sides of a box, or the four numbers of a cell that has the name of one."""
    inside = {_BOX.sub("", name) for name in names if _BOX.match(name)}
    return {"0", "1", "2", "3"} <= inside or any(
        sides <= names or sides <= inside for sides in BOX_SIDES
    )


def _has_many_rows_of_one(tables: Sequence[TableEvidence]) -> bool:
    """Return True if a column with the name of an item, such as an image or a document, repeats."""
    for table in tables:
        for column in table.columns.values():
            plain = plain_name(column.name)
            is_item = any(word in plain for word in ("image", "file", "doc", "audio", "text", "id"))
            if is_item and column.n_distinct < column.n_rows:
                return True
    return False


def _has_censoring(tables: Sequence[TableEvidence]) -> bool:
    """Return True if a column with the name of a censoring mark holds two values and one of times holds numbers."""
    marks = False
    times = False
    for table in tables:
        for column in table.columns.values():
            plain = plain_name(column.name)
            marks = marks or (plain in CENSOR_NAMES and column.n_distinct == 2)
            times = times or (plain in TIME_NAMES and column.is_number and column.n_distinct > 2)
    return marks and times


def _query_column(tables: Sequence[TableEvidence]) -> str | None:
    """Return the column of a query that has several rows."""
    for table in tables:
        for column in table.columns.values():
            is_query = plain_name(column.name) in QUERY_NAMES
            if is_query and 1 < column.n_distinct <= 0.5 * column.n_rows:
                return column.name
    return None


def _tags(tables: Sequence[TableEvidence], answers: Sequence[str | None]) -> str | None:
    """Return the sentence on several answers in one cell."""
    for table, name in zip(tables, answers, strict=True):
        if name is not None and _are_tags(table.columns[name]):
            cell = str(table.columns[name].words[0])[:60]
            return (
                f"The column {name!r} of {table.label} holds several answers in a cell, such as {cell!r}: several "
                f"labels a row. Write a column of 0 and 1 for each label, in the true ones too; then {AS_SETS}."
            )
    return None


def several_labels(
    tables: Sequence[TableEvidence], labels: TableEvidence | None, equal: set[str]
) -> str | None:
    """Return the sentence on a column of 0 and 1 for each label, several of them 1 in a row, or None.

    Parameters
    ----------
    tables : sequence of TableEvidence
        The files of predictions.
    labels : TableEvidence or None
    equal : set of str
        Columns that belong to the rows.
    """
    if any(has_name_of(name, "answer") for table in tables for name in table.columns):
        return None
    marks = [_indicators(table) for table in tables]
    shared = [
        name for name in marks[0] if all(name in part for part in marks) and name not in equal
    ]
    holder = tables[0]
    if labels is not None:
        # Scores of each label may stand in the files.
        shared = [
            name for name in _indicators(labels) if all(name in table.columns for table in tables)
        ]
        holder = labels
    if len(shared) < 2 or len(np.unique(holder.numeric(shared).sum(axis=1))) <= 1:
        return None
    return (
        f"The columns {first_few(shared, 4)} of {holder.label} hold 0 and 1, several of them 1 in a row: several "
        f"labels a row. With the true ones in a table of the same columns {AS_SETS}; or compare one at a time, "
        f"with --prediction {shared[0]}."
    )


def _indicators(table: TableEvidence) -> list[str]:
    """Return the columns that hold 0 and 1 alone, or Booleans."""
    found = []
    for name, column in table.columns.items():
        if column.is_unnamed or not column.is_number:
            continue
        known = column.known_numbers
        if len(known) and bool(np.isin(known, (0.0, 1.0)).all()):
            found.append(name)
    return found


def _are_tags(column: ColumnEvidence) -> bool:
    """Return True if cells hold several words of one small list, with a mark between them."""
    distinct = [str(word) for word in column.codes[1].tolist()] if not column.is_number else []
    if len(distinct) < 2:
        return False
    for mark in TAG_MARKS:
        several = [word for word in distinct if mark in word.strip("[](){}")]
        if len(several) < 2:
            continue
        parts = [part.strip("[](){}'\" ") for word in distinct for part in word.split(mark)]
        # Tags come back in other cells; sentences do not.
        if len(set(parts)) < 0.7 * len(parts) and len(set(parts)) < len(distinct) + 2:
            return True
    return False


def _ordered_grades(
    tables: Sequence[TableEvidence],
    labels: TableEvidence | None,
    answers: Sequence[str | None],
    options: RoleOptions,
) -> str | None:
    """Return the sentence on grades with an order, by the schema of a file."""
    for table, name in zip(tables, answers, strict=True):
        if name is None or name not in table.ordered:
            continue
        levels = table.levels.get(name, ())
        if len(levels) > 2:
            typed = options.typed("--classes", levels)
            return (
                f"The column {name!r} of {table.label} holds grades with an order, {first_few(levels, 4)}: "
                "no command "
                f"says how far they are off yet. {typed}: compares them as classes without an order."
            )
    return None


def refuse_pairs_of_classes(columns: Sequence[str], label: str) -> None:
    """Refuse scores of one class against another one, ``cat/dog``, ``cat/fox``, ``dog/fox``: none is a class.

    The answer is the class that wins most of its pairs; which one it is where two win as many is the tool's own rule.

    Raises
    ------
    UnreadableTableError
        If the columns are all pairs of some classes.
    """
    for mark in ("/", "_vs_", " vs ", "-", "|"):
        pairs = [tuple(name.split(mark)) for name in columns]
        if any(len(pair) != 2 or not all(pair) for pair in pairs):
            continue
        classes = sorted({word for pair in pairs for word in pair})
        distinct = {frozenset(pair) for pair in pairs}
        if (
            len(classes) > 2
            and len(distinct) == len(pairs) == len(classes) * (len(classes) - 1) // 2
        ):
            raise UnreadableTableError(
                f"{label} must have a column for each class, or the answers, got scores of one class against "
                f"another: {first_few(list(columns), 4)}. Write the answers of the model, a class in each row."
            )
