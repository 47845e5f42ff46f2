"""Make `Parts` of rows that are not in memory: batches, stored arrays, files of parquet, collections of Dask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import as_array, is_table, to_numpy
from shiftmetrics._core.parts import Parts, computed, dask
from shiftmetrics._core.tables import match_labels
from shiftmetrics._core.validation import describe

PART_BYTES = 2 << 20
"""Stored arrays are read in parts of at most so many bytes, or of one chunk."""

SAME = 1e-6
"""Relative difference of two readings of the same batches that rounding may make."""


KEPT_ROWS, KEPT_BYTES = 2000, 16 << 20
"""Rows of batches that stay in memory, at most, evenly over all: a first look that costs no reading."""


class ChunkSource(NamedTuple):
    """Rows that are not in memory, part by part, as they are stored.

    Attributes
    ----------
    argument : str
        Name for messages.
    n_parts : int
        Number of parts.
    read : callable
        Returns the part at a position.
    empty : array or DataFrame
        A part without rows.
    sizes : list of int or None
        Rows of each part; None where only reading them tells.
    names : list of str or None
        Of the columns.
    delayed : list or None
        The partitions of a Dask collection.
    sequential : bool
        Whether parts must be read in their order, by one thread.
    """

    argument: str
    n_parts: int
    read: Callable[[int], Any]
    empty: Any
    sizes: list[int] | None
    names: list[str] | None = None
    delayed: list[Any] | None = None
    sequential: bool = False

    def map(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Return ``function`` of each part, and of what goes with it, computed where it lives."""
        numbers = range(self.n_parts)
        if self.delayed is None:
            return [function(self.read(number), *(part[number] for part in arguments)) for number in numbers]
        shipped, parts = dask().delayed(function, pure=False), self.delayed
        tasks = [shipped(parts[number], *(part[number] for part in arguments)) for number in numbers]
        return list(computed(tasks, self.argument))

    def parts(self, convert: Callable[[Any], Any] | None = None) -> Parts:
        """Return the rows as `Parts`, of the array that ``convert`` makes of each part."""
        sizes, read, delayed = self.sizes, self.read, self.delayed
        if sizes is None:  # of rows that were filtered, or of files: one pass counts them
            sizes = self.map(len)
        if convert is None:
            like = to_numpy(as_array(self.empty, self.argument))
            return Parts(
                self.argument, sizes, like, read,
                names=self.names, delayed=delayed, sequential=self.sequential,
            )  # fmt: skip
        if delayed is not None:
            shipped = dask().delayed(convert, pure=False)
            delayed = [shipped(part) for part in delayed]
        parts = Parts(
            self.argument, sizes, convert(self.empty), lambda number: convert(read(number)),
            delayed=delayed, sequential=self.sequential,
        )  # fmt: skip
        parts.finite = False
        return parts


def source_of(value: Any, argument: str) -> ChunkSource | None:
    """Return rows of Dask, files or stored arrays as they are stored; None for anything else."""
    if hasattr(value, "to_delayed") and hasattr(value, "npartitions"):
        return _of_dask(value, argument)
    if hasattr(value, "get_fragments"):
        return _of_files(value, argument)
    if hasattr(value, "chunks") and hasattr(value, "dtype") and not hasattr(value, "to_numpy"):
        return _of_store(value, argument)
    return None


def source_of_rows(value: Any, argument: str) -> ChunkSource | None:
    """Return rows as `source_of` does, and batches but for lists, which may be rows of several axes."""
    if not is_batches(value) or isinstance(value, list | tuple):
        return source_of(value, argument)
    parts = of_batches(value, argument)
    sizes = np.diff(parts.edges).tolist()
    return ChunkSource(argument, len(sizes), parts.read, parts.kept[:0], sizes, sequential=True)


def in_parts(value: Any, argument: str) -> Any:
    """Return rows that are not in memory as `Parts`; everything else as it is.

    Raises
    ------
    TypeError, ValueError
        If batches can be read only once, or parts differ in their columns.
    """
    source = source_of(value, argument)
    if source is not None:
        return source.parts()
    return of_batches(value, argument) if is_batches(value) else value


def pair_in_parts(first: Any, second: Any, first_name: str, second_name: str, *, paired: bool) -> Any:
    """Return two samples, both in `Parts` if one is, with columns in the order of the first.

    Raises
    ------
    TypeError, ValueError
        As in `in_parts`; also if names of columns differ, or partitions of pairs do.
    """
    first, second = in_parts(first, first_name), in_parts(second, second_name)
    check_cut_alike(first, second, first_name, second_name, paired=paired)
    names, others = (getattr(side, "names", None) for side in (first, second))
    if names is not None and others is not None and names != others:
        second = second.select(match_labels(names, others, first_name, second_name, "columns", None))
    return first, second


def check_cut_alike(
    first: Any, second: Any, first_name: str, second_name: str, *, paired: bool = True
) -> None:
    """Refuse one collection of Dask without another, and pairs whose partitions differ."""
    if any(isinstance(side, Parts) and side.delayed is not None for side in (first, second)):
        for side, name in ((first, first_name), (second, second_name)):
            if not isinstance(side, Parts) or side.delayed is None:
                expected = f"a Dask collection like {first_name if name == second_name else second_name}"
                remedy = "Make one with dask.array.from_array, or compute the other."
                raise TypeError(describe(name, expected, type(side).__name__, remedy))
        if paired and not np.array_equal(first.edges, second.edges):
            expected = f"in {len(first.edges) - 1} partitions of rows like {first_name}, of the same sizes"
            sizes = np.diff(second.edges).tolist()
            got = f"{len(sizes)} of sizes {sizes[:5]}"
            raise ValueError(describe(second_name, expected, got, "Rechunk or repartition one of them."))


def is_batches(value: Any) -> bool:
    """Tell whether ``value`` is an iterable of batches rather than one array, table or list of rows."""
    if is_table(value) or any(hasattr(value, name) for name in ("shape", "__array__", "to_numpy", "keys")):
        return False
    if isinstance(value, list | tuple):
        return bool(value) and getattr(value[0], "ndim", 0) == 2
    return isinstance(value, Iterable) and not isinstance(value, str)


def of_batches(batches: Any, argument: str, convert: Callable[[Any], Any] | None = None) -> Parts:
    """Return an iterable that gives the same rows each time it is read, in batches; ``convert`` makes arrays of them.

    Raises
    ------
    TypeError, ValueError
        If it can be read only once, or gives nothing, other rows each time, or batches of several widths.
    """
    if not hasattr(batches, "__iter__") or isinstance(batches, Iterator):
        remedy = "Pass a list of batches, a data loader, or an object whose __iter__ starts anew."
        expected = "an iterable of batches that can be read more than once"
        raise TypeError(describe(argument, expected, type(batches).__name__, remedy))
    reader = _Reader(batches, argument, convert or (lambda batch: to_numpy(as_array(batch, argument))))
    kept, step, sizes = reader.survey()
    parts = Parts(argument, sizes, kept[:0], reader.read, sequential=True)
    parts.kept, parts.kept_step = kept, step
    return parts


class _Reader:
    """Batches read in their order, again from the first one where an earlier one is asked for."""

    def __init__(self, batches: Iterable[Any], argument: str, convert: Callable[[Any], Any]) -> None:
        self._batches, self._argument, self._convert = batches, argument, convert
        self._iterator, self._next, self._sizes = iter(()), 1, list[int]()
        self._mark = self._first_mark = 0.0

    def survey(self) -> tuple[npt.NDArray[Any], int, list[int]]:
        """Read all batches once: return each n-th row, that n (a power of two), and how many rows each batch has."""
        kept, step = None, 1
        for array in map(self._convert, self._batches):
            kept = array[:0] if kept is None else kept
            if array.shape[1:] != kept.shape[1:] or array.ndim != kept.ndim:
                expected = "of batches with as many columns each"
                raise ValueError(
                    describe(self._argument, expected, f"{kept.shape[1:]} and {array.shape[1:]}")
                )
            kept = np.concatenate([kept, array[-sum(self._sizes) % step :: step]])
            while len(kept) > KEPT_ROWS or kept.nbytes > max(KEPT_BYTES, 2 * kept[:1].nbytes):
                kept, step = kept[::2].copy(), 2 * step
            self._sizes.append(len(array))
            self._first_mark += _mark(array)
        if kept is None:
            raise ValueError(describe(self._argument, "batches, at least one", "none"))
        return kept, step, self._sizes

    def read(self, number: int) -> Any:
        """Return the batch at a position."""
        if number < self._next:
            self._iterator, self._next, self._mark = iter(self._batches), 0, 0.0
        while True:
            batch = next(self._iterator, None)
            if batch is None:
                rows = sum(self._sizes[: self._next])
                expected = f"the same {sum(self._sizes)} rows each time that it is read"
                raise ValueError(describe(self._argument, expected, f"{rows} rows"))
            array = self._convert(batch)
            self._mark += _mark(array)
            self._next += 1
            if (
                self._next == len(self._sizes)
                and abs(self._mark - self._first_mark) > SAME * self._first_mark
            ):
                remedy = "Shift and shuffle the data before, or keep the batches in a list."
                raise ValueError(
                    describe(self._argument, "the same rows each time that it is read", "others", remedy)
                )
            if self._next > number:
                return array


def _mark(array: npt.NDArray[Any]) -> float:
    """Return a number that tells rows from others, and pairs from others, whatever their order."""
    if array.ndim == 1 or not array.size:
        return float(np.abs(array).sum(dtype=np.float64))
    array = array[..., :: max(1, array.shape[-1] // 64)] if array.ndim > 2 else array
    with np.errstate(over="ignore"):
        return float(np.abs(np.subtract(array[:, 0], array[:, -1], dtype=np.float64)).sum())


def _of_store(stored: Any, argument: str) -> ChunkSource:
    """Return an array in a file, such as one of HDF5 or zarr: it has chunks, and slices are taken of it."""
    row_bytes = max(1, stored.dtype.itemsize * int(np.prod(stored.shape[1:])))
    size = max(1, PART_BYTES // row_bytes)
    if stored.chunks:
        size = max(int(stored.chunks[0]), size - size % int(stored.chunks[0]))
    starts = [*range(0, stored.shape[0], size), stored.shape[0]]
    empty = np.empty((0, *stored.shape[1:]), dtype=stored.dtype)

    def read(number: int) -> Any:
        return np.asarray(stored[starts[number] : starts[number + 1]])

    return ChunkSource(argument, len(starts) - 1, read, empty, np.diff(starts).tolist())


def _of_files(dataset: Any, argument: str) -> ChunkSource:
    """Return the row groups of a dataset of pyarrow: parquet files, a folder of them."""
    groups: list[Any] = []
    for file in dataset.get_fragments():
        with _naming(argument, file.path):
            missing = set(dataset.schema.names) - set(file.physical_schema.names)
            if missing:  # it would be read as cells that are
                raise KeyError(f"no column {min(missing)!r}")
            groups += file.split_by_row_group()

    def read(number: int) -> Any:
        with _naming(argument, groups[number].path):
            return groups[number].to_table(schema=dataset.schema).to_pandas()

    sizes = [sum(part.num_rows for part in group.row_groups) for group in groups]
    empty = dataset.schema.empty_table().to_pandas()
    return ChunkSource(argument, len(groups), read, empty, sizes, names=dataset.schema.names)


def _of_dask(value: Any, argument: str) -> ChunkSource:
    """Return a Dask array or data frame, partition by partition."""
    names, sizes = None, list(getattr(value, "chunks", ((np.nan,),))[0])
    if not hasattr(value, "chunks"):
        names = [str(name) for name in value.columns] if value.ndim == 2 else None
        delayed, empty = value.to_delayed(), value._meta
    else:
        value = value.rechunk(dict.fromkeys(range(1, value.ndim), -1)) if value.ndim > 1 else value
        delayed, empty = value.to_delayed().ravel().tolist(), np.empty((0, *value.shape[1:]), value.dtype)

    def read(number: int) -> Any:
        return computed([delayed[number]], argument)[0]

    known = None if np.isnan(sizes).any() else sizes
    return ChunkSource(argument, len(delayed), read, empty, known, names=names, delayed=list(delayed))


@contextmanager
def _naming(argument: str, path: str) -> Iterator[None]:
    """Name the file that cannot be read."""
    try:
        yield
    except Exception as error:
        cause = " ".join(str(error).split())[:300] or type(error).__name__
        raise ValueError(
            describe(
                argument,
                "parquet files of the same columns",
                repr(path),  # whole: its end names the file
                f"It cannot be read ({cause}).",
            )
        ) from error
