"""Routes for models made of trees: exact for one tree and along one column, bounds from both sides for sums."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.options import progress_bar
from shiftmetrics.models.forests import exact
from shiftmetrics.models.forests.choice_scan import NotTheModel
from shiftmetrics.models.forests.climbing import climb, worth
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.forests.loss_bounds import lower_loss
from shiftmetrics.models.forests.neighbourhood import Neighbourhood
from shiftmetrics.models.forests.search import ROUNDING, ErrorSearch
from shiftmetrics.models.forests.standing import Standing
from shiftmetrics.models.reading.estimators import estimator_of, last_step
from shiftmetrics.models.reading.model import LossName, ModelProblem
from shiftmetrics.models.search.importance import Draws
from shiftmetrics.models.search.worst_case import Ascent, BestPoints, Route, WorstCase
from shiftmetrics.stability.losses import CandidateLoss, ZeroOneLoss

_PRICE = 0.1
"""Dual price to begin with, relative to the price of a move over the mean loss."""
_BEYOND = 1.25
"""How much farther errors are sought than the price asks for: the upper ends of intervals stand at higher prices."""
_RISE = 1000.0
"""How many times as high a price is tried where the threshold is out of reach."""


class TreeRoute(Route):
    """One decision tree of scikit-learn: exact, from the boxes of its leaves."""

    modules: ClassVar[tuple[str, ...]] = ("sklearn.tree",)

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Return whether the model, or the last step of a pipeline, is from one of these modules."""
        return type(last_step(model)).__module__.startswith(self.modules)

    def worst_case(self, problem: ModelProblem) -> WorstCase | None:
        """Return the worst case; None if the trees cannot be read, or steps before them mix columns."""
        grid = grid_of_problem(problem)
        if grid is None:
            return None
        try:
            return _worst_case(grid, problem)
        except NotTheModel:
            return None

    def by_group(
        self,
        problem: ModelProblem,
        groups: Sequence[Sequence[str | int]],
        draws: Draws | None = None,
    ) -> Iterator[tuple[int, WorstCase]]:
        """Yield the worst cases of groups of columns; single columns are scanned together."""
        costs: FloatArray | float = 1.0
        if problem.costs is not None:
            costs = problem.costs[problem.y]
        # The scans look for errors alone: the caller gives their losses the costs afterwards.
        problem = replace(problem, costs=None)
        grid = grid_of_problem(problem)
        if grid is None:
            return
        axes = []
        for group in groups:
            columns = problem.domain.positions(group)
            axes.append(grid.axes_of(columns.tolist()))
        single: dict[int, list[int]] = {}
        for position, held in enumerate(axes):
            if len(held) == 1:
                single.setdefault(int(held[0]), []).append(position)
        try:
            for axis, found in exact.along_axes(problem, grid, list(single), draws, costs):
                for position in single[axis]:
                    yield position, found
            for position, group in enumerate(groups):
                if len(axes[position]) != 1:
                    # The trees are not read again: other axes of the same grid may change.
                    alone = problem.restricted(group)
                    own_grid = grid.within(alone.domain)
                    yield position, _worst_case(own_grid, alone)
        except NotTheModel:  # the trees are not the whole model: another route finds the rest
            return


class EnsembleRoute(TreeRoute):
    """Sums of trees: exact along one column and where the cells are few, else bounds."""

    modules = (
        "sklearn.ensemble",
        "sklearn.multiclass",
        "sklearn.calibration",
        "imblearn.ensemble",
        "xgboost",
        "lightgbm",
        "catboost",
        "interpret.",
        estimator_of.__module__,
    )


def _worst_case(grid: Grid, problem: ModelProblem) -> WorstCase:
    """Scan all choices where they are few enough, else search."""
    if grid.forest.n_trees == 1:
        return exact.of_tree(problem, grid)
    if len(grid.active) <= 1:
        axis = 0
        if grid.active.size:
            axis = int(grid.active[0])
        _, along_axis = next(exact.along_axes(problem, grid, [axis]))
        return along_axis
    found = exact.by_enumeration(problem, grid)
    if found is not None:
        return found
    if problem.loss != "zero_one":
        return ForestAscent(problem, grid).first()
    return _of_errors(ErrorSearch(problem, grid), problem.theta1)


def _of_errors(errors: ErrorSearch, theta1: float) -> WorstCase:
    """Return the errors found so far; to refine them is to search the next rows that matter at a price."""
    cells = errors.cells.copy()
    distances = errors.distances.copy()

    def points(rows: IntArray, apart: FloatArray, choices: IntArray | None) -> FloatArray:
        start = errors.problem.codes[rows]
        return errors.grid.points(start, cells[rows])

    # A row changes where a unit of loss is worth the distance: dual > theta1 distance^2.
    def refine(dual: float) -> WorstCase | None:
        farthest = math.sqrt(dual / theta1)
        if errors.search(_BEYOND * farthest) or errors.certify(farthest):
            return _of_errors(errors, theta1)
        return None

    # Where the bounds from both sides meet for all samples, the distances are exact.
    if (distances <= errors.least * (1.0 + ROUNDING)).all():
        return WorstCase(ZeroOneLoss(distances), points)
    least = np.minimum(errors.least, distances)
    lower = ZeroOneLoss(least, kind="lower_bound")
    upper = ZeroOneLoss(distances, kind="upper_bound")
    # Rows that were not searched at all, and of which no error is known.
    left_out = int((np.isinf(distances) & (errors.reach == 0.0)).sum())
    return WorstCase(upper, points, lower=lower, refine=refine, left_out=left_out)


class ForestAscent(Ascent):
    """Ascent over the cells of a grid: from the best points and from the rows."""

    def __init__(self, problem: ModelProblem, grid: Grid) -> None:
        cells = grid.cells(problem.codes)
        outputs = grid.outputs(cells)
        losses = grid.forest.losses(outputs, problem.y, problem.loss)
        super().__init__(problem, losses)
        self.grid = grid
        self.price = _PRICE * problem.theta1 / max(float(losses.mean()), 1e-3)
        self.has_risen = False
        highest = grid.forest.highest_losses(problem.y, problem.loss)
        self.most_gain = np.maximum(highest - losses, 0.0)
        self._last: tuple[slice, float, Neighbourhood] | None = None
        bound = lower_loss(grid, problem.codes, problem.y, problem.loss)
        if bound is not None:
            self.lower = CandidateLoss(*bound, kind="lower_bound")

    def first(self) -> WorstCase:
        """Climb at a low price: few leaves are near enough to be worth their way."""
        cells = self._climbed(self.grid.cells(self.problem.codes), self.price)
        self.add(*self._at(cells))
        return self.worst_case()

    def price_at(self, dual: float) -> float | None:
        """Return the dual price; where it is not known, a high one, once."""
        if 0.0 < dual < np.inf:
            return dual
        if self.has_risen:
            return None
        self.has_risen = True
        return self.price * _RISE

    def climb(self, start: FloatArray, best: BestPoints, price: float) -> None:
        """Climb at this price from the best points and from the rows."""
        problem = self.problem
        grid = self.grid
        everyone = np.arange(problem.n_samples)
        for cells in (grid.cells(start), grid.cells(problem.codes)):
            climbed = self._climbed(cells, price)
            points, losses, distances = self._at(climbed)
            values = price * losses - problem.theta1 * distances * distances
            best.keep(everyone, points, losses, values)

    def _at(self, cells: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the points of cells, with their losses and distances."""
        problem = self.problem
        grid = self.grid
        points = grid.points(problem.codes, cells)
        outputs = grid.outputs(cells)
        losses = grid.forest.losses(outputs, problem.y, problem.loss)
        distances = problem.domain.distances(points, problem.codes)
        return points, losses, distances

    def _climbed(self, cells: IntArray, price: float) -> IntArray:
        """Climb at a price."""
        n_samples = self.problem.n_samples
        score = worth(self.problem.theta1 / price)
        row_bytes = 64 * (1 + self.grid.forest.n_outputs) * len(self.grid.axis_of_cell)
        climbed = []
        with progress_bar(
            self.problem.search.progress, "higher losses", n_samples, unit=" rows"
        ) as bar:
            for rows in self.grid.row_blocks(n_samples, row_bytes):
                block = self._block(rows, price)
                # Points of a higher price that are not worth their way any more begin anew.
                spent = block.spent(cells[rows]).sum(axis=1)
                worth_it = spent[:, None] <= block.limit[:, None]
                start = np.where(worth_it, cells[rows], block.start)
                climbed.append(climb(block, start, score))
                bar.update(rows.stop - rows.start)
        return np.concatenate(climbed)

    # No loss that a row can reach is worth a way beyond theta1 d^2 = price * (highest loss - present loss).
    def _block(self, rows: slice, price: float) -> Neighbourhood:
        """Return the surroundings of a block of rows at a price; the last ones are kept."""
        if self._last is None or self._last[:2] != (rows, price):
            problem = self.problem
            standing = Standing.of(self.grid, problem.codes[rows])
            height_of = functools.partial(self.grid.forest.losses, loss=problem.loss)
            limit = price / problem.theta1 * self.most_gain[rows]
            block = Neighbourhood.of(standing, problem.y[rows], height_of, limit)
            self._last = (rows, price, block)
        return self._last[2]
