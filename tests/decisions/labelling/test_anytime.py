"""The betting sequence: against a slow implementation, and its coverage by someone who looks after every label."""

import numpy as np
import numpy.typing as npt
import pytest

from shiftmetrics.decisions.labelling.anytime import (
    GRID_SIZE,
    STAKES,
    difference_sequence,
    mean_sequence,
    planned_bets,
    weighted_sequence,
)

Values = npt.NDArray[np.float64]


def slow_lower_limits(values: Values, size: int, level: float = 0.95) -> Values:
    """Follow the gambler candidate by candidate, label by label."""
    limits = []
    refuted = np.zeros(GRID_SIZE, dtype=bool)
    candidates = np.linspace(0.0, 1.0, GRID_SIZE)
    capital = {place: dict.fromkeys(STAKES, 1.0) for place in range(GRID_SIZE)}
    best = 0.0
    for t, value in enumerate(values):
        seen = float(values[:t].sum())
        for place, candidate in enumerate(candidates):
            mean = min(max((size * candidate - seen) / (size - t), 0.0), 1.0)
            for stake in STAKES:
                if mean > 0.0:
                    capital[place][stake] *= 1.0 + stake * (value - mean) / mean
                elif value > 0.0:
                    capital[place][stake] = np.inf
            if np.mean(list(capital[place].values())) >= 2.0 / (1.0 - level):
                refuted[place] = True
        last = max(int(refuted.sum()) - 1, 0)
        assert refuted[: last + 1].all() or not refuted.any()
        best = max(best, candidates[last], float(values[: t + 1].sum()) / size)
        limits.append(best)
    return np.array(limits)


@pytest.mark.parametrize(("size", "n_drawn"), [(30, 30), (200, 25), (1000, 40)])
def test_limits_are_those_of_the_slow_gambler(size: int, n_drawn: int) -> None:
    rng = np.random.default_rng(size)
    values = rng.choice([0.0, 0.5, 1.0], size=n_drawn, p=[0.1, 0.3, 0.6])
    low, high = mean_sequence(values, values, size)
    np.testing.assert_allclose(low, slow_lower_limits(values, size), atol=1e-12)
    np.testing.assert_allclose(high, 1.0 - slow_lower_limits(1.0 - values, size), atol=1e-12)


def test_limits_tighten_and_end_in_the_mean() -> None:
    values = np.random.default_rng(0).random(60)
    low, high = mean_sequence(values, values, 60)
    assert (np.diff(low) >= 0.0).all()
    assert (np.diff(high) <= 0.0).all()
    assert low[-1] == pytest.approx(values.mean(), abs=1e-12)
    assert high[-1] == pytest.approx(values.mean(), abs=1e-12)


def test_a_missing_label_may_be_anything() -> None:
    rng = np.random.default_rng(1)
    signs = rng.choice([-1, 0, 1], size=40)
    known = rng.random(40) < 0.9
    low, high = difference_sequence(signs, 300, known=known)
    for _ in range(30):
        filled = np.where(known, signs, rng.choice([-1, 0, 1], size=40))
        inner_low, inner_high = difference_sequence(filled, 300)
        assert (low <= inner_low + 1e-9).all()
        assert (inner_high <= high + 1e-9).all()


POPULATIONS = {
    "half": np.repeat([1, -1], [100, 100]),
    "one-sided": np.repeat([1, 0], [12, 288]),
    "all fixed": np.repeat([1], [50]),
    "few broken": np.repeat([1, -1], [190, 10]),
    "three values": np.repeat([1, 0, -1], [80, 60, 40]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", POPULATIONS)
def test_limits_hold_after_every_label_together(name: str) -> None:
    population = POPULATIONS[name]
    truth = population.sum()
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        drawn = rng.permutation(population)[: min(len(population), 120)]
        low, high = difference_sequence(drawn, len(population), 0.9)
        held += bool((low <= truth + 1e-9).all() and (truth <= high + 1e-9).all())
    assert held >= 0.87 * 400


@pytest.mark.slow
def test_whoever_stops_at_a_known_sign_is_rarely_wrong() -> None:
    population = np.repeat([1, -1], [104, 96])
    rng = np.random.default_rng(6)
    wrong = 0
    for _ in range(400):
        low, high = difference_sequence(rng.permutation(population)[:150], 200, 0.9)
        known = (low > 0.0) | (high < 0.0)
        wrong += bool(known.any() and high[np.argmax(known)] < 0.0)
    assert wrong <= 0.05 * 400


def by_size(sizes: Values, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Sample rows one by one from those that are left, in proportion to their sizes."""
    left = np.arange(len(sizes))
    drawn = []
    for _ in range(n):
        place = rng.choice(len(left), p=sizes[left] / sizes[left].sum())
        drawn.append(left[place])
        left = np.delete(left, place)
    return np.array(drawn)


@pytest.mark.parametrize("planned", [False, True])
def test_limits_of_rows_sampled_by_size_hold(planned: bool) -> None:
    rng = np.random.default_rng(0)
    sizes = rng.exponential(size=80)
    values = np.where(rng.random(80) < 0.7, 1.0, 0.2)
    truth = sizes @ values / sizes.sum()
    held = 0
    for _ in range(200):
        drawn = by_size(sizes, 30, rng)
        bets = planned_bets(values[drawn], np.ones(30, bool), 30) if planned else None
        low, high = weighted_sequence(
            values[drawn], values[drawn], sizes[drawn], sizes.sum(), bets=bets
        )
        held += bool((low <= truth + 1e-12).all() and (high >= truth - 1e-12).all())
    assert held >= 0.95 * 200


def test_all_rows_by_size_give_the_weighted_mean() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.exponential(size=40)
    values = rng.random(40)
    low, high = weighted_sequence(values, values, sizes, float(sizes.sum()))
    truth = sizes @ values / sizes.sum()
    assert low[-1] == pytest.approx(truth, abs=1e-9)
    assert high[-1] == pytest.approx(truth, abs=1e-9)


def test_a_bet_knows_nothing_of_its_own_value_nor_of_unknown_ones() -> None:
    rng = np.random.default_rng(2)
    values = rng.random(20)
    known = np.ones(20, bool)
    known[4] = False
    bets = planned_bets(values, known, 20)
    for place in range(20):
        other = values.copy()
        other[place] = 1.0 - other[place]
        again = planned_bets(other, known, 20)
        np.testing.assert_array_equal(again[: place + 1], bets[: place + 1])
        assert (place == 4) == bool((again == bets).all()) or place == 19
    # By hand: before any value the variance is 1/4.
    assert bets[0] == pytest.approx(np.sqrt(2.0 * np.log(2.0 / 0.05) / (20 * 0.25)))
