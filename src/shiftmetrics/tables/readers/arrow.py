"""Parquet, ORC, feather and streams of Arrow: lists, structs, dictionaries, names of classes, the index of pandas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftmetrics._core.validation import needs
from shiftmetrics.tables.cells import INDEX, Cells
from shiftmetrics.tables.content import Content, Reader

if TYPE_CHECKING:
    import pandas as pd


LARGE = 2_000_000
"""Cells from which on a file is read column by column."""


def _pyarrow(content: Content, kind: str) -> Any:
    with needs(f"{content.argument}, {kind},", "pyarrow", "'shiftmetrics[parquet]'"):
        import pyarrow as pa
    return pa


def _source(content: Content, pa: Any) -> Any:
    return str(content.path) if content.path is not None else pa.BufferReader(content.read())


def _read_parquet(content: Content) -> Cells:
    pa = _pyarrow(content, "a parquet file")
    from pyarrow import parquet

    with parquet.ParquetFile(_source(content, pa)) as file:
        # repeated values are stored once: a small file may unpack to a large table
        about = file.metadata
        stored = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        content.check_size(max(stored, 8 * about.num_rows * about.num_columns))
        schema = file.schema_arrow
        # A dot is the way to a part of a nested column.
        are_plain = len(set(schema.names)) == len(schema) and all(
            name and "." not in name for name in schema.names
        )
        if about.num_rows * len(schema) < LARGE or not are_plain:
            return cells_of_arrow(file.read(), content)
        cells = cells_of_arrow(_ParquetColumns(file, about.num_rows, schema), content)
        # What the columns were decoded into goes back before the next file is read.
        pa.default_memory_pool().release_unused()
        return cells


class _ParquetColumns:
    """A parquet file as a table of pyarrow whose columns are read when they are asked for, and not kept."""

    def __init__(self, file: Any, num_rows: int, schema: Any) -> None:
        self._file = file
        self.num_rows = num_rows
        self.schema = schema

    def column(self, place: int) -> Any:
        """Return one column, nested ones whole."""
        name = self.schema.names[place]
        return self._file.read(columns=[name]).column(name)


def _read_orc(content: Content) -> Cells:
    pa = _pyarrow(content, "an ORC file")
    from pyarrow import orc

    file = orc.ORCFile(_source(content, pa))
    stripes = map(file.read_stripe, range(file.nstripes))
    return cells_of_arrow(_limited(content, pa, stripes, file.schema), content)


def _read_feather(content: Content) -> Cells:
    pa = _pyarrow(content, "a feather file")
    from pyarrow import feather

    content.check_size(content.size)
    source = content.path if content.path is not None else pa.BufferReader(content.read())
    if content.head.startswith(b"FEA1"):
        return cells_of_arrow(feather.read_table(source, memory_map=False), content)
    with pa.memory_map(str(source)) if content.path is not None else source as opened:
        reader = pa.ipc.open_file(opened)
        return cells_of_arrow(_limited(content, pa, _batches(reader), reader.schema), content)


def _batches(reader: Any) -> Any:
    for place in range(reader.num_record_batches):
        yield reader.get_batch(place)


def _read_stream(content: Content) -> Cells:
    pa = _pyarrow(content, "a stream of Arrow")
    with content.open() as file, pa.ipc.open_stream(file) as reader:
        return cells_of_arrow(_limited(content, pa, reader, reader.schema), content)


def _limited(content: Content, pa: Any, batches: Any, schema: Any) -> Any:
    found = []
    size = 0
    for batch in batches:
        batch.validate(full=True)
        size += batch.nbytes
        content.check_size(size)
        found.append(batch)
    return pa.Table.from_batches(found, schema)


def cells_of_arrow(table: Any, content: Content) -> Cells:
    """Return the cells of a table of pyarrow, whether from a file or from Python."""
    import pandas as pd

    from shiftmetrics.tables.nested import expanded
    from shiftmetrics.tables.readers.names import checked_names

    if not table.num_rows:
        raise content.refusal("a table with rows", "which has none")
    about = table.schema.metadata or {}
    labels = _class_labels(about)
    index, ranges = _index(about, table)
    names = [str(name) for name in table.schema.names]
    shown = [index.get(name, name) for name in names]
    checked_names([name for name in shown if name], content)
    # names of rows come first, as in a text
    order = sorted(range(len(names)), key=lambda place: names[place] not in index)
    columns: dict[str, Any] = {}
    levels: dict[str, tuple[str, ...]] = {}
    written = []
    ordered = []
    notes = []
    if ranges is not None:
        columns[INDEX] = pd.Series(ranges)
    # beside lists of words, lists of numbers may be the scores of these words: the places then mean nothing
    whole = any(_is_list_of_words(kind) for kind in table.schema.types)
    for place in order:
        name = shown[place]
        found, given, is_ordered = _column(table.column(place), labels.get(names[place], ()), whole)
        if found is None:
            notes.append(f"column {name} of raw bytes is left out")
            continue
        for part, values in found.items():
            part = name + part
            columns[part] = values
            if given:
                levels[part] = given
                if is_ordered:
                    ordered.append(part)
            elif values.dtype.kind not in "iufbMm":
                written.append(part)
    if not columns:
        raise content.refusal("a table with columns", "which has none")
    frame, texts, more = expanded(pd.DataFrame(columns, copy=False), written)
    frame = frame.reset_index(drop=True)
    rows: tuple[str, ...] = (INDEX,) if ranges is not None else ()
    rows += tuple(name for name in index.values() if name in frame.columns)
    return Cells(
        argument=content.argument,
        name=content.name,
        table=frame,
        written=texts,
        index=rows,
        levels={name: found for name, found in levels.items() if name in frame.columns},
        ordered=frozenset(ordered),
        notes=(*notes, *more),
    )


def _column(
    column: Any, names: tuple[str, ...], whole: bool
) -> tuple[dict[str, Any] | None, tuple[str, ...], bool]:
    """Return a column as parts of pandas, its levels and whether these have an order; lists stay if `whole`."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        kind = column.type
    # Codes with names, dictionaries and bytes have an answer of their own; all other types are
    # brought to one that pandas reads.
    if names and types.is_integer(kind):
        codes = _codes(pd.Series(column.to_pandas()), len(names))
        levels = pd.CategoricalDtype(list(names))
        words = pd.Series(pd.Categorical.from_codes(codes, dtype=levels))
        return {"": words.astype(object)}, names, False
    if types.is_dictionary(kind):
        unified = column.unify_dictionaries().to_pandas()
        found = tuple(map(str, unified.cat.categories))
        if unified.cat.categories.inferred_type in ("string", "empty"):
            return {"": unified.astype(object)}, found, bool(kind.ordered)
        return {"": unified.astype(unified.cat.categories.dtype)}, (), False
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        try:
            return {"": column.cast(pa.string()).to_pandas()}, (), False
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None, (), False
    if types.is_decimal(kind):
        column = column.cast(pa.float64(), safe=False)
    elif types.is_date(kind):
        column = column.cast(pa.timestamp("us"), safe=False)
    elif types.is_time(kind):
        column = column.cast(pa.string())
    elif types.is_map(kind):
        return (
            {"": pd.Series([None if cell is None else dict(cell) for cell in column.to_pylist()])},
            (),
            False,
        )
    elif _is_list_of_numbers(kind) and not whole:
        return _list_parts(column), (), False
    elif types.is_nested(kind):
        return {"": pd.Series(column.to_pylist(), dtype=object)}, (), False
    return {"": column.to_pandas()}, (), False


def _codes(codes: pd.Series, n_names: int) -> Any:
    """Return codes of classes, -1 for what is none."""
    known = codes.fillna(-1).to_numpy().astype("int64")
    if ((known < -1) | (known >= n_names)).any():
        raise ValueError("a code that the schema does not name")
    return known


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_list_of_numbers(kind: Any) -> bool:
    from pyarrow import types

    return _is_list(kind) and bool(
        types.is_floating(kind.value_type) or types.is_integer(kind.value_type)
    )


def _is_list_of_words(kind: Any) -> bool:
    from pyarrow import types

    if not _is_list(kind):
        return False
    inner = kind.value_type
    if types.is_dictionary(inner):
        inner = inner.value_type
    return bool(types.is_string(inner) or types.is_large_string(inner))


def _list_parts(column: Any) -> dict[str, Any]:
    """Return one column for each place of lists of equal length, else the lists."""
    import pandas as pd
    import pyarrow.compute as pc

    lengths = pc.unique(pc.list_value_length(column))
    if len(lengths) != 1 or not lengths[0].is_valid or not lengths[0].as_py():
        return {"": pd.Series(column.to_pylist(), dtype=object)}
    values = pc.list_flatten(column).to_numpy().reshape(len(column), lengths[0].as_py())
    return {f".{place}": pd.Series(values[:, place]) for place in range(values.shape[1])}


def _class_labels(about: dict[bytes, bytes]) -> dict[str, tuple[str, ...]]:
    """Return the names of classes that `datasets` writes into the schema."""
    try:
        features = json.loads(about[b"huggingface"])["info"]["features"]
    except (KeyError, ValueError, TypeError):
        return {}
    labels = {}
    for name, feature in features.items():
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
            labels[name] = tuple(map(str, feature.get("names") or ()))
    return labels


def _index(about: dict[bytes, bytes], table: Any) -> tuple[dict[str, str], Any]:
    """Return the columns of the index of pandas and their names, and an index that counts from elsewhere than 0."""
    try:
        columns = json.loads(about[b"pandas"])["index_columns"]
    except (KeyError, ValueError, TypeError):
        return {}, None
    index = {}
    ranges = None
    for column in columns:
        if isinstance(column, str) and column in table.schema.names:
            # So pandas writes an index without a name; of several levels the number stays.
            unnamed = column.startswith("__index_level_")
            free = INDEX if INDEX not in table.schema.names else "index 2"
            index[column] = free if unnamed and len(columns) == 1 else column
        elif isinstance(column, dict) and column.get("kind") == "range":
            found = range(int(column["start"]), int(column["stop"]), int(column["step"]))
            # A range from 0 names nothing, and one of another length is that of a table
            # whose rows were filtered since: Arrow keeps what pandas wrote.
            if (
                len(found) == table.num_rows
                and found != range(len(found))
                and INDEX not in table.schema.names
            ):
                ranges = found
    return index, ranges


def _write_stream(frame: pd.DataFrame, path: Path) -> None:
    import pyarrow as pa

    table = pa.Table.from_pandas(frame)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


READERS = (
    Reader(
        name="a parquet file",
        suffixes=(".parquet",),
        told_by="its first four bytes, PAR1",
        tells=lambda content: content.head.startswith(b"PAR1"),
        read=_read_parquet,
        write=lambda frame, path: frame.to_parquet(path, engine="pyarrow"),
        extra="parquet",
    ),
    Reader(
        name="an ORC file",
        suffixes=(".orc",),
        told_by="its first three bytes, ORC, and zeros among those after them",
        tells=lambda content: content.head.startswith(b"ORC") and b"\x00" in content.head,
        read=_read_orc,
        write=lambda frame, path: frame.to_orc(path),
        extra="parquet",
    ),
    Reader(
        name="a feather file",
        suffixes=(".feather", ".arrow"),
        told_by="its first bytes, ARROW1 or FEA1",
        tells=lambda content: content.head.startswith((b"ARROW1", b"FEA1")),
        read=_read_feather,
        write=lambda frame, path: frame.to_feather(path),
        extra="parquet",
    ),
    Reader(
        name="a stream of Arrow",
        suffixes=(".arrows",),
        told_by="its first four bytes, all ones",
        tells=lambda content: content.head.startswith(b"\xff\xff\xff\xff"),
        read=_read_stream,
        write=_write_stream,
        extra="parquet",
    ),
)
