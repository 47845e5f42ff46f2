"""Pairwise novelty: the same numbers as pair by pair, ranks that hold, modes of each pair, named mistakes."""

import math

import numpy as np
import pytest
from scipy.stats import kendalltau

from calls import novelty
from shiftmetrics import Result
from shiftmetrics.novelty import novelty_table
from shiftmetrics.novelty.pairwise import score_pairs


def clusters(shares, n_rows, rng, scatter=0.1):
    """Draw from far and tight clusters, in 3 dimensions, with these shares."""
    centers = 10.0 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    which = np.repeat(np.arange(len(shares)), np.round(np.array(shares) * n_rows).astype(int))
    return centers[which] + scatter * rng.normal(size=(len(which), 3))


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    return {
        "poor": clusters([0.5, 0.5], 80, rng),
        "rich": clusters([0.25, 0.25, 0.25, 0.25], 120, rng),
        "middle": clusters([0.4, 0.4, 0.2], 100, rng),
    }


@pytest.fixture(scope="module")
def table(samples):
    return novelty_table(samples, bandwidths=[1.0, 2.0], n_draws=6, n_exemplars=4, rng=0)


def test_a_pair_scores_as_the_measure_does():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(40, 3)), 1.5 * rng.normal(size=(40, 3)) + 0.5
    scores, null, top = score_pairs([first, second], 1.3, n_permutations=0, n_exemplars=3, rng=rng)
    result = novelty(first, second, bandwidth=1.3)
    assert scores[0, 1] == pytest.approx(result.value, abs=1e-9)
    assert scores[1, 0] == pytest.approx(result.reverse, abs=1e-9)
    np.testing.assert_array_equal(top[0, 1], result.modes[0].top(3))
    back = novelty(second, first, bandwidth=1.3)
    np.testing.assert_array_equal(top[1, 0], back.modes[0].top(3))
    assert null[0, 1] == 0.0


def test_the_null_of_a_pair_is_the_mean_score_of_its_rows_dealt_anew():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(30, 3)), 1.5 * rng.normal(size=(30, 3)) + 0.5])
    _, null, _ = score_pairs(
        [rows[:30], rows[30:]], 1.3, n_permutations=4, n_exemplars=0, rng=np.random.default_rng(5)
    )
    deals, expected = np.random.default_rng(5).spawn(1)[0], []
    for _ in range(4):
        order = deals.permutation(60)
        dealt = novelty(rows[order[:30]], rows[order[30:]], bandwidth=1.3, n_permutations=0)
        expected += [dealt.value, dealt.reverse]
    assert null[0, 1] == pytest.approx(np.mean(expected), abs=1e-9)


def test_a_pair_and_the_measure_share_one_null():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(40, 3)), 1.2 * rng.normal(size=(40, 3)) + 0.3
    scores, null, _ = score_pairs(
        [first, second], 1.3, n_permutations=100, n_exemplars=0, rng=np.random.default_rng(2)
    )
    expected = novelty(first, second, bandwidth=1.3, n_permutations=100, rng=3).null
    assert scores[0, 1] == pytest.approx(expected.observed, abs=1e-9)
    assert null[0, 1] == pytest.approx(expected.mean, abs=4 * expected.spread * math.sqrt(2 / 100))


def test_far_clusters_score_in_closed_form():
    rng = np.random.default_rng(0)
    samples = {
        "two": clusters([0.5, 0.5], 200, rng, scatter=0.0),
        "four": clusters([0.25] * 4, 200, rng, scatter=0.0),
    }
    table = novelty_table(samples, bandwidths=[1.0], n_rows=200, n_draws=1, n_permutations=0)
    # Two clusters of 1/4 in excess: S = 1/2, two equal parts.
    assert table.scores[0, 0, 1, 0] == pytest.approx(0.5 * math.log(2), abs=1e-9)
    assert table.scores[0, 0, 0, 1] == pytest.approx(0.5 * math.log(2), abs=1e-9)
    assert table.scores[0, 0].diagonal().tolist() == [0.0, 0.0]


def test_the_null_is_what_two_samples_of_one_distribution_score():
    rng = np.random.default_rng(0)
    same = {name: rng.normal(size=(60, 4)) for name in "abcd"}
    table = novelty_table(same, bandwidths=[1.0], n_rows=60, n_draws=1, n_permutations=20)
    off = ~np.eye(4, dtype=bool)
    assert table.null[0, 0][off].min() > 0.3
    spread = table.scores[0, 0][off].std()
    assert table.excess[0, 0][off].mean() == pytest.approx(0.0, abs=2 * spread)


def test_the_richest_sample_ranks_first(table):
    assert table.drawn_rows == 40
    assert table.n_rows == (80, 120, 100)
    assert (table.ranks[0] == [[2, 1, 3]]).all() or (table.ranks[0] == [[3, 1, 2]]).all()
    assert (table.rank_low[:, :, 1] == 1).all()
    assert (table.rank_low <= table.ranks).all()
    assert (table.ranks <= table.rank_high).all()
    np.testing.assert_allclose(table.row_means[0, 0, 0], table.excess[0, 0, 0, 1:].mean())
    np.testing.assert_allclose(table.column_means[0, 0, 2], table.excess[0, 0, :2, 2].mean())
    np.testing.assert_allclose(table.scores, table.draws.mean(axis=0))
    expected = kendalltau(table.row_means[0, 0], table.row_means[0, 1]).statistic
    assert table.value == pytest.approx(expected)
    assert table.kendall.shape == (2, 2)


def test_the_top_mode_of_a_pair_is_what_the_other_lacks(samples, table):
    names = table.names
    rich, poor = names.index("rich"), names.index("poor")
    rows = table.top_modes[0, 0, rich, poor]
    shown = samples["rich"][rows]
    assert (shown[:, 1:].max(axis=1) > 9).all()  # the clusters on the second and third axis
    assert (table.top_modes[0, 0, poor, poor] == -1).all()


def test_it_reads_and_travels_and_makes_frames(table):
    assert table.headline().startswith(
        "Pairwise novelty, most novel first, mean excess over the null in nats: rich"
    )
    assert "Kendall" in table.summary()
    assert Result.from_json(table.to_json()).equals(table)
    frame = table.to_frame()
    assert list(frame["sample"]) == ["poor", "rich", "middle"] * 2
    pairs = table.pairs(bandwidth=1)
    assert list(pairs.index) == ["poor", "rich", "middle", "mean"]
    assert pairs.loc["rich", "poor"] == pytest.approx(table.excess[0, 1, 1, 0])
    with pytest.raises(ValueError, match="bandwidth must be an integer between 0 and 1"):
        table.pairs(bandwidth=2)
    with pytest.raises(ValueError, match="feature_set must be one of features"):
        table.pairs(feature_set="pixels")


def test_feature_sets_are_drawn_with_the_same_rows(samples):
    both = {name: {"all": part, "twice": 2.0 * part} for name, part in samples.items()}
    table = novelty_table(both, bandwidths={"all": [1.0], "twice": [2.0]}, n_draws=2, n_permutations=0)
    assert table.feature_sets == ("all", "twice")
    np.testing.assert_allclose(table.scores[0], table.scores[1], atol=1e-9)
    assert table.value == pytest.approx(1.0)


def test_the_default_bandwidths_and_seed(samples):
    table = novelty_table(samples, n_rows=20, n_draws=1, n_permutations=1)
    assert table.bandwidths.shape == (1, 3)
    np.testing.assert_allclose(table.bandwidths[0, 1:] / table.bandwidths[0, :-1], math.sqrt(2))
    assert novelty_table(samples, n_rows=20, n_draws=1, n_permutations=1).equals(table)


def test_torch_samples(samples):
    torch = pytest.importorskip("torch")
    options = {"bandwidths": [1.0], "n_rows": 20, "n_draws": 1}
    other = novelty_table({name: torch.tensor(part) for name, part in samples.items()}, **options)
    np.testing.assert_allclose(other.scores, novelty_table(samples, **options).scores, atol=1e-12)


X = np.random.default_rng(0).normal(size=(6, 2))


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        ({"a": X}, {}, "samples must be a mapping from names to at least two samples, got 1"),
        ([X, X], {}, "samples must be a mapping from names to at least two samples, got list"),
        ({"a": X, "b": {"f": X}}, {}, "samples must be all arrays or all mappings"),
        ({"a": {"f": X}, "b": {"g": X}}, {}, r"samples\['b'\] must be of the feature sets of 'a'"),
        (
            {"a": X, "b": X[:, :1]},
            {},
            r"samples\['b'\] must be of as many columns as samples\['a'\], 2, got 1",
        ),
        ({"a": X, "b": X * np.nan}, {}, r"samples\['b'\] must be finite"),
        ({"a": {"f": X, "g": X}, "b": {"f": X, "g": X[1:]}}, {}, r"samples\['b'\] must be of the same rows"),
        ({"a": X, "b": X}, {"n_rows": 7}, "n_rows must be at most the rows of the smallest sample, 6, got 7"),
        ({"a": X, "b": X}, {"bandwidths": [0.0]}, r"bandwidths\['features'\] must be"),
        ({"a": X, "b": X}, {"bandwidths": []}, "bandwidths must be as many, at least one"),
        ({"a": X, "b": X}, {"bandwidths": {"f": [1.0]}}, "bandwidths must be given for features, got f"),
        ({"a": X, "b": X}, {"n_draws": 0}, "n_draws must be an integer at least 1"),
    ],
)
def test_bad_tables_are_named(samples, options, message):
    with pytest.raises(ValueError, match=message):
        novelty_table(samples, **options)
