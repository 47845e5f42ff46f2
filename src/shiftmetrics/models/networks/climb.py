"""Column generation for losses of a network: a few gradient steps at the present dual price, round by round."""

from __future__ import annotations

import numpy as np
import torch

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics.attacks.model import check_logits
from shiftmetrics.models.columns import Columns, Price, pays
from shiftmetrics.models.decision.space import MoveSpace
from shiftmetrics.models.networks.ascent import Ascent
from shiftmetrics.models.networks.lower import lower_loss
from shiftmetrics.models.networks.module import Network, mode_warning
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer

N_STEPS = 3
"""Gradient steps in a round."""
_RTOL = 1e-11
_FIRST_MOVES = (0.3, 1.0, 3.0)  # typical lengths of the moves at the first guesses of the price
_MOST_JUMPS = 32
_FIRST_ECHO, _LEAST_ECHO = 0.2, 1e-7
_HIGHEST_PRICE = 1e9


def climb_network(question: Question, network: Network) -> Answer:
    """Answer for the hinge, logistic or squared loss."""
    return _NetworkClimb(question, network).first()


class _NetworkClimb:
    """Points of higher loss for every row, found round by round."""

    def __init__(self, question: Question, network: Network) -> None:
        self.question, self.network = question, network
        self.warnings = mode_warning(self.network)
        codes = question.codes
        if network.classifies:
            check_logits(torch.as_tensor(self.network.scores(codes)))
        self.space = MoveSpace(question.domain, codes)
        self.ascent = Ascent(self.network, self.space, question.y, question.loss, question.theta1)
        self.columns = Columns.of(codes, question.losses(codes, slice(None)))
        self.lower = lower_loss(question, self.network)
        steepness = self.ascent.steepness() or 1.0
        self.guesses = [2.0 * question.theta1 * move / steepness for move in _FIRST_MOVES]
        self.price = Price(self.guesses[-1])
        self.before: float | None = None  # the price of the round before

    def first(self) -> Answer:
        """Climb at several guesses of the price, so that the first solve has something to choose from."""
        from tqdm.auto import tqdm

        quiet = not self.question.progress
        for guess in tqdm(self.guesses, desc="ascent", delay=2.0, disable=quiet, leave=False):
            self._round(guess)
        return self._answer()

    def refine(self, dual: float) -> Answer | None:
        """Climb at the present price; None when that no longer pays."""
        price = self.price.at(dual)
        if self._round(price):
            return self._answer()
        # the threshold is out of reach of what is known: look at higher prices, as long as losses grow
        while not np.isfinite(dual) and price < _HIGHEST_PRICE:
            price = self.price.at(dual)
            if self._round(price):
                return self._answer()
        return None

    def _round(self, dual: float) -> bool:
        """Climb from the best points known and from afar, keep what is better, and tell whether it pays."""
        start, value = self.columns.best(dual, self.question.theta1)
        first = value.copy()
        starts = [start, *self.ascent.leaps(self.question.codes, dual), *self._jumps(start, dual, value)]
        best, losses, distances = start.copy(), np.zeros(len(start)), np.full(len(start), np.inf)
        for points in starts:
            climbed = self.ascent.climb(points, dual, n_steps=N_STEPS)
            there, loss, distance = self._measured(climbed, dual)
            better = there > value
            best[better], losses[better] = climbed[better], loss[better]
            distances[better], value = distance[better], np.where(better, there, value)
        if np.isinf(distances).all():
            return False
        self.columns = self.columns.appended(best, losses, distances)
        self._add_echoes(best, np.isfinite(distances), dual)
        return pays(value - first, value, _RTOL)

    def _add_echoes(self, best: FloatArray, found: BoolArray, dual: float) -> None:
        """Add points a little nearer and farther: where the best may be when the price has settled.

        The price moves with the points, by less each round; so do the echoes.
        """
        change = abs(dual / self.before - 1.0) if self.before else _FIRST_ECHO
        self.before = dual
        if change < _LEAST_ECHO:
            return
        rows = np.arange(len(best))
        moves = self.space.moves(best, rows)[:, None]
        for factor in (1.0 - min(change, _FIRST_ECHO), 1.0 + min(change, _FIRST_ECHO)):
            points = self.space.points(best, rows, self.space.clip(factor * moves, rows))[:, 0]
            _, losses, distances = self._measured(points, dual)
            self.columns = self.columns.appended(points, losses, np.where(found, distances, np.inf))

    def _measured(self, points: FloatArray, dual: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Put points where the model sees them, in place; return their value, loss and distance there."""
        question = self.question
        allowed = question.domain.clip(points, question.codes)
        points[:] = self.network.seen(allowed, question.codes)
        loss = np.nan_to_num(question.losses(points, slice(None)), nan=0.0, posinf=0.0)
        distance = question.domain.distances(points, question.codes)
        return dual * loss - question.theta1 * np.square(distance), loss, distance

    def _jumps(self, start: FloatArray, dual: float, value: FloatArray) -> list[FloatArray]:
        """Return the best single jump from each point, where there are categories or coarse whole numbers."""
        if not self.space.jumping:
            return []
        jumped, best = start.copy(), np.full(len(start), -np.inf)
        options = list(self.space.jumps(start))
        if len(options) > _MOST_JUMPS:
            chosen = self.question.rng.permutation(len(options))[:_MOST_JUMPS]
            options = [options[place] for place in chosen]
        for points in options:
            there, _, _ = self._measured(points, dual)
            better = there > best
            jumped[better], best[better] = points[better], there[better]
        return [jumped]

    def _answer(self) -> Answer:
        return Answer(
            loss=self.columns.loss,
            points=self.columns.points,
            lower=self.lower,
            refine=None if self.columns.is_full else self.refine,
            warnings=(*self.warnings, *self.columns.warning()),
        )
