"""How often a new kind of a given share would be seen in samples like these: by simulation."""

from __future__ import annotations

import numpy as np

from shiftmetrics.novelty.gram import Gram, rows_at
from shiftmetrics.novelty.pooled import Pooled
from shiftmetrics.novelty.relabelling import make_units
from shiftmetrics.novelty.search import find_kinds

_N_DRAWS = 99


def chance_of_seeing(pooled: Pooled, share: float, *, n_trials: int, alpha: float, seed: int) -> float:
    """Return how often a kind of this share of the test sample stands out.

    In each trial the rows of both samples are dealt anew; the rows most similar to a row drawn at random are the new
    kind, which the reference lacks.

    Parameters
    ----------
    pooled : Pooled
        Coordinates of the rows.
    share : float
        Of the test sample.
    n_trials : int
        Trials.
    alpha : float
        Level of the test.
    seed : int
        Of the draws.
    """
    gram, rng, seen = pooled.gram, np.random.default_rng(seed), 0
    count = max(1, round(share * gram.n_test))
    for _ in range(n_trials):
        center = int(rng.integers(gram.n_rows))
        similar = gram.between(np.arange(gram.n_rows), gram.take(np.array([center])))[:, 0]
        order = np.argsort(-similar, kind="stable")
        rest = rng.permutation(order[count:])
        test, reference = (
            np.sort(np.r_[order[:count], rest[: gram.n_test - count]]),
            np.sort(rest[gram.n_test - count :]),
        )
        whole = gram.take(np.arange(gram.n_rows)).rows
        dealt = Gram(rows_at(whole, test), rows_at(whole, reference), gram.kernel)
        again = pooled.like(dealt, rng=rng)
        sides = np.ones(len(test)), np.ones(len(reference))
        units = make_units(sides, None, paired=False, rng=rng)
        found = find_kinds(
            again, units, np.concatenate(sides), alpha=alpha, n_draws=_N_DRAWS, rng=rng, rounds=1
        )
        seen += found.p_values[0] <= alpha
    return seen / n_trials
