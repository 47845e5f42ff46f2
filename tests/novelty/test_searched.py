"""What is asked of the samples that are searched, step by step."""

import numpy as np
import pytest

from shiftmetrics.novelty.modes.gate import side_p_values
from shiftmetrics.novelty.options import NoveltyResampling
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import GaussianKernel
from shiftmetrics.novelty.score.solution import NoveltyProblem
from shiftmetrics.novelty.searched import MORE_RESAMPLES, SearchedSamples

N = 80
KNOWN = np.random.default_rng(0).normal(size=(N, 2))


def searched(x, y=KNOWN, *, together=None, paired=False):
    gram = Gram(x, y, GaussianKernel(1.0))
    problem = NoveltyProblem(
        gram=gram,
        test_weights=np.full(len(x), 1 / len(x)),
        reference_weights=np.full(len(y), 1 / len(y)),
        eta=1.0,
        rtol=1e-6,
        memory_limit=1 << 30,
    )
    return SearchedSamples(
        gram,
        weights=np.ones(gram.n_rows),
        together=together,
        problem=problem,
        options=NoveltyResampling(n_resamples=59, paired=paired),
        rng=np.random.default_rng(1),
    )


@pytest.fixture(scope="module")
def with_new():
    """Return samples of which the first twenty are new."""
    rng = np.random.default_rng(2)
    return searched(np.concatenate([rng.normal(8.0, 0.5, (20, 2)), rng.normal(size=(60, 2))]))


def test_the_gate_opens_where_something_is_new(with_new):
    tested, n_resamples = with_new.gated()
    assert tested.shape == (2, n_resamples + 1)
    assert n_resamples in (59, 60 * MORE_RESAMPLES - 1)
    assert side_p_values(tested)[0] == 1 / (n_resamples + 1)
    assert set(with_new.first_rows()) <= set(range(20))
    # Without them it is shut.
    assert min(with_new.gated_without(np.arange(2 * N) < 20)) > 0.05


def test_of_too_few_rows_that_are_left_nothing_is_asked(with_new):
    assert with_new.gated_without(np.arange(2 * N) >= 5) == (1.0, 1.0)


def test_scores_that_no_sample_had_a_part_in_find_the_new_ones(with_new):
    found = with_new.crossfitted(missing=False)
    assert found.members[:20].sum() >= 18
    assert found.members[N:].mean() <= 0.1
    assert np.median(found.scores[:20]) > np.quantile(found.scores[20:], 0.95)


def test_a_column_that_moved_is_a_gradual_change_and_a_group_is_none(with_new):
    rng = np.random.default_rng(3)
    moved = searched(rng.normal(size=(N, 2)) + np.array([0.0, 1.0]))
    changes = moved.gradual_changes(moved.gated()[0], ("age", "dose"))
    assert [change.name for change in changes.columns] == ["dose"]
    assert not with_new.gradual_changes(with_new.gated()[0], ("age", "dose")).are_gradual


def test_groups_count_once_and_pairs_as_often_as_they_are():
    groups = np.repeat(np.arange(32), 5)
    assert searched(KNOWN + 0.1, together=groups).independent(0) == 16 / N
    assert searched(KNOWN + 0.1).independent(0) == 1.0
    pairs = np.tile(np.arange(N), 2)
    assert searched(KNOWN + 0.1, together=pairs, paired=True).independent(1) == 1.0


def test_copies_are_said_unless_groups_say_how_rows_belong_together():
    copied = np.repeat(KNOWN[:20] + 0.1, 4, axis=0)
    nobody = np.zeros(2 * N, bool)
    assert searched(copied).dependence(nobody)
    groups = np.concatenate([np.repeat(np.arange(20), 4), 20 + np.arange(N)])
    assert searched(copied, together=groups).dependence(nobody) == ()
