"""Routes for models made of trees: exact for one tree and along one column, bounds from both sides for sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.forests.answers import (
    NotTheModel,
    answer_by_enumeration,
    answer_of_tree,
    answers_along_axes,
)
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.forests.reading import estimator_of
from shiftmetrics.models.forests.search import answer_by_search
from shiftmetrics.models.importance import Draws
from shiftmetrics.models.model import LossName, ModelProblem
from shiftmetrics.models.outputs import last_step
from shiftmetrics.models.worst_case import Route, WorstCase


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
            return _answer_on(grid, problem)
        except NotTheModel:
            return None

    def by_group(
        self,
        problem: ModelProblem,
        groups: Sequence[Sequence[str | int]],
        draws: Draws | None = None,
    ) -> Iterator[tuple[int, WorstCase]]:
        """Yield the worst cases of groups of columns; single columns share their work."""
        costs: FloatArray | float = 1.0
        if problem.costs is not None:
            costs = problem.costs[problem.y]
        problem = replace(problem, costs=None)
        grid = grid_of_problem(problem)
        if grid is None:
            return
        axes = [grid.axes_of(problem.domain.positions(group).tolist()) for group in groups]
        single: dict[int, list[int]] = {}
        for position, held in enumerate(axes):
            if len(held) == 1:
                single.setdefault(int(held[0]), []).append(position)
        try:
            for axis, found in answers_along_axes(problem, grid, list(single), draws, costs):
                for position in single[axis]:
                    yield position, found
            for position, group in enumerate(groups):
                if len(axes[position]) != 1:
                    alone = problem.restricted(group)
                    yield position, _answer_on(grid.within(alone.domain), alone)
        except NotTheModel:  # the trees are not the whole model: another route finds the rest
            return


class EnsembleRoute(TreeRoute):
    """Sums of trees: exact along one column and where the cells are few, else bounds."""

    modules = ("sklearn.ensemble", "xgboost", "lightgbm", estimator_of.__module__)


def _answer_on(grid: Grid, problem: ModelProblem) -> WorstCase:
    if grid.forest.n_trees == 1:
        return answer_of_tree(problem, grid)
    if len(grid.active) <= 1:
        axis = int(grid.active[0]) if grid.active.size else 0
        return next(iter(answers_along_axes(problem, grid, [axis])))[1]
    return answer_by_enumeration(problem, grid) or answer_by_search(problem, grid)
