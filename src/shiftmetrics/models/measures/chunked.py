"""Models on out-of-core data: a route finds the worst cases of chunk after chunk, wherever these are.

What the samples hold is one sum (`Summary`), from which units, bounds and costs come. The distances and losses that a
route finds leave the chunks; the points themselves stay there, so that changed samples are not known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, is_table
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.chunk_readers import gathered
from shiftmetrics._core.chunks import Chunks
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import check_memory, check_memory_limit
from shiftmetrics._core.placement import check_rows_fit
from shiftmetrics.models.domain.arguments import domain_of
from shiftmetrics.models.domain.perturbation import Perturbation, Search
from shiftmetrics.models.domain.table import CodedTable, frame_of_samples
from shiftmetrics.models.measures.routes import ROUTES, find_worst_case
from shiftmetrics.models.reading.checks import column_of, columns_of, targets_of
from shiftmetrics.models.reading.model import ModelProblem, QueryCount, problem_of
from shiftmetrics.models.search.worst_case import WorstCase, as_candidates
from shiftmetrics.stability.losses import CandidateLoss, FixedLoss, Kind, Loss, ZeroOneLoss
from shiftmetrics.stability.problem import ROW_BYTES

LOOKED_AT = 2000
"""Samples, evenly over the chunks, by which model, columns and labels are validated."""
PROBED = 64
"""Samples by which a route is chosen."""
CELL_BYTES = 8
"""Part of what a route takes for each cell of a block, and each rival class: so blocks take some 32 MiB."""
GATHERED_BYTES = 512
"""Bytes of each cell of samples that a search takes to memory, with the points that it finds."""


def chunked_problem(
    source: Chunks,
    model: Any,
    y: Any,
    *,
    perturbation: Perturbation,
    search: Search,
    **options: Any,
) -> ModelProblem:
    """Look at some samples, validate these as in memory, and sum up what all of them hold.

    Parameters
    ----------
    source : Chunks
        The samples.
    model, y, perturbation, search, **options
        As `problem_of`. Labels are one number of each sample, and come to memory.

    Returns
    -------
    ModelProblem
        Its codes are `Chunks`.

    Raises
    ------
    TypeError, ValueError
        As `problem_of`.
    MemoryError
        If chunks and results exceed the memory limit.
    """
    most = -(-LOOKED_AT // max(source.n_chunks, 1))  # rounded up
    looks = source.map(_ChunkReading(most))
    sizes = [size for size, _, _ in looks]
    read = [rows for size, _, rows in looks if size]
    some = _joined_rows(read or [source.empty])
    some_y = None
    if y is not None:
        y = column_of(gathered(y, "y", search.memory_limit))
        starts = np.cumsum([0, *sizes])
        if len(y) != starts[-1]:
            expected = f"of length {starts[-1]}"
            raise ArgumentValueError("y", expected, f"length {len(y)}")
        places = []
        for start, (_, place, _) in zip(starts[:-1], looks, strict=True):
            places.append(start + place)
        some_y = y[np.concatenate(places)]
    # Bounds are those of all samples, not of these.
    unbounded = replace(perturbation, bounds=None)
    reading = {**options, "perturbation": unbounded, "search": search}
    looked_at = problem_of(model, some, some_y, **reading)
    columns = None
    if is_table(some):
        used = columns_of(looked_at.model, some)
        columns = list(used.columns)
    codes = source.converted(_Codes(looked_at.table, columns), sizes)
    check_rows_fit([codes], 2 * ROW_BYTES, search, "X")
    table = replace(looked_at.table, codes=cast(FloatArray, codes), row_labels=None, index=None)
    domain = domain_of(table, perturbation)
    if y is None:

        def predicted(part: FloatArray) -> Any:
            if len(part):
                return looked_at.predict(part)
            return part[:, 0].astype(np.int64)

        of_chunks = codes.map(predicted)
        targets = np.concatenate(of_chunks)
    else:
        targets = targets_of(y, looked_at.classes)
    return replace(looked_at, table=table, y=targets, domain=domain)


def worst_case_of_chunks(problem: ModelProblem) -> tuple[str, WorstCase] | None:
    """Return the name of a route and the worst cases of all chunks; None where it needs all samples at once."""
    codes: Any = problem.codes
    without_rows = problem.with_samples(np.empty((0, 0)), problem.y)
    quiet = replace(problem.search, progress=False)
    blocks = _Blocks(replace(without_rows, search=quiet))
    # A few samples tell which route it is, and how it answers.
    evenly = np.linspace(0, len(codes) - 1, PROBED)
    rows = np.unique(evenly.astype(int))
    probed = blocks.of(codes[rows], problem.y[rows])
    _, first = find_worst_case(probed)
    if first.at_any_price().refine is not None:
        return None
    if not isinstance(first.loss, FixedLoss | ZeroOneLoss | CandidateLoss):
        return None  # the data of closed forms are as large as the samples
    labels = np.split(problem.y, codes.edges[1:-1])
    of_chunks = codes.map(blocks, labels)
    parts = list(itertools.chain.from_iterable(of_chunks))
    problem.count.rows += sum(n_queries for _, _, n_queries in parts)
    # Where chunks took several routes, the one that is tried last is named.
    order = ["weights", *ROUTES]
    names = {name for name, _, _ in parts}
    route = max(names, key=order.index)
    together = _joined([found for _, found, _ in parts])
    return route, together


def in_memory(problem: ModelProblem) -> ModelProblem:
    """Return the problem with all samples in memory.

    Raises
    ------
    MemoryError
        If they take more than the limit.
    """
    n_samples, n_features = problem.codes.shape
    needed = GATHERED_BYTES * n_samples * n_features
    limit = check_memory_limit(problem.search.memory_limit)
    check_memory(
        needed,
        limit,
        "X, all rows of which this search holds,",
        "Take fewer rows, or the 0/1 loss, for which each row is searched by itself.",
    )
    text = "The route for this loss holds all rows: they were taken to memory."
    warnings = (*problem.domain.warnings, text)
    gathered_problem = problem.with_samples(np.asarray(problem.codes), problem.y)
    return replace(gathered_problem, domain=replace(problem.domain, warnings=warnings))


def _joined(parts: Sequence[WorstCase]) -> WorstCase:
    """Return the worst case of all blocks of samples together; their points are not known."""
    loss = _joined_losses([found.loss for found in parts])
    # A lower bound of all blocks needs one of each; the loss itself is one where it is exact.
    bounds: list[Loss | None] = []
    for found in parts:
        bound = found.lower
        if found.loss.kind == "exact":
            bound = found.loss
        bounds.append(bound)
    lower = None
    if loss.kind != "exact" and None not in bounds:
        lower = _joined_losses(cast(list[Loss], bounds))
    warnings = dict.fromkeys(text for found in parts for text in found.warnings)
    return WorstCase(loss, parts[0].points, lower=lower, warnings=tuple(warnings))


def _joined_losses(parts: Sequence[Loss]) -> Loss:
    """Return the loss of blocks of samples together."""
    kinds: list[Kind] = [part.kind for part in parts if part.kind != "exact"]
    kind: Kind = "exact"
    if kinds:
        kind = kinds[0]
    if all(isinstance(part, ZeroOneLoss) for part in parts):
        nearest = np.concatenate([cast(ZeroOneLoss, part).distances for part in parts])
        return ZeroOneLoss(nearest, kind=kind)
    # Blocks with fewer candidates get some that are infinitely far.
    candidates = [as_candidates(part) for part in parts]
    width = max(part.n_candidates for part in candidates)
    losses = []
    distances = []
    for part in candidates:
        padding = ((0, 0), (0, width - part.n_candidates))
        losses.append(np.pad(part.losses, padding, constant_values=0.0))
        distances.append(np.pad(part.distances, padding, constant_values=math.inf))
    all_losses = np.concatenate(losses)
    all_distances = np.concatenate(distances)
    return CandidateLoss(all_losses, all_distances, kind=kind)


# What each chunk does, wherever it is.


@dataclass(frozen=True)
class _Blocks:
    """Finds the worst cases of the blocks of a chunk, with the queries that they took."""

    problem: ModelProblem

    def of(self, codes: FloatArray, y: IntArray) -> ModelProblem:
        """Return the problem of some samples, in memory."""
        rng = np.random.default_rng(self.problem.search.rng)
        return replace(self.problem.with_samples(codes, y), rng=rng, count=QueryCount())

    def __call__(self, codes: FloatArray, y: IntArray) -> list[tuple[str, WorstCase, int]]:
        n_rivals = 2
        if self.problem.classes is not None:
            n_rivals = max(len(self.problem.classes) - 1, 1)
        n_cells = self.problem.domain.n_features + 8
        row_bytes = CELL_BYTES * n_cells * n_rivals
        parts = []
        for rows in row_blocks(len(codes), row_bytes):
            problem = self.of(codes[rows], y[rows])
            route, found = find_worst_case(problem)
            found = found.at_any_price()
            # The points hold the samples: they stay with the chunk.
            unknown = WorstCase.fixed(problem).points
            found = replace(found, points=unknown)
            parts.append((route, found, problem.count.rows))
        return parts


@dataclass(frozen=True)
class _ChunkReading:
    """Finds some rows of a chunk: evenly, each string, each pattern of missing cells; where, and what they hold."""

    most: int

    def __call__(self, part: Any) -> tuple[int, IntArray, Any]:
        import pandas as pd

        part = frame_of_samples(part)
        frame = part
        if not is_table(part):
            n_columns = math.prod(part.shape[1:])
            frame = pd.DataFrame(np.reshape(part, (len(part), n_columns)))
        step = max(1, -(-len(part) // self.most))
        wanted = np.arange(len(part)) % step == 0
        if len(part):
            pattern = frame.isna()
            seen = pattern.duplicated()
            wanted |= ~seen.to_numpy(dtype=bool)
        for place in range(frame.shape[1]):
            column = frame.iloc[:, place]
            if not pd.api.types.is_numeric_dtype(column.dtype):
                seen = column.duplicated()
                wanted |= ~seen.to_numpy(dtype=bool)
        return len(part), np.flatnonzero(wanted), part[wanted]


@dataclass(frozen=True)
class _Codes:
    """Codes a chunk of rows like the rows that were checked first."""

    table: CodedTable
    columns: list[Any] | None

    def __call__(self, part: Any) -> FloatArray:
        part = frame_of_samples(part)
        if not len(part):
            return np.empty((0, len(self.table.columns)))
        if self.columns is not None:
            part = part[self.columns]
        return self.table.coded(part)


def _joined_rows(parts: Sequence[Any]) -> Any:
    import pandas as pd

    if is_table(parts[0]):
        return pd.concat(parts)
    return np.concatenate(parts)
