"""What one pair of partitions comes down to: the map step of a comparison of tables that are not in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.decisions.diff.compared import PairTotals, totals_of_classes
from shiftmetrics.decisions.predictions.pairs import ClassPair
from shiftmetrics.decisions.predictions.partitioned_tables import KEY, POSITION, check_once
from shiftmetrics.decisions.predictions.recipe import PairRecipe
from shiftmetrics.tables.evidence import cell_texts

if TYPE_CHECKING:
    import pandas as pd

MOST_CHANGED = 2_000_000
"""Rows that come to this process at most: changed ones, and those that one table has alone."""

MOST_STRANGERS = 3
"""Rows of one partition that are named where its scores contradict those of the witnesses."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PartOfPair:
    """What one pair of partitions comes down to.

    Attributes
    ----------
    pair : ClassPair
        The changed rows.
    positions : ndarray of int
        Their places in the old table.
    totals : PairTotals
    alone : ndarray of int
        Places of the rows that the old table has alone.
    n_alone_new : int
        Rows that the new table has alone.
    strangers : set
        Ids of rows whose scores contradict those of the witnesses: nothing was compared then.
    example : str or None
        The id of a row that one has alone.
    """

    pair: ClassPair
    positions: IntArray
    totals: PairTotals
    alone: IntArray
    n_alone_new: int
    strangers: set[Any]
    example: str | None


def compare_part(
    old: pd.DataFrame, new: pd.DataFrame, recipe: PairRecipe, wanted: IntArray, ranks: bool
) -> PartOfPair:
    """Compare the rows of one pair of partitions: the map step.

    Parameters
    ----------
    old, new : DataFrame
        All rows of some ids, in any order.
    recipe : PairRecipe
        How they are read.
    wanted : ndarray of int
        Places in the old table of the rows whose posterior agreement is asked for.
    ranks : bool
        Whether the probabilities of two classes are kept to rank them.
    """
    import pandas as pd

    strangers: set[Any] = set()
    for part, side in zip((old, new), recipe.sides, strict=True):
        check_once(part, side.reading.name, side.reading.id[0])
        strange = np.flatnonzero(side.strangers(part))[:MOST_STRANGERS]
        strangers |= set(part[KEY].to_numpy()[strange].tolist())
    keys = old[KEY].to_numpy()
    positions = old[POSITION].to_numpy()
    places = pd.Index(new[KEY].to_numpy()).get_indexer(pd.Index(keys))
    there = places >= 0
    if strangers:
        # How they are read is to be found again.
        there[:] = False
    rows = np.flatnonzero(there), places[there]
    name = recipe.sides[0].reading.id[0]
    ids = shown_ids(old[name] if name in old.columns else old[KEY])[there]
    pair = recipe.read((old, new), keys[there], ids, rows)
    own = positions[there]
    sampled = np.flatnonzero(np.isin(own, wanted))
    changed = np.flatnonzero(pair.changed)
    n_alone_new = len(new) - len(own)
    example = None
    if not there.all():
        example = str(keys[~there][0])
    elif n_alone_new:
        others = np.isin(np.arange(len(new)), places, invert=True)
        example = str(new[KEY].to_numpy()[others][0])
    return PartOfPair(
        pair=pair.taken(changed).without_scores(),
        positions=own[changed],
        totals=totals_of_classes(pair, sampled, own[sampled], ranks=ranks),
        alone=np.empty(0, dtype=np.int64) if strangers else positions[~there],
        n_alone_new=n_alone_new,
        strangers=strangers,
        example=example,
    )


def counts_of_part(part: PartOfPair) -> tuple[int, int]:
    """Return how many changed rows a part holds, and how many that the old table has alone."""
    return len(part.positions), len(part.alone)


def check_counts(counts: IntArray) -> None:
    """Refuse more rows than this process should take."""
    n_changed, n_alone = counts.sum(axis=0)
    if n_changed > MOST_CHANGED:
        raise ArgumentValueError(
            "old and new",
            f"of models that differ in at most {MOST_CHANGED:,} rows, which are brought together to be labelled",
            f"{n_changed:,} changed rows",
            "Compare a sample of the ids, the same one of both tables.",
        )
    if n_alone > MOST_CHANGED:
        raise ArgumentValueError(
            "old",
            f"a table of which new lacks at most {MOST_CHANGED:,} rows",
            f"{n_alone:,} such rows",
            "Leave out the rows that new lacks.",
        )


def refuse_alone(found: Sequence[PartOfPair], n_common: int) -> None:
    """Refuse rows that one table has alone."""
    n_old = sum(len(part.alone) for part in found)
    n_new = sum(part.n_alone_new for part in found)
    example = next(part.example for part in found if part.example is not None)
    raise ArgumentValueError(
        "old and new",
        "of the same rows",
        f"{n_old:,} rows of old and {n_new:,} of new alone, such as {example!r}, beside {n_common:,} in both",
        "Pass ids=RoleOptions(inner=True) to compare those that both have.",
    )


def shown_ids(column: pd.Series) -> npt.NDArray[Any]:
    """Return ids as they are shown."""
    if column.dtype.kind in "iu":
        return column.to_numpy()
    return cell_texts(column).astype(str)
