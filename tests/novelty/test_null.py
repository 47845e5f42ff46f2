"""The permutation null: relabelled rows on one factor, its excess and p-value, significant modes."""

import numpy as np
import pytest

from calls import both_ways, novelty
from shiftmetrics.novelty import NoveltyResult
from shiftmetrics.novelty.null import relabelled


def clusters(
    rng: np.random.Generator, n_rows: int, kinds: list[int], dimension: int, scale: float
) -> np.ndarray:
    """Rows around unit vectors along the axes ``kinds``, drawn evenly, with noise of length ``scale``."""
    centers = np.eye(dimension)[rng.choice(kinds, n_rows)]
    return 10.0 * centers + rng.normal(size=(n_rows, dimension)) * scale / np.sqrt(dimension)


def test_one_distribution_of_unequal_sizes_is_not_significant() -> None:
    # Without the weights of the new sample the null would be 5.07.
    means, observed, significant = [], [], 0
    for seed in range(1, 6):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(400, 2)), rng.normal(size=(100, 2))
        result = novelty(x, y, eta=3.0, bandwidth=1.0)
        assert result.null is not None
        assert result.p_value > 0.05
        significant += result.n_significant > 0
        means.append(result.null.mean)
        observed.append(result.value)
    assert significant <= 1  # a false one in 21 runs
    assert np.mean(means) == pytest.approx(0.059, abs=0.012)
    assert min(observed) == pytest.approx(0.034, abs=0.003)


@pytest.mark.parametrize("eta", [1.0, 2.5])
@pytest.mark.parametrize("sizes", [(9, 14), (14, 9)])
def test_relabelling_a_factor_is_relabelling_the_rows(eta: float, sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    rows, weights = rng.normal(size=(sum(sizes), 3)), rng.uniform(0.5, 2.0, size=sum(sizes))
    kernel = np.exp(-0.5 * ((rows[:, None] - rows) ** 2).sum(axis=2))
    found = relabelled(
        np.linalg.cholesky(kernel),
        weights,
        sizes[0],
        eta,
        n_permutations=6,
        rng=np.random.default_rng(7),
    )
    deals = np.random.default_rng(7)
    expected: list[tuple[float, float, float, float]] = []
    for labelling in range(7):
        order = np.arange(len(rows)) if labelling == 0 else deals.permutation(len(rows))
        one, two = order[: sizes[0]], order[sizes[0] :]
        # Each sample has the weights that it had, the heaviest for the row that was heaviest before.
        own = [
            sorted(part)[rank]
            for part, dealt in ((weights[: sizes[0]], one), (weights[sizes[0] :], two))
            for rank in [int((weights[dealt] < weight).sum()) for weight in weights[dealt]]
        ]
        options = {"bandwidth": 1.0, "eta": eta, "n_permutations": 0, "method": "dense"}
        result = both_ways(
            rows[one], rows[two], sample_weight=own[: sizes[0]], reference_weight=own[sizes[0] :], **options
        )
        tops = (result.eigenvalues[0], result.reverse_eigenvalues[0])
        expected.append((result.value, tops[0], result.reverse, tops[1]))
    assert (found[1] is None) == (eta > 1.0)
    for null, columns in zip(found, ((0, 1), (2, 3)), strict=True):
        if null is None:
            continue
        scores, tops = np.array(expected)[:, columns].T
        assert null.observed == pytest.approx(scores[0], abs=1e-9)
        np.testing.assert_allclose(null.scores, scores[1:], rtol=0, atol=1e-9)
        np.testing.assert_allclose(null.eigenvalues, tops[1:], rtol=0, atol=1e-9)
        assert null.largest == pytest.approx(tops[1:].max(), abs=1e-9)
        assert null.mean == pytest.approx(scores[1:].mean(), abs=1e-9)
        assert null.spread == pytest.approx(scores[1:].std(ddof=1), abs=1e-9)
        assert null.p_value == (1 + (scores[1:] >= scores[0] - 1e-9).sum()) / 7


@pytest.mark.parametrize("method", ["dense", "cholesky", "landmarks", "fourier"])
def test_every_route_has_a_null_and_finds_the_new_kind(method: str) -> None:
    rng = np.random.default_rng(0)
    x, y = clusters(rng, 240, [0, 1, 2], 6, 1.0), clusters(rng, 200, [0, 1], 6, 1.0)
    result = novelty(x, y, bandwidth=3.0, method=method, n_permutations=19, rng=1)
    assert result.null is not None
    assert (result.null.n_test, result.null.n_reference) == (240, 200)
    assert result.null.observed == pytest.approx(result.value, abs=1e-6)
    assert result.excess == pytest.approx(result.value - result.null.mean, abs=1e-6)
    assert result.p_value == 0.05
    assert result.n_significant == 1
    assert result.significant_total == pytest.approx(1 / 3, abs=0.1)


def test_the_null_of_what_is_lost_goes_with_the_reverse_score() -> None:
    rng = np.random.default_rng(0)
    x, y = clusters(rng, 150, [0, 1], 6, 1.0), clusters(rng, 150, [0, 1, 2], 6, 1.0)
    result = novelty(x, y, bandwidth=3.0)
    assert result.reverse_null is not None
    assert result.reverse_null.observed == pytest.approx(result.reverse, abs=1e-9)
    assert result.reverse_null.p_value == pytest.approx(1 / 21)
    assert novelty(x, y, bandwidth=3.0, eta=2.0).reverse_null is None


def test_many_rows_of_full_rank_are_relabelled_in_part() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 40)), rng.normal(size=(260, 40))
    result = novelty(x, y, bandwidth=3.0, max_rows=100)
    assert result.null is not None
    assert (result.null.n_test, result.null.n_reference) == (100, 100)
    assert result.null.observed != result.value
    assert "Relabelled were 100 and 100 rows" in result.summary()
    low_rank = novelty(x[:, :1], y[:, :1], bandwidth=3.0, max_rows=100, method="cholesky")
    assert low_rank.null is not None
    assert (low_rank.null.n_test, low_rank.null.n_reference) == (300, 260)
    little = novelty(
        x[:, :1], y[:, :1], bandwidth=3.0, method="landmarks", n_landmarks=8, memory_limit=210 << 20
    )
    assert little.null is not None
    assert little.null.n_test <= 300


def test_the_same_rows_score_nothing_and_no_mode_is_significant() -> None:
    rows = np.random.default_rng(0).normal(size=(30, 2))
    result = novelty(rows, rows, bandwidth=1.0)
    assert result.value == 0.0
    assert result.p_value == 1.0
    assert result.n_significant == 0
    constant = novelty(np.ones((5, 2)), np.ones((7, 2)), bandwidth=1.0)
    assert constant.p_value == 1.0


def test_rows_of_weight_zero_do_not_count() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    weights = np.r_[np.ones(30), np.zeros(10)]
    part = novelty(x[:30], y, bandwidth=1.0, rng=0, method="dense").null
    whole = novelty(x, y, bandwidth=1.0, rng=0, sample_weight=weights, method="dense").null
    assert part is not None
    assert whole is not None
    np.testing.assert_allclose(whole.scores, part.scores, rtol=0, atol=1e-12)


def test_a_null_is_reproducible_can_be_left_out_and_travels_as_json() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    first = novelty(x, y, bandwidth=1.0, n_permutations=5)
    second = novelty(x, y, bandwidth=1.0, n_permutations=5)
    assert first.null is not None
    assert second.null is not None
    np.testing.assert_array_equal(first.null.scores, second.null.scores)
    back = NoveltyResult.from_json(first.to_json())
    assert back.equals(first)
    assert (back.excess, back.p_value, back.n_significant) == (
        first.excess,
        first.p_value,
        first.n_significant,
    )
    without = novelty(x, y, bandwidth=1.0, n_permutations=0)
    assert (without.null, without.excess, without.p_value, without.n_significant) == (None, None, None, None)
    assert "set n_permutations" in without.summary()


@pytest.mark.parametrize(
    ("argument", "value"), [("n_permutations", -1), ("max_rows", 1), ("n_permutations", 2.5)]
)
def test_options_of_the_null_are_checked(argument: str, value: float) -> None:
    rows = np.random.default_rng(0).normal(size=(10, 2))
    with pytest.raises((ValueError, TypeError), match=argument):
        novelty(rows, rows, bandwidth=1.0, **{argument: value})


def test_the_summary_leads_with_the_excess_and_counts_from_one() -> None:
    rng = np.random.default_rng(0)
    x, y = clusters(rng, 150, [0, 1, 2], 6, 1.0), clusters(rng, 150, [0, 1], 6, 1.0)
    result = novelty(x, y, bandwidth=3.0)
    first, *others = result.summary().splitlines()
    assert f"{result.excess:.4g} nats in excess of relabelled rows" in first
    assert "(p = 0.048)" in first
    assert "1 mode stands out" in first
    assert any(line.startswith("Mode 1: ") for line in others)
    same = novelty(x, x[::-1] + 1e-3, bandwidth=3.0)
    assert "No mode stands out" in same.headline()


@pytest.mark.slow
def test_p_values_of_one_distribution_are_uniform_and_false_modes_rare() -> None:
    p_values, modes = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(60, 3)), rng.normal(size=(40, 3))
        result = novelty(x, y, bandwidth=1.0, n_permutations=19, rng=seed)
        p_values.append(result.p_value)
        modes.append(result.n_significant)
    # 5 % and 50 % expected; the binomial leaves these margins with probability below 0.1 %.
    assert np.mean(np.array(p_values) <= 0.05) <= 0.105
    assert abs(np.mean(np.array(p_values) <= 0.5) - 0.5) <= 0.12
    assert np.mean(np.array(modes) > 0) <= 0.105


def weighted_p_values(sizes: tuple[int, int], eta: float, weighted: str, runs: int) -> np.ndarray:
    """p-values of two samples of one distribution, with uneven weights that have nothing to do with the rows."""
    found = []
    for seed in range(runs):
        rng = np.random.default_rng([seed, *sizes])
        x, y = (rng.normal(size=(size, 3)) for size in sizes)
        weights = [
            rng.exponential(size=size) ** 2 if name in weighted else None
            for name, size in zip("xy", sizes, strict=True)
        ]
        result = novelty(
            x, y, eta=eta, bandwidth=1.5, n_permutations=19, rng=seed,
            sample_weight=weights[0], reference_weight=weights[1],
        )  # fmt: skip
        found.append(result.p_value)
    return np.array(found)


def test_uneven_weights_of_one_sample_are_not_novelty() -> None:
    # Dealt to both, they would make the other sample noisier than it is, and its own less: p = 0.05 in every run.
    assert np.mean(weighted_p_values((100, 40), 1.0, "y", 8) <= 0.1) <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "eta", "weighted"), [((50, 100), 1.0, "x"), ((50, 50), 3.0, "y"), ((40, 70), 3.0, "xy")]
)
def test_p_values_of_weighted_samples_are_uniform(sizes: tuple[int, int], eta: float, weighted: str) -> None:
    p_values = weighted_p_values(sizes, eta, weighted, 120)
    assert np.mean(p_values <= 0.05) <= 0.12
    assert abs(np.mean(p_values <= 0.5) - 0.5) <= 0.15


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [500, 1000])
def test_five_new_modes_in_high_dimension_are_five_significant_modes(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    centers = rng.normal(size=(20, 512))
    x, y = (
        centers[np.resize(np.arange(kinds), n_rows)] + 0.3 * rng.normal(size=(n_rows, 512))
        for kinds in (20, 15)
    )
    result = novelty(x, y, bandwidth=10.0, n_permutations=10, max_rows=n_rows)
    assert result.n_significant == 5
    assert result.p_value == pytest.approx(1 / 11)


# --- rows that belong together -----------------------------------------------------------------------------


def pairs(seed: int, n: int, change: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and what became of them: moved a little at random, and a share ``change`` of them far away."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(n, 5))
    x = y + 0.2 * rng.normal(size=y.shape)
    x[rng.random(n) < change, 0] += 3.0
    return x, y


@pytest.mark.parametrize("method", ["dense", "cholesky"])
def test_swaps_within_pairs_are_the_null_of_pairs(method: str) -> None:
    options = {"bandwidth": 2.0, "method": method, "n_permutations": 39}
    p_values = {paired: [] for paired in (False, True)}
    for seed in range(15):
        x, y = pairs(seed, 120, 0.0)
        for paired, found in p_values.items():
            # Either may come first: pairs are swapped as under the null.
            swap = np.random.default_rng(seed + 99).random(120) < 0.5
            first, second = np.where(swap[:, None], y, x), np.where(swap[:, None], x, y)
            result = novelty(first, second, paired=paired, **options)
            assert result.null.paired is paired
            found.append(result.p_value)
    assert min(p_values[False]) > 0.9  # relabelled pairs differ more than the true ones do
    assert 0.25 < np.mean(p_values[True]) < 0.75
    x, y = pairs(0, 120, 0.1)
    assert novelty(x, y, **options).p_value > 0.5
    assert novelty(x, y, paired=True, **options).p_value == 1 / 40


def test_a_part_of_the_pairs_stays_paired() -> None:
    x, y = pairs(0, 200, 0.3)
    x, y = np.hstack([x, x[:, :1] ** 2]), np.hstack([y, y[:, :1] ** 2])
    result = novelty(x, y, paired=True, bandwidth=0.8, max_rows=60, method="dense")
    assert (result.null.n_test, result.null.n_reference) == (60, 60)
    assert result.null.scores.mean() < result.null.observed
    assert "rows swapped within pairs" in result.summary()
    weights = np.repeat([1.0, 0.0], 100)
    part = novelty(x, y, paired=True, bandwidth=0.8, sample_weight=weights)
    assert part.null.n_test == part.null.n_reference == 100


def test_rows_that_look_paired_are_said() -> None:
    x, y = pairs(0, 150, 0.0)
    assert any("paired=True" in text for text in novelty(x, y, bandwidth=2.0).warnings)
    rng = np.random.default_rng(0)
    for first, second, options in (
        (x, y, {"paired": True}),
        (x, y, {"n_permutations": 0}),
        (x[rng.permutation(150)], y, {}),
        (x[:-1], y, {}),
        (np.ones((50, 2)), np.ones((50, 2)), {}),
    ):
        result = novelty(first, second, bandwidth=2.0, **options)
        assert not any("paired" in text for text in result.warnings)


def test_pairs_need_as_many_rows() -> None:
    with pytest.raises(
        ValueError, match="paired must be False unless both samples have as many rows, got 5 and 4"
    ):
        novelty(np.eye(5), np.eye(5)[:4], paired=True)
    with pytest.raises(ValueError, match="at least 2 pairs have weight in both samples, got 1"):
        novelty(np.eye(3), np.eye(3), paired=True, sample_weight=[1, 1, 0], reference_weight=[0, 1, 1])


@pytest.mark.parametrize("method", ["fourier"])
def test_a_score_of_a_part_is_of_pairs(method: str) -> None:
    x, y = pairs(0, 150, 0.2)
    options = {"bandwidth": 2.0, "method": method, "score_rows": 60, "paired": True, "n_draws": 10}
    result = novelty(x, y, level=0.9, **options)
    apart = novelty(x, y, level=0.9, **{**options, "paired": False})
    assert result.score_rows == (60, 60)
    assert result.value < apart.value  # partners cancel, strangers do not
    assert result.resampled.std() > 0.0
