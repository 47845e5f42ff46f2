"""Checks of arguments. Each message names the argument, the expected value and the received one."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    BoolArray,
    FloatArray,
    as_array,
    float64_rows,
    is_floating,
    is_in_chunks,
    namespace,
    to_float64,
)
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError

Choice = TypeVar("Choice", bound=str)

LARGEST = 1e150
"""Largest value whose square, and the sum of many such squares, does not overflow."""

_IMPUTE = "Drop or impute these rows first."


@contextmanager
def needs(what: str, package: str, command: str) -> Iterator[None]:
    """Turn a failed import of an optional package into a sentence that says how to install it."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{what} needs {package}: pip install {command}") from error


def first_few(values: Iterable[Any], n: int = 3, *, show: Callable[[Any], str] = repr) -> str:
    """Name the first ``n`` values for a message, and how many more there are: ``'a', 'b', 'c' and 4 more``."""
    values = list(values)
    more = f" and {len(values) - n} more" if len(values) > n else ""
    return ", ".join(map(show, values[:n])) + more


def check_number(
    value: Any,
    argument: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
    allow_inf: bool = False,
) -> float:
    """Return ``value`` as a float inside the stated range.

    Raises
    ------
    TypeError
        If it is not a real number.
    ValueError
        If it is NaN, infinite (unless allowed) or outside the range.
    """
    # A scalar of NumPy, torch or another array library.
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ArgumentTypeError(argument, "a real number", value=value)
    try:
        number = float(value)
    except OverflowError:  # an integer beyond the largest float
        number = -math.inf if value < 0 else math.inf
    below = number <= low if open_low and math.isfinite(low) else number < low
    above = number >= high if open_high and math.isfinite(high) else number > high
    if math.isnan(number) or below or above or (math.isinf(number) and not allow_inf):
        raise ArgumentValueError(
            argument, _range_text(low, high, open_low, open_high, allow_inf), value=value
        )
    return number


def check_integer(
    value: Any, argument: str, *, low: int | None = None, high: int | None = None
) -> int:
    """Return ``value`` as an int inside ``[low, high]``.

    Raises
    ------
    TypeError
        If it is not an integer.
    ValueError
        If it lies outside the range.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ArgumentTypeError(argument, "an integer", value=value)
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        if low is None:
            bounds = f"at most {high}"
        elif high is None:
            bounds = f"at least {low}"
        else:
            bounds = f"between {low} and {high}"
        raise ArgumentValueError(argument, f"an integer {bounds}", number)
    return number


def check_choice(value: Any, argument: str, choices: Sequence[Choice]) -> Choice:
    """Return ``value`` if it is one of ``choices``, else raise a ValueError that lists them."""
    if isinstance(value, str):
        for choice in choices:
            if value == choice:
                return choice
    listed = ", ".join(repr(choice) for choice in choices)
    raise ArgumentValueError(argument, f"one of {listed}", value=value)


def check_keys(
    keys: Iterable[str],
    argument: str,
    known: Sequence[str],
    expected: str = "a table of known keys",
) -> None:
    """Make sure that all keys are known; the message offers the nearest one.

    Raises
    ------
    ValueError
        At the first unknown key.
    """
    import difflib  # for messages only

    for key in keys:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            remedy = f"Known: {', '.join(known)}."
            if near:
                remedy = f"Did you mean {near[0]!r}?"
            raise ArgumentValueError(argument, expected, value=key, remedy=remedy)


def check_rng(rng: Any, argument: str = "rng") -> np.random.Generator:
    """Return a Generator from a seed, a Generator or None (fresh entropy); a RandomState gives a seed."""
    if isinstance(rng, bool | memoryview) or (isinstance(rng, np.ndarray) and rng.ndim > 1):
        raise ArgumentTypeError(argument, "a seed, a numpy Generator or None", value=rng)
    if isinstance(rng, np.random.RandomState):  # as a Generator it could not spawn others
        rng = int(rng.randint(2**31 - 1))
    try:
        return np.random.default_rng(rng)
    except TypeError as error:
        raise ArgumentTypeError(argument, "a seed, a numpy Generator or None", value=rng) from error
    except ValueError as error:
        raise ArgumentValueError(
            argument, "a seed, a numpy Generator or None", value=rng
        ) from error


def seed_of(rng: Any) -> int:
    """Return a seed that stands for ``rng``: a seed is itself, a Generator or None gives a fresh one.

    Raises
    ------
    TypeError, ValueError
        If ``rng`` is not a seed, a Generator or None.
    """
    generator = check_rng(rng)
    if isinstance(rng, int | np.integer):
        return int(rng)
    return int(generator.integers(2**63))


def check_matrix(value: Any, argument: str, *, min_rows: int = 1, min_columns: int = 1) -> Array:
    """Return a finite two-dimensional array, in its own array library, of at least the stated size.

    Raises
    ------
    TypeError
        If it does not hold real numbers.
    ValueError
        If it has another number of axes, too few rows or columns, or a value that is not finite.
    """
    array = as_array(value, argument)
    if array.ndim != 2:
        raise ArgumentValueError(
            argument, "an array of shape (n_samples, n_columns)", f"shape {tuple(array.shape)}"
        )
    n_rows, n_columns = array.shape
    if n_rows < min_rows:
        raise ArgumentValueError(argument, f"an array of at least {min_rows} row(s)", f"{n_rows}")
    if n_columns < min_columns:
        raise ArgumentValueError(
            argument, f"an array of at least {min_columns} column(s)", f"{n_columns}"
        )
    check_finite(array, argument)
    return array


def check_vector(
    value: Any,
    argument: str,
    *,
    length: int | None = None,
    low: float = -math.inf,
    allow_inf: bool = False,
) -> FloatArray:
    """Return a one-dimensional NumPy float64 array without NaN and with no value below ``low``.

    Raises
    ------
    TypeError
        If it does not hold real numbers.
    ValueError
        If its shape, or one of its values, is not as stated; the first such place is named.
    """
    array = as_array(value, argument)
    if array.ndim != 1:
        raise ArgumentValueError(argument, "a one-dimensional array", f"shape {tuple(array.shape)}")
    if length is not None and array.shape[0] != length:
        raise ArgumentValueError(argument, f"of length {length}", f"length {array.shape[0]}")
    if array.shape[0] == 0:
        raise ArgumentValueError(argument, "an array of at least 1 value", "0")
    vector = to_float64(array)
    bad = np.isnan(vector) if allow_inf else ~np.isfinite(vector)
    expected = "free of NaN" if allow_inf else "finite everywhere"
    refuse_where(bad, vector, argument, expected, _IMPUTE, count=True)
    refuse_where(vector < low, vector, argument, f"at least {low:g} everywhere")
    return vector


def check_weights(value: Any, argument: str, n_samples: int) -> FloatArray | None:
    """Return observation weights scaled to mean 1, or None when no weights were given.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or if all are zero.
    """
    if value is None:
        return None
    weights = check_vector(value, argument, length=n_samples, low=0.0)
    largest = float(weights.max())
    if largest == 0.0:
        raise ArgumentValueError(argument, "positive for at least one row", "zeros only")
    weights = weights / largest  # so that no sum overflows
    scaled: FloatArray = weights / weights.mean()
    return scaled


def check_finite(array: Array, argument: str, *, first_row: int = 0) -> None:
    """Raise a ValueError that counts the values of ``array`` that are not finite and names the first.

    ``first_row`` is the position of its first row in the whole sample. Out-of-core data are checked as they are read.
    """
    if array.shape[0] == 0 or is_in_chunks(array) or not is_floating(array):
        return
    row_bytes = 8 * max(1, math.prod(array.shape[1:]))
    for rows in row_blocks(array.shape[0], row_bytes):
        block = float64_rows(array, rows)
        # The sum of a block is finite unless a value is not, or the sum overflows: look closer only then.
        with np.errstate(all="ignore"):
            total = float(namespace(block).sum(block))
        if not math.isfinite(total):
            values = to_float64(block)
            bad = ~np.isfinite(values)
            start = rows.start + first_row
            refuse_where(
                bad, values, argument, "finite everywhere", _IMPUTE, first_row=start, count=True
            )


def check_directions(array: Array, argument: str) -> None:
    """Raise a ValueError if a row is 0 in all columns, and so has no direction."""
    for rows in row_blocks(int(array.shape[0]), 8 * int(array.shape[1])):
        empty = ~to_float64(float64_rows(array, rows)).any(axis=1)
        if empty.any():
            place = f"zeros in row {rows.start + int(np.argmax(empty))}"
            remedy = "They have no direction: drop them, or choose another distance or kernel."
            raise ArgumentValueError(argument, "free of rows of zeros", place, remedy)


def check_same_shape(
    first: Array, second: Array, first_name: str, second_name: str, *, remedy: str = ""
) -> None:
    """Raise a ValueError unless both arrays have the same shape."""
    if tuple(first.shape) != tuple(second.shape):
        names = f"{first_name} and {second_name}"
        got = f"{tuple(first.shape)} and {tuple(second.shape)}"
        raise ArgumentValueError(names, "the same shape", got, remedy, verb="have")


def check_same_library(first: Array, second: Array, first_name: str, second_name: str) -> None:
    """Raise a TypeError unless both arrays come from one array library (and one device)."""
    try:
        namespace(first, second)
    except TypeError as error:
        raise ArgumentTypeError(
            f"{first_name} and {second_name}",
            "from the same array library",
            f"{type(first).__module__}.{type(first).__name__} and "
            f"{type(second).__module__}.{type(second).__name__}",
            "Convert one of them first.",
            verb="come",
        ) from error
    # Arrays of NumPy before 2.0 and data in chunks name no device: they lie in main memory.
    first_device = getattr(first, "device", "cpu")
    second_device = getattr(second, "device", "cpu")
    if str(first_device) != str(second_device):
        raise ArgumentValueError(
            f"{first_name} and {second_name}",
            "on the same device",
            f"{first_device} and {second_device}",
            "Move one of them first.",
            verb="live",
        )


def check_magnitude(array: Array, argument: str) -> None:
    """Raise a ValueError where values are so large that their squares overflow."""
    xp = namespace(array)
    for rows in row_blocks(int(array.shape[0]), 8 * int(array.shape[1])):
        largest = float(xp.max(xp.abs(float64_rows(array, rows))))
        if largest > LARGEST:
            expected = f"at most {LARGEST:g} in size"
            raise ArgumentValueError(
                argument, expected, f"{largest:g}", "Standardise the columns first."
            )


def refuse_where(
    bad: BoolArray,
    values: FloatArray,
    argument: str,
    expected: str,
    remedy: str = "",
    *,
    first_row: int = 0,
    count: bool = False,
) -> None:
    """Raise a ValueError if a value is bad: it names the first, its place, and with ``count`` how many there are.

    ``first_row`` is the position of the first of these rows in the whole array.
    """
    if bad.any():
        place = np.argwhere(bad)[0]
        got = f"{values[tuple(place)]:g} at row {place[0] + first_row}"
        if len(place) > 1:
            got += f", column {place[1]}"
        if count:
            got += f" ({int(bad.sum())} such value(s) seen)"
        raise ArgumentValueError(argument, expected, got, remedy)


def _range_text(low: float, high: float, open_low: bool, open_high: bool, allow_inf: bool) -> str:
    """Return an interval in words: ``a number at least 0 and less than 1``."""
    parts = []
    if math.isfinite(low):
        words = "greater than" if open_low else "at least"
        parts.append(f"{words} {low:g}")
    if math.isfinite(high):
        words = "less than" if open_high else "at most"
        parts.append(f"{words} {high:g}")
    text = f"a number {' and '.join(parts)}".rstrip()
    if allow_inf:
        text += " (inf is allowed)"
    elif not parts:
        text += " that is finite"
    return text
