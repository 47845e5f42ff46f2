"""A data frame of Dask as a table whose rows have a key and a place; few columns are read where few are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.chunks import computed, dask
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.evidence import cell_texts
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.names import has_name_of

if TYPE_CHECKING:
    import pandas as pd

KEY = "_shiftmetrics_key"
POSITION = "_shiftmetrics_position"
"""Columns beside those of a table: the id as it is compared, and the place of the row."""

SAMPLED = 2_000
"""Rows, about, by which the columns are told."""

SAMPLED_PARTS = 8
"""Partitions, evenly spaced, that they are from."""

KeyKind = Literal["integer", "float", "text"]
"""How ids are compared: as numbers where both tables have numbers, else as text, so that 007 is not 7."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PartitionedTable:
    """One table: its partitions with a key and a position of each row.

    Attributes
    ----------
    argument, id_name : str
    frame : dask.dataframe.DataFrame
        As it was given.
    kind : str
        Of the keys.
    parts : list
        The partitions, delayed.
    sizes : ndarray of int
        Rows of each.
    meta : DataFrame
        A partition without rows.
    divisions : tuple
        Of Dask, where the key is a sorted index; else of None.
    """

    argument: str
    id_name: str
    frame: Any
    kind: KeyKind
    parts: list[Any]
    sizes: IntArray
    meta: pd.DataFrame
    divisions: tuple[Any, ...]

    def __len__(self) -> int:
        return int(self.sizes.sum())

    def narrow(self, columns: Sequence[str]) -> list[Any]:
        """Return the partitions with some of the columns, of which alone files are read."""
        names = list(dict.fromkeys([self.id_name, *columns]))
        parts = list(self.frame[names].to_delayed())
        # Dask may join small files where few of their columns are read.
        if len(parts) != len(self.parts):
            return self.parts
        return _with_keys(parts, self.id_name, self.kind, self.sizes, self.argument)

    def map(
        self, function: Callable[..., Any], *arguments: Any, columns: Sequence[str]
    ) -> list[Any]:
        """Return what a function makes of each partition, of which it needs some columns."""
        shipped = dask().delayed(function, pure=False)
        # Sent once, not with each partition.
        constants = [dask().delayed(argument, pure=False) for argument in arguments]
        tasks = [shipped(part, *constants) for part in self.narrow(columns)]
        return list(computed(tasks, self.argument))

    def sampled_keys(self, words: frozenset[str]) -> set[Any]:
        """Return the ids of some rows, and those that stand among some words."""
        n_parts = len(self.parts)
        n_chosen = min(n_parts, SAMPLED_PARTS)
        chosen = np.linspace(0, n_parts - 1, n_chosen).astype(np.int64)
        # Partitions without rows have none to give.
        if not self.sizes[chosen].sum():
            chosen = np.arange(n_parts)
        every = max(int(self.sizes[chosen].sum()) // SAMPLED, 1)
        sample = dask().delayed(_sampled_keys, pure=False)
        constant = dask().delayed(words, pure=False)
        wanted = range(n_parts) if words else chosen.tolist()
        among = set(chosen.tolist())
        parts = self.narrow([])
        tasks = [sample(parts[place], every if place in among else 0, constant) for place in wanted]
        return set().union(*computed(tasks, self.argument))

    def rows_of(self, keys: set[Any]) -> pd.DataFrame:
        """Return the rows of some ids, in the order of the table.

        Raises
        ------
        ValueError
            If an id stands several times.
        """
        import pandas as pd

        asked = frozenset(keys)
        holds = self.map(_holds, asked, columns=[])
        take = dask().delayed(_rows_with_keys, pure=False)
        constant = dask().delayed(asked, pure=False)
        tasks = [take(part, constant) for part, held in zip(self.parts, holds, strict=True) if held]
        parts = computed(tasks, self.argument)
        frame = pd.concat(parts) if parts else self.meta
        check_once(frame, self.argument, self.id_name)
        return frame.sort_values(POSITION, kind="stable").reset_index(drop=True)


def keyed_table(
    frame: Any, original: Any, name: str, kind: KeyKind, argument: str
) -> PartitionedTable:
    """Return a table whose partitions have a key and a position of each row.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        With the index as a column, where it is one.
    original : dask.dataframe.DataFrame
        As it was given, whose divisions are known where it is sorted.
    name : str
        The column of ids.
    kind : str
        Of the keys.
    argument : str
        What messages call the table.
    """
    parts = list(frame.to_delayed())
    count = dask().delayed(len, pure=False)
    narrow = list(frame[[name]].to_delayed())
    # Dask may join small files of which one column is read: these are other partitions.
    counted = narrow if len(narrow) == len(parts) else parts
    sizes = np.array(computed([count(part) for part in counted], argument), dtype=np.int64)
    if not sizes.sum():
        raise ArgumentValueError(argument, "a table with rows", "none")
    divisions: tuple[Any, ...] = (None,) * (len(parts) + 1)
    # Where the id is the sorted index, both tables can be cut at the same ids, unshuffled.
    is_sorted = original.known_divisions and original._meta.index.name == name
    # Integers that are compared as text, since the other table has text, are in another order then.
    in_order = kind == "integer" or all(isinstance(end, str) for end in original.divisions)
    if is_sorted and in_order and kind != "float":
        divisions = tuple(original.divisions)
    return PartitionedTable(
        argument=argument,
        id_name=name,
        frame=frame,
        kind=kind,
        parts=_with_keys(parts, name, kind, sizes, argument),
        sizes=sizes,
        meta=_keyed(frame._meta, name, kind, 0, argument),
        divisions=divisions,
    )


def _with_keys(
    parts: list[Any], name: str, kind: KeyKind, sizes: IntArray, argument: str
) -> list[Any]:
    """Return partitions with a key and a position of each row."""
    key = dask().delayed(_keyed, pure=False)
    starts = np.cumsum(sizes) - sizes
    return [
        key(part, name, kind, int(start), argument)
        for part, start in zip(parts, starts, strict=True)
    ]


def _keyed(part: pd.DataFrame, name: str, kind: KeyKind, start: int, argument: str) -> pd.DataFrame:
    """Return a partition with the id as it is compared, and the places of its rows."""
    column = part[name]
    missing = np.asarray(column.isna())
    if missing.any():
        row = start + int(np.argmax(missing))
        expected = f"a table with a value of {name!r} in each row, which names the rows"
        remedy = "Fill it in, or leave the row out."
        raise ArgumentValueError(argument, expected, f"none in row {row}", remedy)
    keys: npt.NDArray[Any]
    if kind == "text":
        keys = np.asarray(cell_texts(column), dtype=object)
    else:
        keys = column.to_numpy(dtype=np.float64 if kind == "float" else np.int64)
    return part.assign(**{KEY: keys, POSITION: np.arange(start, start + len(part))})


def with_index(frame: Any, typed: str | None) -> Any:
    """Return a frame whose columns have strings as names, and whose index is one if it has a name or is asked for."""
    if not all(isinstance(name, str) for name in frame.columns):
        frame = frame.rename(columns={name: str(name) for name in frame.columns})
    if frame._meta.index.name is None and typed != "index":
        return frame
    name = frame._meta.index.name or "index"
    if name in frame.columns:
        return frame
    return frame.assign(**{name: frame.index})


def id_columns(frames: Sequence[Any], options: RoleOptions) -> tuple[str, str]:
    """Return the columns that name the rows of both tables.

    Raises
    ------
    ValueError
        If it is not a column of both that was typed, or the only one in common with the name of an id.
    """
    typed = options.id
    columns = [list(frame.columns) for frame in frames]
    if typed == "none":
        remedy = "Add a column that names the rows, since partitions may differ in their order."
        raise ArgumentValueError("ids", "a column of data frames of Dask", "'none'", remedy)
    if typed is not None:
        first, mark, second = typed.partition("=")
        # The name of a column may hold an equals sign itself.
        names = (first, second) if mark and typed not in columns[0] else (typed, typed)
        for name, own, argument in zip(names, columns, ("old", "new"), strict=True):
            if name not in own:
                expected = f"a column of {argument}, which has {first_few(own, 8)}"
                raise ArgumentValueError("ids", expected, repr(name))
        return names
    common = [name for name in columns[0] if name in columns[1]]
    named = [name for name in common if has_name_of(name, "id")]
    # Of two such columns, as of a user and a visit, either may name the rows.
    if len(named) != 1:
        got = "no column with the name of one" if not named else first_few(named)
        remedy = f"Pass ids=, one of {first_few(common, 8)}."
        raise ArgumentValueError("old and new", "tables with one column of ids", got, remedy)
    return named[0], named[0]


def key_kind(frames: Sequence[Any], names: Sequence[str]) -> KeyKind:
    """Return how the ids of both tables are compared."""
    dtypes = [frame._meta[name].dtype for frame, name in zip(frames, names, strict=True)]
    if any(dtype.kind not in "iuf" or str(dtype) == "uint64" for dtype in dtypes):
        return "text"
    return "float" if any(dtype.kind == "f" for dtype in dtypes) else "integer"


def check_once(part: pd.DataFrame, argument: str, name: str) -> None:
    """Refuse ids that stand several times."""
    again = part[KEY].duplicated()
    if again.any():
        raise ArgumentValueError(
            argument,
            f"a table with one row for each {name}",
            f"{first_few(part[KEY][again].tolist()[:1])} several times",
            "Leave one row for each, such as by drop_duplicates().",
        )


def _sampled_keys(part: pd.DataFrame, every: int, words: frozenset[str]) -> set[Any]:
    """Return the ids whose hash is a multiple of a number (of 0: none), and those that stand among words."""
    import pandas as pd

    keys = part[KEY]
    chosen = np.zeros(len(part), dtype=bool)
    if every:
        hashes = pd.util.hash_array(keys.to_numpy(), categorize=False)
        chosen = hashes % np.uint64(every) == 0
        chosen[:2] = True
    if words:
        chosen |= pd.Series(cell_texts(keys)).isin(words).to_numpy()
    return set(keys[chosen].tolist())


def _holds(part: pd.DataFrame, keys: frozenset[Any]) -> bool:
    return bool(part[KEY].isin(keys).any())


def _rows_with_keys(part: pd.DataFrame, keys: frozenset[Any]) -> pd.DataFrame:
    return part[part[KEY].isin(keys)]
