"""Make `Chunks` of out-of-core data: batches, stored arrays, files of parquet, collections of Dask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import as_array, is_partitioned, is_table, to_numpy
from shiftmetrics._core.chunks import COPIES, Chunks, computed
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.options import check_memory, check_memory_limit
from shiftmetrics._core.tables import match_labels

CHUNK_BYTES = 2 << 20
"""Stored arrays are read in chunks of at most so many bytes, or one of their own chunks where that is larger."""

SAME = 1e-6
"""Relative difference of two readings of the same batches that rounding may make."""

_NO_BATCHES = (str, bytes, bytearray, memoryview, range, set, frozenset)

TEXT_BYTES = 100
"""Bytes of a string in a column of strings, about."""

KEPT_ROWS = 2000
KEPT_BYTES = 16 << 20
"""Rows of batches that stay in memory, at most, evenly over all: a first look that costs no reading."""


def chunks_of(value: Any, argument: str) -> Chunks | None:
    """Return Dask collections, files or stored arrays as they are stored; None for anything else."""
    if is_partitioned(value):
        return _of_dask(value, argument)
    if hasattr(value, "get_fragments"):
        return _of_files(value, argument)
    if hasattr(value, "chunks") and hasattr(value, "dtype") and not hasattr(value, "to_numpy"):
        return _of_store(value, argument)
    return None


def chunks_of_rows(value: Any, argument: str) -> Chunks | None:
    """Return rows as `chunks_of` does, and batches but for lists, which may be rows of several axes."""
    if is_batches(value) and not isinstance(value, list | tuple):
        return of_batches(value, argument)
    return chunks_of(value, argument)


def in_chunks(value: Any, argument: str) -> Any:
    """Return out-of-core data as `Chunks`; everything else as it is.

    Raises
    ------
    TypeError, ValueError
        If batches can be read only once, or chunks differ in their columns.
    """
    chunks = chunks_of(value, argument)
    if chunks is not None:
        return chunks
    if is_batches(value):
        return of_batches(value, argument)
    return value


def gathered(value: Any, argument: str, memory_limit: int | None) -> Any:
    """Return out-of-core rows in memory, for what has no other way; everything else as it is.

    Raises
    ------
    MemoryError
        If they take more than the limit: their size is known before they are read.
    """
    chunks = chunks_of_rows(value, argument)
    if chunks is None:
        return value
    if hasattr(chunks.empty, "dtypes") and is_table(chunks.empty):
        row_bytes = sum(TEXT_BYTES if dtype.kind == "O" else 8 for dtype in chunks.empty.dtypes)
    else:
        empty = np.asarray(chunks.empty)
        row_bytes = empty.dtype.itemsize * int(np.prod(empty.shape[1:]))
    # The rows as they are read, and joined.
    needed = 2 * row_bytes * len(chunks)
    remedy = "Take fewer rows; model_stability leaves rows where they are."
    what = f"{argument}, of {len(chunks)} rows that are not in memory,"
    check_memory(needed, check_memory_limit(memory_limit), what, remedy)
    parts = chunks.map(_as_it_is)
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    return np.concatenate(parts)


def _as_it_is(chunk: Any) -> Any:
    return chunk


def pair_in_chunks(
    first: Any, second: Any, first_name: str, second_name: str, *, paired: bool
) -> Any:
    """Return two samples, both in `Chunks` if one is, with columns in the order of the first.

    Raises
    ------
    TypeError, ValueError
        As in `in_chunks`; also if names of columns differ, or partitions of pairs do.
    """
    first = in_chunks(first, first_name)
    second = in_chunks(second, second_name)
    check_cut_alike(first, second, first_name, second_name, paired=paired)
    names = getattr(first, "names", None)
    others = getattr(second, "names", None)
    if names is not None and others is not None and names != others:
        second = second.select(
            match_labels(names, others, first_name, second_name, "columns", None)
        )
    return first, second


def check_cut_alike(
    first: Any, second: Any, first_name: str, second_name: str, *, paired: bool = True
) -> None:
    """Refuse one collection of Dask without another, and pairs whose partitions differ."""
    first_is_dask = isinstance(first, Chunks) and first.delayed is not None
    second_is_dask = isinstance(second, Chunks) and second.delayed is not None
    if not first_is_dask and not second_is_dask:
        return
    # A worker needs the rows of both, so both must be where workers can get at them.
    remedy = "Make one with dask.array.from_array, or compute the other."
    if not first_is_dask:
        expected = f"a Dask collection like {second_name}"
        raise ArgumentTypeError(first_name, expected, type(first).__name__, remedy)
    if not second_is_dask:
        expected = f"a Dask collection like {first_name}"
        raise ArgumentTypeError(second_name, expected, type(second).__name__, remedy)
    if paired and not np.array_equal(first.edges, second.edges):
        expected = f"in {first.n_chunks} partitions of rows like {first_name}, of the same sizes"
        sizes = np.diff(second.edges).tolist()
        got = f"{len(sizes)} of sizes {sizes[:5]}"
        raise ArgumentValueError(second_name, expected, got, "Rechunk or repartition one of them.")


def is_batches(value: Any) -> bool:
    """Return True if ``value`` is an iterable of batches rather than one array, table or list of rows."""
    if is_table(value):
        return False
    if any(hasattr(value, name) for name in ("shape", "__array__", "to_numpy", "keys")):
        return False
    # A list of matrices is one of batches; of vectors or numbers, one of rows.
    if isinstance(value, list | tuple):
        return bool(value) and getattr(value[0], "ndim", 0) == 2
    return isinstance(value, Iterable) and not isinstance(value, _NO_BATCHES)


def of_batches(batches: Any, argument: str, convert: Callable[[Any], Any] | None = None) -> Chunks:
    """Return an iterable that gives the same rows each time it is read, in batches; ``convert`` makes arrays of them.

    Raises
    ------
    TypeError, ValueError
        If it can be read only once, or gives nothing, other rows each time, or batches of several widths.
    """
    if not hasattr(batches, "__iter__") or isinstance(batches, Iterator):
        remedy = "Pass a list of batches, a data loader, or an object whose __iter__ starts again."
        expected = "an iterable of batches that can be read more than once"
        raise ArgumentTypeError(argument, expected, type(batches).__name__, remedy)
    if convert is None:

        def convert(batch: Any) -> Any:
            return to_numpy(as_array(batch, argument))

    reader = _ChunkSource(batches, argument, convert)
    kept, step, sizes = reader.survey()
    chunks = Chunks(argument, reader.read, kept[:0], sizes=sizes, sequential=True)
    chunks.kept = kept
    chunks.kept_step = step
    return chunks


class _ChunkSource:
    """Batches read in their order, again from the first one where an earlier one is asked for."""

    def __init__(
        self, batches: Iterable[Any], argument: str, convert: Callable[[Any], Any]
    ) -> None:
        self._batches = batches
        self._argument = argument
        self._convert = convert
        self._iterator: Iterator[Any] = iter(())
        self._next = 1  # the position of the next batch; no batch is before the first reading
        self._sizes: list[int] = []
        self._mark = 0.0
        self._first_mark = 0.0

    def survey(self) -> tuple[npt.NDArray[Any], int, list[int]]:
        """Read all batches once: return each n-th row, that n (a power of two), and how many rows each batch has."""
        kept = None
        step = 1
        for array in map(self._convert, self._batches):
            if array.ndim == 0:
                got = f"single values from a {type(self._batches).__name__}"
                raise ArgumentValueError(self._argument, "batches of rows, or an array", got)
            if kept is None:
                kept = array[:0]
            if array.shape[1:] != kept.shape[1:] or array.ndim != kept.ndim:
                expected = "of batches with as many columns each"
                raise ArgumentValueError(
                    self._argument, expected, f"{kept.shape[1:]} and {array.shape[1:]}"
                )
            # Rows 0, step, 2 step, ... of all batches: where n rows came before, the first of them here is at
            # -n mod step.
            first = -sum(self._sizes) % step
            kept = np.concatenate([kept, array[first::step]])
            # Too many rows are kept: drop every second one, and keep half as many of the rows to come.
            # Two rows may stay whatever their size: halving one row leaves that row, and would never end.
            while len(kept) > KEPT_ROWS or kept.nbytes > max(KEPT_BYTES, 2 * kept[:1].nbytes):
                kept = kept[::2].copy()
                step = 2 * step
            self._sizes.append(len(array))
            self._first_mark += _mark(array)
        if kept is None:
            raise ArgumentValueError(self._argument, "batches, at least one", "none")
        return kept, step, self._sizes

    def read(self, number: int) -> Any:
        """Return the batch at a position."""
        if number < self._next:
            self._iterator = iter(self._batches)
            self._next = 0
            self._mark = 0.0
        while True:
            batch = next(self._iterator, None)
            if batch is None:
                rows = sum(self._sizes[: self._next])
                expected = f"the same {sum(self._sizes)} rows each time that it is read"
                raise ArgumentValueError(self._argument, expected, f"{rows} rows")
            array = self._convert(batch)
            self._mark += _mark(array)
            self._next += 1
            # At the last batch, compare the marks of this reading with those of the first one.
            differs = abs(self._mark - self._first_mark) > SAME * self._first_mark
            if self._next == len(self._sizes) and differs:
                remedy = "Shift and shuffle the data before, or keep the batches in a list."
                raise ArgumentValueError(
                    self._argument, "the same rows each time that it is read", "others", remedy
                )
            if self._next > number:
                return array


def _mark(array: npt.NDArray[Any]) -> float:
    """Return a number that is equal for permutations of the same rows, and differs for almost all other rows.

    It sums differences of the first and last column (of arrays of more axes: of the first and last of up to 64
    columns), so that shuffled batches pass, and batches that are augmented at random do not.
    """
    if array.ndim == 1 or not array.size:
        return float(np.abs(array).sum(dtype=np.float64))
    if array.ndim > 2:
        array = array[..., :: max(1, array.shape[-1] // 64)]
    with np.errstate(over="ignore"):
        return float(np.abs(np.subtract(array[:, 0], array[:, -1], dtype=np.float64)).sum())


def _of_store(stored: Any, argument: str) -> Chunks:
    """Return an array in a file, such as one of HDF5 or zarr: it has chunks, and slices are taken of it."""
    row_bytes = max(1, stored.dtype.itemsize * int(np.prod(stored.shape[1:])))
    size = max(1, CHUNK_BYTES // row_bytes)
    if stored.chunks:
        # Whole chunks of the file: each is decompressed once.
        size = max(int(stored.chunks[0]), size - size % int(stored.chunks[0]))
    starts = [*range(0, stored.shape[0], size), stored.shape[0]]
    empty = np.empty((0, *stored.shape[1:]), dtype=stored.dtype)

    def read(number: int) -> Any:
        with _naming(argument, f"rows {starts[number]} to {starts[number + 1]}", "a stored array"):
            return np.asarray(stored[starts[number] : starts[number + 1]])

    return Chunks(argument, read, empty, sizes=np.diff(starts).tolist())


def _of_files(dataset: Any, argument: str) -> Chunks:
    """Return the row groups of a dataset of pyarrow: parquet files, a folder of them."""
    groups: list[Any] = []
    for file in dataset.get_fragments():
        with _naming(argument, file.path):
            missing = set(dataset.schema.names) - set(file.physical_schema.names)
            if missing:  # the column would be read as missing cells
                raise KeyError(f"no column {min(missing)!r}")
            groups += file.split_by_row_group()

    def read(number: int) -> Any:
        with _naming(argument, groups[number].path):
            return groups[number].to_table(schema=dataset.schema).to_pandas()

    sizes = [sum(part.num_rows for part in group.row_groups) for group in groups]
    # Repeated values are stored once: a small file may unpack to a large table.
    stored = [sum(part.total_byte_size for part in group.row_groups) for group in groups]
    largest = max([*stored, 8 * len(dataset.schema.names) * max(sizes, default=0)])
    what = f"{argument}, a row group of {max(sizes, default=0)} rows,"
    check_memory(COPIES * largest, check_memory_limit(None), what, "Write smaller row groups.")
    empty = dataset.schema.empty_table().to_pandas()
    return Chunks(argument, read, empty, sizes=sizes, names=dataset.schema.names)


def _of_dask(value: Any, argument: str) -> Chunks:
    """Return a Dask array or data frame, partition by partition."""
    names = None
    sizes = None
    counted = None
    if hasattr(value, "chunks"):
        if value.ndim > 1:  # whole rows in each partition
            value = value.rechunk(dict.fromkeys(range(1, value.ndim), -1))
        delayed = value.to_delayed().ravel().tolist()
        empty = np.empty((0, *value.shape[1:]), value.dtype)
        if not np.isnan(value.chunks[0]).any():  # rows that were filtered are of unknown number
            sizes = list(value.chunks[0])
    else:
        delayed = list(value.to_delayed())
        if len(delayed) != value.npartitions:
            # Dask joins small files where few of their columns are read. Two projections of one frame would then be
            # cut differently: only the columns are pushed down to the files, and each file stays a partition.
            delayed = _projected(value)
        empty = value._meta
        if value.ndim == 2:
            names = [str(name) for name in value.columns]
            # One column tells how many rows there are.
            first = _projected(value[[value.columns[0]]]) if len(names) > 1 else []
            counted = first if len(first) == len(delayed) else None

    def read(number: int) -> Any:
        return computed([delayed[number]], argument)[0]

    chunks = Chunks(argument, read, empty, sizes=sizes, names=names, delayed=delayed)
    chunks.counted = counted
    # What workers keep already, by `persist`, is not kept twice.
    chunks.may_keep = not any(type(task).__name__ == "Future" for task in dict(value.dask).values())
    return chunks


def _projected(frame: Any) -> list[Any]:
    """Return the partitions of a data frame of Dask, each with its needed columns alone."""
    if not hasattr(frame, "simplify"):  # before 2024.3 no files were joined
        return list(frame.to_delayed())
    return list(frame.simplify().to_delayed(optimize_graph=False))


@contextmanager
def _naming(
    argument: str, path: str, expected: str = "parquet files of the same columns"
) -> Iterator[None]:
    """Name the file, or the part of one, that cannot be read."""
    try:
        yield
    except Exception as error:
        cause = " ".join(str(error).split())[:300] or type(error).__name__
        remedy = f"It cannot be read ({cause})."
        # The path is shown whole: its end names the file.
        raise ArgumentValueError(argument, expected, repr(path), remedy) from error
