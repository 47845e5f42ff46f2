"""Validate two samples, in memory or in batches, their weights and a kernel, and make the joint kernel matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    FloatArray,
    IntArray,
    as_array,
    is_table,
    take_rows,
    to_float64,
    to_numpy,
)
from shiftmetrics._core.tables import align_tables
from shiftmetrics._core.validation import (
    check_choice,
    check_directions,
    check_matrix,
    check_number,
    check_same_library,
    check_weights,
    describe,
)
from shiftmetrics.novelty.bandwidth import Bandwidth, bandwidth_by_rule
from shiftmetrics.novelty.gram import Gram, precomputed_gram
from shiftmetrics.novelty.kernels import CallableKernel, CosineKernel, GaussianKernel

KernelChoice = Literal["gaussian", "cosine", "precomputed"] | Callable[[Any, Any], Any]

MAX_ETA = 1e12
"""Beyond it the reference's rounding errors outweigh the test sample."""

JOINED_ROWS = 16_384
"""Batches of so many rows in all are joined to one array: every route takes them."""

_UNITS = 10.0
"""How many times as far as the median column one must spread before columns are taken to differ in units."""
_NOISE = 1e-12
"""Spread relative to the largest value, below which a column is constant up to rounding."""
_COMPONENTS = 5
_IN_ORDER = 1.1
"""Principal components learned from other rows are in the order of their spreads, nearly."""
UNITS_DIVIDED = "Columns differ in units: each is divided by its spread."
_EMBED = "shiftmetrics.adapters.embeddings.embed"
_SPREAD_ROWS = 20_000
_KERNELS = ("gaussian", "cosine", "precomputed")


def check_eta(eta: Any) -> float:
    """Return the multiplier of the reference as a float from 1 to `MAX_ETA`."""
    checked = check_number(eta, "eta", low=1.0)
    if checked > MAX_ETA:
        raise ValueError(describe("eta", f"at most {MAX_ETA:g}", f"{checked:g}"))
    return checked


def check_kernel(kernel: Any) -> KernelChoice:
    """Return a kernel's name, or the callable."""
    if not callable(kernel) and (not isinstance(kernel, str) or kernel not in _KERNELS):
        listed = ", ".join(repr(name) for name in _KERNELS)
        raise ValueError(describe("kernel", f"one of {listed}, or a function of two arrays", repr(kernel)))
    return kernel  # type: ignore[no-any-return]


def check_samples(features: Any, reference: Any, kernel: KernelChoice) -> tuple[Array, Array]:
    """Return both samples as finite arrays of one library, with at least two rows each and matching columns.

    Iterables of batches become arrays, or `Batches` where they have many rows.

    Raises
    ------
    ValueError, TypeError
        Naming the argument that is wrong.
    """
    if is_batches(features) or is_batches(reference):
        test, base = _batches(features, "features"), _batches(reference, "reference")
        if test.shape[0] + base.shape[0] <= JOINED_ROWS:
            test, base = (part.whole() if isinstance(part, Batches) else part for part in (test, base))
        elif kernel == "precomputed":
            raise ValueError(describe("features", "an array with kernel='precomputed'", "batches"))
    else:
        features, reference = align_tables(
            features, reference, "features", "reference", rows=False, option=None
        )
        test = _check_rows(features, "features", min_rows=2)
        base = _check_rows(reference, "reference", min_rows=2)
        check_same_library(test, base, "features", "reference")
    for array, name in ((test, "features"), (base, "reference")):
        if array.shape[0] < 2:
            raise ValueError(describe(name, "an array of at least 2 row(s)", array.shape[0]))
        if kernel == "cosine":
            check_directions(array, name)
    if test.shape[1] != base.shape[1]:
        expected = f"of as many columns as features, {test.shape[1]}"
        remedy = "Compute both by the same features, and drop columns of labels."
        raise ValueError(describe("reference", expected, f"{base.shape[1]}", remedy))
    return test, base


def _check_rows(value: Any, name: str, min_rows: int = 1) -> Array:
    """Return a matrix of numbers; images and texts are refused with what makes features of them."""
    if value is None:
        raise TypeError(describe(name, "an array of shape (n_samples, n_columns)", "None"))
    try:
        array = as_array(value, name)
    except TypeError as error:
        if is_table(value) or _is_text(value):
            raise TypeError(f"{error} Turn texts and words into features first, by {_EMBED}.") from error
        raise
    if array.ndim > 2:
        remedy = f"Turn images into features first, by {_EMBED}."
        shape = f"shape {tuple(array.shape)}"
        raise ValueError(describe(name, "an array of shape (n_samples, n_columns)", shape, remedy))
    return check_matrix(array, name, min_rows=min_rows)


def _is_text(value: Any) -> bool:
    while isinstance(value, list | tuple) and value:
        value = value[0]
    return isinstance(value, str) or getattr(getattr(value, "dtype", None), "kind", "") in (
        "U",
        "S",
        "O",
        "T",
    )


def shares(weights: Any, argument: str, array: Array) -> FloatArray:
    """Return the weights of the rows of a sample, scaled to sum 1; equal ones by default."""
    n_rows = int(array.shape[0])
    checked = check_weights(weights, argument, n_rows)
    return np.full(n_rows, 1.0 / n_rows) if checked is None else checked / n_rows


def bandwidth_of(
    bandwidth: float | str,
    kernel: KernelChoice,
    samples: tuple[Array, Array],
    weights: tuple[FloatArray | None, FloatArray | None],
    rng: np.random.Generator,
    units: FloatArray | None = None,
) -> tuple[float | None, Bandwidth | None]:
    """Return the bandwidth, and how a rule chose it; None for kernels without one.

    Raises
    ------
    ValueError
        If it is not positive, not a known rule, or given for another kernel than the Gaussian.
    """
    if isinstance(bandwidth, str):
        bandwidth = check_choice(bandwidth, "bandwidth", ("auto", "median"))
    if kernel != "gaussian":
        if bandwidth == "auto":
            return None, None
        place = f"with kernel={kernel!r}" if isinstance(kernel, str) else "when kernel is a function"
        remedy = "Only the Gaussian kernel has one."
        raise ValueError(describe("bandwidth", f"left out {place}", repr(bandwidth), remedy))
    if not isinstance(bandwidth, str):
        return check_number(bandwidth, "bandwidth", low=0.0, open_low=True), None
    rule = "median" if bandwidth == "median" else "variance"
    choice = bandwidth_by_rule(
        list(samples), list(weights), rule=rule, rng=rng, units=1.0 if units is None else units
    )
    return choice.value, choice


def column_units(samples: tuple[Array, Array], weights: tuple[FloatArray, FloatArray]) -> FloatArray | None:
    """Return the standard deviation of each column of both samples where columns differ in units, else None.

    They do where one spreads over 10 times as far as the median of those that vary: it alone would decide what is
    alike. Five or more columns in the order of their spreads are principal components, whose spreads mean something.
    """
    parts = []
    for sample, share in zip(samples, weights, strict=True):
        rows = np.flatnonzero(share)
        parts.append(to_float64(take_rows(sample, rows[:: len(rows) // _SPREAD_ROWS + 1])))
    drawn = np.concatenate(parts)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = drawn.std(axis=0)
        varies = spread > _NOISE * np.abs(drawn).max(axis=0)
    if not np.isfinite(spread).all() or not varies.any():
        return None
    if not spread.max() > _UNITS * np.quantile(spread[varies], 0.5, method="lower"):
        return None
    if len(spread) >= _COMPONENTS and (spread[1:] <= _IN_ORDER * spread[:-1]).all():
        return None
    return np.where(varies, spread, 1.0)


def units_warning(units: FloatArray | None, *, divided: bool) -> tuple[str, ...]:
    """Return what to know of columns that differ in units."""
    if units is None:
        return ()
    if divided:
        return (UNITS_DIVIDED,)
    return (
        "Columns differ in units, and the widest alone decide what is alike: a bandwidth that is given is in the "
        "units of the features. Leave it out, and each column is divided by its spread.",
    )


def make_gram(
    test: Array,
    base: Array,
    kernel: KernelChoice,
    bandwidth: float | None,
    units: FloatArray | None = None,
) -> Gram:
    """Return the joint kernel matrix of two checked samples, of which nothing is computed yet."""
    if kernel == "precomputed":
        return precomputed_gram(test, base)
    if kernel == "cosine":
        return Gram(test, base, CosineKernel())
    if bandwidth is not None:
        return Gram(test, base, GaussianKernel(bandwidth), units)
    return Gram(test, base, CallableKernel(kernel))  # type: ignore[arg-type]


def check_pairs(test_weights: FloatArray, reference_weights: FloatArray) -> None:
    """Raise a ValueError if two samples cannot be paired row by row."""
    sizes = (len(test_weights), len(reference_weights))
    if sizes[0] != sizes[1]:
        expected = "False unless both samples have as many rows"
        remedy = "Give the partner of each row at its place."
        raise ValueError(describe("paired", expected, f"{sizes[0]} and {sizes[1]} rows", remedy))
    n_pairs = int(np.count_nonzero((test_weights > 0.0) & (reference_weights > 0.0)))
    if n_pairs < 2:
        expected = "False unless at least 2 pairs have weight in both samples"
        raise ValueError(describe("paired", expected, f"{n_pairs} of them"))


def _batches(value: Any, name: str) -> Array:
    """Return batches as one virtual array, and an array of any library as NumPy."""
    return Batches(value, name) if is_batches(value) else to_numpy(_check_rows(value, name))


def is_batches(value: Any) -> bool:
    """Tell whether ``value`` is an iterable of two-dimensional batches rather than one array or table."""
    if is_table(value) or hasattr(value, "shape") or hasattr(value, "__array__"):
        return False
    if isinstance(value, list | tuple):
        return bool(value) and getattr(value[0], "ndim", 0) == 2
    return isinstance(value, Iterable) and not isinstance(value, str)


class Batches:
    """An array of float64 rows behind an iterable of batches.

    Blocks of rows are cheap when they are taken in order; each start from the beginning reads all batches again.

    Parameters
    ----------
    batches : iterable of array of shape (n_rows, n_columns)
        Gives the same batches each time.
    argument : str
        Name for messages.

    Raises
    ------
    ValueError
        If it can be read only once, holds no rows, or batches differ in their columns.
    """

    ndim = 2
    sequential = True

    def __init__(self, batches: Iterable[Any], argument: str) -> None:
        if isinstance(batches, Iterator):
            remedy = "Pass a list of batches, a data loader, or an object whose __iter__ starts anew."
            expected = "an iterable of batches that can be read more than once"
            raise ValueError(describe(argument, expected, type(batches).__name__, remedy))
        self._batches, self._argument = batches, argument
        sizes = [batch.shape for batch in self._read()]
        if len({columns for _, columns in sizes}) != 1:
            expected = "of batches with as many columns each" if sizes else "of at least one batch"
            got = sorted({columns for _, columns in sizes}) or "none"
            raise ValueError(describe(argument, expected, got))
        self.shape = (sum(rows for rows, _ in sizes), sizes[0][1])
        self._restart()

    def __getitem__(self, key: Any) -> FloatArray:
        """Return the rows of a slice, or at an array of positions."""
        rows = key[0] if isinstance(key, tuple) else key
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.shape[0])
            return self._block(start, stop)
        return self._at(rows)

    def whole(self) -> FloatArray:
        """Return all rows."""
        return np.concatenate(list(self._read()))

    def _read(self) -> Iterator[FloatArray]:
        for batch in self._batches:
            yield to_float64(_check_rows(batch, self._argument))

    def _restart(self) -> None:
        self._reader, self._first, self._buffer = self._read(), 0, np.empty((0, self.shape[1]))

    def _block(self, start: int, stop: int) -> FloatArray:
        if start < self._first:
            self._restart()
        parts, end = [self._buffer], self._first + len(self._buffer)
        while end < stop:
            if end <= start:
                parts, self._first = [], end
            batch = next(self._reader, None)
            if batch is None:
                expected = f"the same {self.shape[0]} rows each time that it is read"
                raise ValueError(describe(self._argument, expected, f"{end} rows"))
            parts.append(batch)
            end += len(batch)
        self._buffer = np.concatenate(parts)[start - self._first :]
        self._first = start
        return self._buffer[: stop - start]

    def _at(self, positions: IntArray) -> FloatArray:
        found, first = np.empty((len(positions), self.shape[1])), 0
        for batch in self._read():
            here = (positions >= first) & (positions < first + len(batch))
            found[here] = batch[positions[here] - first]
            first += len(batch)
        return found
