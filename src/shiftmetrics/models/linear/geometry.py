"""Where the rows of a linear model can go: for each rival class, what numbers and flips add to its lead.

A row of label y is brought towards a rival class k by raising the gap ``s_k - s_y``: its numbers move along a path,
and each of its categories may flip to the state that raises it most. Flips of one price are worth most when those
that raise the gap most are taken first, so that their number alone need be enumerated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain import Flip
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.question import Question
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
        Its slopes, for moves in units of distance; 0 for columns that do not move.
    path : ScorePath
        The cheapest moves of numbers that raise it, integer steps or not.
    smooth : ScorePath
        Likewise, for the numbers that do not move by integer steps.
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
    """

    gain: FloatArray
    distance: FloatArray
    least_distance: FloatArray
    from_ratio: FloatArray
    flipped: BoolArray


class Geometry:
    """The rivals of all rows, and the flips that help them."""

    def __init__(self, question: Question, scores: AdditiveScores) -> None:
        domain = question.domain
        self.question = question
        self.scores = scores
        self.flips: tuple[Flip, ...] = domain.movable_flips
        places = {id(flip): number for number, flip in enumerate(domain.flips)}
        self._tables = [scores.tables[places[id(flip)]] for flip in self.flips]
        self._now = [flip.state_of(question.codes) for flip in self.flips]
        self.at_rows = scores(question.codes, question)
        self.sliding = domain.sliding
        weighty = np.abs(scores.weights).any(axis=1)
        self.whole = domain.sliding & domain.integer & weighty
        low, high = domain.limits(question.codes)
        self.missing = np.isnan(question.codes)  # such a number stays as it is
        self.down = np.where(self.missing, 0.0, (question.codes - low) / domain.unit)
        self.up = np.where(self.missing, 0.0, (high - question.codes) / domain.unit)
        self._stuck = [flip.is_stuck(question.codes) for flip in self.flips]
        self.price_classes, self.joined = _price_classes([flip.distance for flip in self.flips])

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.question.n_samples

    def rivals(self) -> Iterator[Rival]:
        """Yield one rival for each class that can be one; both directions for a regression."""
        n_scores = self.at_rows.shape[1]
        if self.question.classes is None:
            residuals = self.at_rows[:, 0] - self.question.y
            for sign in (1.0, -1.0):
                yield self._rival(sign * residuals, np.full((self.n_samples, 1), sign))
            return
        y = np.asarray(self.question.y)
        # Rival number r of label y is class y + r: each row has n_scores - 1 rivals.
        for r in range(1, n_scores):
            signs = np.zeros((self.n_samples, n_scores))
            row = np.arange(self.n_samples)
            rival = (y + r) % n_scores
            signs[row, rival] = 1.0
            signs[row, y] = -1.0
            yield self._rival(self.at_rows[row, rival] - self.at_rows[row, y], signs)

    def _rival(self, gap: FloatArray, signs: FloatArray) -> Rival:
        """Lay out what raises ``signs . scores``."""
        unit = np.where(self.sliding, self.question.domain.unit, 0.0)
        slopes = np.where(self.missing, 0.0, signs @ (self.scores.weights * unit[:, None]).T)
        room = np.where(slopes > 0.0, self.up, self.down)
        moving = self.sliding
        limited = np.isfinite(self.question.domain.lower) | np.isfinite(self.question.domain.upper)
        path = ScorePath.of(np.abs(slopes[:, moving]), room[:, moving], limited[moving])
        smooth = path
        if self.whole.any():
            rest = moving & ~self.whole
            smooth = ScorePath.of(np.abs(slopes[:, rest]), room[:, rest], limited[rest])
        gains = np.full((self.n_samples, len(self.flips)), -math.inf)
        states = np.zeros((self.n_samples, len(self.flips)), dtype=np.int64)
        for g, (flip, table, now, stuck) in enumerate(
            zip(self.flips, self._tables, self._now, self._stuck, strict=True)
        ):
            lead = signs @ table.T
            row = np.arange(self.n_samples)
            more = lead[:, : len(flip.states)] - lead[row, now][:, None]
            states[:, g] = more.argmax(axis=1)
            best = more[row, states[:, g]]
            gains[:, g] = np.where((best > 0.0) & ~stuck, best, -math.inf)
        return Rival(gap, slopes, path, smooth, gains, states)

    def whole_slopes(self, rival: Rival) -> tuple[FloatArray, FloatArray]:
        """Return what a step of each number of integer steps adds to the gap, and for how many there is room."""
        unit = self.question.domain.unit[self.whole]
        slopes = rival.slopes[:, self.whole]
        room = np.where(slopes > 0.0, self.up[:, self.whole], self.down[:, self.whole]) * unit
        return np.abs(slopes) / unit, np.where(np.isfinite(room), np.rint(room), np.inf)

    def plans(self, rival: Rival) -> Iterator[FlipPlan]:
        """Yield all numbers of flips, none first."""
        sorted_gains = []
        orders = []
        sums = []
        for groups, _ in self.price_classes:
            order = np.argsort(-rival.gains[:, groups], axis=1, kind="stable")
            gains = np.take_along_axis(rival.gains[:, groups], order, axis=1)
            orders.append(np.array(groups)[order])
            sums.append(np.concatenate([np.zeros((self.n_samples, 1)), gains.cumsum(axis=1)], axis=1))
            sorted_gains.append(gains)
        distances = np.array([flip.distance for flip in self.flips])
        row = np.arange(self.n_samples)[:, None]
        for counts in itertools.product(*(range(len(groups) + 1) for groups, _ in self.price_classes)):
            gain = np.zeros(self.n_samples)
            least = 0.0
            ratio = np.zeros(self.n_samples)
            flipped = np.zeros((self.n_samples, len(self.flips)), dtype=np.bool_)
            chosen = zip(counts, orders, sums, sorted_gains, self.price_classes, strict=True)
            for count, order, total, gains, (_, price) in chosen:
                gain = gain + total[:, count]
                least += count * price**2
                if count:
                    with np.errstate(divide="ignore", invalid="ignore"):
                        ratio = np.maximum(ratio, price**2 / gains[:, count - 1])
                flipped[row, order[:, :count]] = True
            squared = flipped @ distances**2 if self.flips else np.zeros(self.n_samples)
            never = np.isneginf(gain)
            yield FlipPlan(
                gain,
                np.where(never, np.inf, np.sqrt(squared)),
                np.where(never, np.inf, math.sqrt(least)),
                np.where(never, np.inf, ratio),
                flipped,
            )

    def place(
        self,
        rows: IntArray,
        rival: Rival,
        flipped: BoolArray,
        place: FloatArray,
        steps: FloatArray | None = None,
    ) -> FloatArray:
        """Return the coded points of rows that move along their path to ``place`` and flip these groups.

        With ``steps`` the numbers that move by integer steps move by so many, in the direction that raises the gap.
        """
        points = self.question.codes[rows].copy()
        slopes = rival.slopes[rows]
        moving = self.sliding if steps is None else self.sliding & ~self.whole
        room = np.where(slopes > 0.0, self.up[rows], self.down[rows])
        with np.errstate(invalid="ignore"):
            step = np.sign(slopes) * np.minimum(np.abs(slopes) * place[:, None], room)
        points += np.where(moving & (slopes != 0.0), step * self.question.domain.unit, 0.0)
        if steps is not None:
            points[:, self.whole] += np.sign(slopes[:, self.whole]) * steps
        for g, flip in enumerate(self.flips):
            turned = flipped[:, g]
            if turned.any():
                points[np.ix_(turned, flip.columns)] = flip.states[rival.states[rows[turned], g]]
        return points


def _price_classes(distances: list[float]) -> tuple[list[tuple[list[int], float]], bool]:
    """Group flips of one distance; join neighbouring distances where there were too many plans.

    Returns the groups of each class with the least distance among them, and whether any were joined.
    """
    classes = [
        ([g for g, other in enumerate(distances) if other == distance], distance)
        for distance in sorted(set(distances))
    ]
    joined = False
    while len(classes) > 1 and math.prod(len(groups) + 1 for groups, _ in classes) > _MOST_ALTERNATIVES:
        joined = True
        k = min(range(len(classes) - 1), key=lambda k: classes[k + 1][1] / classes[k][1])
        classes[k : k + 2] = [(classes[k][0] + classes[k + 1][0], classes[k][1])]
    return classes, joined
