"""Exact intervals of finite populations, against enumeration of populations, samples and numbers of zeros."""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from scipy.stats import hypergeom

from shiftmetrics.decisions.labelling.exact import (
    Draw,
    Outcomes,
    count_interval,
    difference_interval,
)


def samples(population: tuple[int, int, int], n_drawn: int) -> Iterator[tuple[Outcomes, float]]:
    """Yield every sample of a population of fixed, broken and other rows, with its probability."""
    fixed, broken, neither = population
    total = math.comb(sum(population), n_drawn)
    for a, b in product(range(n_drawn + 1), repeat=2):
        c = n_drawn - a - b
        if c >= 0:
            ways = math.comb(fixed, a) * math.comb(broken, b) * math.comb(neither, c)
            if ways:
                yield Outcomes(fixed=a, broken=b, neither=c), ways / total


def populations(size: int) -> Iterator[tuple[int, int, int]]:
    for a, b in product(range(size + 1), repeat=2):
        if a + b <= size:
            yield a, b, size - a - b


@pytest.mark.parametrize(("size", "n_drawn"), [(6, 3), (9, 4), (12, 6), (14, 13)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_of_a_difference_covers_every_population(
    size: int, n_drawn: int, level: float
) -> None:
    limits = {}
    for population in populations(size):
        truth = population[0] - population[1]
        covered = 0.0
        for seen, probability in samples(population, n_drawn):
            key = (seen.fixed, seen.broken)
            if key not in limits:
                limits[key] = difference_interval(size, seen, level)
            low, high = limits[key]
            covered += probability * (low <= truth <= high)
        assert covered >= level - 1e-12, population


@pytest.mark.parametrize(("size", "n_drawn"), [(8, 4), (20, 7), (40, 20)])
def test_with_two_classes_it_covers_every_population_without_zeros(size: int, n_drawn: int) -> None:
    for fixed in range(size + 1):
        covered = 0.0
        for seen, probability in samples((fixed, size - fixed, 0), n_drawn):
            low, high = difference_interval(size, seen, two_classes=True)
            covered += probability * (low <= 2 * fixed - size <= high)
        assert covered >= 0.95 - 1e-12


@pytest.mark.parametrize(("size", "n_drawn"), [(7, 3), (30, 10), (100, 20)])
def test_the_interval_of_a_count_covers_every_population(size: int, n_drawn: int) -> None:
    limits = [count_interval(size, n_drawn, having) for having in range(n_drawn + 1)]
    for truth in range(size + 1):
        probabilities = hypergeom(size, truth, n_drawn).pmf(np.arange(n_drawn + 1))
        covered = sum(
            p for p, (low, high) in zip(probabilities, limits, strict=True) if low <= truth <= high
        )
        assert covered >= 0.95 - 1e-12


@pytest.mark.parametrize(
    ("size", "n_drawn", "having"), [(50, 10, 0), (50, 10, 10), (50, 50, 31), (97, 40, 22)]
)
def test_the_interval_of_a_count_holds_what_the_sample_does_not_refute(
    size: int, n_drawn: int, having: int
) -> None:
    possible = [
        truth
        for truth in range(size + 1)
        if hypergeom(size, truth, n_drawn).sf(having - 1) > 0.025
        and hypergeom(size, truth, n_drawn).cdf(having) > 0.025
    ]
    assert count_interval(size, n_drawn, having) == (possible[0], possible[-1])


def slow_lower_limit(size: int, seen: Outcomes, zeros: range, tail: float) -> int:
    """Return the lower limit by a look at every number of zeros and every difference."""
    draw = Draw(size, seen.n_drawn)
    least = seen.fixed - seen.broken - seen.missing
    found = []
    for zero in zeros:
        for fixed in range(seen.fixed, size - zero - seen.broken + 1):
            if draw.difference_at_least(least, fixed, zero) > tail:
                found.append(2 * fixed - (size - zero))
                break
    return min(found)


@pytest.mark.parametrize("seed", range(12))
def test_the_search_over_zeros_finds_the_worst_number(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(40, 160))
    n_drawn = int(rng.integers(5, min(size - 1, 50)))
    counts = rng.multinomial(n_drawn, rng.dirichlet([1.0, 1.0, 1.0]))
    seen = Outcomes(fixed=int(counts[0]), broken=int(counts[1]), neither=int(counts[2]))
    low, high = count_interval(size, n_drawn, seen.neither, 0.995)
    expected = slow_lower_limit(size, seen, range(low, high + 1), 0.0225)
    assert difference_interval(size, seen)[0] == expected


def test_probabilities_of_a_difference_are_those_of_enumeration() -> None:
    for population in [(5, 3, 4), (0, 7, 2), (6, 6, 0), (1, 1, 9)]:
        draw = Draw(sum(population), 5)
        for least in range(-5, 6):
            expected = sum(
                p for seen, p in samples(population, 5) if seen.fixed - seen.broken >= least
            )
            found = draw.difference_at_least(least, population[0], population[2])
            assert found == pytest.approx(expected, abs=1e-13)


def test_a_whole_population_is_a_point() -> None:
    seen = Outcomes(fixed=31, broken=20, neither=9)
    assert difference_interval(60, seen) == (11, 11)
    assert count_interval(60, 60, 31) == (31, 31)


def test_the_measured_sentences() -> None:
    # 910 and 541 of 10,000 answers change; 50 of them are labelled.
    assert difference_interval(910, Outcomes(fixed=35, broken=14, neither=1)) == (132, 588)
    assert difference_interval(541, Outcomes(fixed=22, broken=25, neither=3)) == (-176, 115)


@pytest.mark.parametrize("seed", range(6))
def test_missing_labels_count_as_the_worst_case(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fixed, broken, neither = (int(count) for count in rng.integers(0, 9, size=3))
    low, high = difference_interval(
        80, Outcomes(fixed=fixed, broken=broken, neither=neither, missing=4)
    )
    for a, b in product(range(5), repeat=2):
        if a + b <= 4:
            full = Outcomes(fixed=fixed + a, broken=broken + b, neither=neither + 4 - a - b)
            inner = difference_interval(80, full)
            assert low <= inner[0]
            assert inner[1] <= high
    assert count_interval(80, 20, 7, missing=4)[0] == count_interval(80, 20, 7)[0]
    assert count_interval(80, 20, 7, missing=4)[1] == count_interval(80, 20, 11)[1]


def test_more_labels_than_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="outcomes"):
        difference_interval(5, Outcomes(fixed=3, broken=3, neither=0))
    with pytest.raises(ValueError, match="n_drawn"):
        count_interval(5, 6, 2)
    with pytest.raises(ValueError, match="n_having"):
        count_interval(9, 6, 7)


@pytest.mark.slow
@pytest.mark.parametrize(
    "population", [(300, 200, 80), (20, 0, 880), (450, 450, 0), (5, 1, 14), (150, 30, 20)]
)
@pytest.mark.parametrize("n_drawn", [20, 100])
def test_simulated_coverage(population: tuple[int, int, int], n_drawn: int) -> None:
    size = sum(population)
    if n_drawn >= size:
        return
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        a, b, c = rng.multivariate_hypergeometric(list(population), n_drawn)
        seen = Outcomes(fixed=int(a), broken=int(b), neither=int(c))
        low, high = difference_interval(size, seen, 0.9)
        covered += low <= population[0] - population[1] <= high
    assert covered >= 0.87 * 400
