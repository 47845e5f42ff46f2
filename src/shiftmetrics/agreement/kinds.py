"""How scores are read: as scores, probabilities or proportions; what looks like something else is refused."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import (
    LARGEST_EXACT,
    Array,
    FloatArray,
    as_array,
    is_floating,
    is_in_chunks,
    is_table,
    namespace,
    to_float64,
)
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError, Setting, Wording
from shiftmetrics._core.probabilities import look_like_probabilities
from shiftmetrics._core.validation import check_matrix

Kind = Literal["auto", "scores", "probabilities", "proportions"]
KINDS: tuple[Kind, ...] = ("auto", "scores", "probabilities", "proportions")

MOST_SCANNED = 10_000
"""Values of one column, out of core, that are scanned for what they look like."""

ROWS_SCANNED = 1000
"""Rows of scores that are scanned."""

ENOUGH = 20
"""Samples from which on values that look like probabilities are hardly so by chance."""

REGRESSION = (
    "For outputs of a regression use shiftmetrics diff, or shiftmetrics.diff_models(old, new)."
)


def check_scores(value: Any, argument: str, used: FloatArray | None = None) -> Array:
    """Return an array of scores: a column for each class, or margins in one dimension.

    ``used`` is the prior of the classes: those of prior 0 may hold anything.

    Raises
    ------
    TypeError
        If it holds no numbers, or integers in one dimension.
    ValueError
        If the shape is another one, or a value is not finite.
    """
    array = as_array(value, argument)
    if array.ndim == 1:
        if not is_floating(array):
            expected = "of shape (n_samples, n_classes), or a one-dimensional array of real margins"
            got = f"{array.shape[0]} one-dimensional values of dtype {array.dtype}"
            remedy = "Labels have no scores: give one column for each class, or convert margins to float."
            raise ArgumentTypeError(argument, expected, got, remedy)
        check_matrix((_column(array) if is_in_chunks(array) else array)[:, None], argument)
        return array
    if array.ndim == 2 and array.shape[1] == 1:
        got = f"one column (shape {tuple(array.shape)})"
        remedy = f"Give one column for each class, or a binary margin as a one-dimensional array. {REGRESSION}"
        raise ArgumentValueError(argument, "an array of at least two classes", got, remedy)
    # Columns of classes that drop out are left unchecked.
    in_use = array
    if array.ndim == 2 and used is not None and not is_in_chunks(array) and not (used > 0.0).all():
        xp = namespace(array)
        in_use = xp.take(array, xp.asarray(np.flatnonzero(used)), axis=1)
    try:
        check_matrix(in_use, argument, min_columns=2 if in_use is array else 1)
    except ValueError:
        if array.ndim == 2 and not is_in_chunks(array) and is_floating(array):
            _refuse_logarithms_of_zero(in_use, argument)
        raise
    if isinstance(in_use, np.ndarray) and in_use.dtype.kind in "iu":
        # From 2^53 on neighbouring integers become one float, and classes that differ would be tied.
        largest = max(abs(int(in_use.min())), abs(int(in_use.max())))
        if largest >= LARGEST_EXACT:
            expected = "numbers that floats tell apart"
            remedy = "Subtract one number from all scores of both samples."
            raise ArgumentValueError(
                argument, expected, f"whole numbers beyond 2^53, such as {largest}", remedy
            )
    return array


def refuse_whole_numbers(table: Any, argument: str) -> None:
    """Refuse a column of integers beside columns of fractions: an id or a label, not the scores of one more class.

    Raises
    ------
    ValueError
        The first such column, and what to do with it.
    """
    if not (is_table(table) and hasattr(table, "iloc")) or len(table.columns) < 2:
        return
    kinds = [dtype.kind for dtype in table.dtypes]
    if "f" not in kinds:
        return
    for place, kind in enumerate(kinds):
        column = table.iloc[:, place]
        # a class that no row is given may be a column of zeros
        if kind not in "iu" or (column == column.iloc[0]).all():
            continue
        name = table.columns[place]
        raise ArgumentValueError(
            argument,
            "a table of scores alone, one column for each class",
            f"whole numbers in the column {name!r}, beside fractions",
            f"Ids belong to the index: table.set_index({name!r}); leave out labels: table.drop(columns={name!r}).",
        )


def read_kind(kind: Kind, first: Array, second: Array) -> tuple[Kind, tuple[str, ...]]:
    """Return what checked samples hold, told from the values of both where ``kind`` is "auto", and warnings.

    Rows of columns are probabilities where none is negative and each row sums to 1. One column holds the
    probabilities of the second class where all lie between 0 and 1; else it holds margins, which have both signs: a
    column that never crosses 0 would be a model that always gives one answer, and is far more likely a quantity
    (house prices) or percentages. Quantities that do cross 0 cannot be told from margins.

    Raises
    ------
    TypeError
        If one column holds labels of classes.
    ValueError
        If the values look like anything else than scores or probabilities.
    """
    if kind in ("auto", "scores") and first.ndim == 1 and first.shape[0] > 0:
        _refuse_labels(first, second)
    if kind != "auto":
        return kind, ()
    # Both samples tell together: one alone may look like anything.
    likely = look_like_probabilities(first), look_like_probabilities(second)
    if all(likely):
        return "probabilities", ()
    if first.ndim == 1:
        _refuse_other_columns(first, second, likely)
        return "scores", ()
    heads = [
        to_float64(side[: min(ROWS_SCANNED, int(side.shape[0])), ...]) for side in (first, second)
    ]
    # Rows of 0 and 1 may be anything.
    fractions = [bool(((head > 0.0) & (head < 1.0)).any()) for head in heads]
    if likely[0] != likely[1] and fractions[likely.index(True)] and len(heads[0]) >= ENOUGH:
        _refuse_mixture(heads, likely)
    if all(_are_percentages(head) for head in heads):
        remedy = Wording(
            "Pass ",
            Setting("kind", "proportions"),
            ", which divides rows by their sum, or ",
            Setting("kind", "scores"),
            " if they are logits.",
        )
        expected = "given where rows have the sum 100, as percentages do"
        raise ArgumentValueError("kind", expected, "'auto'", remedy)
    # Between 0 and 1, but with other sums: rounded, or not of one distribution.
    inside = all(head.min() >= 0.0 and head.max() <= 1.0 for head in heads)
    if not (inside and all(fractions)):
        return "scores", ()
    sums = np.concatenate([head.sum(axis=1) for head in heads])
    seen = f"All values lie between 0 and 1, and rows sum to {sums.min():.3g} to {sums.max():.3g}"
    if all(_are_rounded(head) for head in heads):
        return "proportions", (
            f"{seen}, as rounded probabilities do: rows are divided by their sum.",
        )
    advice = (
        "like sigmoids of separate labels, or probabilities of which a class is left out. They are read as scores; "
        'pass kind="scores" if they are scores, or kind="proportions" to divide rows by their sum.'
    )
    return "scores", (f"{seen}, {advice}",)


def _column(array: Array) -> FloatArray:
    """Return one column as float64, of out-of-core data the first rows."""
    return to_float64(array[:MOST_SCANNED] if is_in_chunks(array) else array)


def _are_percentages(head: FloatArray) -> bool:
    """Return True if rows sum to 100, up to integers (rounded or cut off), and are not one-hot rows on that scale."""
    # Rounding each of K entries to an integer moves their sum by up to K / 2, cutting their decimals off by up to K.
    slack = 1.0
    if (head == np.round(head)).all():
        slack = float(head.shape[1])
    whole = (np.abs(head.sum(axis=1) - 100.0) <= slack).all()
    return bool(whole and head.min() >= 0.0 and (head > 0.0).sum() > len(head))


def _are_rounded(head: FloatArray) -> bool:
    """Return True if the values are probabilities that were rounded to 1, 2 or 3 decimals."""
    for decimals in (1, 2, 3):
        if (np.abs(head - np.round(head, decimals)) < 1e-6).all():
            # Rounding moves each entry by half of the last decimal at most. Of many classes that would allow any
            # sum: hence the limit.
            most = min(0.2, 0.5 * head.shape[1] * 10.0**-decimals)
            return bool((np.abs(head.sum(axis=1) - 1.0) <= most + 1e-6).all())
    return False


def _refuse_mixture(heads: list[FloatArray], likely: tuple[bool, bool]) -> None:
    """Refuse probabilities beside rows that are none."""
    # What was seen, of the side that holds none.
    names = ["scores", "reference_scores"]
    other = likely.index(False)
    head = heads[other]
    got = f"{names[other]} from {head.min():.3g} to {head.max():.3g} beside probabilities in {names[1 - other]}"
    remedy = Wording(
        "Give both as scores or both as probabilities, or pass ",
        Setting("kind", "scores"),
        " if no side holds probabilities.",
    )
    raise ArgumentValueError("scores and reference_scores", "of one kind", got, remedy)


def _refuse_logarithms_of_zero(array: Array, argument: str) -> None:
    """Name the remedy where scores are logarithms of probabilities, some of which are 0."""
    # Logarithms of probabilities are at most 0.
    xp = namespace(array)
    if not bool(xp.any(array == -math.inf)) or bool(xp.any(xp.isnan(array))):
        return
    if float(xp.max(array)) <= 1e-3:
        row, column = np.argwhere(to_float64(array) == -math.inf)[0]
        remedy = (
            "It is the logarithm of a probability of 0: pass the probabilities, np.exp(scores), whose zeros are "
            "raised to half the smallest one, or clip the logarithms."
        )
        got = f"-inf at row {row}, column {column}"
        raise ArgumentValueError(argument, "finite everywhere", got, remedy)


def _refuse_labels(*sides: Array) -> None:
    """Refuse one column of 0, 1, 2, ... (or 1, 2, ...): class labels, not margins."""
    # Integers from 0 or 1 on without a gap, over both samples.
    found: set[float] = set()
    for side in sides:
        values = _column(side)
        if values.min() < 0.0 or (values != np.round(values)).any():
            return
        found.update(np.unique(values).tolist())
    if len(found) > 1 and min(found) <= 1.0 and max(found) - min(found) == len(found) - 1:
        expected = "margins, or one column of scores for each class"
        got = f"integers from {min(found):g} to {max(found):g}, which look like class labels"
        remedy = (
            "Labels go to shiftmetrics.diff_models(old, new); margins that are integers, as two columns "
            "(0, margin)."
        )
        raise ArgumentTypeError("scores", expected, got, remedy)


def _refuse_other_columns(first: Array, second: Array, likely: tuple[bool, bool]) -> None:
    """Refuse one column of each sample that holds neither probabilities nor margins."""
    sides = [_column(side) for side in (first, second)]
    both = np.concatenate(sides)
    seen = f"one column from {both.min():.6g} to {both.max():.6g}"
    if likely[0] != likely[1] and len(sides[0]) >= ENOUGH:
        # Few margins may lie between 0 and 1 by chance; not all of many, when those of the other sample do not.
        inside = sides[likely.index(True)]
        other = sides[likely.index(False)]
        many = len(np.unique(inside)) > 2 and inside.min() < 0.5 < inside.max()
        if many and other.min() < -1.0 < 1.0 < other.max():
            _refuse_mixture(sides, likely)
    # Margins cross 0 in one of the samples at least, or are but one or two numbers.
    if both.min() < 0.0 < both.max() or len(np.unique(both)) < 3:
        return
    expected = "margins, which lie on both sides of 0, or probabilities between 0 and 1"
    remedy = Wording(
        f"{REGRESSION} Percentages are to be divided by 100; pass ",
        Setting("kind", "scores"),
        " if these are margins of a model that always gives one answer.",
    )
    raise ArgumentValueError("scores", expected, seen, remedy)
