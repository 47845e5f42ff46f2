"""How a reference is measured: centres of one half, and what is counted of the other half, whole or by season."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.decisions.monitor.row_tests import Count, Readings, RowTest, distances_to
from shiftmetrics.decisions.monitor.seasons import NAMES, SeasonProfile, Seasons
from shiftmetrics.decisions.right_or_wrong import RightOrWrong

_QUANTILES = (0.5, 0.75, 0.9, 0.97)
"""Quantiles of the readings beyond which samples are counted."""
_MOST_CENTRES = 100
_MOST_NUMBERS = 6_000
"""Numbers that the centres may take: the passport stays below 100 kB."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredReference:
    """What a passport keeps of the samples, and what is replayed before it is armed.

    Attributes
    ----------
    centres : array of shape (n_centres, n_features)
        Those of one half; none with seasons, which have their own.
    tests : tuple of RowTest
        With the counts of the other half.
    readings : mapping of str to array of shape (n_counted,)
        Those of the other half, in its order.
    places : array of int of shape (n_counted,)
        The season of each, by its place among the profiles; 0 without seasons.
    seasons : Seasons or None
        The profile of each season.
    """

    centres: FloatArray
    tests: tuple[RowTest, ...]
    readings: Readings
    places: IntArray
    seasons: Seasons | None = None


def measure_whole(
    features: FloatArray, unsure: Readings, generator: np.random.Generator
) -> MeasuredReference:
    """Measure a reference that is one season.

    Centres on one half, counts on the other: the samples that set the centres lie too near to them, and samples of
    the same source would raise alarms that are not there.
    """
    mine, others = _halves(np.arange(len(features)), generator)
    centres = _centres(features[mine], _MOST_NUMBERS, generator)
    readings = _readings(features, centres, unsure, others)
    return MeasuredReference(
        centres=centres,
        tests=_row_tests(readings),
        readings=readings,
        places=np.zeros(len(others), dtype=np.int64),
    )


def measure_seasons(
    features: FloatArray,
    unsure: Readings,
    generator: np.random.Generator,
    *,
    unit: str,
    column: str,
    numbers: IntArray,
    right: RightOrWrong | None,
    cells: Sequence[IntArray],
) -> MeasuredReference:
    """Measure each season of a reference by itself, as `measure_whole` does a whole one.

    Parameters
    ----------
    features, unsure, generator
        As there.
    unit, column : str
        What seasons are, and of which dates.
    numbers : array of int of shape (n_reference,)
        The season of each sample, negative for none.
    right : RightOrWrong or None
        Which predictions are right, where labels are known.
    cells : sequence of arrays of int of shape (n_numbers, n_cells)
        How many samples of each season fall into each cell of each column.
    """
    found = np.unique(numbers[numbers >= 0])
    none = np.zeros((len(NAMES[unit]), 0), dtype=np.int64)
    all_cells = np.hstack([none, *cells])
    profiles = []
    parts = []
    for place, number in enumerate(found.tolist()):
        own = np.flatnonzero(numbers == number)
        mine, others = _halves(own, generator)
        centres = _centres(features[mine], _MOST_NUMBERS // len(found), generator)
        readings = _readings(features, centres, unsure, others)
        errors = None
        if right is not None:
            n_right, n = right.counts(own)
            errors = Count(n - n_right, n)
        profiles.append(
            SeasonProfile(
                number=number,
                n_reference=len(own),
                centres=centres,
                tests=_own_tests(readings),
                errors=errors,
                cells=all_cells[number],
            )
        )
        parts.append((others, np.full(len(others), place), readings))
    # The samples that are counted, in the order in which they came.
    order = np.argsort(np.concatenate([others for others, _, _ in parts]), kind="stable")
    places = np.concatenate([each for _, each, _ in parts])[order]
    together = {
        kind: np.concatenate([readings[kind] for _, _, readings in parts])[order]
        for kind in parts[0][2]
    }
    return MeasuredReference(
        centres=np.zeros((0, features.shape[1])),
        tests=_pooled([profile.tests for profile in profiles]),
        readings=together,
        places=places,
        seasons=Seasons(unit=unit, column=column, profiles=tuple(profiles)),
    )


def _halves(rows: IntArray, generator: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return a random half of some rows and the others, both in order."""
    order = generator.permutation(len(rows))
    n_mine = len(rows) // 2
    return np.sort(rows[order[:n_mine]]), np.sort(rows[order[n_mine:]])


def _readings(
    features: FloatArray, centres: FloatArray, unsure: Readings, rows: IntArray
) -> dict[str, FloatArray]:
    far = {"far": distances_to(features[rows], centres)}
    return far | {kind: values[rows] for kind, values in unsure.items()}


def _centres(features: FloatArray, most_numbers: int, generator: np.random.Generator) -> FloatArray:
    """Return k-means centres, rounded to four digits: fewer of them where there are many features."""
    from sklearn.cluster import KMeans

    most = max(2, min(_MOST_CENTRES, most_numbers // features.shape[1], len(features) // 5))
    # Samples that repeat leave fewer places than centres.
    distinct = len(np.unique(features, axis=0))
    model = KMeans(min(most, distinct), n_init=1, random_state=int(generator.integers(2**31)))
    centres: FloatArray = np.asarray(model.fit(features).cluster_centers_, dtype=np.float64)
    return centres.round(4)


def _row_tests(readings: Readings) -> tuple[RowTest, ...]:
    """Return the tests of the samples, with the counts of the half that had no part in the centres."""
    tests = []
    for kind, values in readings.items():
        for quantile in _QUANTILES:
            threshold = float(np.quantile(values, quantile))
            test = RowTest(kind, quantile, threshold, Count(0, 0))
            # Counted, not taken from the quantile: where readings repeat, fewer lie beyond it.
            tests.append(replace(test, reference=test.count(readings)))
    return tuple(tests)


def _own_tests(readings: Readings) -> tuple[RowTest, ...]:
    """Return tests whose thresholds are readings, with how many are beyond by rank: see `Alarm`.

    Of readings that are the threshold too, fewer are beyond: then a rate is lower than its rank says.
    """
    tests = []
    for kind, values in readings.items():
        n = len(values)
        for quantile in _QUANTILES:
            # At least one below, and one above where there are enough.
            n_beyond = min(max(round((1.0 - quantile) * n), 1), n - 1)
            threshold = float(np.sort(values)[n - n_beyond - 1])
            tests.append(RowTest(kind, quantile, threshold, Count(n_beyond, n)))
    return tuple(tests)


def _pooled(of_seasons: Sequence[tuple[RowTest, ...]]) -> tuple[RowTest, ...]:
    """Return tests that count all seasons together; their thresholds are those of the seasons."""
    pooled = []
    for tests in zip(*of_seasons, strict=True):
        hits = sum(test.reference.hits for test in tests)
        count = Count(hits, sum(test.reference.n for test in tests))
        pooled.append(RowTest(tests[0].kind, tests[0].quantile, np.nan, count))
    return tuple(pooled)
