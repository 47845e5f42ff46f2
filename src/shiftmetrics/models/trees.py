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
from shiftmetrics.models.forests.from_model import grid_of_question
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.forests.reading import estimator_of
from shiftmetrics.models.forests.search import answer_by_search
from shiftmetrics.models.outputs import last_step
from shiftmetrics.models.question import LossName, Question
from shiftmetrics.models.route import Answer, with_costs


class TreeRoute:
    """One decision tree of scikit-learn: exact, from the boxes of its leaves."""

    searches = False
    modules: ClassVar[tuple[str, ...]] = ("sklearn.tree",)

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Return whether the model, or the last step of a pipeline, is from one of these modules."""
        return type(last_step(model)).__module__.startswith(self.modules)

    def answer(self, question: Question) -> Answer | None:
        """Answer; None if the trees cannot be read, or steps before them mix columns."""
        grid = grid_of_question(question)
        if grid is None:
            return None
        try:
            return _answer_on(grid, question)
        except NotTheModel:
            return None


class EnsembleRoute(TreeRoute):
    """Sums of trees: exact along one column and where the cells are few, else bounds."""

    modules = ("sklearn.ensemble", "xgboost", "lightgbm", estimator_of.__module__)


def _answer_on(grid: Grid, question: Question) -> Answer:
    if grid.forest.n_trees == 1:
        return answer_of_tree(question, grid)
    if len(grid.active) <= 1:
        axis = int(grid.active[0]) if grid.active.size else 0
        return next(iter(answers_along_axes(question, grid, [axis])))[1]
    return answer_by_enumeration(question, grid) or answer_by_search(question, grid)


def answers_for_groups(
    question: Question, groups: Sequence[Sequence[str | int]], parts: FloatArray | None = None
) -> Iterator[tuple[int, Answer]]:
    """Answer for groups of columns, when those of one group alone may move; single columns share their work.

    Parameters
    ----------
    question : Question
        The model, the rows and the loss, with all that may move.
    groups : sequence of sequence of str or int
        Names or positions of columns.
    parts : array of shape (n_parts, n_samples), optional
        Weights of the rows in parts of them; see `Redraws`.

    Yields
    ------
    (position, Answer)
        In any order; nothing where the model is not made of trees that can be read.
    """
    if not any(
        route().accepts(question.model, question.loss) for route in (TreeRoute, EnsembleRoute)
    ):
        return
    costly, question = question, replace(question, costs=None)
    grid = grid_of_question(question)
    if grid is None:
        return
    axes = [grid.axes_of(question.domain.positions(group).tolist()) for group in groups]
    single: dict[int, list[int]] = {}
    for position, held in enumerate(axes):
        if len(held) == 1:
            single.setdefault(int(held[0]), []).append(position)
    costs = 1.0 if costly.costs is None else costly.costs[question.y]
    for axis, answer in answers_along_axes(question, grid, list(single), parts, costs):
        for position in single[axis]:
            yield position, with_costs(costly, answer)
    for position, group in enumerate(groups):
        if len(axes[position]) != 1:
            domain = question.domain.restricted(group)
            answer = _answer_on(grid.within(domain), replace(question, domain=domain))
            yield position, with_costs(costly, answer)
