"""Compare tables whose rows are in partitions: joined by their ids where they live, and read as a few witnesses are.

A sample of both tables says what the columns are; each partition names witnesses of the words in columns of answers
and labels, which are fetched and read as tables in memory are. Then the rows of both tables are brought together by
their ids, as Dask joins tables, and each pair of partitions comes down to its changed rows and to sums over all
(`compared`). Where its scores contradict what the witnesses show, these rows become witnesses, and all begins anew.
Only witnesses and changed rows leave the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import is_partitioned
from shiftmetrics._core.chunks import computed, dask
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.decisions.diff.compared import (
    ComparedRows,
    PairTotals,
    compared_rows,
    sampled_positions,
    totals_of_classes,
)
from shiftmetrics.decisions.diff.compared_parts import (
    MOST_CHANGED,
    PartOfPair,
    check_counts,
    compare_part,
    counts_of_part,
    refuse_alone,
)
from shiftmetrics.decisions.diff.joined import joined_pairs, with_global_doubts
from shiftmetrics.decisions.predictions.pairs import ClassPair
from shiftmetrics.decisions.predictions.partitioned_tables import (
    KEY,
    POSITION,
    id_columns,
    key_kind,
    keyed_table,
    with_index,
)
from shiftmetrics.decisions.predictions.reading import PairArguments, read_pair
from shiftmetrics.decisions.predictions.recipe import PairRecipe, recipe_of
from shiftmetrics.decisions.predictions.witnesses import witness_columns, witnesses_of
from shiftmetrics.tables.evidence import cell_texts
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.python import cells_of

if TYPE_CHECKING:
    import pandas as pd

MOST_LABELS = 100_000
"""Rows of a table of labels: each of them is looked for in every partition."""

MOST_RANKED = 2_000_000
"""Rows up to which areas under curves are computed: these need the order of all rows."""

ROUNDS = 3
"""How often witnesses are asked for, where those of the last round made other columns of the tables."""


def compared_in_partitions(old: Any, new: Any, arguments: PairArguments) -> ComparedRows:
    """Return what a comparison needs of two data frames of Dask; see `diff_models` for the arguments.

    Raises
    ------
    TypeError, ValueError
        If one of them is in memory, or as `read_pair` does.
    """
    for name, value in (("old", old), ("new", new)):
        if not is_partitioned(value) or not hasattr(value, "columns"):
            other = "new" if name == "old" else "old"
            remedy = "Make one with dask.dataframe.from_pandas, or compute the other."
            got = f"an object of type {type(value).__name__}"
            raise ArgumentTypeError(name, f"a data frame of Dask like {other}", got, remedy)
    return _PartitionedPair(old, new, arguments).compared()


class _PartitionedPair:
    """Two data frames of Dask on their way to `ComparedRows`."""

    def __init__(self, old: Any, new: Any, arguments: PairArguments) -> None:
        self.arguments, self.labels = _checked(arguments)
        options = self.arguments.options(is_command=False)
        frames = (with_index(old, options.id), with_index(new, options.id))
        names = id_columns(frames, options)
        self.inner = options.inner
        self.kind = key_kind(frames, names)
        # The same roles are found whatever the id is called, once it is named.
        typed = names[0] if names[0] == names[1] else f"{names[0]}={names[1]}"
        own = self.arguments.ids if isinstance(self.arguments.ids, RoleOptions) else RoleOptions()
        self.arguments = replace(self.arguments, ids=replace(own, id=typed))
        self.tables = [
            keyed_table(frame, original, name, self.kind, argument)
            for frame, original, name, argument in zip(
                frames, (old, new), names, ("old", "new"), strict=True
            )
        ]

    def compared(self) -> ComparedRows:
        """Return the changed rows and the sums over all rows."""
        keys = self.tables[0].sampled_keys(_words_of(self.labels))
        for _ in range(ROUNDS):
            found_recipe = self._recipe(keys)
            if found_recipe is None:
                return self._gathered()
            recipe, witnesses = found_recipe
            found = self._parts(recipe)
            strangers = set().union(*(part.strangers for part in found))
            if not strangers:
                return self._sum_of(found, recipe, witnesses)
            keys |= strangers
        raise _unsteady()

    def _recipe(self, keys: set[Any]) -> tuple[PairRecipe, tuple[ClassPair, PairTotals]] | None:
        """Return how each part is read, from rows that show all that the whole shows; None of a regression."""
        asked: set[Any] = set()
        readings: list[Any] = []
        for _ in range(ROUNDS):
            # Rows are fetched from all partitions, which is done again only where some are new.
            if not keys <= asked:
                asked = set(keys)
                frames = self._rows_of(asked)
                pair = self._read(frames)
            if not isinstance(pair, ClassPair):
                return None
            if pair.threshold != self.arguments.threshold:
                expected = (
                    "given where neither model gives one of the classes a probability above .5"
                )
                remedy = "Pass the probability from which the second class is the answer."
                raise ArgumentValueError("threshold", expected, "None", remedy)
            files = pair.rows.reading.files[:2]
            own = [(file.form, file.answer, file.truth, file.classes) for file in files]
            # Which rows are witnesses depends on the reading, which holds once it comes out again.
            if own == readings:
                plain = [frame.drop(columns=POSITION) for frame in frames]
                recipe = recipe_of(
                    pair,
                    (plain[0], plain[1]),
                    frames[0][KEY].to_numpy(),
                    has_own_labels=self.labels is not None,
                )
                rows = np.empty(0, dtype=np.int64)
                return recipe, (pair, totals_of_classes(pair, rows, rows, ranks=False))
            readings = own
            for table, file in zip(self.tables, files, strict=True):
                columns = witness_columns(file)
                if columns:
                    keys |= _named(table.map(witnesses_of, file, columns=columns))
        raise _unsteady()

    def _parts(self, recipe: PairRecipe) -> list[PartOfPair]:
        """Return what each pair of partitions comes down to."""
        pairs = self._joined()
        wanted = sampled_positions(len(self.tables[0]), len(recipe.pair.classes))
        shipped = dask().delayed(compare_part, pure=False)
        constants = [dask().delayed(one, pure=False) for one in (recipe, wanted, self._ranks)]
        tasks = [shipped(*pair, *constants) for pair in pairs]
        # Workers keep what they found until it is known how much that is.
        tasks = list(dask().persist(*tasks, traverse=False))
        count = dask().delayed(counts_of_part, pure=False)
        check_counts(np.array(computed([count(task) for task in tasks], "old")))
        return list(computed(tasks, "old"))

    @property
    def _ranks(self) -> bool:
        return min(map(len, self.tables)) <= MOST_RANKED

    def _sum_of(
        self,
        found: list[PartOfPair],
        recipe: PairRecipe,
        witnesses: tuple[ClassPair, PairTotals],
    ) -> ComparedRows:
        """Return all parts as one."""
        totals = reduce(PairTotals.__add__, [part.totals for part in found])
        alone = np.sort(np.concatenate([part.alone for part in found]))
        has_others = len(alone) or any(part.n_alone_new for part in found)
        if has_others and not self.inner:
            refuse_alone(found, totals.n_samples)
        if not totals.n_samples:
            expected = "tables with rows in common"
            raise ArgumentValueError("old and new", expected, "none", "Compare the ids.")
        places = np.concatenate([part.positions for part in found])
        order = np.argsort(places, kind="stable")
        places = places[order]
        notes = []
        if has_others:
            n_left_out = max(map(len, self.tables)) - totals.n_samples
            notes.append(f"up to {n_left_out} rows that are not in all files are left out")
        if not self._ranks and len(recipe.pair.classes) == 2 and totals.all_labelled:
            notes.append(
                f"areas under curves need the order of all rows, and are left out above {MOST_RANKED:,}"
            )
        pair = joined_pairs([part.pair for part in found])
        # Freed before more is made of them.
        found.clear()
        pair = pair.taken(order)
        return ComparedRows(
            pair=with_global_doubts(pair, witnesses, totals, notes),
            # Places among the rows that are compared.
            positions=places - np.searchsorted(alone, places),
            totals=totals,
        )

    def _rows_of(self, keys: set[Any]) -> list[pd.DataFrame]:
        """Return the rows of some ids that both tables have, in the order of each table."""
        found = [table.rows_of(keys) for table in self.tables]
        common = set(found[0][KEY]) & set(found[1][KEY])
        if not common:
            expected = (
                f"a table with the ids of old, such as {first_few(found[0][KEY].tolist()[:3])}"
            )
            raise ArgumentValueError("new", expected, "none of them", "Compare the ids.")
        return [frame[frame[KEY].isin(common)].reset_index(drop=True) for frame in found]

    def _read(self, frames: Sequence[pd.DataFrame]) -> Any:
        """Read the witnesses as tables in memory are read."""
        old, new = (frame.drop(columns=[KEY, POSITION]) for frame in frames)
        arguments = self.arguments
        if self.labels is not None:
            arguments = replace(arguments, labels=self.labels)
        try:
            return read_pair(old, new, arguments)
        except (TypeError, ValueError) as error:
            error.add_note(
                f"Rows are counted among {len(old):,} that were taken from the partitions."
            )
            raise

    def _gathered(self) -> ComparedRows:
        """Return the outputs of a regression, which mostly all change, in memory."""
        import pandas as pd

        n_rows = max(len(table) for table in self.tables)
        if n_rows > MOST_CHANGED:
            raise ArgumentValueError(
                "old and new",
                f"of at most {MOST_CHANGED:,} rows where they hold outputs of a regression, which nearly all change",
                f"{n_rows:,} rows",
                "Compare a sample of the ids, the same one of both tables.",
            )
        whole = []
        for table in self.tables:
            parts = computed(table.parts, table.argument)
            whole.append(pd.concat(parts).drop(columns=[KEY, POSITION]).reset_index(drop=True))
        arguments = self.arguments
        if self.labels is not None:
            arguments = replace(arguments, labels=self.labels)
        return compared_rows(read_pair(whole[0], whole[1], arguments))

    def _joined(self) -> list[tuple[Any, Any]]:
        """Return pairs of partitions that hold the rows of the same ids."""
        frames = []
        for place, table in enumerate(self.tables):
            frame = dask().dataframe.from_delayed(
                table.parts, meta=table.meta, divisions=table.divisions, verify_meta=False
            )
            # Ids are shown as the old table has them, and integers are their own keys.
            unused = [POSITION] if place else []
            if place or self.kind == "integer":
                unused.append(table.id_name)
            frames.append(frame.drop(columns=unused))
        known = [frame.known_divisions for frame in frames]
        if all(known):
            # Sorted by the id already: cut at the same ids, nothing is shuffled.
            ends = [frame.divisions[place] for place in (0, -1) for frame in frames]
            inner = [one for one in frames[0].divisions[1:-1] if min(ends) < one < max(ends)]
            cuts = [min(ends), *dict.fromkeys(inner), max(ends)]
            cut = [frame.repartition(divisions=cuts, force=True) for frame in frames]
        else:
            n = max(frame.npartitions for frame in frames)
            cut = [frame.shuffle(KEY, npartitions=n) for frame in frames]
        first, second = (frame.to_delayed() for frame in cut)
        return list(zip(first, second, strict=True))


def _unsteady() -> ArgumentValueError:
    """Return the error of tables of which each look shows something else."""
    return ArgumentValueError(
        "old and new",
        "tables in which each row says the same of the columns",
        "columns that were taken for something else with each look at more rows",
        "Name the columns by ids=RoleOptions(columns=[...]), or call compute().",
    )


def _checked(arguments: PairArguments) -> tuple[PairArguments, Any]:
    """Return the arguments without a table of labels, and that table; arrays for each row are refused."""
    remedy = "Make it a column of one of the tables, and name it."
    # Rows in partitions have no place at which an entry of an array could be theirs.
    for name in ("ids", "groups"):
        value = getattr(arguments, name)
        if value is not None and not isinstance(value, str | RoleOptions):
            raise ArgumentTypeError(
                name, "the name of a column of data frames of Dask", "an array", remedy
            )
    labels = arguments.labels
    if labels is None or isinstance(labels, str):
        return arguments, None
    # Its ids are sought in every partition, for which they have to be in memory.
    if is_partitioned(labels):
        raise ArgumentTypeError(
            "labels", "a table in memory, or the name of a column", "a data frame of Dask", remedy
        )
    cells = cells_of(labels, "labels")
    if len(cells.frame.columns) < 2:
        raise ArgumentValueError("labels", "a table of ids and labels", "one column", remedy)
    if len(cells.frame) > MOST_LABELS:
        raise ArgumentValueError(
            "labels", f"a table of at most {MOST_LABELS:,} rows", f"{len(cells.frame):,}", remedy
        )
    return replace(arguments, labels=None), labels


def _words_of(labels: Any) -> frozenset[str]:
    """Return all cells of a table of labels as text: the ids are among them."""
    if labels is None:
        return frozenset()
    frame = cells_of(labels, "labels").frame
    words: set[str] = set()
    for name in frame.columns:
        words |= {word for word in cell_texts(frame[name]) if word is not None}
    return frozenset(words)


def _named(parts: Sequence[dict[Any, Any]]) -> set[Any]:
    """Return the ids of witnesses, one for each thing that they show where one is enough."""
    found: dict[Any, Any] = {}
    for part in parts:
        for shown, key in part.items():
            found.setdefault(shown, key)
    return set(found.values())
