"""How new each sample looks: by ranks of what is counted again."""

import numpy as np
import pytest

from shiftmetrics.novelty.modes.permutations import RIDGE
from shiftmetrics.novelty.modes.ridge import RidgeClassifier
from shiftmetrics.novelty.modes.row_scores import N_NEIGHBOURS, RowScorer
from shiftmetrics.novelty.modes.space import SearchSpace
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import GaussianKernel


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    new = rng.normal(size=(60, 2))
    new[:15] += 9.0
    return new, rng.normal(size=(80, 2))


@pytest.fixture(scope="module")
def scorer(points):
    gram = Gram(*points, GaussianKernel(1.0))
    space = SearchSpace(gram, rng=np.random.default_rng(1), memory_limit=1 << 30)
    return RowScorer(space, np.arange(140), gram, np.ones(140), [])


def rank(values, known):
    """Return the fraction that each value outranks, ties by half."""
    below = (known[None] < values[:, None]).mean(axis=1)
    equal = (known[None] == values[:, None]).mean(axis=1)
    return below + equal / 2.0


def neighbours(point, others, in_test):
    """Return the fraction of the nearest rows that are new, were both samples equally large."""
    nearest = np.argsort(((others - point) ** 2).sum(axis=1))[:N_NEIGHBOURS]
    new = in_test[nearest].sum() / 60
    return new / (new + (~in_test[nearest]).sum() / 80)


def test_without_modes_the_score_is_the_mean_of_two_ranks(points, scorer):
    rows = np.concatenate(points)
    in_test = np.arange(140) < 60
    space = scorer._space
    classifier = RidgeClassifier(space.coordinates[space.middle], np.ones(140), RIDGE)
    ridge = classifier.scores(in_test[None])[0]
    near = np.array(
        [
            neighbours(rows[place], np.delete(rows, place, 0), np.delete(in_test, place))
            for place in range(140)
        ]
    )
    # Fractions that are equal may differ by rounding, and a rank by half a tie.
    expected = (rank(ridge, ridge) + rank(near.round(9), near.round(9))) / 2.0
    np.testing.assert_allclose(scorer.rows, expected, atol=0.05)


def test_what_is_far_from_the_reference_ranks_first(points, scorer):
    assert set(np.argsort(-scorer.rows)[:15]) == set(range(15))
    scores = scorer.at(np.array([[9.0, 9.0], [0.0, 0.0]]))
    assert scores[0] > 0.8 > scores[1]
    assert ((scores >= 0.0) & (scores <= 1.0)).all()
