"""Novelty against the number of rows."""

import numpy as np
import pytest

from shiftmetrics.novelty import kernel_entropic_novelty, novelty_against_size


def samples(seed: int, n: int, m: int, columns: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)), rng.normal(size=(m, columns))


def test_scores_of_one_distribution_grow_as_relabelled_rows_do() -> None:
    x, y = samples(0, 300, 250, 30)
    found = novelty_against_size(x, y, bandwidth=3.0, sizes=[20, 60, 200], n_draws=4)
    assert found.scores[0] < found.scores[1] < found.scores[2]
    assert (np.abs(found.excess) < 3.0 * (found.null_spreads + found.score_spreads) + 0.02).all()
    assert found.n_significant.max() <= 1


def test_what_is_new_stays() -> None:
    x, y = samples(1, 300, 300)
    x[:60, 0] += 9.0
    x[60:120, 1] += 9.0
    found = novelty_against_size(x, y, bandwidth=4.0, sizes=[300, 40, 100])
    np.testing.assert_array_equal(found.sizes, [40, 100, 300])
    assert (found.excess > 0.15).all()
    assert found.n_significant[-1] == 2
    frame = found.to_frame()
    np.testing.assert_allclose(frame["excess"], found.excess)
    assert list(frame["size"]) == [40, 100, 300]


def test_all_rows_score_what_they_score() -> None:
    x, y = samples(2, 50, 50)
    found = novelty_against_size(x, y, bandwidth=3.0, eta=2.0, sizes=[50], n_draws=2)
    expected = kernel_entropic_novelty(x, y, bandwidth=3.0, eta=2.0, n_permutations=0)
    assert found.scores[0] == pytest.approx(expected.value, abs=1e-9)
    assert found.score_spreads[0] == pytest.approx(0.0, abs=1e-9)
    assert (found.bandwidth, found.eta, found.n_draws) == (3.0, 2.0, 2)


def test_the_default_sizes_reach_the_smaller_sample() -> None:
    x, y = samples(3, 80, 60)
    found = novelty_against_size(x, y, n_draws=1, n_permutations=2)
    assert found.sizes[0] == 25
    assert found.sizes[-1] == 60
    assert found.bandwidth > 0.0
    assert found.equals(novelty_against_size(x, y, n_draws=1, n_permutations=2))
    cosine = novelty_against_size(x, y, kernel="cosine", sizes=[10], n_draws=1)
    assert cosine.bandwidth is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": [10, 61]}, "sizes must be at most the rows of the smaller sample, 60, got 61"),
        ({"sizes": []}, "sizes must be a sequence"),
        ({"sizes": "all"}, "sizes must be a sequence"),
        ({"sizes": [1]}, r"sizes\[0\] must be"),
        ({"n_draws": 0}, "n_draws must be"),
        ({"n_permutations": 0}, "n_permutations must be"),
        ({"eta": 0.0}, "eta must be"),
    ],
)
def test_bad_input_is_named(change: dict, message: str) -> None:
    x, y = samples(3, 80, 60)
    with pytest.raises(ValueError, match=message):
        novelty_against_size(x, y, **change)
