"""Models on rows that are not in memory: the route is mapped over their parts, wherever these are.

What rows hold is one sum (`Summary`), from which units, bounds and costs come. The distances and losses that a route
finds for each row leave the parts; a closed form, whose data are as large as the rows, stays there and is laid out
anew in each pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray, is_table
from shiftmetrics._core.blocks import map_blocks, row_blocks
from shiftmetrics._core.chunk_readers import check_cut_alike, chunks_of
from shiftmetrics._core.chunks import Chunks, rows_of
from shiftmetrics._core.options import check_memory, check_memory_limit
from shiftmetrics._core.placement import check_rows_fit, placed
from shiftmetrics._core.tables import check_labels
from shiftmetrics._core.validation import check_vector, describe
from shiftmetrics.models.checks import column_of, columns_of, known_positions
from shiftmetrics.models.domain_arguments import domain_of
from shiftmetrics.models.model import LossName, ModelProblem, QueryCount, problem_of
from shiftmetrics.models.perturbation import Perturbation, Search
from shiftmetrics.models.routes import ROUTES, find_worst_case
from shiftmetrics.models.table import CodedTable, frame_of
from shiftmetrics.models.worst_case import WorstCase, as_candidates, unreached
from shiftmetrics.stability.losses import (
    CandidateLoss,
    FixedLoss,
    Kind,
    Loss,
    Reach,
    Transform,
    ZeroOneLoss,
)
from shiftmetrics.stability.passes import blocks_of
from shiftmetrics.stability.problem import ROW_BYTES

LOOKED_AT = 2000
"""Rows, evenly over the parts, by which model, columns and labels are validated."""
PROBED = 64
"""Rows by which a route is chosen."""
CELL_BYTES = 8
"""Part of what a route takes for each cell of a block of rows, and each rival class: so blocks take some 32 MiB."""
GATHERED_BYTES = 512
"""Bytes of each cell of rows that a search takes to memory, with the points that it finds."""
CHECKED = 256
"""Rows of a block, evenly, whose nearest errors the model is asked again."""
PUSHES = (1e-6, 1e-5, 1e-4)
"""Shares of its move by which a row goes on where the model, asked again in other company, rounds otherwise."""


@dataclass(frozen=True)
class _ChunkReading:
    """Finds some rows of a part: evenly, each text, each pattern of missing cells; says where, and what they hold."""

    most: int

    def __call__(self, part: Any) -> tuple[int, IntArray, Any]:
        import pandas as pd

        part = frame_of(part)
        frame = part
        if not is_table(part):
            n_columns = math.prod(part.shape[1:])
            frame = pd.DataFrame(np.reshape(part, (len(part), n_columns)))
        # Every so many rows; the first of each pattern of missing cells, and of each string.
        step = max(1, -(-len(part) // self.most))
        wanted = np.arange(len(part)) % step == 0
        if len(part):
            wanted |= ~frame.isna().duplicated().to_numpy(dtype=bool)
        for place in range(frame.shape[1]):
            if not pd.api.types.is_numeric_dtype(frame.dtypes.iloc[place]):
                wanted |= ~frame.iloc[:, place].duplicated().to_numpy(dtype=bool)
        return len(part), np.flatnonzero(wanted), part[wanted]


@dataclass(frozen=True)
class _Codes:
    """Codes a part of the rows like those that were looked at."""

    table: CodedTable
    columns: list[Any] | None

    def __call__(self, part: Any) -> FloatArray:
        part = frame_of(part)
        if not len(part):
            return np.empty((0, len(self.table.columns)))
        if self.columns is not None:
            part = part[self.columns]
        return self.table.coded(part)


@dataclass(frozen=True)
class _Targets:
    """Turns a part of the labels into positions among the classes, or checks values."""

    classes: npt.NDArray[Any] | None

    def __call__(self, part: Any) -> npt.NDArray[Any]:
        column = column_of(part)
        if self.classes is None:
            if len(column):
                return check_vector(column, "y")
            return np.empty(0)
        if not len(column):
            return np.empty(0, dtype=np.int64)
        return known_positions(check_labels(column, "y"), self.classes)


@dataclass(frozen=True, eq=False)
class RowsInParts:
    """Rows in parts and their labels, as a problem of which blocks are asked.

    Attributes
    ----------
    problem : ModelProblem
        About all rows, whose codes are `Chunks`; its labels are those of the rows that were looked at.
    looked_at : ModelProblem
        About some of the rows, in memory.
    targets : Chunks, array or None
        Positions of labels, or values; None for the model's own predictions.
    search : Search
        How to search.
    """

    problem: ModelProblem
    looked_at: ModelProblem
    targets: Any
    search: Search

    @classmethod
    def of(
        cls,
        source: Chunks,
        model: Any,
        y: Any,
        *,
        loss: LossName,
        theta1: float,
        theta2: float,
        perturbation: Perturbation,
        search: Search,
    ) -> Self:
        """Look at the rows, validate as in memory, and sum up what all of them hold.

        Raises
        ------
        TypeError, ValueError
            As `problem_of`; also if rows and labels are cut differently.
        MemoryError
            If parts and results exceed the memory limit.
        """
        # Some rows of each chunk, in memory.
        looks = source.map(_ChunkReading(-(-LOOKED_AT // max(source.n_chunks, 1))))
        sizes = [size for size, _, _ in looks]
        places = [place for _, place, _ in looks]
        some = _joined_rows([rows for size, _, rows in looks if size] or [source.empty])
        # Their labels, wherever these are.
        some_y = None
        labels = None if y is None else chunks_of(y, "y")
        if labels is not None and labels.delayed is None:  # one number of each row
            y = np.concatenate([column_of(part) for part in labels.map(lambda part: part)])
            labels = None
        if labels is not None and labels.n_chunks == source.n_chunks:
            some_y = np.concatenate([column_of(part) for part in labels.map(rows_of, places)])
        elif labels is None and y is not None:
            y = column_of(y)
            starts = np.cumsum([0, *sizes])
            if len(y) != starts[-1]:
                raise ValueError(describe("y", f"of length {starts[-1]}", f"length {len(y)}"))
            shifted = [start + place for start, place in zip(starts[:-1], places, strict=True)]
            some_y = y[np.concatenate(shifted)]
        # These rows are validated as in memory; the codes of all rows follow from their table.
        inside = replace(perturbation, bounds=None)  # of all rows, not of these
        looked_at = problem_of(
            model,
            some,
            some_y,
            loss=loss,
            theta1=theta1,
            theta2=theta2,
            perturbation=inside,
            search=search,
        )
        table = looked_at.table
        columns = list(columns_of(looked_at.model, some).columns) if is_table(some) else None
        codes = source.converted(_Codes(table, columns), sizes)
        targets: Any = y if y is None else _Targets(looked_at.classes)(y)
        if labels is not None:
            targets = labels.converted(_Targets(looked_at.classes))
        check_cut_alike(codes, codes if targets is None else targets, "X", "y")
        check_rows_fit([codes, codes if targets is None else targets], 2 * ROW_BYTES, search, "X")
        whole = replace(table, codes=cast(FloatArray, codes), row_labels=None, index=None)
        looked_at = replace(looked_at, domain=domain_of(whole, perturbation), progress=False)
        return cls(replace(looked_at, table=whole), looked_at, targets, search)

    def _of(self, codes: FloatArray, y: Any) -> ModelProblem:
        """Return the problem about some rows, in memory."""
        table = replace(self.problem.table, codes=codes)
        rng = np.random.default_rng(self.search.rng)
        return replace(self.problem, table=table, y=y, rng=rng, count=QueryCount())

    def ask(self, rows: slice | IntArray) -> ModelProblem:
        """Return the problem about a block of rows."""
        codes = np.asarray(self.problem.codes[rows])
        y = None if self.targets is None else np.asarray(self.targets[rows])
        problem = self._of(codes, y)
        if y is None:
            return replace(problem, y=problem.predict(codes))
        return problem

    @property
    def row_bytes(self) -> int:
        """What decides the number of rows in a block."""
        classes = self.problem.classes
        n_rivals = 2 if classes is None else max(len(classes) - 1, 1)
        return CELL_BYTES * (self.problem.domain.n_features + 8) * n_rivals

    def gathered(self) -> ModelProblem:
        """Return the problem with all rows in memory.

        Raises
        ------
        MemoryError
            If they take more than the limit.
        """
        n_samples, n_features = self.problem.codes.shape
        remedy = "Take fewer rows, or a loss and model of which each row is searched by itself, such as the 0/1 loss."
        limit = check_memory_limit(self.search.memory_limit)
        check_memory(
            GATHERED_BYTES * n_samples * n_features,
            limit,
            "X, all rows of which this search holds,",
            remedy,
        )
        text = "This search goes on at the price of a unit of risk and holds all rows: they were taken to memory."
        domain = replace(self.problem.domain, warnings=(*self.problem.domain.warnings, text))
        return replace(self.ask(slice(0, n_samples)), domain=domain, progress=self.search.progress)

    def found(self) -> MappedAnswer | None:
        """Map the route over all rows; None where its search needs all of them at once."""
        # A few rows, with all patterns of missing cells, tell which route answers, and how.
        codes = self.looked_at.codes
        _, rows = np.unique(np.isnan(codes), axis=0, return_index=True)
        rows = np.union1d(rows, np.linspace(0, len(codes) - 1, PROBED).astype(int))
        route, first = self.worst_case_of(self._of(codes[rows], self.looked_at.y[rows]))
        if first.refine is not None:
            return None
        if not isinstance(first.loss, FixedLoss | ZeroOneLoss | CandidateLoss):
            loss = MappedLoss(self.problem.codes, self.targets, self, first.loss)
            lower = None
            if first.lower is not None:
                lower = MappedLoss(self.problem.codes, self.targets, self, first.lower, lower=True)
            none = np.zeros(0)
            return MappedAnswer(
                route, loss, lower, none, none, self.looked_at.count.rows, first.warnings
            )
        arrays = [self.problem.codes]
        if self.targets is not None:
            arrays.append(self.targets)
        blocks = placed(row_blocks(len(self.problem.codes), self.row_bytes), arrays)
        with ThreadPoolExecutor(1) as one:  # threads would share modes of a network
            return joined(list(map_blocks(self.find, blocks, executor=one)))

    def worst_case_of(self, problem: ModelProblem) -> tuple[str, WorstCase]:
        """Return the name and the answer of a route."""
        return find_worst_case(problem, self.search.method)

    def find(self, rows: slice) -> MappedAnswer:
        """Map a block of rows."""
        problem = self.ask(rows)
        route, found = self.worst_case_of(problem)
        # Points do not leave the block, so that nobody can ask the model about them later: some are asked now.
        unconfirmed = np.zeros(problem.n_samples)
        warnings = found.warnings
        if isinstance(found.loss, ZeroOneLoss):
            distances = np.asarray(found.loss.distances)
            warnings = tuple(text for text in warnings if text not in unreached(distances))
            left = np.flatnonzero(np.isfinite(distances) & (distances > 0.0))
            step = 1 + len(left) // CHECKED
            left = left[::step]
            places = found.points(left, distances[left], None)
            origins = problem.codes[left]
            farther = problem.domain.distances(places, origins)
            unconfirmed[left] = farther > (1.0 + PUSHES[-1]) * distances[left]
            for push in (0.0, *PUSHES):
                moved = problem.domain.clip(origins + (1.0 + push) * (places - origins), origins)
                right = ~problem.is_wrong(places if push == 0.0 else moved, left)
                left = left[right]
                places = places[right]
                origins = origins[right]
                if not left.size:
                    break
            unconfirmed[left] = step
        return MappedAnswer(
            route, found.loss, found.lower, problem.y, unconfirmed, problem.count.rows, warnings
        )


@dataclass(frozen=True, eq=False)
class MappedLoss(Loss):
    """The loss of out-of-core data, laid out anew for each block: closed forms of linear models.

    Attributes
    ----------
    codes, targets : Chunks
        Those of the rows.
    rows : RowsInParts
        What is asked of them.
    first : Loss
        That of a few rows.
    lower : bool
        Whether this is the lower bound of the answers.
    """

    codes: Any
    targets: Any
    rows: RowsInParts
    first: Loss
    lower: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.first.kind)
        object.__setattr__(self, "row_bytes", self.rows.row_bytes)

    @property
    def on_workers(self) -> bool:
        """Whether its rows stay where they are: always."""
        return True

    def _of(self, rows: slice | IntArray) -> Loss:
        _, found = self.rows.worst_case_of(self.rows.ask(rows))
        return cast(Loss, found.lower) if self.lower else found.loss

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` before any move."""
        loss = self._of(rows)
        return loss.base(slice(0, loss.n_samples))

    def _moved(self, dual: float, theta1: float, rows: slice) -> Transform:
        loss = self._of(rows)
        return loss.transform(dual, theta1, slice(0, loss.n_samples))

    def _rest(self, rows: slice) -> Reach:
        loss = self._of(rows)
        return loss.reach(math.inf, slice(0, loss.n_samples))

    def _reach(self, rows: slice) -> Reach:
        loss = self._of(rows)
        return loss.reach(1.0, slice(0, loss.n_samples))

    def lift(self, risk: float, rows: slice) -> Transform | None:
        """Return the moves that raise every row to the loss ``risk``."""
        loss = self._of(rows)
        return loss.lift(risk, slice(0, loss.n_samples))

    def largest_dual(self, theta1: float) -> float:
        """Return the least of all blocks."""
        least = self.first.largest_dual(theta1)
        if least in (0.0, math.inf):
            return least
        return min(map_blocks(lambda rows: self._of(rows).largest_dual(theta1), blocks_of(self)))

    def take(self, rows: IntArray) -> Any:
        """Return the loss of some of the rows, in memory."""
        return self._of(rows)

    def describe(self) -> dict[str, Any]:
        """Return what `settings` should record of this loss."""
        return self.first.describe()


def _joined_rows(parts: Sequence[Any]) -> Any:
    import pandas as pd

    if is_table(parts[0]):
        return pd.concat(parts)
    return np.concatenate(parts)


class MappedAnswer(NamedTuple):
    """What a route finds for rows, without their points.

    Attributes
    ----------
    route : str
        Its name.
    loss, lower : Loss
        As in `Answer`.
    y : array of shape (n_samples,)
        Positions of the labels, or values.
    unconfirmed : array of shape (n_samples,)
        For how many rows each stands whose nearest error the model, asked again, takes for right.
    n_queries : int
        Rows that the model predicted.
    warnings : tuple of str
        What the caller should know.
    """

    route: str
    loss: Loss
    lower: Loss | None
    y: npt.NDArray[Any]
    unconfirmed: FloatArray
    n_queries: int
    warnings: tuple[str, ...]


def joined(parts: Sequence[MappedAnswer]) -> MappedAnswer:
    """Put what was found for blocks of rows together."""
    loss = _joined_losses([part.loss for part in parts])
    # A lower bound of all blocks needs one of each block; the loss itself is one where it is exact.
    lower = None
    if loss.kind != "exact" and all(
        part.lower is not None or part.loss.kind == "exact" for part in parts
    ):
        lower = _joined_losses([part.loss if part.lower is None else part.lower for part in parts])
    # Each warning once, in the order of the blocks.
    warnings = dict.fromkeys(text for part in parts for text in part.warnings)
    if isinstance(loss, ZeroOneLoss) and loss.kind == "upper_bound":
        warnings |= dict.fromkeys(unreached(np.asarray(loss.distances)))
    # Where blocks took several routes, the one that is tried last is named.
    names = {part.route for part in parts}
    if len(names) == 1:
        (route,) = names
    else:
        route = max(names, key=list(ROUTES).index)
    return MappedAnswer(
        route=route,
        loss=loss,
        lower=lower,
        y=np.concatenate([part.y for part in parts]),
        unconfirmed=np.concatenate([part.unconfirmed for part in parts]),
        n_queries=sum(part.n_queries for part in parts),
        warnings=tuple(warnings),
    )


def _joined_losses(parts: Sequence[Loss]) -> Loss:
    """Return the loss of blocks of rows together."""
    kind: Kind = next((part.kind for part in parts if part.kind != "exact"), "exact")
    if all(isinstance(part, FixedLoss) for part in parts):
        fixed: Any = next((type(part) for part in parts if type(part) is not FixedLoss), FixedLoss)
        return cast(
            FixedLoss, fixed(np.concatenate([cast(FixedLoss, part).losses for part in parts]))
        )
    if all(isinstance(part, ZeroOneLoss) for part in parts):
        return ZeroOneLoss(
            np.concatenate([cast(ZeroOneLoss, part).distances for part in parts]), kind=kind
        )
    # Blocks with fewer candidates get some that are infinitely far.
    candidates = [as_candidates(part) for part in parts]
    width = max(part.n_candidates for part in candidates)
    losses = []
    distances = []
    for part in candidates:
        missing = ((0, 0), (0, width - part.n_candidates))
        losses.append(np.pad(part.losses, missing, constant_values=0.0))
        distances.append(np.pad(part.distances, missing, constant_values=math.inf))
    return CandidateLoss(np.concatenate(losses), np.concatenate(distances), kind=kind)
