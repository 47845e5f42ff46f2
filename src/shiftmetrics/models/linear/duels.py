"""Linear models of pairs of classes: every pair has a winner, and the class with the most wins is predicted.

Between the boundaries of the pairs the prediction does not change, so that errors fill whole pieces. A sample whose
label wins all its pairs must lose one of them first: where that is an error, it is the nearest. The other samples
search their pieces, the nearest first.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.linear.geometry import Geometry, Rival
from shiftmetrics.models.linear.nearest import BLOCK_BYTES, CELL_BYTES, beyond, nearest_ways
from shiftmetrics.models.linear.piece_search import NearestPiece
from shiftmetrics.models.linear.scores import TOLERANCE, AdditiveScores, points_to_check
from shiftmetrics.models.reading.estimators import is_of_sklearn, last_step, steps_of
from shiftmetrics.models.reading.model import LossName, ModelProblem
from shiftmetrics.models.reading.steps import is_additive
from shiftmetrics.models.search.worst_case import Route, WorstCase
from shiftmetrics.stability.losses import ZeroOneLoss

_CLOSE = 1e-150
"""Of a sample on a boundary: not an error yet, and its square is still above 0."""


@dataclass(frozen=True, eq=False)
class Duels:
    """What decides between the classes of a model of pairs.

    Attributes
    ----------
    values : callable
        From what the last step takes to the values of all pairs, of shape (n, n_pairs): above 0 the first one wins.
    pairs : int array of shape (n_pairs, 2)
        The two classes of each pair, the lower one first.
    n_classes : int
        How many classes there are.
    by_sums : bool
        Whether the sum of its values decides between classes with as many wins; else the first of them is taken.
    """

    values: Callable[[Any], FloatArray]
    pairs: IntArray
    n_classes: int
    by_sums: bool

    def wins(self, values: FloatArray) -> IntArray:
        """Return how many pairs each class wins, of shape (n, n_classes)."""
        first = values > 0.0
        wins = np.zeros((len(values), self.n_classes), dtype=np.int64)
        for number, (one, other) in enumerate(self.pairs):
            wins[:, one] += first[:, number]
            wins[:, other] += ~first[:, number]
        return wins

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of the values of each class, of shape (n, n_classes)."""
        return values @ self.signs

    @property
    def signs(self) -> FloatArray:
        """With which sign each pair counts for each class, of shape (n_pairs, n_classes)."""
        signs = np.zeros((len(self.pairs), self.n_classes))
        for number, (one, other) in enumerate(self.pairs):
            signs[number, one] = 1.0
            signs[number, other] = -1.0
        return signs

    def predict(self, values: FloatArray) -> IntArray:
        """Return the class that is predicted, by its position."""
        wins = self.wins(values)
        if not self.by_sums:
            return np.asarray(wins.argmax(axis=1))
        most = wins == wins.max(axis=1, keepdims=True)
        sums = np.where(most, self.sums(values), -np.inf)
        return np.asarray(sums.argmax(axis=1))


def duels_of(model: Any) -> Duels | None:
    """Return what decides in a fitted model of pairs of linear models; None for any other model.

    Parameters
    ----------
    model : object
        The last step of a model.
    """
    if not is_of_sklearn(model):
        return None
    n_classes = len(getattr(model, "classes_", ()))
    if n_classes < 3:
        return None
    first, second = np.triu_indices(n_classes, 1)
    pairs = np.stack([first, second], axis=1)
    name = type(model).__name__
    if name in ("SVC", "NuSVC") and model.kernel == "linear":
        # A copy that gives the values of the pairs; the fitted model keeps its own answers.
        by_pairs = copy.copy(model)
        by_pairs.decision_function_shape = "ovo"
        by_pairs.break_ties = False
        by_sums = model.break_ties and model.decision_function_shape == "ovr"
        return Duels(by_pairs.decision_function, pairs, n_classes, by_sums)
    if name != "OneVsOneClassifier" or model.pairwise_indices_ is not None:
        return None
    members = model.estimators_
    for member in members:
        linear = is_of_sklearn(member) and hasattr(member, "coef_")
        if not linear or not hasattr(member, "decision_function"):
            return None

    def values(rows: Any) -> FloatArray:
        of_second = [np.ravel(member.decision_function(rows)) for member in members]
        return -np.stack(of_second, axis=1)

    return Duels(values, pairs, n_classes, by_sums=True)


class DuelRoute(Route):
    """Exact worst cases of linear models of pairs of classes."""

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Return True if the last step lets linear models of pairs decide, and errors are counted."""
        return loss == "zero_one" and duels_of(last_step(model)) is not None

    def worst_case(self, problem: ModelProblem) -> WorstCase | None:
        """Return the nearest errors; None where the values of pairs are no sums over the raw columns."""
        duels = duels_of(last_step(problem.model))
        if duels is None or problem.cut is not None or not is_additive(problem):
            return None
        scores = problem.once("values of pairs", lambda problem: _sums(problem, duels))
        if scores is None:
            return None
        found = _nearest(problem, duels, scores)
        if found is None:
            problem.note(
                "Some labels that lose a pair of classes are predicted still, and integers or many categories may "
                "change: changes are searched through the outputs of the model, an upper bound."
            )
        return found


def _sums(problem: ModelProblem, duels: Duels) -> AdditiveScores | None:
    """Return the values of pairs as sums over the columns, where they are that, and the model decides by them."""

    def values(points: FloatArray) -> FloatArray:
        problem.count.rows += len(points)
        rows = problem.table.decode(points)
        for step in steps_of(problem.model):
            rows = step.transform(rows)
        return duels.values(rows)

    scores = AdditiveScores.probed(problem, values)
    if not scores.follow(problem, values):
        return None
    points = points_to_check(problem)
    found = scores(points, problem)
    # Where a value, or the difference of two sums, is within rounding of 0, a prediction says nothing.
    tolerance = TOLERANCE * np.abs(found).max(initial=1e-300)
    clear = (np.abs(found) > tolerance).all(axis=1)
    if duels.by_sums:
        ordered = np.sort(duels.sums(found), axis=1)
        apart = np.diff(ordered, axis=1).min(axis=1)
        clear &= apart > tolerance * len(duels.pairs)
    same = duels.predict(found) == problem.predict(points)
    if same[clear].all():
        return scores
    return None


class _DuelGeometry(Geometry):
    """The rivals of samples, where a rival gets ahead by its pair with the label alone."""

    def __init__(
        self, problem: ModelProblem, scores: AdditiveScores, duels: Duels, most_plans: int
    ) -> None:
        super().__init__(problem, scores, most_plans=most_plans)
        self.duels = duels

    def rivals(self) -> Iterator[Rival]:
        """Yield one rival for each other class: the lead is what its pair says for it."""
        y = np.asarray(self.problem.y)
        n_classes = self.duels.n_classes
        pair_of = np.zeros((n_classes, n_classes), dtype=np.int64)
        for number, (one, other) in enumerate(self.duels.pairs):
            pair_of[one, other] = pair_of[other, one] = number
        row = np.arange(self.n_samples)
        for step in range(1, n_classes):
            rival = (y + step) % n_classes
            pair = pair_of[y, rival]
            sign = np.where(rival < y, 1.0, -1.0)
            signs = np.zeros(self.at_rows.shape)
            signs[row, pair] = sign
            yield self._rival(sign * self.at_rows[row, pair], signs)

    def wins_ties(self, number: int) -> BoolArray:
        """Return for which samples a tie with a rival is no error: it may be one for all of them."""
        return np.zeros(self.n_samples, dtype=np.bool_)


def _nearest(problem: ModelProblem, duels: Duels, scores: AdditiveScores) -> WorstCase | None:
    """Return the distances to the nearest errors, beyond one pair or in a piece; None where none is searched."""

    def geometry(part: ModelProblem, scores: AdditiveScores, *, most_plans: int) -> Geometry:
        return _DuelGeometry(part, scores, duels, most_plans)

    n_samples = problem.n_samples
    distances = np.empty(n_samples)
    lower = np.empty(n_samples)
    points = problem.codes.copy()
    errors = problem.is_wrong(problem.codes, slice(None))
    n_able = int(problem.domain.numeric.sum()) + len(problem.domain.mutable_flips)
    row_bytes = CELL_BYTES * n_able * len(duels.pairs)
    for block in row_blocks(n_samples, row_bytes, block_bytes=BLOCK_BYTES):
        ways = nearest_ways(problem, scores, block, geometry)
        distances[block] = np.maximum(ways.best.distance, _CLOSE)
        least = np.minimum(ways.floor, ways.best.distance)
        lower[block] = np.maximum(least, _CLOSE)
        points[block] = beyond(ways)
    distances[errors] = 0.0
    lower[errors] = 0.0
    points[errors] = problem.codes[errors]
    # Where the label loses a pair and is predicted still, its pieces are searched.
    able = np.flatnonzero(~errors & np.isfinite(distances))
    wrong = np.zeros(n_samples, dtype=np.bool_)
    if able.size:
        wrong[able] = problem.is_wrong(points[able], able)
    left = able[~wrong[able]]
    if left.size:
        pieces = NearestPiece(problem, scores, duels.signs, duels.predict, duels.by_sums)
        if not pieces.is_able:
            return None
        for row in left.tolist():
            found = pieces.of(row)
            lower[row] = max(lower[row], found.lower)
            distances[row] = max(found.distance, lower[row])
            points[row] = found.point

    def placed(rows: IntArray, _apart: FloatArray, _choices: Array | None) -> FloatArray:
        return points[rows]

    if (distances <= lower * (1.0 + 1e-9)).all():
        return WorstCase(ZeroOneLoss(distances), placed)
    upper = ZeroOneLoss(distances, kind="upper_bound")
    return WorstCase(upper, placed, lower=ZeroOneLoss(lower, kind="lower_bound"))
