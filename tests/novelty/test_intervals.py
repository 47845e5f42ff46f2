"""Intervals of novelty by subsampling: what they cover, and why draws repeat no row."""

import numpy as np
import pytest

from calls import novelty
from shiftmetrics.novelty import NoveltyResult


def samples(seed: int, n: int, m: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
    x[rng.random(n) < 0.3, 0] += 6.0
    return x, y


def result_of(seed: int, n: int, m: int, columns: int, **options: object) -> NoveltyResult:
    bandwidth = 1.5 if columns == 2 else 4.0
    options = {"bandwidth": bandwidth, "n_permutations": 0, "rng": seed, **options}
    return novelty(*samples(seed, n, m, columns), **options)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m", "columns"), [(160, 120, 2), (100, 80, 10)])
def test_nine_in_ten_intervals_cover_the_expected_score(n: int, m: int, columns: int) -> None:
    expected = [result_of(seed, n, m, columns) for seed in range(1000, 1400)]
    truth = [
        np.mean([result.value for result in expected]),
        np.mean([result.total for result in expected]),
        np.mean([result.eigenvalues[0] for result in expected]),
    ]
    covered = np.zeros(3)
    for seed in range(200):
        result = result_of(seed, n, m, columns, level=0.9, n_draws=100)
        intervals = (result.interval, result.total_interval, result.top_interval)
        covered += [part.low <= value <= part.high for part, value in zip(intervals, truth, strict=True)]
    assert (covered >= 0.85 * 200).all(), covered / 200
    assert (covered <= 0.95 * 200).all(), covered / 200


def test_draws_with_replacement_are_biased() -> None:
    n, m, columns = 120, 120, 10
    own = result_of(0, n, m, columns, level=0.9)
    x, y = samples(0, n, m, columns)
    rng = np.random.default_rng(1)
    drawn = [
        novelty(x[rng.integers(0, n, n)], y[rng.integers(0, m, m)], bandwidth=4.0, n_permutations=0).value
        for _ in range(40)
    ]
    assert abs(np.mean(drawn) - own.value) > 1.5 * own.resampled.std()
    assert own.resampled.mean() == pytest.approx(own.value, abs=1e-9)


def test_the_spread_is_that_of_samples() -> None:
    scores = [result_of(seed, 200, 150, 2).value for seed in range(100)]
    spreads = [result_of(seed, 200, 150, 2, level=0.9, n_draws=100).resampled.std() for seed in range(5)]
    assert np.mean(spreads) == pytest.approx(np.std(scores), rel=0.25)


@pytest.mark.parametrize("method", ["dense", "cholesky", "landmarks", "fourier"])
def test_every_route_has_intervals_around_its_values(method: str) -> None:
    result = result_of(0, 150, 120, 2, method=method, level=0.9, n_draws=30)
    for interval, value in (
        (result.interval, result.value),
        (result.total_interval, result.total),
    ):
        assert interval.low < value < interval.high
        assert interval.level == 0.9
        assert "30 draws of" in interval.method
    assert result.resampled.shape == (30,)
    assert result.resampled.mean() == pytest.approx(result.value, abs=1e-6)
    assert "It is for the expected score of samples of these sizes" in result.summary()


def test_a_low_rank_gives_what_the_dense_route_gives() -> None:
    dense, cholesky = (
        result_of(0, 100, 90, 2, method=method, level=0.9, n_draws=20).resampled
        for method in ("dense", "cholesky")
    )
    np.testing.assert_allclose(dense, cholesky, atol=1e-8)


def test_equal_seeds_draw_equal_rows() -> None:
    one, two = (
        result_of(0, 100, 90, 2, level=0.9, n_draws=20, bandwidth=width, rng=5).resampled
        for width in (1.5, 1.5001)
    )
    other = result_of(0, 100, 90, 2, level=0.9, n_draws=20, rng=6).resampled
    assert np.corrcoef(one, two)[0, 1] > 0.9999
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.8


def test_weights_and_pairs() -> None:
    x, y = samples(0, 60, 60, 2)
    weights = np.repeat([1.0, 0.0], 30)
    options = {"bandwidth": 1.5, "level": 0.9, "n_draws": 25, "n_permutations": 0, "rng": 3}
    part = novelty(x[:30], y, **options)
    whole = novelty(x, y, sample_weight=weights, **options)
    np.testing.assert_allclose(part.resampled, whole.resampled, atol=1e-9)
    # Rows that are nearly equal to their partners move together, so their score hardly moves.
    moved = x + 0.01
    apart, together = (
        novelty(moved, x, paired=paired, **options).resampled.std() for paired in (False, True)
    )
    assert together < 0.1 * apart


def test_few_rows_and_many() -> None:
    few = novelty([[0.0], [4.0]], [[0.0], [1.0], [2.0]], bandwidth=1.0, level=0.9, n_draws=9)
    assert few.interval.low <= few.value <= few.interval.high
    large = result_of(0, 900, 800, 10, level=0.9, n_draws=4)
    assert "draws of 300 and 267 rows" in large.interval.method


@pytest.mark.parametrize(
    ("change", "message"),
    [({"level": 1.0}, "level must be"), ({"n_draws": 1}, "n_draws must be")],
)
def test_bad_input_is_named(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        result_of(0, 20, 20, 2, **change)


def test_json_keeps_them(tmp_path) -> None:
    result = result_of(0, 60, 50, 2, level=0.8, n_draws=10)
    result.to_json(tmp_path / "result.json")
    back = NoveltyResult.from_json(tmp_path / "result.json")
    assert back.equals(result)
    assert back.top_interval.level == 0.8


def test_none_are_made_unless_asked_for() -> None:
    result = result_of(0, 60, 50, 2)
    assert result.interval is result.total_interval is result.top_interval is result.resampled is None
