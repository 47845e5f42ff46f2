"""Files to arrays and data frames: csv, parquet, npy, npz, and Python objects.

Only what was named as a Python object, ``scores.joblib`` or ``module:attribute``, may run code when it is opened, and
no file may unpack to more than ``--max-gib``.
"""

from __future__ import annotations

import gzip
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.chunk_readers import in_chunks
from shiftmetrics._core.chunks import COPIES
from shiftmetrics._core.validation import first_few, needs
from shiftmetrics.cli.inputs.objects import as_content, load_object
from shiftmetrics.cli.inputs.sources import OBJECT_SUFFIX, Source
from shiftmetrics.cli.options import OPENING

CAUSES = {
    "loss of data": (
        "a row has more cells than the header",
        " Say what stands between cells with --sep, and give --decimal , for decimal commas.",
    ),
    "codec can't decode": ("", " Save it in UTF-8."),
    "Object arrays|Python objects": (
        "it holds pickled Python objects, which can run code when they are opened",
        " Save plain numbers or strings instead, for instance numpy.save(path, array.astype(float)).",
    ),
    r"pickled \(object\) data": ("it does not begin as such a file", ""),
}
"""What libraries say, in better words where theirs mislead, and the remedy."""


TEXT_COPIES = 2
CSV_CELL = 24
JSON_CELL = 160
"""What reading a text takes at its peak: copies of the text, and bytes of each cell for the parser and the table.

Measured on files of 1 to 4 million cells: 20 bytes beside the text for a digit, for nothing or for a float of 9
digits in a csv file, 25 for a word of 7 letters; 146 for a value of JSON lines, its key included.
"""


class TooLargeError(ValueError):
    """A file that unpacks to more than it may."""


def read_source(source: Source) -> Any:
    """Return a NumPy array (npy, npz), a pandas DataFrame (csv, parquet), or either of them (Python objects).

    Several parquet files are read in chunks.

    Raises
    ------
    ValueError
        If the file is empty, truncated, too large, not what its suffix says, or holds pickled objects.
    """
    if source.files:
        with _reading(source, "a folder or pattern of parquet files"):
            from pyarrow.dataset import dataset

            chunks = in_chunks(dataset([str(path) for path in source.files]), source.argument)
            _check_size(COPIES * chunks.chunk_bytes)
            return chunks
    if source.is_table:
        content = READERS.get(source.suffix, _read_csv)(source)
    elif source.is_attribute or source.suffix == OBJECT_SUFFIX:
        content = load_object(str(source.path), source.argument)[0]
    else:
        content = _read_array(source)
    if not isinstance(content, np.ndarray):
        content = as_content(content, source.argument)
    if np.ndim(content) == 0:
        raise ValueError(f"{source.argument} must hold rows, got {source}, a single value.")
    if hasattr(content, "columns"):
        _refuse_repeated(content.columns, source)
    return content


@contextmanager
def _reading(source: Source, kind: str) -> Iterator[None]:
    """Turn whatever a library raises into one message that names the file."""
    try:
        with np.errstate(all="ignore"):  # shapes that overflow are told by an exception
            yield
    except Exception as error:
        cause = " ".join(str(error).split())[:300] or type(error).__name__
        remedy = (
            "" if isinstance(error, TooLargeError) else " It may be truncated or of another kind."
        )
        for form, (known, what_to_do) in CAUSES.items():
            if re.search(form, cause):
                cause, remedy = known or cause, what_to_do or remedy
        raise ValueError(
            f"{source.argument} must be {kind}, got {str(source.path)!r}, which cannot be read as one "
            f"({cause}).{remedy}"
        ) from error


def _check_size(n_bytes: float) -> None:
    limit = OPENING.get().max_gib
    if n_bytes > limit * 2**30:
        raise TooLargeError(f"it unpacks to more than {limit:g} GiB; --max-gib allows more")


class _Limited(io.RawIOBase):
    """The content of a file, unpacked, up to the largest size."""

    def __init__(self, source: Source, cell_bytes: int = CSV_CELL) -> None:
        opened = gzip.open if source.suffix == ".csv.gz" else open
        self._file = opened(source.path, "rb")
        self._size = 0
        self._cells = 0
        self._cell_bytes = cell_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._file.read(len(buffer))
        buffer[: len(part)] = part
        self._size += len(part)
        # Each mark ends a cell, whichever of the marks it is that separates them.
        self._cells += part.count(b"\n") + max(map(part.count, (b",", b";", b"\t", b"|")))
        _check_size(TEXT_COPIES * self._size + self._cell_bytes * self._cells)
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()


def _read_csv(source: Source) -> Any:
    import pandas as pd

    def read(**options: Any) -> Any:
        with io.BufferedReader(_Limited(source), 2**20) as file:
            return pd.read_csv(file, encoding="utf-8-sig", index_col=False, **options)

    opening = OPENING.get()
    with _reading(source, "a csv file"), warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # of cells that would be lost
        with io.BufferedReader(_Limited(source)) as file:
            first_line = next((line for line in file if line.strip()), b"").decode("utf-8-sig")
        marks = re.sub('"[^"]*"', "", first_line)
        separator = opening.sep or next((mark for mark in "\t;|," if mark in marks), ",")
        first = read(sep=separator, header=None, nrows=1, dtype=str, keep_default_na=False)
        names = [str(name).strip() for name in first.iloc[0]]
        is_data = _is_data([name.replace(opening.decimal or ".", ".") for name in names])
        frame = read(
            sep=separator,
            decimal=opening.decimal or ".",
            header=None if is_data else 0,
            low_memory=False,
        )
    if not is_data:
        _refuse_repeated(filter(None, names), source)
    if frame.empty:
        raise ValueError(
            f"{source.argument} must hold rows of numbers, got {source.path.name} with none below its header."
        )
    return frame


def _refuse_repeated(names: Any, source: Source) -> None:
    name, times = next(iter(Counter(names).most_common(1)), ("", 0))
    if times > 1:
        raise ValueError(
            f"{source.argument} must have columns with distinct names, got {name!r} twice."
        )


def _is_data(names: list[str]) -> bool:
    """Return True if the first line holds numbers; names 0, 1, 2, ... are a header."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    counts = len(numbers) > 1 and numbers in (
        list(range(len(numbers))), list(range(1, len(numbers) + 1)),
    )  # fmt: skip
    return bool(numbers) and not counts


def _read_parquet(source: Source) -> Any:
    with needs(f"{source.argument}, a parquet file,", "pyarrow", "'shiftmetrics[parquet]'"):
        from pyarrow import Table, parquet
    with _reading(source, "a parquet file"), parquet.ParquetFile(source.path) as file:
        # repeated values are stored once: a small file may unpack to a large table
        about = file.metadata
        stored = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        _check_size(max(stored, 8 * about.num_rows * about.num_columns))
        # Column by column, each handed over to pandas, so that the file is not held twice.
        names = file.schema_arrow.names
        columns = [file.read(columns=[name]).column(0).combine_chunks() for name in names]
        content = Table.from_arrays(columns, schema=file.schema_arrow)
        del columns
        return content.to_pandas(split_blocks=True, self_destruct=True)


def _read_json_lines(source: Source) -> Any:
    """Read a file with one JSON object a line."""
    import pandas as pd

    # from 3.1 on pandas takes no strings for dates, and warns where it is told so
    as_they_stand: dict[str, Any] = {}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        as_they_stand = {"convert_dates": False}
    with (
        _reading(source, "a file of JSON lines"),
        io.BufferedReader(_Limited(source, JSON_CELL)) as file,
    ):
        frame = pd.read_json(file, lines=True, dtype=False, **as_they_stand)
    frame.columns = [str(name) for name in frame.columns]
    return frame


READERS = {".parquet": _read_parquet, ".jsonl": _read_json_lines}


def _read_array(source: Source) -> npt.NDArray[Any]:
    with _reading(source, f"an {source.suffix} file"):
        # A memory map of an .npy file: blocks of rows are read as they are needed.
        loaded = np.load(source.path, mmap_mode="r", allow_pickle=False)
        if source.suffix == ".npy":
            return np.asanyarray(loaded)
    with loaded:
        key = _choose_key(source, loaded.files)
        with _reading(source, "an .npz file"):
            files = loaded.zip.NameToInfo
            _check_size(files[key if key in files else f"{key}.npy"].file_size)
            return np.asarray(loaded[key])


def _choose_key(source: Source, names: list[str]) -> str:
    """Return the array that was named, or the only one."""
    if not names:
        raise ValueError(
            f"{source.argument} must hold an array, got {source.path.name}, which holds none."
        )
    if source.key in names:
        return str(source.key)
    if source.key is None and len(names) == 1:
        return names[0]
    got = "none" if source.key is None else repr(source.key)
    raise ValueError(
        f"{source.argument} must name an array of {source.path.name}, got {got}; it holds {first_few(names, 8)}. "
        f"Write {source.path.name}:{names[0]}."
    )
