"""The search for modes: a group that one sample lacks is found once, and nothing where labels are exchangeable."""

import numpy as np
import pytest

from shiftmetrics.novelty.modes.permutations import make_units
from shiftmetrics.novelty.modes.search import find_modes, found_in
from shiftmetrics.novelty.modes.space import SearchSpace
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import GaussianKernel


def searched(new, reference, **options):
    """Return the modes of each round, and all of them with their rows."""
    gram = Gram(new, reference, GaussianKernel(1.0))
    rng = np.random.default_rng(0)
    space = SearchSpace(gram, rng=rng, memory_limit=1 << 30)
    n_rows = gram.n_rows
    units = make_units(np.ones(n_rows, bool), gram.in_test, None, rng, paired=False)
    given = {"alpha": 0.05, "n_resamples": 39, "rng": rng, **options}
    rounds = find_modes(space, units, np.ones(n_rows), None, **given)
    return rounds, found_in(rounds, space, gram)


@pytest.fixture(scope="module")
def known():
    return np.random.default_rng(1).normal(size=(150, 2))


def test_a_group_that_the_reference_lacks_is_one_mode(known):
    rng = np.random.default_rng(2)
    new = np.concatenate([rng.normal(7.0, 0.5, size=(40, 2)), rng.normal(size=(80, 2))])
    reports = []
    rounds, found = searched(new, known, report=lambda: reports.append(1))
    (mode,) = found
    assert sum(map(len, rounds)) == 1
    assert len(reports) >= len(rounds)
    assert not mode.function.missing
    assert mode.function.p_value == 1 / 40  # no permutation shows as much
    assert np.flatnonzero(mode.members[:120]).tolist() == list(range(40))
    assert not mode.members[120:].any()


def test_a_group_that_the_sample_lacks_is_missing(known):
    rng = np.random.default_rng(3)
    reference = np.concatenate([known, rng.normal(7.0, 0.5, size=(60, 2))])
    _, found = searched(rng.normal(size=(100, 2)), reference)
    (mode,) = found
    assert mode.function.missing
    assert np.flatnonzero(mode.members).tolist() == list(range(250, 310))


def test_of_few_rows_nothing_is_asked():
    rng = np.random.default_rng(4)
    assert searched(rng.normal(5.0, 1.0, size=(9, 2)), rng.normal(size=(50, 2))) == ([], [])


def test_a_round_leaves_its_members_to_nobody(known):
    rng = np.random.default_rng(5)
    groups = [rng.normal(center, 0.3, size=(40, 2)) for center in ((7.0, 0.0), (0.0, 7.0))]
    rounds, found = searched(np.concatenate([*groups, rng.normal(size=(80, 2))]), known)
    assert sum(map(len, rounds)) == len(found) == 2
    counts = np.sum([mode.members for mode in found], axis=0)
    assert counts.max() == 1
    assert counts[:80].sum() >= 78
