"""Rows that are not in memory: batches, stored arrays, row groups of parquet files, partitions of Dask collections.

Measures take blocks of rows from `Parts` as they do from an array. Where the rows live decides where a block is
mapped: batches in order and by one thread, stored rows by threads, partitions of Dask on the workers that hold them,
from which nothing but the sums of the blocks comes back.
"""

from __future__ import annotations

import functools
import io
import itertools
import operator
import pickle
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray, as_array, is_in_parts, is_table, to_numpy
from shiftmetrics._core.blocks import PlacedBlocks, map_blocks
from shiftmetrics._core.tables import match_labels
from shiftmetrics._core.validation import check_finite, describe

PART_BYTES = 2 << 20
"""Stored arrays are read in parts of at most so many bytes, or of one chunk."""

SAME = 1e-6
"""Relative difference of two readings of the same batches that rounding may make."""


class Parts:
    """A virtual array behind parts that are read one at a time.

    Parameters
    ----------
    argument : str
        Name for messages.
    sizes : sequence of int
        Rows of each part.
    like : ndarray
        Some rows, perhaps none: the shape of a row, and the type of its numbers.
    read : callable
        Returns the part at a position.
    sequential : bool, default False
        Whether parts must be read in their order, by one thread.
    names : sequence of str, optional
        Of the columns.
    delayed : list, optional
        The parts of a Dask collection.
    """

    in_parts = True

    def __init__(
        self,
        argument: str,
        sizes: Sequence[int],
        like: npt.NDArray[Any],
        read: Callable[[int], Any],
        *,
        sequential: bool = False,
        names: Sequence[str] | None = None,
        delayed: list[Any] | None = None,
    ) -> None:
        self.argument, self.sequential, self.names, self.delayed = argument, sequential, names, delayed
        self.edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.shape: tuple[int, ...] = (int(self.edges[-1]), *like.shape[1:])
        self.dtype, self.ndim, self.key = like.dtype, like.ndim, uuid.uuid4().hex
        self._read, self._order, self.finite = read, None, True
        self._wide, self._all_names = like.shape[1:], names
        self._window = (
            threading.local()
        )  # the first row that this thread still holds, and the rows from there on

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> npt.NDArray[Any]:
        """Return the rows of a slice, or at an array of positions."""
        rows = key[0] if isinstance(key, tuple) else key
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                return self._block(start, max(start, stop))
            rows = np.arange(start, stop, step)
        return self._at(np.asarray(rows))

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        """Return all rows: what has no other way takes them to memory."""
        parts = [self._part(number) for number in range(len(self.edges) - 1)]
        return np.concatenate(parts).astype(dtype or self.dtype, copy=False)

    def select(self, order: list[int]) -> Parts:
        """Return the same rows with other columns."""
        other = object.__new__(Parts)
        order = order if self._order is None else [self._order[column] for column in order]
        names = None if self._all_names is None else [self._all_names[column] for column in order]
        shape = (self.shape[0], len(order))
        other.__dict__.update(
            self.__dict__, _order=order, names=names, shape=shape, _window=threading.local()
        )
        other.key = uuid.uuid4().hex
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Return what a worker needs to know of these rows, beside one of the parts."""
        return {**self.__dict__, "delayed": None, "_read": None, "_window": None}

    def holding(self, number: int, part: Any) -> Parts:
        """Return these rows where one part alone can be read, and is here."""
        self._window = threading.local()
        self._window.rows = int(self.edges[number]), self.checked(part, number)
        return self

    def checked(self, part: Any, number: int) -> npt.NDArray[Any]:
        """Return a part as an array of finite numbers of the shape that was told."""
        array = to_numpy(as_array(part, self.argument))
        first, last = self.edges[number], self.edges[number + 1]
        expected = (int(last - first), *self._wide)
        if array.shape != expected:
            raise ValueError(
                describe(self.argument, f"of shape {expected} in part {number}", f"{array.shape}")
            )
        if self.finite:
            check_finite(array, self.argument, first_row=int(first))
        return array if self._order is None else array[:, self._order]

    def _part(self, number: int) -> npt.NDArray[Any]:
        return self.checked(self._read(number), number)

    def _block(self, start: int, stop: int) -> npt.NDArray[Any]:
        first, held = getattr(self._window, "rows", (0, None))
        if held is None or not first <= start <= first + len(held):
            number = max(0, int(np.searchsorted(self.edges, start, side="right")) - 1)
            first, held = int(self.edges[min(number, len(self.edges) - 2)]), np.empty((0, *self.shape[1:]))
        end = first + len(held)
        pieces = [held[start - first :]] if end > start else []
        while end < stop:
            number = int(np.searchsorted(self.edges, end, side="right")) - 1
            pieces.append(self._part(number)[max(start - end, 0) :])
            end = int(self.edges[number + 1])
        if pieces:
            held = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
            self._window.rows = start, held
        return held[: stop - start]

    def _at(self, positions: IntArray) -> npt.NDArray[Any]:
        found = np.empty((len(positions), *self.shape[1:]), dtype=self.dtype)
        numbers = np.searchsorted(self.edges, positions, side="right") - 1
        here = {int(number): np.flatnonzero(numbers == number) for number in np.unique(numbers)}
        rows = {number: positions[where] - self.edges[number] for number, where in here.items()}
        if self.delayed is None:
            taken: Iterable[Any] = (self._part(number)[part] for number, part in rows.items())
        else:
            take = _dask().delayed(_rows_of, pure=False)
            tasks = [take(self.delayed[number], part) for number, part in rows.items()]
            arrays = (to_numpy(as_array(part, self.argument)) for part in _computed(tasks, self.argument))
            taken = (part if self._order is None else part[:, self._order] for part in arrays)
        for where, part in zip(here.values(), taken, strict=True):
            found[where] = part
        return found


class Side:
    """One of the two samples of `Parts` whose rows are pairs."""

    in_parts, delayed, names = True, None, None

    def __init__(self, pairs: Parts, number: int) -> None:
        self._pairs, self._number = pairs, number
        self.sequential, self.dtype, self.ndim = pairs.sequential, pairs.dtype, pairs.ndim - 1
        self.shape: tuple[int, ...] = (pairs.shape[0], *pairs.shape[2:])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> npt.NDArray[Any]:
        """Return rows, as of `Parts`."""
        return self._pairs[key][:, self._number]


def in_parts(value: Any, argument: str) -> Any:
    """Return rows that are not in memory as `Parts`; everything else as it is.

    Raises
    ------
    TypeError, ValueError
        If batches can be read only once, or parts differ in their columns.
    """
    if hasattr(value, "to_delayed") and hasattr(value, "npartitions"):
        return _of_dask(value, argument)
    if hasattr(value, "get_fragments"):
        return _of_files(value, argument)
    if hasattr(value, "chunks") and hasattr(value, "dtype") and not hasattr(value, "to_numpy"):
        return _of_store(value, argument)
    return of_batches(value, argument) if is_batches(value) else value


def pair_in_parts(first: Any, second: Any, first_name: str, second_name: str, *, paired: bool) -> Any:
    """Return two samples, both in `Parts` if one is, with columns in the order of the first.

    Raises
    ------
    TypeError, ValueError
        As in `in_parts`; also if names of columns differ, or partitions of pairs do.
    """
    first, second = in_parts(first, first_name), in_parts(second, second_name)
    if any(isinstance(side, Parts) and side.delayed is not None for side in (first, second)):
        for side, name in ((first, first_name), (second, second_name)):
            if not isinstance(side, Parts) or side.delayed is None:
                expected = "a Dask collection like the other sample"
                remedy = "Make one with dask.array.from_array, or compute the other."
                raise TypeError(describe(name, expected, type(side).__name__, remedy))
        if paired and not np.array_equal(first.edges, second.edges):
            expected = f"in {len(first.edges) - 1} partitions of rows like {first_name}, of the same sizes"
            sizes = np.diff(second.edges).tolist()
            got = f"{len(sizes)} of sizes {sizes[:5]}"
            raise ValueError(describe(second_name, expected, got, "Rechunk or repartition one of them."))
    names, others = (getattr(side, "names", None) for side in (first, second))
    if names is not None and others is not None and names != others:
        second = second.select(match_labels(names, others, first_name, second_name, "columns", None))
    return first, second


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
    empty, sizes = reader.survey()
    return Parts(argument, sizes, empty, reader.read, sequential=True)


class _Reader:
    """Batches read in their order, again from the first one where an earlier one is asked for."""

    def __init__(self, batches: Iterable[Any], argument: str, convert: Callable[[Any], Any]) -> None:
        self._batches, self._argument, self._convert = batches, argument, convert
        self._iterator, self._next, self._sizes = iter(()), 1, list[int]()
        self._mark = self._first_mark = 0.0

    def survey(self) -> tuple[npt.NDArray[Any], list[int]]:
        """Read all batches once: return an array of no rows like theirs, and how many rows each has."""
        empty = None
        for array in map(self._convert, self._batches):
            empty = array[:0] if empty is None else empty
            if array.shape[1:] != empty.shape[1:] or array.ndim != empty.ndim:
                expected = "of batches with as many columns each"
                raise ValueError(
                    describe(self._argument, expected, f"{empty.shape[1:]} and {array.shape[1:]}")
                )
            self._sizes.append(len(array))
            self._first_mark += _mark(array)
        if empty is None:
            raise ValueError(describe(self._argument, "batches, at least one", "none"))
        return empty, self._sizes

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
    with np.errstate(over="ignore"):
        return float(np.abs(np.subtract(array[:, 0], array[:, -1], dtype=np.float64)).sum())


def _of_store(stored: Any, argument: str) -> Parts:
    """Return an array in a file, such as one of HDF5 or zarr: it has chunks, and slices are taken of it."""
    row_bytes = max(1, stored.dtype.itemsize * int(np.prod(stored.shape[1:])))
    size = max(1, PART_BYTES // row_bytes)
    if stored.chunks:
        size = max(int(stored.chunks[0]), size - size % int(stored.chunks[0]))
    starts = [*range(0, stored.shape[0], size), stored.shape[0]]
    like = np.empty((0, *stored.shape[1:]), dtype=stored.dtype)
    return Parts(
        argument, np.diff(starts).tolist(), like, lambda k: np.asarray(stored[starts[k] : starts[k + 1]])
    )


def _of_files(dataset: Any, argument: str) -> Parts:
    """Return the row groups of a dataset of pyarrow: parquet files, a folder of them."""
    groups: list[Any] = []
    for file in dataset.get_fragments():
        with _naming(argument, file.path):
            groups += file.split_by_row_group()
    like = as_array(dataset.schema.empty_table().to_pandas(), argument)

    def read(number: int) -> Any:
        with _naming(argument, groups[number].path):
            return groups[number].to_table(schema=dataset.schema).to_pandas()

    sizes = [sum(part.num_rows for part in group.row_groups) for group in groups]
    return Parts(argument, sizes, like, read, names=dataset.schema.names)


def _of_dask(value: Any, argument: str) -> Parts:
    """Return a Dask array or data frame, partition by partition."""
    names, sizes = None, list(getattr(value, "chunks", ((np.nan,),))[0])
    if not hasattr(value, "chunks"):
        names = [str(name) for name in value.columns] if value.ndim == 2 else None
        delayed, like = value.to_delayed(), as_array(value._meta, argument)
    elif value.ndim not in (1, 2):
        raise ValueError(
            describe(argument, "a Dask array of one or two dimensions", f"{value.ndim} dimensions")
        )
    else:
        value = value.rechunk({1: -1}) if value.ndim == 2 and value.numblocks[1] > 1 else value
        delayed, like = value.to_delayed().ravel().tolist(), np.empty((0, *value.shape[1:]), value.dtype)
    if np.isnan(sizes).any():  # of rows that were filtered, or of files: one pass counts them
        sizes = list(_computed([_dask().delayed(len, pure=False)(part) for part in delayed], argument))

    def read(number: int) -> Any:
        return _computed([delayed[number]], argument)[0]

    return Parts(argument, sizes, to_numpy(like), read, names=names, delayed=delayed)


def placed(blocks: list[slice], *samples: Sequence[Any]) -> list[slice]:
    """Return blocks that are mapped where their rows live.

    Parameters
    ----------
    blocks : list of slice
        One after the other, none across the end of a sample.
    *samples : sequence of array
        The arrays that hold the rows of each sample, which follow each other; those of one sample are cut alike.
    """
    arrays = [array for sample in samples for array in sample]
    if not any(is_in_parts(array) for array in arrays):
        return blocks
    if any(getattr(array, "sequential", False) for array in arrays):
        return PlacedBlocks(blocks, lambda kernel, _reduce, _executor: map(kernel, blocks))
    jobs, first = list[_Job](), 0
    for sample in samples:
        edges = getattr(sample[0], "edges", np.array([0, len(sample[0])])) + first
        for number, (start, stop) in enumerate(itertools.pairwise(edges.tolist())):
            inside = [block for block in blocks if block.start < stop and block.stop > start]
            cut = [slice(max(block.start, start), min(block.stop, stop)) for block in inside]
            if cut and stop > start:
                jobs.append(_Job(cut, number, sample))
        first += len(sample[0])
    run = _on_workers if any(getattr(array, "delayed", None) is not None for array in arrays) else _in_threads
    return PlacedBlocks([block for job in jobs for block in job.blocks], functools.partial(run, jobs))


class _Job(NamedTuple):
    """The blocks of one part of a sample."""

    blocks: list[slice]
    number: int
    arrays: Sequence[Any]


def _in_threads(
    jobs: list[_Job], kernel: Callable[[slice], Any], _reduce: bool, executor: Executor | None
) -> Iterator[Any]:
    """Map the blocks of each part by one thread, which reads it once."""

    def run(place: slice) -> list[Any]:
        return [kernel(block) for block in jobs[place.start].blocks]

    places = [slice(number, number + 1) for number in range(len(jobs))]
    return itertools.chain.from_iterable(map_blocks(run, places, executor=executor))


def _on_workers(
    jobs: list[_Job], kernel: Callable[[slice], Any], reduce: bool, _executor: Executor | None
) -> Iterator[Any]:
    """Map the blocks of each partition by one task of Dask; with ``reduce`` only the sum of a task comes back."""
    shipped = _dask().delayed(_pack(kernel), pure=False)
    run = _dask().delayed(_run, pure=False)
    tasks = []
    for blocks, number, arrays in jobs:
        ends = np.array([(block.start, block.stop) for block in blocks])
        keys, data = [array.key for array in arrays], [array.delayed[number] for array in arrays]
        tasks.append(run(shipped, ends, reduce, number, keys, data))
    return itertools.chain.from_iterable(_computed(tasks, jobs[0].arrays[0].argument))


def _run(
    shipped: bytes, blocks: IntArray, reduce: bool, number: int, keys: list[str], data: list[Any]
) -> list[Any]:
    """Map a kernel over blocks of one partition, on a worker."""
    kernel = _Unpickler(shipped, number, dict(zip(keys, data, strict=True))).load()
    found = (kernel(slice(start, stop)) for start, stop in blocks.tolist())
    return [functools.reduce(operator.add, found)] if reduce else list(found)


def _pack(kernel: Callable[[slice], Any]) -> bytes:
    """Pickle a kernel without the rows that it reads: `_run` puts in those of the partition."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, value: Any) -> bytes | None:
            return pickle.dumps(value) if isinstance(value, Parts) else None

    file = io.BytesIO()
    Pickler(file).dump(kernel)
    return file.getvalue()


class _Unpickler(pickle.Unpickler):
    def __init__(self, shipped: bytes, number: int, data: dict[str, Any]) -> None:
        super().__init__(io.BytesIO(shipped))
        self._number, self._data, self._known = number, data, dict[bytes, Parts]()

    def persistent_load(self, known: bytes) -> Parts:
        if known not in self._known:
            parts: Parts = pickle.loads(known)
            held = parts.key in self._data
            self._known[known] = parts.holding(self._number, self._data[parts.key]) if held else parts
        return self._known[known]


def _rows_of(part: Any, rows: IntArray) -> Any:
    return part.iloc[rows] if hasattr(part, "iloc") else part[rows]


def _dask() -> Any:
    return sys.modules["dask"]  # who holds a collection of Dask has loaded it


def _computed(tasks: list[Any], argument: str) -> Sequence[Any]:
    """Compute tasks on the scheduler of Dask that is active."""
    try:
        return cast(Sequence[Any], _dask().compute(*tasks, traverse=False))
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        raise ConnectionError(
            f"{argument} must be in partitions that workers can hold, got one of which several workers died. "
            "Take smaller partitions, or workers with more memory."
        ) from error


@contextmanager
def _naming(argument: str, path: str) -> Iterator[None]:
    """Name the file that cannot be read."""
    try:
        yield
    except Exception as error:
        cause = " ".join(str(error).split())[:300] or type(error).__name__
        raise ValueError(
            describe(
                argument, "parquet files of the same columns", repr(path), f"It cannot be read ({cause})."
            )
        ) from error
