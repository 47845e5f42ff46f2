"""One column of numbers: the probability of the second of two classes, a percentage, a margin, or a regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import AmbiguousReadingError, PossibleReading, UnreadableTableError
from shiftmetrics.tables.evidence import TableEvidence, Words
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.beside import derived_columns
from shiftmetrics.tables.roles.cuts import form_of_two
from shiftmetrics.tables.roles.names import has_name_of, plain_name
from shiftmetrics.tables.spelling import distinct_words

MARKS = (0.0, 0.5, 1.0)
"""What a judge gives, and what a certain model says."""

SingleForm = Literal["probability", "percentage", "margin", "outputs"]

MARGIN_NAMES = ("logit", "margin", "decision_function", "log_odds", "logodds", "raw_score")


def find_single(
    tables: Sequence[TableEvidence],
    free: Sequence[Sequence[str]],
    equal: set[str],
    options: RoleOptions,
) -> list[str | None]:
    """Return the one column of numbers of each file that may be the prediction; None where there is none.

    Raises
    ------
    AmbiguousReadingError
        If there are several.
    """
    found: list[str | None] = []
    for table, names in zip(tables, free, strict=True):
        found.append(_single_of(table, tables, names, equal, options))
    return found


def _single_of(
    table: TableEvidence,
    tables: Sequence[TableEvidence],
    names: Sequence[str],
    equal: set[str],
    options: RoleOptions,
) -> str | None:
    """Return the single column of one file."""
    if options.columns is not None and len(options.columns) == 1:
        return options.columns[0]
    if options.prediction is not None:
        return None
    numeric = [
        name
        for name in names
        if table.columns[name].is_number and not table.columns[name].is_unnamed
    ]
    # What is equal in both files belongs to the rows, unless nothing else is there.
    left = [name for name in numeric if name not in equal] or numeric
    left = [name for name in left if not has_name_of(name, "beside")] or left[:1]
    for role in ("answer", "confidence"):
        named = [name for name in left if has_name_of(name, role)]
        if len(named) == 1:
            return named[0]
    if len(left) <= 1:
        return left[0] if left else None
    shared = [name for name in left if all(name in other.columns for other in tables)]
    left = [name for name in left if name not in derived_columns(tables, shared)]
    readings = [
        PossibleReading("they are the scores of classes", options.typed("--columns", tuple(left))),
        *(
            PossibleReading(f"{name} is the prediction", options.typed("--columns", (name,)))
            for name in left[:3]
        ),
    ]
    raise AmbiguousReadingError(
        f"{table.label} has several columns of numbers that may be the prediction: {first_few(left, 4)}.",
        readings,
    )


def form_of_numbers(
    names: Sequence[str],
    columns: Sequence[FloatArray],
    truth: Words | None,
    options: RoleOptions,
) -> SingleForm:
    """Return what single columns of numbers are: by what is typed, by the labels, by their names, by their range.

    Raises
    ------
    AmbiguousReadingError
        If two are possible.
    """
    if options.tolerance is not None:
        return "outputs"
    # What is typed comes first, then the labels, then the names of the columns, and their range
    # last. More than two values among the labels: either a regression, or the score of answers that
    # no column holds.
    classes = None if truth is None else distinct_words(truth)
    is_measured = classes is not None and len(classes) > 2
    low = min(float(np.nanmin(column)) for column in columns)
    high = max(float(np.nanmax(column)) for column in columns)
    says_margin = any(mark in plain_name(name) for name in names for mark in MARGIN_NAMES)
    two_classes = classes is not None and len(classes) <= 2 and truth is not None and len(truth) > 2
    if is_measured:
        if (
            classes is not None
            and _are_few_classes(classes)
            and all(has_name_of(name, "confidence") for name in names)
        ):
            raise _of_the_answer(names[0], options, is_probability=False)
        return "outputs"
    if says_margin:
        return "margin"
    if low >= 0.0 and high <= 1.0:
        # The probability of the second class is below a half in some row; the confidence in one of
        # two answers never is.
        says_confidence = all(has_name_of(name, "confidence") for name in names)
        if says_confidence and low >= 0.5 and options.columns is None and options.threshold is None:
            raise _of_the_answer(names[0], options, is_probability=True)
        if truth is None and _may_be_marks(names, columns, options):
            raise _of_the_mark(names[0], options)
        return "probability"
    if options.threshold is not None:
        return "margin"
    says_percent = any("percent" in plain_name(name) or "pct" in plain_name(name) for name in names)
    if low >= 0.0 and high <= 100.0 and says_percent:
        return "percentage"
    if two_classes:
        assert truth is not None
        form = form_of_two(names, columns, truth, options)
        if form is not None:
            return form
    # No percentage is above 100, and of numbers of one sign the sign cannot be the answer.
    if (low >= 0.0 and high > 100.0) or high <= 0.0:
        return "outputs"
    if options.task == "scores":
        if low < 0.0 < high:
            return "margin"
        if high <= 50.0:
            return "outputs"
        raise UnreadableTableError(
            f"The column {names[0]!r} holds numbers from {low:g} to {high:g}: percentages of the second class, or "
            "outputs of a regression, which have no classes. Divide percentages by 100, or give the true labels with "
            f"{options.typed('--labels', 'FILE')}."
        )
    readings = [
        PossibleReading("the numbers are outputs of a regression", options.typed("--tolerance", 0)),
        PossibleReading("the sign is the answer", options.typed("--threshold", 0)),
    ]
    if low >= 0.0:
        readings[1] = PossibleReading(
            "they are percentages of the second class", options.typed("--threshold", 50)
        )
        # Small numbers are no percentages.
        if high <= 50.0:
            return "outputs"
    raise AmbiguousReadingError(
        f"The column {names[0]!r} holds numbers from {low:g} to {high:g}, which may be several things.",
        readings,
    )


def _may_be_marks(
    names: Sequence[str], columns: Sequence[FloatArray], options: RoleOptions
) -> bool:
    """Return True for numbers that may as well say how well each question was answered: 0, a half and 1 alone."""
    is_told = options.columns is not None or options.threshold is not None
    if is_told or options.classes is not None or options.task is not None:
        return False
    plain = [plain_name(name) for name in names]
    if any("prob" in name or name == "p" or name.startswith("p_") for name in plain):
        return False
    return all(np.isin(column[~np.isnan(column)], MARKS).all() for column in columns)


def _of_the_mark(name: str, options: RoleOptions) -> AmbiguousReadingError:
    """Return the question on a column of 0, a half and 1 without labels."""
    marks = options.typed("--scores", name)
    if options.style == "python":
        marks = f"diff_scores(old, new, scores={name!r})"
    return AmbiguousReadingError(
        f"The column {name!r} holds 0, 0.5 and 1 alone, which may be several things.",
        [
            PossibleReading("it says how well each question was answered", marks),
            PossibleReading(
                "it is the probability of the second class", options.typed("--columns", (name,))
            ),
        ],
    )


def _are_few_classes(classes: set[str]) -> bool:
    """Return True for at most fifty words or whole numbers."""
    return len(classes) <= 50 and not any("." in word for word in classes)


def _of_the_answer(
    name: str, options: RoleOptions, *, is_probability: bool
) -> AmbiguousReadingError:
    """Return the question on a column that may be the confidence of answers which no column holds."""
    reading = PossibleReading("it is the output of a regression", options.typed("--tolerance", 0))
    if is_probability:
        reading = PossibleReading(
            "it is the probability of the second class", options.typed("--columns", (name,))
        )
    return AmbiguousReadingError(
        f"The column {name!r} may be the confidence of answers, and no column holds these. Name their column with "
        f"{options.typed('--prediction', 'COLUMN')}.",
        [reading],
    )
