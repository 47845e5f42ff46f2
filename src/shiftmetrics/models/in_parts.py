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
from typing import Any, Self, cast

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
from shiftmetrics.models.perturbation import Perturbation, Search
from shiftmetrics.models.question import LossName, QueryCount, Question, question_of
from shiftmetrics.models.route import Answer, MappedAnswer, answer, fixed_answer, joined, unreached
from shiftmetrics.models.table import CodedTable, frame_of
from shiftmetrics.stability.losses import (
    CandidateLoss,
    FixedLoss,
    Loss,
    Reach,
    Transform,
    ZeroOneLoss,
)
from shiftmetrics.stability.plan import blocks_of
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
    """Rows in parts and their labels, as a question of which blocks are asked.

    Attributes
    ----------
    question : Question
        About all rows, whose codes are `Chunks`; its labels are those of the rows that were looked at.
    looked_at : Question
        About some of the rows, in memory.
    targets : Chunks, array or None
        Positions of labels, or values; None for the model's own predictions.
    search : Search
        How to search.
    """

    question: Question
    looked_at: Question
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
            As `question_of`; also if rows and labels are cut differently.
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
        looked_at = question_of(
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

    def _of(self, codes: FloatArray, y: Any) -> Question:
        """Return the question about some rows, in memory."""
        table = replace(self.question.table, codes=codes)
        rng = np.random.default_rng(self.search.rng)
        return replace(self.question, table=table, y=y, rng=rng, count=QueryCount())

    def ask(self, rows: slice | IntArray) -> Question:
        """Return the question about a block of rows."""
        codes = np.asarray(self.question.codes[rows])
        y = None if self.targets is None else np.asarray(self.targets[rows])
        question = self._of(codes, y)
        if y is None:
            return replace(question, y=question.predict(codes))
        return question

    @property
    def row_bytes(self) -> int:
        """What decides the number of rows in a block."""
        classes = self.question.classes
        n_rivals = 2 if classes is None else max(len(classes) - 1, 1)
        return CELL_BYTES * (self.question.domain.n_features + 8) * n_rivals

    def gathered(self) -> Question:
        """Return the question with all rows in memory.

        Raises
        ------
        MemoryError
            If they take more than the limit.
        """
        n_samples, n_features = self.question.codes.shape
        remedy = "Take fewer rows, or a loss and model of which each row is searched by itself, such as the 0/1 loss."
        limit = check_memory_limit(self.search.memory_limit)
        check_memory(
            GATHERED_BYTES * n_samples * n_features,
            limit,
            "X, all rows of which this search holds,",
            remedy,
        )
        text = "This search goes on at the price of a unit of risk and holds all rows: they were taken to memory."
        domain = replace(self.question.domain, warnings=(*self.question.domain.warnings, text))
        return replace(self.ask(slice(0, n_samples)), domain=domain, progress=self.search.progress)

    def found(self) -> MappedAnswer | None:
        """Map the route over all rows; None where its search needs all of them at once."""
        # A few rows, with all patterns of missing cells, tell which route answers, and how.
        codes = self.looked_at.codes
        _, rows = np.unique(np.isnan(codes), axis=0, return_index=True)
        rows = np.union1d(rows, np.linspace(0, len(codes) - 1, PROBED).astype(int))
        route, first = self.answer(self._of(codes[rows], self.looked_at.y[rows]))
        if first.refine is not None:
            return None
        if not isinstance(first.loss, FixedLoss | ZeroOneLoss | CandidateLoss):
            loss = MappedLoss(self.question.codes, self.targets, self, first.loss)
            lower = None
            if first.lower is not None:
                lower = MappedLoss(self.question.codes, self.targets, self, first.lower, lower=True)
            none = np.zeros(0)
            return MappedAnswer(
                route, loss, lower, none, none, self.looked_at.count.rows, first.warnings
            )
        arrays = [self.question.codes]
        if self.targets is not None:
            arrays.append(self.targets)
        blocks = placed(row_blocks(len(self.question.codes), self.row_bytes), arrays)
        with ThreadPoolExecutor(1) as one:  # threads would share modes of a network
            return joined(list(map_blocks(self.find, blocks, executor=one)))

    def answer(self, question: Question) -> tuple[str, Answer]:
        """Return the name and the answer of a route."""
        if question.immovable:
            return "weights", fixed_answer(question)
        return answer(question, self.search.method)

    def find(self, rows: slice) -> MappedAnswer:
        """Map a block of rows."""
        question = self.ask(rows)
        route, found = self.answer(question)
        # Points do not leave the block, so that nobody can ask the model about them later: some are asked now.
        unconfirmed = np.zeros(question.n_samples)
        warnings = found.warnings
        if isinstance(found.loss, ZeroOneLoss):
            distances = np.asarray(found.loss.distances)
            warnings = tuple(text for text in warnings if text not in unreached(distances))
            left = np.flatnonzero(np.isfinite(distances) & (distances > 0.0))
            step = 1 + len(left) // CHECKED
            left = left[::step]
            places = found.points(left, distances[left], None)
            origins = question.codes[left]
            farther = question.domain.distances(places, origins)
            unconfirmed[left] = farther > (1.0 + PUSHES[-1]) * distances[left]
            for push in (0.0, *PUSHES):
                moved = question.domain.clip(origins + (1.0 + push) * (places - origins), origins)
                right = ~question.is_wrong(places if push == 0.0 else moved, left)
                left = left[right]
                places = places[right]
                origins = origins[right]
                if not left.size:
                    break
            unconfirmed[left] = step
        return MappedAnswer(
            route, found.loss, found.lower, question.y, unconfirmed, question.count.rows, warnings
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
        _, found = self.rows.answer(self.rows.ask(rows))
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
