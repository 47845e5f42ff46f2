"""Files to arrays and data frames: csv, parquet, npy, npz, and Python objects.

Only what was named as a Python object, ``scores.joblib`` or ``module:attribute``, may run code when it is opened.
"""

from __future__ import annotations

import csv
import gzip
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
        return _read_parquet(source) if source.suffix == ".parquet" else _read_csv(source)
    array = _read_array(source)
    try:
        return np.asanyarray(array[source.index])
    except IndexError as error:
        raise ValueError(
            f"{source.argument} must have an index inside the shape {array.shape}, got {source} ({error})."
        ) from error


@contextmanager
def _reading(source: Source, kind: str) -> Iterator[None]:
    """Turn errors of the readers into one message."""
    try:
        yield
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        if re.search("Object arrays|Python objects", str(error)):  # in the messages of NumPy
            what = (
                source.path.name if source.key is None else f"the array {source.key!r} of {source.path.name}"
            )
            raise ValueError(f"{source.argument}: {what} {PICKLE_REFUSAL}") from error
        cause = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{source.argument} must be {kind}, got {str(source.path)!r}, which cannot be read as one "
            f"({cause}). It may be truncated or of another kind."
        ) from error


def _read_csv(source: Source) -> Any:
    import pandas as pd

    opener = gzip.open if source.suffix == ".csv.gz" else open
    with _reading(source, "a csv file"):
        with opener(source.path, "rt", encoding="utf-8-sig", newline="") as file:
            first_line = file.readline()
        separator = next((mark for mark in (",", ";", "\t") if mark in first_line), ",")
        names = next(csv.reader([first_line], delimiter=separator), [])
        header: int | None = None if _is_data(names) else 0
        frame = pd.read_csv(source.path, sep=separator, header=header, encoding="utf-8-sig", low_memory=False)
    repeated = next((name for name in names if name and names.count(name) > 1), None)
    if header == 0 and repeated is not None:
        raise ValueError(f"{source.argument} must have columns with distinct names, got {repeated!r} twice.")
    frame.columns = [str(name) for name in frame.columns]
    if frame.empty:
        raise ValueError(
            f"{source.argument} must hold rows of numbers, got {source.path.name} with none below its header."
        )
    return frame


def _is_data(names: list[str]) -> bool:
    """Tell whether the first line holds numbers; names 0, 1, 2, ... are a header."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    counts = len(numbers) > 1 and numbers in (
        list(range(len(numbers))), list(range(1, len(numbers) + 1)),
    )  # fmt: skip
    return bool(numbers) and not counts


def _read_parquet(source: Source) -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            f"{source.argument} is a parquet file, which needs pyarrow: pip install 'shiftmetrics[parquet]'."
        ) from error
    with _reading(source, "a parquet file"):
        frame = pyarrow.parquet.read_table(source.path).to_pandas()
    frame.columns = [str(name) for name in frame.columns]
    return frame


def _read_array(source: Source) -> npt.NDArray[Any]:
    kind = f"an {source.suffix} file"
    with _reading(source, kind):
        # A memory map of an .npy file: blocks of rows are read as they are needed.
        loaded = np.load(source.path, mmap_mode="r", allow_pickle=False)
    if source.suffix == ".npy":
        return np.asanyarray(loaded)
    with loaded:
        key = _choose_key(source, loaded)
        with _reading(source, kind):
            return np.asarray(loaded[key])


def _choose_key(source: Source, arrays: Any) -> str:
    """Return the array that was named, or the only one."""
    if not arrays.files:
        raise ValueError(f"{source.argument} must hold an array, got {source.path.name}, which holds none.")
    if source.key in arrays.files:
        return str(source.key)
    if source.key is None and len(arrays.files) == 1:
        return str(arrays.files[0])
    listed = ", ".join(_shape_of(arrays, name) for name in arrays.files)
    wanted = (
        "one of the arrays" if source.key is None else f"an array of {source.path.name}, got {source.key!r}"
    )
    example = f"{source.path.name}:{arrays.files[0]}"
    raise ValueError(
        f"{source.argument} must name {wanted}; {source.path.name} holds {listed}. Write {example}, or with "
        f"leading axes chosen, {example}[0]."
    )


def _shape_of(arrays: Any, name: str) -> str:
    try:
        return f"{name} {arrays[name].shape} {arrays[name].dtype}"
    except ValueError:  # pickled objects, or damaged
        return name
