"""Convert any array to NumPy float64, and small numerics on arrays.

Only the map step of a measure sees the user's array library (Python array API standard, through
``array-api-compat``). Whatever a kernel returns is NumPy float64.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Sequence
from numbers import Real
from types import ModuleType
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
import numpy.typing as npt

from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError

Array: TypeAlias = Any
"""An array of any library that follows the array API standard: NumPy, torch, CuPy, ..."""

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

LARGEST_EXACT = 2**53
"""From here on floats do not tell every integer from its neighbours."""


def is_table(value: object) -> bool:
    """Return True if ``value`` is a data frame (pandas, polars, ...): it has named columns."""
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


def is_partitioned(value: object) -> bool:
    """Return True for a collection of Dask, whose rows are in partitions."""
    return hasattr(value, "to_delayed") and hasattr(value, "npartitions")


def check_in_memory(value: object, argument: str) -> None:
    """Refuse collections of Dask, which would be read as an array without names of columns."""
    if is_partitioned(value):
        remedy = "Call compute() on it, or on a sample of its rows."
        raise ArgumentTypeError(argument, "a table in memory", "a collection of Dask", remedy)


def is_in_chunks(value: object) -> bool:
    """Return True if ``value`` is out-of-core data, of which blocks are NumPy arrays (`_core.chunks`)."""
    return getattr(value, "in_chunks", False) is True


def is_labelled(value: object) -> bool:
    """Return True if ``value`` is a pandas object, whose rows carry labels."""
    # Arrays of pyarrow have a method of that name.
    return hasattr(value, "index") and hasattr(value, "to_numpy") and not callable(value.index)


def namespace(*arrays: Array) -> ModuleType:
    """Return the array namespace that all ``arrays`` share.

    Raises
    ------
    TypeError
        If they come from different array libraries.
    """
    here = [np.empty(0) if is_in_chunks(array) else array for array in arrays]
    xp: ModuleType = array_api_compat.array_namespace(*here)
    return xp


def as_array(value: Any, argument: str) -> Array:
    """Accept what users hold: arrays stay as they are, tables, series and lists become NumPy arrays.

    Raises
    ------
    TypeError
        If ``value`` is text, complex, sparse, ragged, or holds objects that are not numbers.
    """
    if is_in_chunks(value):
        return value
    if array_api_compat.is_array_api_obj(value) and not isinstance(value, np.ndarray | np.generic):
        return _foreign_array(value, argument)
    if hasattr(value, "toarray"):  # SciPy's sparse matrices
        raise _sparse_error(value, argument)
    if is_masked(value) and value.dtype.kind in "biuf":
        # A masked value is a missing one.
        value = np.ma.filled(value.astype(np.float64), np.nan)
    elif is_table(value):
        value = _table_to_numpy(value, argument)
    elif hasattr(value, "to_numpy"):
        value = value.to_numpy()
    try:
        array = np.asarray(value)
    except ValueError as error:  # a ragged list
        got = "rows of different lengths"
        remedy = "Give every row the same length."
        raise ArgumentTypeError(argument, "an array of numbers", got, remedy) from error
    except RuntimeError as error:  # a list of tensors that NumPy cannot read
        got = f"a {type(value).__name__} that NumPy cannot read ({error})"
        remedy = "Stack its parts into one array first."
        raise ArgumentTypeError(argument, "an array of numbers", got, remedy) from error
    if array.dtype == object:
        array = _objects_to_float(array, argument)
    if array.dtype.kind not in "biuf":
        raise ArgumentTypeError(argument, "real numbers", f"dtype {array.dtype}", verb="hold")
    return array


def is_masked(value: object) -> bool:
    """Return True if ``value`` is a masked array: there is none where NumPy has not loaded that part of itself."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def unmasked(value: Any) -> npt.NDArray[Any]:
    """Return a masked array as objects, None where it is masked."""
    objects = np.array(value.data, dtype=object)
    objects[np.ma.getmaskarray(value)] = None
    return objects


def to_numpy(array: Array) -> npt.NDArray[Any]:
    """Copy or view ``array`` as NumPy, from whatever device it lives on."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):  # torch, perhaps on an accelerator, perhaps a dtype NumPy lacks
        array = array.detach().cpu()
        if str(array.dtype) == "torch.bfloat16":
            array = array.float()
        return np.asarray(array)
    if array_api_compat.is_cupy_array(array):
        return np.asarray(array.get())
    try:
        return np.asarray(array)
    except (TypeError, ValueError, RuntimeError):
        return np.asarray(np.from_dlpack(array))


def to_float64(array: Array) -> FloatArray:
    """Return ``array`` as NumPy float64."""
    return np.asarray(to_numpy(array), dtype=np.float64)


def is_floating(array: Array) -> bool:
    """Return True if ``array`` holds real floating numbers, torch's half-precision ones included."""
    if isinstance(array, np.ndarray):
        return bool(array.dtype.kind == "f")
    if hasattr(array, "is_floating_point"):
        return bool(array.is_floating_point())
    return bool(namespace(array).isdtype(array.dtype, "real floating"))


def float64_rows(array: Array, rows: slice) -> Array:
    """Take a block of rows as float64, in the array's own library and on its own device.

    Devices without float64 (Apple's MPS) hand the block to NumPy instead: the sums must not lose digits.
    """
    block = array[rows, ...]
    if isinstance(block, np.ndarray):
        return block.astype(np.float64, copy=False)
    xp = namespace(block)
    if getattr(getattr(block, "device", None), "type", None) == "mps":
        return to_float64(block)
    return xp.astype(block, xp.float64, copy=False)


def as_like(values: npt.NDArray[Any], like: Array) -> Array:
    """Return ``values`` in the library and on the device of ``like``."""
    xp = namespace(like)
    return values if xp is namespace(values) else xp.asarray(values, device=like.device)


def take_rows(sample: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Return the rows at these positions, in this order: of an array of any library, a table or a list."""
    if isinstance(sample, np.ndarray):
        return sample[rows]
    if is_labelled(sample):
        return sample.iloc[rows]
    if array_api_compat.is_array_api_obj(sample):
        xp = namespace(sample)
        # A copy: torch warns of arrays that are read-only.
        positions = xp.asarray(rows.copy(), device=array_api_compat.device(sample))
        return xp.take(sample, positions, axis=0)
    if isinstance(sample, Sequence) and not isinstance(sample, str):
        return type(sample)(sample[row] for row in rows)  # type: ignore[call-arg]
    return sample[rows]


def _table_to_numpy(table: Any, argument: str) -> npt.NDArray[Any]:
    """Turn a data frame into one float64 matrix, naming the first column that is not numeric."""
    names = [str(name) for name in table.columns]
    columns = []
    for position, name in enumerate(names):
        column = table.iloc[:, position] if hasattr(table, "iloc") else table[name]
        values = np.asarray(column.to_numpy())
        if values.dtype.kind not in "biufO":
            got = f"column {name!r} of dtype {column.dtype}"
            raise ArgumentTypeError(argument, "real numbers", got, verb="hold")
        if values.dtype == object:
            values = _objects_to_float(values, f"{argument}, column {name!r},")
        columns.append(values)
    if not columns:
        return np.empty((len(table), 0))
    return np.stack(np.broadcast_arrays(*columns), axis=1).astype(np.float64, copy=False)


def _objects_to_float(values: npt.NDArray[Any], argument: str) -> FloatArray:
    """Convert objects that are numbers or missing values (None, NaN, pandas' NA); refuse all others."""
    numbers = np.empty(values.size)
    for position, value in enumerate(values.ravel()):
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            numbers[position] = np.nan
        elif isinstance(value, Real | np.bool_) or type(value).__name__ == "Decimal":
            try:
                numbers[position] = float(value)
            except OverflowError as error:  # an integer beyond the largest float
                expected = "numbers of at most 1.8e308 in size"
                raise ArgumentValueError(argument, expected, value=value, verb="hold") from error
        else:
            raise ArgumentTypeError(argument, "real numbers", value=value, verb="hold")
    return numbers.reshape(values.shape)


def _foreign_array(array: Array, argument: str) -> Array:
    """Check an array of another library than NumPy, and take it out of a gradient graph."""
    layout = getattr(array, "layout", None)
    if layout is not None and str(layout) not in ("torch.strided", "torch.jagged"):
        raise _sparse_error(array, argument)
    if getattr(array, "is_meta", False):
        got = "a tensor on the device meta, which has none"
        raise ArgumentTypeError(argument, "numbers", got, verb="hold")
    if getattr(array, "is_quantized", False):
        got = f"dtype {array.dtype}"
        remedy = "Dequantize it first."
        raise ArgumentTypeError(argument, "real numbers", got, remedy, verb="hold")
    if namespace(array).isdtype(array.dtype, "complex floating"):
        raise ArgumentTypeError(argument, "real numbers", f"dtype {array.dtype}", verb="hold")
    return array.detach() if hasattr(array, "detach") else array


def _sparse_error(value: Any, argument: str) -> ArgumentTypeError:
    got = f"a sparse {type(value).__name__}"
    remedy = "Convert it to a dense array first."
    return ArgumentTypeError(argument, "a dense array", got, remedy)


UNIT_ROUNDOFF = 2.0**-53
"""Largest relative error of one rounded float64 operation."""


def directions(rows: Array) -> Array:
    """Scale rows to length 1: by their largest entry first, so that no square overflows. Rows of zeros stay zero."""
    xp = namespace(rows)
    largest = xp.max(xp.abs(rows), axis=1, keepdims=True)
    rows = rows / xp.where(largest > 0.0, largest, xp.ones_like(largest))
    length = xp.sqrt(xp.sum(rows * rows, axis=1, keepdims=True))
    return rows / xp.where(length > 0.0, length, xp.ones_like(length))


def posteriors(scores: FloatArray, prior: FloatArray, beta: float) -> FloatArray:
    """Return ``p ~ prior exp(beta s)`` over the last axis; ``beta`` may be infinite.

    Parameters
    ----------
    scores : ndarray of shape (..., n_classes)
        Scores whose largest is 0 in each row.
    prior : ndarray of shape (n_classes,)
        Positive.
    beta : float
        Inverse temperature.
    """
    if math.isinf(beta):
        terms = prior * (scores == 0.0)
    else:
        with np.errstate(under="ignore"):
            terms = prior * np.exp(beta * scores)
    return np.asarray(terms / terms.sum(axis=-1, keepdims=True))


def entropy(probabilities: FloatArray) -> float:
    """Entropy in nats of a distribution; zeros count nothing."""
    positive = probabilities[probabilities > 0.0]
    return float(-np.sum(positive * np.log(positive))) + 0.0


class Workspace(threading.local):
    """Buffers that each thread keeps from block to block, so that NumPy kernels allocate nothing large.

    Fresh arrays of some hundred kilobytes cost the operating system more time than the arithmetic on them.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, FloatArray] = {}

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        return Workspace, ()  # buffers do not travel between processes

    def buffer(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        """Return the uninitialised buffer ``name`` in this ``shape``, the same memory at each call."""
        size = math.prod(shape)
        flat = self._buffers.get(name)
        if flat is None or flat.size < size:
            flat = self._buffers[name] = np.empty(size)
        return flat[:size].reshape(shape)
