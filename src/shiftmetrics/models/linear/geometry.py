"""Where the rows of a linear model can go: for each rival class, what numbers and flips add to its lead.

A row of label y is brought towards a rival class k by raising the gap ``s_k - s_y``: its numbers change along a path,
and each of its categories may flip to the state that raises it most. Flips of one price are worth most when those
that raise the gap most are taken first, so that their number alone need be enumerated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain.domain import Flip
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.stability.losses.bounded import ScorePath

_MOST_ALTERNATIVES = 1024


@dataclass(frozen=True, eq=False)
class Rival:
    """What raises one gap of each row: ``sign * score`` of a regression, or the lead of a class over the label.

    Attributes
    ----------
    gap : array of shape (n_samples,)
        The gap where each row stands; -inf for the rows whose label is this class.
    slopes : array of shape (n_samples, n_features)
        Its slopes, for changes in units of distance; 0 for columns that do not change.
    path : ScorePath
        The cheapest changes of numbers that raise it, integer steps or not.
    smooth : ScorePath
        Likewise, for the numbers that do not change by integer steps.
    gains : array of shape (n_samples, n_flips)
        What the best flip of each group adds to it; -inf where none does.
    states : int array of shape (n_samples, n_flips)
        The state after that flip.
    """

    gap: FloatArray
    slopes: FloatArray
    path: ScorePath
    smooth: ScorePath
    gains: FloatArray
    states: IntArray


@dataclass(frozen=True, eq=False)
class FlipPlan:
    """Numbers of flips at each price: ``counts[c]`` of the groups ``classes[c]``, those that gain most first.

    Attributes
    ----------
    gain : array of shape (n_samples,)
        What they add to the gap; -inf where there are not so many.
    distance : array of shape (n_samples,)
        Their distance.
    least_distance : array of shape (n_samples,)
        A lower bound on the distance of any flips with that gain or more, where prices were joined.
    from_ratio : array of shape (n_samples,)
        Least squared distance, over what it gains, of the flip that is least worth its price: while the dual price
        over ``theta1`` is below that, a plan without this flip is better.
    flipped : bool array of shape (n_samples, n_flips)
        Which groups flip.
    cheapest : float
        The least distance of so many flips, of any row.
    """

    gain: FloatArray
    distance: FloatArray
    least_distance: FloatArray
    from_ratio: FloatArray
    flipped: BoolArray
    cheapest: float


class Geometry:
    """The rivals of all rows, and the flips that help them."""

    def __init__(
        self,
        problem: ModelProblem,
        scores: AdditiveScores,
        *,
        most_plans: int = 0,
    ) -> None:
        domain = problem.domain
        self.problem = problem
        self.scores = scores
        self.flips: tuple[Flip, ...] = domain.mutable_flips
        able = {id(flip) for flip in self.flips}
        self._tables = []
        for flip, table in zip(domain.flips, scores.tables, strict=True):
            if id(flip) in able:
                self._tables.append(table)
        self._now = [flip.state_of(problem.codes) for flip in self.flips]
        self.at_rows = scores(problem.codes, problem)
        self.numeric = domain.numeric
        weighty = np.abs(scores.weights).any(axis=1)
        self.whole = domain.numeric & domain.integer & weighty
        self.missing = np.isnan(problem.codes)  # such a number stays as it is
        # How far each number may go down and up, in units of distance.
        columns = np.flatnonzero(self.numeric)
        low, high = domain.limits(problem.codes, columns)
        here = problem.codes[:, columns]
        gone = self.missing[:, columns]
        self.down = np.zeros(problem.codes.shape)
        self.up = np.zeros(problem.codes.shape)
        self.down[:, columns] = np.where(gone, 0.0, (here - low) / domain.unit[columns])
        self.up[:, columns] = np.where(gone, 0.0, (high - here) / domain.unit[columns])
        self._stuck = [flip.is_stuck(problem.codes) for flip in self.flips]
        distances = [flip.distance for flip in self.flips]
        # The plans are all combinations of counts. Where these are too many, neighbouring prices
        # count as one: a plan then has the distance of the flips that it chose, and a lower one
        # that holds for any others.
        most = max(most_plans, _MOST_ALTERNATIVES)
        self.price_classes, self.joined = _price_classes(distances, most)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.problem.n_samples

    def rivals(self) -> Iterator[Rival]:
        """Yield one rival for each class that can be one; both directions for a regression."""
        n_scores = self.at_rows.shape[1]
        if self.problem.classes is None:
            # The loss of a regression grows on either side.
            residuals = self.at_rows[:, 0] - self.problem.y
            for sign in (1.0, -1.0):
                signs = np.full((self.n_samples, 1), sign)
                yield self._rival(sign * residuals, signs)
            return
        y = np.asarray(self.problem.y)
        row = np.arange(self.n_samples)
        # Rival number r of label y is class y + r: each row has n_scores - 1 rivals.
        for r in range(1, n_scores):
            rival = (y + r) % n_scores
            signs = np.zeros((self.n_samples, n_scores))
            signs[row, rival] = 1.0
            signs[row, y] = -1.0
            score_of_rival = self.at_rows[row, rival]
            gap = score_of_rival - self.at_rows[row, y]
            yield self._rival(gap, signs)

    def wins_ties(self, number: int) -> BoolArray:
        """Return for which rows a tie with this rival is no error: of equal scores the first counts."""
        place = np.asarray(self.problem.y) + number + 1
        return np.asarray(place < self.at_rows.shape[1])

    def _rival(self, gap: FloatArray, signs: FloatArray) -> Rival:
        """Lay out what raises ``signs . scores``."""
        domain = self.problem.domain
        # Numbers: the slope of the gap for a change of one unit, and how far there is room in its direction. Those
        # that stay have slope 0, and no part in the work.
        able = np.flatnonzero(self.numeric)
        weights = self.scores.weights[able] * domain.unit[able, None]
        slopes_there = np.where(self.missing[:, able], 0.0, signs @ weights.T)
        slopes = np.zeros(self.missing.shape)
        slopes[:, able] = slopes_there
        limited = np.isfinite(domain.lower) | np.isfinite(domain.upper)

        def path_of(columns: BoolArray) -> ScorePath:
            there = np.flatnonzero(columns)
            steep = slopes[:, there]
            room = np.where(steep > 0.0, self.up[:, there], self.down[:, there])
            return ScorePath.of(np.abs(steep), room, limited[there])

        path = path_of(self.numeric)
        smooth = path
        if self.whole.any():
            smooth = path_of(self.numeric & ~self.whole)
        # Categories: the state that raises the gap most, if any does.
        shape = (self.n_samples, len(self.flips))
        gains = np.full(shape, -math.inf)
        states = np.zeros(shape, dtype=np.int64)
        row = np.arange(self.n_samples)
        for g, flip in enumerate(self.flips):
            lead = signs @ self._tables[g].T
            now = lead[row, self._now[g]]
            of_states = lead[:, : len(flip.states)]
            more = of_states - now[:, None]
            states[:, g] = more.argmax(axis=1)
            best = more[row, states[:, g]]
            helps = (best > 0.0) & ~self._stuck[g]
            gains[:, g] = np.where(helps, best, -math.inf)
        return Rival(gap, slopes, path, smooth, gains, states)

    def whole_slopes(self, rival: Rival) -> tuple[FloatArray, FloatArray]:
        """Return what a step of each number of integer steps adds to the gap, and for how many there is room."""
        unit = self.problem.domain.unit[self.whole]
        slopes = rival.slopes[:, self.whole]
        up = self.up[:, self.whole]
        down = self.down[:, self.whole]
        room = np.where(slopes > 0.0, up, down)
        gain = np.abs(slopes) / unit
        n_steps = np.rint(room * unit)
        return gain, n_steps

    def plans(self, rival: Rival) -> Iterator[FlipPlan]:
        """Yield all numbers of flips, by their least distance: none first."""
        # Among flips of one price, those that gain most come first.
        sorted_classes = []
        for groups, price in self.price_classes:
            gains = rival.gains[:, groups]
            order = np.argsort(-gains, axis=1, kind="stable")
            gains = np.take_along_axis(gains, order, axis=1)
            sorted_classes.append((price**2, gains, np.array(groups)[order]))
        # A plan is a number of flips at each price.
        numbers = [range(len(groups) + 1) for groups, _ in self.price_classes]
        squares = np.array([flip.distance**2 for flip in self.flips])
        row = np.arange(self.n_samples)[:, None]
        plans = np.array(list(itertools.product(*numbers)), dtype=np.int64)
        least_squares = plans @ np.array([price**2 for _, price in self.price_classes])
        for place in np.argsort(least_squares, kind="stable"):
            least = math.sqrt(least_squares[place])
            gain = np.zeros(self.n_samples)
            ratio = np.zeros(self.n_samples)
            flipped = np.zeros((self.n_samples, len(self.flips)), dtype=np.bool_)
            for count, (square, gains, order) in zip(plans[place], sorted_classes, strict=True):
                if count == 0:
                    continue
                gain += gains[:, :count].sum(axis=1)
                # The last flip of these gains least: it is the one least worth its price.
                ratio = np.maximum(ratio, square / gains[:, count - 1])
                flipped[row, order[:, :count]] = True
            # Rows without so many flips that help have no such plan.
            never = np.isneginf(gain)
            yield FlipPlan(
                gain=gain,
                distance=np.where(never, np.inf, np.sqrt(flipped @ squares)),
                least_distance=np.where(never, np.inf, least),
                from_ratio=np.where(never, np.inf, ratio),
                flipped=flipped,
                cheapest=least,
            )

    def place(
        self,
        rows: IntArray,
        rival: Rival,
        flipped: BoolArray,
        place: FloatArray,
        steps: FloatArray | None = None,
    ) -> FloatArray:
        """Return the coded points of rows that go along their path to ``place`` and flip these groups.

        With ``steps`` the numbers that change by integer steps change by so many, in the direction that raises the
        gap.
        """
        points = self.problem.codes[rows]
        moving = self.numeric
        if steps is not None:
            moving = self.numeric & ~self.whole
        # On the path each number changes in proportion to its slope, as far as there is room.
        able = np.flatnonzero(moving)
        held = np.ix_(rows, able)
        slopes = rival.slopes[held]
        room = np.where(slopes > 0.0, self.up[held], self.down[held])
        with np.errstate(invalid="ignore"):
            wanted = np.abs(slopes) * place[:, None]
            length = np.minimum(wanted, room)
            change = np.sign(slopes) * length * self.problem.domain.unit[able]
        points[:, able] += np.where(slopes != 0.0, change, 0.0)
        if steps is not None:
            direction = np.sign(rival.slopes[rows][:, self.whole])
            points[:, self.whole] += direction * steps
        for g, flip in enumerate(self.flips):
            turned = flipped[:, g]
            if turned.any():
                state = rival.states[rows[turned], g]
                cells = np.ix_(turned, flip.columns)
                points[cells] = flip.states[state]
        return points


PriceClass: TypeAlias = tuple[list[int], float]
"""Flips at one price: their positions, and the least distance among them."""


def _price_classes(distances: list[float], most: int) -> tuple[list[PriceClass], bool]:
    """Group flips of one distance; join neighbouring distances where there were too many plans.

    Returns the groups of each class with the least distance among them, and whether any were joined.
    """
    classes: list[PriceClass] = []
    for distance in sorted(set(distances)):
        groups = [g for g, other in enumerate(distances) if other == distance]
        classes.append((groups, distance))
    joined = False
    while len(classes) > 1:
        n_plans = math.prod(len(groups) + 1 for groups, _ in classes)
        if n_plans <= most:
            break
        # The two neighbours whose distances differ by the smallest factor become one class.
        prices = np.array([price for _, price in classes])
        factors = prices[1:] / prices[:-1]
        k = int(factors.argmin())
        dearer, _ = classes.pop(k + 1)
        groups, distance = classes[k]
        classes[k] = (groups + dearer, distance)
        joined = True
    return classes, joined
