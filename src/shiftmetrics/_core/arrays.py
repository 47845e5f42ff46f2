"""Convert any array to NumPy float64.

Only the map step of a measure sees the user's array library (Python array API standard, through
``array-api-compat``). Whatever a kernel returns is NumPy float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from types import ModuleType
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
import numpy.typing as npt

Array: TypeAlias = Any
"""An array of any library that follows the array API standard: NumPy, torch, CuPy, ..."""

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


def is_table(value: object) -> bool:
    """Tell whether ``value`` is a data frame (pandas, polars, ...): it has named columns."""
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


def is_in_parts(value: object) -> bool:
    """Tell whether ``value`` is rows that are not in memory, of which blocks are NumPy arrays (`_core.parts`)."""
    return getattr(value, "in_parts", False) is True


def is_labelled(value: object) -> bool:
    """Tell whether ``value`` is a pandas object, whose rows carry labels."""
    return hasattr(value, "index") and hasattr(value, "to_numpy") and not callable(value.index)


def namespace(*arrays: Array) -> ModuleType:
    """Return the array namespace that all ``arrays`` share.

    Raises
    ------
    TypeError
        If they come from different array libraries.
    """
    here = [np.empty(0) if is_in_parts(array) else array for array in arrays]
    xp: ModuleType = array_api_compat.array_namespace(*here)
    return xp


def as_array(value: Any, argument: str) -> Array:
    """Accept what users hold: arrays stay as they are, tables, series and lists become NumPy arrays.

    Raises
    ------
    TypeError
        If ``value`` is text, complex, sparse, ragged, or holds objects that are not numbers.
    """
    if is_in_parts(value):
        return value
    if array_api_compat.is_array_api_obj(value) and not isinstance(value, np.ndarray | np.generic):
        return _foreign_array(value, argument)
    if hasattr(value, "toarray"):  # SciPy's sparse matrices
        raise _sparse_error(value, argument)
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)  # a masked value is a missing one
    elif is_table(value):
        value = _table_to_numpy(value, argument)
    elif hasattr(value, "to_numpy"):
        value = value.to_numpy()
    try:
        array = np.asarray(value)
    except ValueError as error:  # a ragged list
        raise TypeError(
            f"{argument} must be an array of numbers, got rows of different lengths. Give every row the same length."
        ) from error
    except RuntimeError as error:  # a list of tensors that NumPy cannot read
        raise TypeError(
            f"{argument} must be an array of numbers, got a {type(value).__name__} that NumPy cannot read ({error}). "
            "Stack its parts into one array first."
        ) from error
    if array.dtype == object:
        array = _objects_to_float(array, argument)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{argument} must hold real numbers, got dtype {array.dtype}.")
    return array


def to_numpy(array: Array) -> npt.NDArray[Any]:
    """Copy or view ``array`` as NumPy, from whatever device it lives on."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):  # torch, perhaps on an accelerator, perhaps a dtype NumPy lacks
        array = array.detach().cpu()
        return np.asarray(array.float() if str(array.dtype) == "torch.bfloat16" else array)
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
    """Tell whether ``array`` holds real floating numbers, torch's half-precision ones included."""
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
            raise TypeError(
                f"{argument} must hold real numbers, got column {name!r} of dtype {column.dtype}."
            )
        columns.append(
            _objects_to_float(values, f"{argument}, column {name!r},") if values.dtype == object else values
        )
    if not columns:
        return np.empty((len(table), 0))
    return np.stack(np.broadcast_arrays(*columns), axis=1).astype(np.float64, copy=False)


def _objects_to_float(values: npt.NDArray[Any], argument: str) -> FloatArray:
    """Convert objects that are numbers or missing values (None, NaN, pandas' NA); refuse all others."""
    numbers = np.empty(values.size)
    for position, value in enumerate(values.ravel()):
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            numbers[position] = np.nan
        elif isinstance(value, Real | Decimal | np.bool_):
            numbers[position] = float(value)
        else:
            raise TypeError(f"{argument} must hold real numbers, got {_shortened(value)}.")
    return numbers.reshape(values.shape)


def _foreign_array(array: Array, argument: str) -> Array:
    """Check an array of another library than NumPy, and take it out of a gradient graph."""
    layout = getattr(array, "layout", None)
    if layout is not None and str(layout) not in ("torch.strided", "torch.jagged"):
        raise _sparse_error(array, argument)
    if namespace(array).isdtype(array.dtype, "complex floating"):
        raise TypeError(f"{argument} must hold real numbers, got dtype {array.dtype}.")
    return array.detach() if hasattr(array, "detach") else array


def _sparse_error(value: Any, argument: str) -> TypeError:
    return TypeError(
        f"{argument} must be a dense array, got a sparse {type(value).__name__}. Convert it to a dense array first."
    )


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
