"""Files to arrays and data frames: csv, parquet, npy, npz, and Python objects.

Only what was named as a Python object, ``scores.joblib`` or ``module:attribute``, may run code when it is opened.
"""

from __future__ import annotations

import csv
import gzip
import zipfile
import zlib
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics.tools.cli.sources import OBJECT_SUFFIX, Source, as_content, load_attribute, load_file

PICKLE_REFUSAL = (
    "holds pickled Python objects, which can run code when they are opened, so it is refused. "
    "Save plain numbers or texts instead, for instance numpy.save(path, array.astype(float))."
)


def read_source(source: Source) -> Any:
    """Return a NumPy array (npy, npz), a pandas DataFrame (csv, parquet), or either of them (Python objects).

    Raises
    ------
    ValueError
        If the file is empty, truncated, not what its suffix says, or holds pickled objects.
    """
    if source.is_attribute:
        return as_content(load_attribute(str(source.path), source.argument), source.argument)
    if source.suffix == OBJECT_SUFFIX:
        return as_content(load_file(source.path, source.argument)[0], source.argument)
    if source.is_table:
        if source.index:
            raise ValueError(
                f"{source.argument} must have an index only in .npy and .npz files, got {source}."
            )
        return _read_parquet(source) if source.suffix == ".parquet" else _read_csv(source)
    array = _read_npy(source) if source.suffix == ".npy" else _read_npz(source)
    return _take(array, source)


def _read_csv(source: Source) -> Any:
    import pandas as pd

    opener = gzip.open if source.suffix == ".csv.gz" else open
    try:
        with opener(source.path, "rt", encoding="utf-8-sig", newline="") as file:
            first_line = file.readline()
        separator = _separator(first_line)
        names = next(csv.reader([first_line], delimiter=separator), [])
        header: int | None = None if _is_data(names) else 0
        frame = pd.read_csv(source.path, sep=separator, header=header, encoding="utf-8-sig", low_memory=False)
    except (
        OSError,
        EOFError,
        UnicodeError,
        zlib.error,
        pd.errors.ParserError,
        pd.errors.EmptyDataError,
    ) as error:
        raise _broken(source, "a csv file", error) from error
    if header is None:
        frame.columns = [str(position) for position in range(frame.shape[1])]
    else:
        _check_names(source, names)
        frame.columns = [str(name) for name in frame.columns]
    if frame.empty:
        raise ValueError(
            f"{source.argument} must hold rows of numbers, got {source.path.name} with none below its header."
        )
    return frame


def _separator(line: str) -> str:
    """Comma, unless the first line has none and has semicolons or tabs."""
    return "," if "," in line else next((mark for mark in (";", "\t") if mark in line), ",")


def _is_data(names: list[str]) -> bool:
    """Tell whether the first line holds numbers; names 0, 1, 2, ... are a header."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    first = numbers[0] if numbers else 0.0
    return bool(numbers) and not (
        len(numbers) > 1 and first in (0.0, 1.0) and numbers == [first + i for i in range(len(numbers))]
    )


def _check_names(source: Source, names: list[str]) -> None:
    repeated = next((name for name in names if name and names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"{source.argument} must have columns with distinct names, got {repeated!r} twice.")


def _read_parquet(source: Source) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            f"{source.argument} is a parquet file, which needs pyarrow: pip install 'shiftmetrics[parquet]'."
        ) from error
    try:
        frame = pyarrow.parquet.read_table(source.path).to_pandas()
    except (OSError, pyarrow.ArrowException) as error:
        raise _broken(source, "a parquet file", error) from error
    frame.columns = [str(name) for name in frame.columns]
    return frame


def _read_npy(source: Source) -> npt.NDArray[Any]:
    try:
        with source.path.open("rb") as file:
            _, dtype = _npy_header(file)
        if not dtype.hasobject:
            # A memory map: blocks of rows are read as they are needed.
            return np.asanyarray(np.load(source.path, mmap_mode="r", allow_pickle=False))
    except (OSError, EOFError, ValueError) as error:
        raise _broken(source, "an .npy file", error) from error
    raise ValueError(f"{source.argument}: {source.path.name} {PICKLE_REFUSAL}")


def _read_npz(source: Source) -> npt.NDArray[Any]:
    headers = _npz_headers(source)
    key = _choose_key(source, headers)
    if headers[key][1].hasobject:
        raise ValueError(f"{source.argument}: the array {key!r} of {source.path.name} {PICKLE_REFUSAL}")
    try:
        with np.load(source.path, allow_pickle=False) as arrays:
            return np.asarray(arrays[key])
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise _broken(source, "an .npz file", error) from error


def _npz_headers(source: Source) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """Read the shapes and dtypes of all arrays without reading their numbers."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            headers = {}
            for name in names:
                with archive.open(name) as file:
                    headers[name.removesuffix(".npy")] = _npy_header(file)
            return headers
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise _broken(source, "an .npz file", error) from error


def _npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype


def _choose_key(source: Source, headers: dict[str, tuple[tuple[int, ...], np.dtype[Any]]]) -> str:
    """Return the array that was named, or the only one."""
    if not headers:
        raise ValueError(f"{source.argument} must hold an array, got {source.path.name}, which holds none.")
    if source.key in headers:
        return str(source.key)
    if source.key is None and len(headers) == 1:
        return next(iter(headers))
    listed = ", ".join(f"{name} {shape} {dtype}" for name, (shape, dtype) in headers.items())
    wanted = (
        "one of the arrays" if source.key is None else f"an array of {source.path.name}, got {source.key!r}"
    )
    raise ValueError(
        f"{source.argument} must name {wanted}; {source.path.name} holds {listed}. "
        f"Write {source.path.name}:{next(iter(headers))}, or with leading axes chosen, "
        f"{source.path.name}:{next(iter(headers))}[0]."
    )


def _take(array: npt.NDArray[Any], source: Source) -> npt.NDArray[Any]:
    if not source.index:
        return array
    try:
        return np.asanyarray(array[source.index])
    except IndexError as error:
        raise ValueError(
            f"{source.argument} must have an index inside the shape {array.shape}, got {source} ({error})."
        ) from error


def _broken(source: Source, kind: str, error: BaseException) -> ValueError:
    cause = " ".join(str(error).split()) or type(error).__name__
    return ValueError(
        f"{source.argument} must be {kind}, got {str(source.path)!r}, which cannot be read as one "
        f"({cause}). It may be truncated or of another kind."
    )
