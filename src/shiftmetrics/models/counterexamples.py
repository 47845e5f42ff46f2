"""The nearest errors of samples, from predictions alone: a search along the boundary, then trials around its end."""

from __future__ import annotations

import itertools

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.decision.search import CounterExamples, nearest_counterexamples
from shiftmetrics.models.domain import PerturbationSpace
from shiftmetrics.models.model import ModelProblem

_MOST_STARTS = 4096
"""Most points whose predictions a search starts from; of more, so many are drawn at random."""
TRIALS = 32
"""Points of each sample that are tried at a time, once a first search has ended."""
_AROUND = 0.75  # of them are near the best
_SHORTER = (
    0.01,
    0.1,
    0.5,
)  # fractions of the width of a step by which they are nearer to the sample
_RESTART = 8  # every so many turns are a search from other points
_RESTART_QUERIES = 400  # that must be left for it
_FEWEST_STARTS = 20
_MOST_HALVINGS = 4


def find_counterexamples(
    problem: ModelProblem, *, n_queries: int, known: FloatArray | None = None
) -> CounterExamples:
    """Find the nearest errors of a problem's samples; samples that are errors themselves are at distance 0.

    A first search follows the boundary from the nearest points that are predicted otherwise. What it leaves of the
    budget goes, in turn, to searches from other such points and to trials inside the sphere of the nearest error.

    Parameters
    ----------
    problem : ModelProblem
        The model and its samples.
    n_queries : int
        Most predictions for each sample.
    known : array of shape (n_samples, n_features), optional
        A point for each sample to start from as well.
    """
    codes = problem.codes
    predicted = problem.predict(codes)
    right = np.flatnonzero(predicted == problem.y)
    points = codes.copy()
    distances = np.zeros(len(codes))
    queries = np.ones(len(codes), dtype=np.int64)
    if right.size:
        errors = _Errors(problem, right, predicted, n_queries - 1)
        errors.search(np.arange(len(right)), None if known is None else known[right])
        errors.go_on()
        points[right] = errors.points
        distances[right] = errors.distances
        queries[right] += errors.queries
    return CounterExamples(points=points, distances=distances, queries=queries)


class _Errors:
    """The nearest errors found so far of samples that are predicted right, on a budget of queries for each."""

    def __init__(
        self, problem: ModelProblem, rows: IntArray, predicted: IntArray, n_queries: int
    ) -> None:
        self.problem = problem
        self.rows = rows
        self.predicted = predicted
        self.n_queries = max(n_queries, 0)
        self.origin = problem.codes[rows]
        self.space = PerturbationSpace(problem.domain, self.origin)
        self.points = self.origin.copy()
        self.distances = np.full(len(rows), np.inf)
        self.queries = np.zeros(len(rows), dtype=np.int64)

    def _left(self, at_least: int) -> IntArray:
        """Return the samples with so many queries left."""
        return np.flatnonzero(self.n_queries - self.queries >= at_least)

    def search(
        self, which: IntArray, known: FloatArray | None, n_starts: int = _MOST_STARTS
    ) -> None:
        """Search from the nearest of some points that are predicted otherwise, all or some at random."""
        problem = self.problem
        pool = np.arange(problem.n_samples)
        if len(pool) > n_starts:
            pool = np.sort(problem.rng.permutation(len(pool))[:n_starts])
        rows = self.rows[which]
        found = nearest_counterexamples(
            lambda places, positions: problem.is_wrong(places, rows[positions]),
            problem.domain,
            self.origin[which],
            problem.y[rows],
            problem.codes[pool],
            self.predicted[pool],
            known=known,
            n_queries=int((self.n_queries - self.queries[which]).min()),
            rng=problem.rng,
            progress=problem.progress,
        )
        self.queries[which] += found.queries
        self._keep(which, found.points, found.distances)

    def go_on(self) -> None:
        """Spend what is left of the budget: trials near the best errors, and now and then another search."""
        for turn in itertools.count(1):
            which = self._left(TRIALS)
            which = which[np.isfinite(self.distances[which])]
            if not which.size or not self.space.n_smooth:
                return
            far_from_done = self._left(_RESTART_QUERIES)
            if turn % _RESTART == 0 and far_from_done.size:
                # ever fewer points to start from, so that others than the nearest have a turn
                halvings = 1 + turn // _RESTART % _MOST_HALVINGS
                n_starts = max(_FEWEST_STARTS, self.problem.n_samples >> halvings)
                self.search(far_from_done, None, n_starts)
                continue
            trials = scattered(
                self.space, which, self.points[which], self.distances[which], self.problem.rng
            )
            flat = trials.reshape(-1, trials.shape[2])
            owner = np.repeat(which, trials.shape[1])
            flat = self.space.allowed(flat, owner)
            self.queries[which] += trials.shape[1]
            distances = self.space.distance(flat, owner)
            wrong = self.problem.is_wrong(flat, self.rows[owner])
            distances = np.where(wrong, distances, np.inf).reshape(trials.shape[:2])
            nearest = distances.argmin(axis=1)
            place = np.arange(len(which)) * trials.shape[1] + nearest
            self._keep(which, flat[place], distances[np.arange(len(which)), nearest])

    def _keep(self, which: IntArray, points: FloatArray, distances: FloatArray) -> None:
        nearer = distances < self.distances[which]
        self.points[which[nearer]] = points[nearer]
        self.distances[which[nearer]] = distances[nearer]


def scattered(
    space: PerturbationSpace,
    which: IntArray,
    base: FloatArray,
    radius: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return points to try for each sample, of shape (n_which, n_trials, n_columns), with the jumps of ``base``.

    Most are near the best point, at all scales and a little nearer to the sample: a random walk along the boundary.
    Some are anywhere in the ball of a radius, beyond which no point can be better.
    """
    p = space.n_smooth
    best = space.moves(base, which)[:, None]
    n_around = int(_AROUND * TRIALS)
    length = np.linalg.norm(best, axis=2, keepdims=True)
    # Around the best: steps of all scales.
    width = 10.0 ** rng.uniform(-3.0, 0.0, (len(which), n_around, 1))
    noise = rng.standard_normal((len(which), n_around, p)) / np.sqrt(p)
    around = best + width * length * noise
    # as far out as before, or a little nearer
    size = np.maximum(np.linalg.norm(around, axis=2, keepdims=True), 1e-300)
    shorter = 1.0 - width * rng.choice(_SHORTER, (len(which), n_around, 1))
    around *= shorter * np.minimum(length / size, 1.0)
    # Anywhere in the ball, as often near as far.
    n_anywhere = TRIALS - n_around
    ways = rng.standard_normal((len(which), n_anywhere, p))
    ways /= np.maximum(np.linalg.norm(ways, axis=2, keepdims=True), 1e-300)
    far = rng.random((len(which), n_anywhere, 1))
    anywhere = ways * far * np.minimum(radius, 1e9)[:, None, None]
    moves = space.clip(np.concatenate([around, anywhere], axis=1), which)
    return space.points(base, which, moves)
