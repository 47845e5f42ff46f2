"""Folders and patterns of parquet files: large ones are read in chunks, so that they need not fit in memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from shiftmetrics._core.arrays import is_in_chunks
from shiftmetrics._core.chunk_readers import in_chunks
from shiftmetrics._core.chunks import COPIES
from shiftmetrics._core.validation import needs
from shiftmetrics.cli.inputs.prediction_files import listed, read_cells, typed_source
from shiftmetrics.cli.inputs.row_values import require_column
from shiftmetrics.cli.inputs.sources import Source, parquet_files
from shiftmetrics.cli.options import OPENING
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.python import cells_of

AT_ONCE = 2**28
"""Bytes, unpacked, up to which folders are read at once: a quarter of a GiB, with copies less than one."""

_FIRST_ROWS = 10_000
"""Rows that tell what the columns of a large folder are."""


@dataclass(frozen=True, kw_only=True)
class ChunkedFile:
    """Rows of numbers in chunks, or the numbers of one file beside such rows.

    Attributes
    ----------
    source : Source
    values : Chunks, DataFrame or ndarray
    names : list of str or None
        Names of the columns.
    """

    source: Source
    values: Any
    names: list[str] | None


def read_in_chunks(text: str, argument: str, columns: str | None = None) -> ChunkedFile:
    """Return the chosen columns of a folder or pattern of parquet files, in chunks; of another file at once.

    Raises
    ------
    ValueError
        If files cannot be read, differ in their columns, or a column is missing.
    """
    files = parquet_files(text)
    if not files:
        return _whole(text, argument, columns)
    source = typed_source(text, argument)
    values = _chunks(files, text, argument)
    if columns is not None:
        names = _chosen(columns, values.names, argument)
        values = values.select([values.names.index(name) for name in names])
    return ChunkedFile(source=source, values=values, names=list(values.names))


def fit_at_once(texts: Iterable[str]) -> bool:
    """Return whether folders of parquet files are small together; what cannot be read is for its reader to say."""
    with needs("a folder of parquet files", "pyarrow", "'shiftmetrics[parquet]'"):
        from pyarrow.parquet import read_metadata
    total = 0
    for path in (file for text in texts for file in parquet_files(text)):
        try:
            about = read_metadata(path)
        except Exception:  # damaged in whichever way: whoever reads it says so
            total += path.stat().st_size
            continue
        groups = (about.row_group(place) for place in range(about.num_row_groups))
        total += sum(group.total_byte_size for group in groups)
    # a limit of memory that was typed counts, too
    return total <= min(AT_ONCE, OPENING.get().max_gib * 2**30 / COPIES)


def first_rows(text: str, argument: str, file: ChunkedFile) -> Cells:
    """Return the first rows of a folder, which tell what its columns are; of one file all."""
    files = parquet_files(text)
    if not files:
        return read_cells(file.source)
    from pyarrow.dataset import dataset

    head = dataset([str(path) for path in files]).head(_FIRST_ROWS)
    return replace(cells_of(head.to_pandas(), argument), name=str(file.source))


def selected(file: ChunkedFile, names: list[str]) -> ChunkedFile:
    """Return some of the columns, in their order."""
    values: Any = file.values
    if hasattr(values, "select"):
        values = values.select([values.names.index(name) for name in names])
    else:
        values = values[names]
    return replace(file, values=values, names=names)


def _chunks(files: tuple[Any, ...], text: str, argument: str) -> Any:
    with needs(f"{argument}, a folder of parquet files,", "pyarrow", "'shiftmetrics[parquet]'"):
        from pyarrow.dataset import dataset
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = in_chunks(dataset([str(path) for path in files]), argument)
    except Exception as error:
        # Damaged files end in errors of many types, those of pyarrow and of the system.
        cause = " ".join(str(error).split())[:300]
        raise ValueError(
            f"{argument} must be a folder or pattern of parquet files, got {text!r}, which cannot be read as one "
            f"({cause}). It may be truncated or of another kind."
        ) from error
    # The writer of the files decides how large a row group is, and none is read in pieces.
    limit = OPENING.get().max_gib
    if COPIES * found.chunk_bytes > limit * 2**30:
        raise ValueError(
            f"{argument} must be parquet files in small row groups, got {text!r}, of which one unpacks to more than "
            f"{limit:g} GiB; --max-gib allows more."
        )
    assert is_in_chunks(found)
    return found


def _whole(text: str, argument: str, columns: str | None) -> ChunkedFile:
    """Return a file that is read at once."""
    source = typed_source(text, argument)
    cells = read_cells(source)
    if cells.values is not None:
        return ChunkedFile(source=source, values=cells.values, names=None)
    frame = cells.frame
    if columns is not None:
        frame = frame[_chosen(columns, frame.columns, argument)]
    return ChunkedFile(source=source, values=frame, names=[str(name) for name in frame.columns])


def _chosen(text: str, known: Any, argument: str) -> list[str]:
    """Return the columns that --columns names."""
    return [require_column(known, name, "--columns", argument) for name in listed(text) or ()]
