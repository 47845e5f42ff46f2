"""Models on out-of-core data: the route is mapped over blocks of samples, wherever these are.

What the samples hold is one sum (`Summary`), from which units, bounds and costs come. The distances and losses that
a route finds leave the blocks; a closed form, whose data are as large as the samples, stays there and is laid out
again in each pass.
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
from shiftmetrics.models.mapped import MappedLoss, MappedWorstCase, joined
from shiftmetrics.models.model import LossName, ModelProblem, QueryCount, problem_of
from shiftmetrics.models.perturbation import Perturbation, Search
from shiftmetrics.models.rounds import PUSHES
from shiftmetrics.models.routes import find_worst_case
from shiftmetrics.models.table import CodedTable, frame_of
from shiftmetrics.models.worst_case import WorstCase, unreached
from shiftmetrics.stability.losses import CandidateLoss, FixedLoss, ZeroOneLoss
from shiftmetrics.stability.problem import ROW_BYTES

LOOKED_AT = 2000
"""Samples, evenly over the chunks, by which model, columns and labels are validated."""
PROBED = 64
"""Samples by which a route is chosen."""
CELL_BYTES = 8
"""Part of what a route takes for each cell of a block, and each rival class: so blocks take some 32 MiB."""
GATHERED_BYTES = 512
"""Bytes of each cell of samples that a search takes to memory, with the points that it finds."""
CHECKED = 256
"""Samples of a block, evenly, whose nearest errors the model is asked again."""


@dataclass(frozen=True, eq=False)
class ChunkedProblem:
    """Out-of-core samples and their labels, as a problem for each block.

    Attributes
    ----------
    problem : ModelProblem
        Of all samples, whose codes are `Chunks`; its labels are those of the samples that were looked at.
    looked_at : ModelProblem
        Of some of the samples, in memory.
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
        """Look at the samples, validate as in memory, and sum up what all of them hold.

        Raises
        ------
        TypeError, ValueError
            As `problem_of`; also if samples and labels are cut differently.
        MemoryError
            If chunks and results exceed the memory limit.
        """
        # Some rows of each chunk, in memory, and their labels, wherever these are.
        looks = source.map(_ChunkReading(-(-LOOKED_AT // max(source.n_chunks, 1))))
        sizes = [size for size, _, _ in looks]
        places = [place for _, place, _ in looks]
        some = _joined_rows([rows for size, _, rows in looks if size] or [source.empty])
        labels = None if y is None else chunks_of(y, "y")
        if labels is not None and labels.delayed is None:  # one number of each row
            y = np.concatenate([column_of(part) for part in labels.map(lambda part: part)])
            labels = None
        some_y = None
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
        looked_at = problem_of(
            model,
            some,
            some_y,
            loss=loss,
            theta1=theta1,
            theta2=theta2,
            perturbation=replace(perturbation, bounds=None),  # those are of all rows, not of these
            search=search,
        )
        table = looked_at.table
        columns = list(columns_of(looked_at.model, some).columns) if is_table(some) else None
        codes = source.converted(_Codes(table, columns), sizes)
        to_targets = _Targets(looked_at.classes)
        targets: Any = None
        if labels is not None:
            targets = labels.converted(to_targets)
        elif y is not None:
            targets = to_targets(y)
        beside = codes if targets is None else targets
        check_cut_alike(codes, beside, "X", "y")
        check_rows_fit([codes, beside], 2 * ROW_BYTES, search, "X")
        whole = replace(table, codes=cast(FloatArray, codes), row_labels=None, index=None)
        looked_at = replace(looked_at, domain=domain_of(whole, perturbation), progress=False)
        return cls(replace(looked_at, table=whole), looked_at, targets, search)

    def _of(self, codes: FloatArray, y: Any) -> ModelProblem:
        """Return the problem of some samples, in memory."""
        table = replace(self.problem.table, codes=codes)
        rng = np.random.default_rng(self.search.rng)
        return replace(self.problem, table=table, y=y, rng=rng, count=QueryCount())

    def block(self, rows: slice | IntArray) -> ModelProblem:
        """Return the problem of a block of samples."""
        codes = np.asarray(self.problem.codes[rows])
        if self.targets is not None:
            return self._of(codes, np.asarray(self.targets[rows]))
        problem = self._of(codes, None)
        return replace(problem, y=problem.predict(codes))

    @property
    def row_bytes(self) -> int:
        """What decides the number of rows in a block."""
        n_rivals = 2
        if self.problem.classes is not None:
            n_rivals = max(len(self.problem.classes) - 1, 1)
        return CELL_BYTES * (self.problem.domain.n_features + 8) * n_rivals

    def gathered(self) -> ModelProblem:
        """Return the problem with all samples in memory.

        Raises
        ------
        MemoryError
            If they take more than the limit.
        """
        n_samples, n_features = self.problem.codes.shape
        check_memory(
            GATHERED_BYTES * n_samples * n_features,
            check_memory_limit(self.search.memory_limit),
            "X, all rows of which this search holds,",
            "Take fewer rows, or a loss and model of which each row is searched by itself, such as the 0/1 loss.",
        )
        text = "This search goes on at the price of a unit of risk and holds all rows: they were taken to memory."
        domain = replace(self.problem.domain, warnings=(*self.problem.domain.warnings, text))
        everything = self.block(slice(0, n_samples))
        return replace(everything, domain=domain, progress=self.search.progress)

    def worst_case_of(self, problem: ModelProblem) -> tuple[str, WorstCase]:
        """Return the name of a route, and the worst case that it finds."""
        route, found = find_worst_case(problem, self.search.method)
        return route, found.at_any_price()

    def worst_case(self) -> MappedWorstCase | None:
        """Map the route over all samples; None where its search needs all of them at once."""
        # A few samples, with all patterns of missing cells, tell which route it is, and how it answers.
        codes = self.looked_at.codes
        _, rows = np.unique(np.isnan(codes), axis=0, return_index=True)
        rows = np.union1d(rows, np.linspace(0, len(codes) - 1, PROBED).astype(int))
        route, first = self.worst_case_of(self._of(codes[rows], self.looked_at.y[rows]))
        if first.refine is not None:
            return None
        arrays = [self.problem.codes]
        if self.targets is not None:
            arrays.append(self.targets)
        if not isinstance(first.loss, FixedLoss | ZeroOneLoss | CandidateLoss):
            loss = MappedLoss(self.problem.codes, self.targets, self, first.loss)
            lower = None
            if first.lower is not None:
                lower = MappedLoss(self.problem.codes, self.targets, self, first.lower, lower=True)
            none = np.zeros(0)
            found = replace(first, loss=loss, lower=lower)
            return MappedWorstCase(route, found, none, none, self.looked_at.count.rows)
        blocks = placed(row_blocks(len(self.problem.codes), self.row_bytes), arrays)
        with ThreadPoolExecutor(1) as one:  # threads would share modes of a network
            return joined(list(map_blocks(self.find, blocks, executor=one)))

    def find(self, rows: slice) -> MappedWorstCase:
        """Map a block of samples."""
        problem = self.block(rows)
        route, found = self.worst_case_of(problem)
        unconfirmed = np.zeros(problem.n_samples)
        if isinstance(found.loss, ZeroOneLoss):
            distances = np.asarray(found.loss.distances)
            unconfirmed = _unconfirmed(problem, found, distances)
            # all blocks together say how many have no error
            own = unreached(distances)
            found = replace(found, warnings=tuple(t for t in found.warnings if t not in own))
        unknown = replace(found, points=lambda rows, distances, choices: problem.codes[rows])
        return MappedWorstCase(route, unknown, problem.y, unconfirmed, problem.count.rows)


def _unconfirmed(problem: ModelProblem, found: WorstCase, distances: FloatArray) -> FloatArray:
    """Ask the model again about some of the nearest errors of a block, which do not leave it.

    An error that the model takes for right is pushed a little farther; if that does not help, it counts, for as many
    samples as it stands for.
    """
    unconfirmed = np.zeros(problem.n_samples)
    left = np.flatnonzero(np.isfinite(distances) & (distances > 0.0))
    step = 1 + len(left) // CHECKED
    left = left[::step]
    places = found.points(left, distances[left], None)
    origins = problem.codes[left]
    farther = problem.domain.distances(places, origins)
    unconfirmed[left] = farther > (1.0 + PUSHES[-1]) * distances[left]
    for push in (0.0, *PUSHES):
        points = places
        if push > 0.0:
            points = problem.domain.clip(origins + (1.0 + push) * (places - origins), origins)
        right = ~problem.is_wrong(points, left)
        left = left[right]
        places = places[right]
        origins = origins[right]
        if not left.size:
            break
    unconfirmed[left] = step
    return unconfirmed


# What each chunk does, wherever it is.


@dataclass(frozen=True)
class _ChunkReading:
    """Finds some rows of a chunk: evenly, each string, each pattern of missing cells; where, and what they hold."""

    most: int

    def __call__(self, part: Any) -> tuple[int, IntArray, Any]:
        import pandas as pd

        part = frame_of(part)
        frame = part
        if not is_table(part):
            n_columns = math.prod(part.shape[1:])
            frame = pd.DataFrame(np.reshape(part, (len(part), n_columns)))
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
    """Codes a chunk of rows like those that were looked at."""

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
    """Turns a chunk of labels into positions among the classes, or checks values."""

    classes: npt.NDArray[Any] | None

    def __call__(self, part: Any) -> npt.NDArray[Any]:
        column = column_of(part)
        if not len(column):
            return np.empty(0, dtype=np.float64 if self.classes is None else np.int64)
        if self.classes is None:
            return check_vector(column, "y")
        return known_positions(check_labels(column, "y"), self.classes)


def _joined_rows(parts: Sequence[Any]) -> Any:
    import pandas as pd

    if is_table(parts[0]):
        return pd.concat(parts)
    return np.concatenate(parts)
