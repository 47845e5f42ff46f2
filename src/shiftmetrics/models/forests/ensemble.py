"""Answers for sums of trees where rows move along several axes: found by search, and certified from below."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics.models.forests.boxes import LeafBoxes
from shiftmetrics.models.forests.certificate import MOST_PAIRS, lower_bounds
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.forests.joint import certified_distances
from shiftmetrics.models.forests.reached import losses_of
from shiftmetrics.models.forests.search import (
    Field,
    climb,
    first_moves,
    higher_loss,
    row_blocks_of,
    shortest_errors,
)
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import CandidateLoss, Loss, ZeroOneLoss

_MOST_OTHERS = 2000
_NEIGHBOURS = 1
_PRICES = (0.1, 1.0, 10.0, 100.0)
"""Dual prices to begin with, relative to the price of a move over the mean loss."""
_GAIN = 1e-9
_FIRST_MOVES = 2
"""Other first moves to climb on from."""


def answer_by_search(question: Question, grid: Grid) -> Answer:
    """Answer for all moves of a sum of trees: an upper bound by search, with a certified lower one where cheap."""
    if question.loss == "zero_one":
        nearest = _nearest(question, grid)
        assert isinstance(nearest.loss, ZeroOneLoss)
        return replace(nearest, lower=_lower(question, grid, nearest.loss.distances))
    return _first(question, grid, _lower(question, grid))


def _lower(question: Question, grid: Grid, found: FloatArray | None = None) -> Loss | None:
    """Return a certified lower loss; with the distances of the errors ``found``, a sharper one."""
    boxes = LeafBoxes.of(grid)
    if len(boxes.leaf) * question.n_samples > MOST_PAIRS:
        return None
    squared, losses = lower_bounds(boxes, question.codes, question.y, question.loss)
    if found is not None:
        known = np.where(losses > 0.0, squared, np.inf).min(axis=1)
        least = certified_distances(boxes, question.codes, question.y, known, found * found)
        squared = np.where(losses > 0.0, np.maximum(squared, least[:, None]), squared)
    return CandidateLoss(losses, np.sqrt(squared), kind="lower_bound")


def _nearest(question: Question, grid: Grid) -> Answer:
    """Search the nearest error of each row, from single moves, greedy ways and nearby rows of other classes."""
    start = question.codes
    wrong = question.is_wrong(start, slice(None))
    distances = np.where(wrong, 0.0, np.inf)
    cells = grid.cells(start)
    others = _Others.of(question, grid)
    with _bar(question, "nearest errors", int((~wrong).sum())) as done:
        right = np.flatnonzero(~wrong)
        for block in row_blocks_of(grid, len(right)):
            rows = right[block]
            done(len(rows))
            for ties_fall in (
                True,
                False,
            ):  # first as if all ties fell; where the model disagrees, as if none did
                field = Field.of(grid, start[rows], question.y[rows], ties_fall=ties_fall)
                squared, found = shortest_errors(field, others.near(field, rows))
                reached = np.flatnonzero(np.isfinite(squared))
                if not reached.size:
                    break
                points = grid.points(start[rows[reached]], found[reached])
                confirmed = question.is_wrong(points, rows[reached])
                where = rows[reached[confirmed]]
                cells[where] = found[reached[confirmed]]
                distances[where] = question.domain.distances(points[confirmed], start[where])
                rows = rows[reached[~confirmed]]
                if not rows.size:
                    break
    return Answer(
        loss=ZeroOneLoss(distances, kind="upper_bound"),
        points=lambda rows, _, __: grid.points(start[rows], cells[rows]),
    )


@dataclass(frozen=True)
class _Others:
    """Rows that the model puts into some class, to begin from."""

    question: Question
    grid: Grid
    points: FloatArray
    labels: Array

    @classmethod
    def of(cls, question: Question, grid: Grid) -> _Others:
        pool = question.codes
        if question.background is not None:
            pool = np.concatenate([pool, question.background])
        if len(pool) > _MOST_OTHERS:
            pool = pool[np.linspace(0, len(pool) - 1, _MOST_OTHERS).astype(int)]
        return cls(question, grid, pool, question.predict(pool))

    def near(self, field: Field, rows: IntArray) -> list[IntArray]:
        """Return the cells of the nearest rows of another predicted class, what may not move left in place."""
        domain = self.question.domain
        apart = domain.squared_gaps(field.start, self.points)
        apart[self.labels[None, :] == self.question.y[rows][:, None]] = np.inf
        n_near = min(_NEIGHBOURS, apart.shape[1])
        nearest = np.argpartition(apart, n_near - 1, axis=1)[:, :n_near]
        starts = []
        for column in nearest.T:
            goal = domain.clip(self.points[column], field.start)
            found = np.isfinite(apart[np.arange(len(rows)), column])
            cells = self.grid.cells(goal)
            legal = np.isfinite(field.spent(cells)) & found[:, None]
            starts.append(np.where(legal, cells, field.own))
        return starts


def _first(question: Question, grid: Grid, lower: Loss | None) -> Answer:
    """Climb at a few dual prices, each from where the last one led, so that the first solution has a choice."""
    start, y = question.codes, question.y
    own = grid.cells(start)
    base = losses_of(grid.forest, grid.trees.outputs(own), y, question.loss)
    found = _Found(question, grid, [own], CandidateLoss(base[:, None], np.zeros((len(base), 1))), lower)
    here = own
    for price in _PRICES:
        here = _climbed(question, grid, here, price * question.theta1 / max(float(base.mean()), 1e-3))
        found = found.with_cells(here)
    return found.answer()


def _climbed(question: Question, grid: Grid, cells: IntArray | int, dual: float) -> IntArray:
    """Climb at a dual price, from cells or from one of the k best first moves of each row."""
    score = higher_loss(
        dual, question.theta1, lambda outputs, y: losses_of(grid.forest, outputs, y, question.loss)
    )
    climbed = []
    with _bar(question, "higher losses", question.n_samples) as done:
        for rows in row_blocks_of(grid, question.n_samples):
            field = Field.of(grid, question.codes[rows], question.y[rows])
            start = first_moves(field, score, cells)[-1] if isinstance(cells, int) else cells[rows]
            climbed.append(climb(field, start, score))
            done(rows.stop - rows.start)
    return np.concatenate(climbed)


@dataclass(frozen=True)
class _Found:
    """Candidates of each row so far, by their cells."""

    question: Question
    grid: Grid
    cells: list[IntArray]
    loss: CandidateLoss
    lower: Loss | None

    def with_cells(self, cells: IntArray) -> _Found:
        """Append a candidate for each row."""
        losses, distances = self._at(cells)
        return replace(self, cells=[*self.cells, cells], loss=self.loss.appended(losses, distances))

    def _at(self, cells: IntArray) -> tuple[FloatArray, FloatArray]:
        question, grid = self.question, self.grid
        points = grid.points(question.codes, cells)
        losses = losses_of(grid.forest, grid.trees.outputs(cells), question.y, question.loss)
        return losses, question.domain.distances(points, question.codes)

    def answer(self) -> Answer:
        return Answer(loss=self.loss, points=self._points, lower=self.lower, refine=self._refine)

    def _points(self, rows: IntArray, _: FloatArray, choices: IntArray | None) -> FloatArray:
        assert choices is not None
        cells = np.stack([column[rows] for column in self.cells])[choices, np.arange(len(rows))]
        return self.grid.points(self.question.codes[rows], cells)

    def _refine(self, dual: float) -> Answer | None:
        """Climb at this price, from the best candidates, from the rows themselves and from other first moves."""
        if not 0.0 < dual < np.inf:
            return None
        question, theta1 = self.question, self.question.theta1
        everything = slice(0, question.n_samples)
        best = self.loss.transform(dual, theta1, everything)
        assert best.choice is not None
        held = np.stack(self.cells)[best.choice, np.arange(question.n_samples)]
        found, value, better = self, best.value, False
        for start in (held, self.cells[0], *range(2, 2 + _FIRST_MOVES)):
            cells = _climbed(question, self.grid, start, dual)
            losses, distances = self._at(cells)
            worth = dual * losses - theta1 * distances * distances
            gains = worth > value + _GAIN * (1.0 + np.abs(value))
            if gains.any():
                found, better = found.with_cells(cells), True
                value = np.maximum(value, worth)
        return found.answer() if better else None


def _bar(question: Question, what: str, total: int) -> Any:
    """Return a context that counts rows on a progress bar where that is wanted."""
    from contextlib import contextmanager

    @contextmanager
    def counted() -> Any:
        if not question.progress:
            yield lambda rows: None
            return
        from tqdm.auto import tqdm

        with tqdm(total=total, desc=what, unit=" rows", delay=2.0, leave=False) as bar:
            yield bar.update

    return counted()
