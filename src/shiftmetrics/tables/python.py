"""Tables and arrays that are given in Python, as cells: command and Python say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import check_in_memory, is_table, to_numpy
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics.tables.cells import Cells, generated_name
from shiftmetrics.tables.content import Content, ReadOptions

if TYPE_CHECKING:
    import pandas as pd


def cells_of(value: Any, argument: str) -> Cells:
    """Return the cells of a DataFrame, a Series, an array, a list, a dict, or a table of polars or pyarrow.

    Raises
    ------
    TypeError
        If the object is none of these.
    ValueError
        If it has no rows, or two columns of one name.
    """
    if isinstance(value, Cells):
        return value
    # What is in memory already is not refused for its size.
    content = Content(argument, "", ReadOptions(max_gib=float("inf")), data=b"")
    # Tables of pyarrow and polars keep their schema this way: names of classes, dictionaries and lists.
    if type(value).__module__.partition(".")[0] == "pyarrow" and hasattr(value, "schema"):
        from shiftmetrics.tables.readers.arrow import cells_of_arrow

        return cells_of_arrow(value, content)
    if hasattr(value, "to_arrow") and hasattr(value, "schema"):
        from shiftmetrics.tables.readers.arrow import cells_of_arrow

        return cells_of_arrow(value.to_arrow(), content)
    check_in_memory(value, argument)
    if hasattr(value, "collect_schema"):
        raise ArgumentTypeError(
            argument, "a table", "a lazy one of polars", "Call collect() first."
        )
    if isinstance(value, Mapping):
        return _of_frame(_frame_of_dict(value, argument), argument, [])
    if isinstance(value, (list, tuple)):
        return _of_list(list(value), argument)
    if hasattr(value, "to_pandas") and not hasattr(value, "iloc"):
        value = value.to_pandas()
    if is_table(value):
        return _of_frame(value, argument, [])
    if hasattr(value, "to_frame") and hasattr(value, "index"):
        name = generated_name(0) if value.name is None else value.name
        header = "none" if value.name is None else "names"
        return _of_frame(value.to_frame(name=name), argument, [], header=header)
    return _of_array(value, argument)


def _of_array(value: Any, argument: str) -> Cells:
    # NumPy would make one object of a model, and the message could not say what to give instead.
    if hasattr(value, "predict"):
        raise ArgumentTypeError(
            argument,
            "a table or an array",
            f"an object of type {type(value).__name__}",
            "Give its predictions.",
        )
    try:
        array = np.asarray(to_numpy(value) if hasattr(value, "shape") else value)
    except Exception as error:
        raise ArgumentTypeError(
            argument, "a table or an array", f"an object of type {type(value).__name__}"
        ) from error
    if array.ndim == 0:
        raise ArgumentTypeError(
            argument, "a table or an array", f"an object of type {type(value).__name__}"
        )
    if not len(array):
        raise ArgumentValueError(argument, "a table or an array with rows", "none")
    # Such an array mixes types: as a frame each column gets the type of its own cells.
    if array.dtype.kind == "O":
        import pandas as pd

        columns = array.reshape(len(array), -1)
        names = [generated_name(place) for place in range(columns.shape[1])]
        return _of_frame(
            pd.DataFrame(columns, columns=names).infer_objects(), argument, [], header="none"
        )
    return Cells(argument=argument, values=array, header="none")


def _of_list(values: list[Any], argument: str) -> Cells:
    import pandas as pd

    if not values:
        raise ArgumentValueError(argument, "a table or an array with rows", "none")
    if all(isinstance(row, Mapping) for row in values):
        return _of_frame(pd.DataFrame(values), argument, [])
    # Pipelines of transformers give such a list of labels and scores for each row.
    if all(
        isinstance(row, (list, tuple)) and row and all(isinstance(item, Mapping) for item in row)
        for row in values
    ):
        return _of_frame(
            pd.DataFrame({"": pd.Series(values, dtype=object)}), argument, [], header="none"
        )
    if all(isinstance(cell, str) or cell is None for cell in values):
        return _of_frame(
            pd.DataFrame({generated_name(0): pd.Series(values, dtype=object)}),
            argument,
            [],
            header="none",
        )
    try:
        return _of_array(np.asarray(values), argument)
    except ValueError as error:
        raise ArgumentValueError(
            argument, "a list of rows of equal length", "rows of unequal length"
        ) from error


def _frame_of_dict(value: Mapping[Any, Any], argument: str) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.DataFrame(dict(value))
    except ValueError as error:
        raise ArgumentValueError(
            argument, "a dict of columns of equal length", "values that are none"
        ) from error


def _of_frame(frame: pd.DataFrame, argument: str, notes: list[str], header: Any = "names") -> Cells:
    import pandas as pd

    from shiftmetrics.tables.nested import expanded

    if not len(frame):
        raise ArgumentValueError(argument, "a table with rows", "none")
    names = [_name(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentValueError(
            argument,
            "a table with distinct names of columns",
            f"{twice!r} twice",
            "Rename one of them.",
        )
    columns: dict[str, Any] = {}
    index = []
    # The index may hold the ids of the rows: it comes first, as in a file.
    for name, values in _index_columns(frame.index, names):
        columns[name] = pd.Series(values)
        index.append(name)
    levels = {}
    ordered = []
    written = []
    for place, name in enumerate(names):
        column = frame.iloc[:, place].reset_index(drop=True)
        if isinstance(column.dtype, pd.CategoricalDtype):
            categories = column.cat.categories
            # Categories of words name the classes, those too that no row has.
            if categories.inferred_type == "string":
                levels[name] = tuple(categories)
                if column.cat.ordered:
                    ordered.append(name)
                column = column.astype(object)
            else:
                column = column.astype(categories.dtype)
        columns[name] = column
    for name, column in columns.items():
        if name in levels or column.dtype.kind in "iufbMmc":
            continue
        if isinstance(column.dtype, pd.StringDtype) or _are_words(column):
            written.append(name)
    table, texts, more = expanded(pd.DataFrame(columns, copy=False), written)
    # The parts of a nested column without a name begin with a dot.
    table.columns = [name.removeprefix(".") for name in table.columns]
    return Cells(
        argument=argument,
        table=table,
        written=frozenset(name.removeprefix(".") for name in texts),
        index=tuple(index),
        levels=levels,
        ordered=frozenset(ordered),
        header=header,
        notes=(*notes, *more),
    )


def _name(name: Any) -> str:
    if isinstance(name, tuple):
        return ".".join(str(part) for part in name if part != "")
    return "" if name is None else str(name)


def _index_columns(index: Any, names: list[str]) -> list[tuple[str, Any]]:
    """Return the index as columns, unless it merely counts the rows from 0."""
    import pandas as pd

    from shiftmetrics.tables.readers.names import UNNAMED_INDEX, free_name

    levels = [index.get_level_values(place) for place in range(index.nlevels)]
    if (
        index.nlevels == 1
        and index.name is None
        and index.dtype.kind in "iu"
        and index.equals(pd.RangeIndex(len(index)))
    ):
        return []
    found = []
    taken = list(names)
    for level in levels:
        wanted = UNNAMED_INDEX if level.name is None else _name(level.name)
        name = free_name(wanted, taken)
        taken.append(name)
        found.append((name, level.to_series(index=range(len(level)))))
    return found


def _are_words(column: pd.Series) -> bool:
    import pandas as pd

    return pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty")
