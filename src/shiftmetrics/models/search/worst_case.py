"""What a route finds, the protocol of routes, and the one ascent by which routes search.

A route finds, for each sample, points of higher loss and how far away they are. Routes that search do so by an
ascent of ``price x loss - theta1 x distance^2``: the price of a unit of loss comes from the solution among the points
known so far, and the points found at this price join them (column generation).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.options import check_memory_limit, format_bytes
from shiftmetrics.models.domain.space import PerturbationSpace
from shiftmetrics.models.reading.model import LossName, ModelProblem
from shiftmetrics.models.search.importance import Draws, ValueRisks
from shiftmetrics.stability.losses import CandidateLoss, FixedLoss, Kind, Loss, ZeroOneLoss

EVERYONE = slice(None)
_PRICE_STEP = 4.0  # where no price is known yet, the next to try is so many times as high

Points = Callable[[IntArray, FloatArray, IntArray | None], FloatArray]
"""From samples, their distances and their choices in the plan to the coded points where they stand then."""


@dataclass(frozen=True, eq=False)
class WorstCase:
    """What a route finds: how far each sample can be brought, and where it stands then.

    Attributes
    ----------
    loss : Loss
        The loss of each sample and where it may go; its ``kind`` is the kind of the stability.
    points : callable
        ``points(rows, distances, choices)`` returns the coded points, of shape (len(rows), n_features), at which
        these samples stand when the plan gives them these distances and choices (those of ``loss.transform``).
    lower : Loss or None
        A loss whose stability is a certified lower bound, where ``loss`` gives an upper one.
    refine : callable or None
        ``refine(dual)`` looks for better points at the present dual price and returns a better worst case, or None
        when there is none: `model_stability` then solves again.
    warnings : tuple of str
        What the caller should know.
    value_risks : ValueRisks or None
        The risks at the values of the columns that change, where the route knows them.
    left_out : int
        How many samples were not searched, and have no known error: none that they may have is worth its way.
    has_costs : bool
        Whether these are errors with what they cost: as with the 0/1 loss, each sample has one nearest error.
    """

    loss: Loss
    points: Points
    lower: Loss | None = None
    refine: Callable[[float], WorstCase | None] | None = None
    warnings: tuple[str, ...] = ()
    value_risks: ValueRisks | None = None
    left_out: int = 0
    has_costs: bool = False

    @property
    def kind(self) -> Kind:
        """What the stability of ``loss`` is for the model."""
        return self.loss.kind

    def notes(self, kind: Kind) -> tuple[str, ...]:
        """Return the warnings of a stability of this kind, and how many samples a search left without an error."""
        if not isinstance(self.loss, ZeroOneLoss) or kind != "upper_bound":
            return self.warnings
        distances = np.asarray(self.loss.distances)
        missing = int(np.isinf(distances).sum()) - self.left_out
        if not missing:
            return self.warnings
        text = (
            f"No error was found within reach of {missing} of {len(distances)} samples; they count as if they had "
            "none. More n_queries, or samples of other classes, may find some."
        )
        return (*self.warnings, text)

    @classmethod
    def fixed(cls, problem: ModelProblem) -> WorstCase:
        """Return the worst case where no column may change."""
        loss = FixedLoss(problem.losses(problem.codes, EVERYONE))
        return cls(loss, lambda rows, distances, choices: problem.codes[rows])

    @classmethod
    def of_errors(
        cls, points: FloatArray, distances: FloatArray, *, warnings: tuple[str, ...] = ()
    ) -> WorstCase:
        """Return the worst case for the 0/1 loss from one error of each sample; at distance inf: none known."""
        loss = ZeroOneLoss(distances, kind="upper_bound")
        return cls(loss, lambda rows, distances, choices: points[rows], warnings=warnings)

    def with_costs(self, problem: ModelProblem) -> WorstCase:
        """Return the worst case of errors with what they cost."""
        if problem.costs is None:
            return self
        costs = problem.costs[problem.y]

        def of_loss(loss: Loss) -> Loss:
            candidates = as_candidates(loss)
            return CandidateLoss(
                candidates.losses * costs[:, None], candidates.distances, kind=loss.kind
            )

        lower = self.lower
        if lower is not None:
            lower = of_loss(lower)
        search = self.refine
        refine = None
        if search is not None:
            # The price of a unit of risk, in errors: that of the errors which cost most.
            highest = float(costs.max())

            def refine(dual: float) -> WorstCase | None:
                better = search(dual * highest)
                if better is None:
                    return None
                return better.with_costs(problem)

        has_costs = isinstance(self.loss, ZeroOneLoss)
        loss = of_loss(self.loss)
        return replace(self, loss=loss, lower=lower, refine=refine, has_costs=has_costs)

    def take(self, rows: IntArray) -> WorstCase:
        """Return the worst case of some samples, among the points that are known."""
        lower = self.lower
        if lower is not None:
            lower = lower.take(rows)
        return replace(self, loss=self.loss.take(rows), lower=lower, refine=None, left_out=0)

    def at_any_price(self) -> WorstCase:
        """Return the worst case of errors once all samples are searched, whatever a unit of risk is worth."""
        found = self
        # Errors alone come to an end: each sample has one that is the nearest.
        while found.refine is not None and (found.has_costs or isinstance(found.loss, ZeroOneLoss)):
            found = found.refine(math.inf) or replace(found, refine=None)
        return found


def as_candidates(loss: Loss) -> CandidateLoss:
    """Return a 0/1 loss as one of two candidates, the sample and its nearest error; a fixed loss as one of one."""
    if isinstance(loss, CandidateLoss):
        return loss
    if isinstance(loss, FixedLoss):
        at_home = np.zeros((loss.n_samples, 1))
        return CandidateLoss(loss.losses[:, None], at_home, kind="exact")
    assert isinstance(loss, ZeroOneLoss)
    distances = np.asarray(loss.distances)
    wrong = distances == 0.0
    own = wrong.astype(np.float64)
    losses = np.stack([own, np.ones(len(wrong))], axis=1)
    nearest = np.where(wrong, np.inf, distances)
    nowhere = np.zeros(len(distances))
    apart = np.stack([nowhere, nearest], axis=1)
    return CandidateLoss(losses, apart, kind=loss.kind)


class Route(ABC):
    """One way to find worst cases, for one kind of model."""

    @abstractmethod
    def accepts(self, model: Any, loss: LossName) -> bool:
        """Return True if this kind of model is for this route; imports no framework that is not loaded."""

    @abstractmethod
    def worst_case(self, problem: ModelProblem) -> WorstCase | None:
        """Return the worst case, or None when a closer look shows that another route must find it."""

    def by_group(
        self,
        problem: ModelProblem,
        groups: Sequence[Sequence[str | int]],
        draws: Draws | None = None,
    ) -> Iterator[tuple[int, WorstCase]]:
        """Yield the worst cases when the columns of one group alone may change; common work may be done once.

        Parameters
        ----------
        problem : ModelProblem
            The model and the sample, with all that may change; unlike in `worst_case`, its errors may have costs.
        groups : sequence of sequence of str or int
            Names or positions of columns.
        draws : Draws, optional
            Whose values replace those of a feature, for routes that know the risks at all values.

        Yields
        ------
        (position, WorstCase)
            In any order, and not those that another route must find.
        """
        for position, group in enumerate(groups):
            found = self.worst_case(replace(problem.restricted(group), costs=None))
            if found is not None:
                yield position, found


class BestPoints(NamedTuple):
    """The best points of the samples in one round of an ascent.

    Attributes
    ----------
    points : array of shape (n_samples, n_features)
        A point for each sample, coded.
    losses, values : array of shape (n_samples,)
        Its loss, and ``price loss - theta1 distance^2``.
    found : bool array of shape (n_samples,)
        Whether it was found in this round.
    """

    points: FloatArray
    losses: FloatArray
    values: FloatArray
    found: BoolArray

    def keep(
        self, rows: IntArray, points: FloatArray, losses: FloatArray, values: FloatArray
    ) -> None:
        """Take the points of these samples, one each, that are better than the best so far; in place."""
        # Equal values change nothing, so that a round which gains nothing ends the search.
        better = np.flatnonzero(values > self.values[rows])
        rows = rows[better]
        self.points[rows] = points[better]
        self.losses[rows] = losses[better]
        self.values[rows] = values[better]
        self.found[rows] = True


class Ascent:
    """Ascent of ``price loss - theta1 distance^2`` for every sample, round by round (column generation).

    The worst case among the points found so far has a dual price: what a unit of risk costs. A round looks for
    points that are better at this price, which join the candidates of the loss. When no round pays, no point that
    this search can find lowers the stability further. It is a heuristic: better points may exist.

    A subclass says how a round climbs, and at which price to go on.

    Parameters
    ----------
    problem : ModelProblem
        The model and the sample.
    losses : array of shape (n_samples,), optional
        Losses of the samples where they stand. Default: those of the model.

    Attributes
    ----------
    rtol : float
        A round pays when the values of the samples grow by more than this, relative to their size.
    warnings : tuple of str
        What the caller should know.
    lower : Loss or None
        A certified lower bound.
    price : float
        The price of the last round; it grows while the threshold is out of reach.
    loss : CandidateLoss
        Losses and distances of all points; column 0 is the sample itself.
    places : list of pairs of arrays
        The samples that have a point in each column, and these points, coded.
    """

    rtol: float = 1e-9
    warnings: tuple[str, ...] = ()
    lower: Loss | None = None

    def __init__(self, problem: ModelProblem, losses: FloatArray | None = None) -> None:
        self.problem = problem
        self.space = PerturbationSpace(problem.domain, problem.codes)
        self.price = 1.0  # subclasses begin with a guess of their own
        if losses is None:
            losses = problem.losses(problem.codes, EVERYONE)
        # The first candidate of each sample is where it stands.
        everyone = np.arange(problem.n_samples)
        nowhere = np.zeros((problem.n_samples, 1))
        self.loss = CandidateLoss(losses[:, None], nowhere)
        self.places = [(everyone, problem.codes)]

    # What a subclass does.

    def climb(self, start: FloatArray, best: BestPoints, price: float) -> None:
        """Climb from ``start``, the best points known, and keep better ones in ``best``."""
        raise NotImplementedError

    def price_at(self, dual: float) -> float | None:
        """Return the price of the next round: the dual one, or a higher one than before where it is infinite."""
        if math.isfinite(dual) and dual > 0.0:
            self.price = dual
        else:
            self.price *= _PRICE_STEP
        return self.price

    def next_price(self, dual: float) -> float | None:
        """Return the price of another round after one that did not pay, None to end."""
        return None

    # The candidates.

    def measured(
        self, points: FloatArray, rows: IntArray | slice, price: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the losses of points of these samples, their distances, and what they are worth at a price."""
        losses = self.problem.losses(points, rows)
        losses = np.nan_to_num(losses, nan=0.0, posinf=0.0)  # far off some models have none
        distances = self.problem.domain.distances(points, self.problem.codes[rows])
        cost = self.problem.theta1 * np.square(distances)
        return losses, distances, price * losses - cost

    def add(self, points: FloatArray, losses: FloatArray, distances: FloatArray) -> None:
        """Add a point for each sample; one at distance inf or 0 is no new point."""
        # A candidate at distance 0 would be a second name for the sample itself.
        distances = np.where(distances > 0.0, distances, np.inf)
        reached = np.isfinite(distances)
        rows = np.flatnonzero(reached)
        losses = np.where(reached, losses, 0.0)
        self.loss = self.loss.appended(losses, distances)
        self.places.append((rows, points[rows]))

    def best(self, price: float) -> tuple[FloatArray, FloatArray]:
        """Return the best known point of each sample at a price, and its value ``price loss - theta1 distance^2``."""
        transform = self.loss.transform(price, self.problem.theta1, EVERYONE)
        rows = np.arange(self.loss.n_samples)
        points = _points_in(self.places, rows, transform.choice)
        return points, transform.value

    # The search.

    def round(self, price: float) -> bool:
        """Climb once, add what was found, and return whether that paid."""
        start, value = self.best(price)
        n = len(start)
        found = np.zeros(n, dtype=np.bool_)
        best = BestPoints(start.copy(), np.zeros(n), value.copy(), found)
        self.climb(start, best, price)
        if not found.any():
            return False
        self.add_found(best, price)
        # Did the objective of the dual problem at this price grow, beyond rounding?
        gain = best.values - value
        size = np.abs(best.values).sum()
        return bool(gain.sum() > self.rtol * size)

    def add_found(self, best: BestPoints, price: float) -> None:
        """Add the points that a round found to the candidates."""
        distances = self.problem.domain.distances(best.points, self.problem.codes)
        distances = np.where(best.found, distances, np.inf)
        self.add(best.points, best.losses, distances)

    def refine(self, dual: float) -> WorstCase | None:
        """Climb at the dual price of the last solution; None when that no longer pays."""
        price = self.price_at(dual)
        # A round that adds nothing may be followed by one at another price.
        while price is not None:
            if self.round(price):
                return self.worst_case()
            price = self.next_price(dual)
        return None

    def worst_case(self) -> WorstCase:
        """Return the points found so far, and the way to more while there is memory for three more of each sample."""
        places = tuple(self.places)
        warnings = self.warnings
        refine: Callable[[float], WorstCase | None] | None = self.refine
        # A round may add three points of each sample: the best one, and one on either side.
        limit = check_memory_limit(self.problem.search.memory_limit)
        held = sum(points.nbytes for _, points in places[1:])
        if held + 3 * self.problem.codes.nbytes > limit:
            refine = None
            text = (
                f"The search ended when its points took {format_bytes(limit)} of memory, so the bound may be loose. "
                "Take fewer samples."
            )
            warnings = (*warnings, text)
        return WorstCase(
            self.loss,
            lambda rows, distances, choices: _points_in(places, rows, choices),
            lower=self.lower,
            refine=refine,
            warnings=warnings,
        )


def _points_in(
    places: Sequence[tuple[IntArray, FloatArray]], rows: IntArray, choices: IntArray | None
) -> FloatArray:
    """Return the points that samples take in a plan, by their choices."""
    assert choices is not None
    points = np.empty((len(rows), places[0][1].shape[1]))
    # Each column of candidates holds the points of some samples, in the order of the samples.
    for column in np.unique(choices):
        here = choices == column
        known, held = places[column]
        points[here] = held[np.searchsorted(known, rows[here])]
    return points
