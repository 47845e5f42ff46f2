"""What is counted by season, again by loops: distances to the centres of the season, thresholds by rank, errors."""

import numpy as np
import pandas as pd

from seasonal import month_of, year_of
from shiftmetrics.decisions.monitor.measured import measure_seasons, measure_whole
from shiftmetrics.decisions.monitor.profile import make_passport


def nearest(row, centres):
    return min(float(np.sqrt(((row - centre) ** 2).sum())) for centre in centres)


def test_a_batch_is_counted_against_its_own_seasons():
    rng = np.random.default_rng(0)
    year = year_of(rng)
    options = {"time": "day", "season": "month", "label": "label", "model": "guess"}
    passport = make_passport(year, **options)
    batch = pd.concat([month_of(rng, month, n) for month, n in ((7, 30), (2, 25), (7, 9))])
    counts = passport.count(batch)
    features = passport.encoder.transform(batch)
    hits = np.zeros_like(counts.seasons)
    for row, (_, cells) in zip(features, batch.iterrows(), strict=True):
        (profile,) = [
            each for each in passport.seasons.profiles if each.number == cells["day"].month - 1
        ]
        place = passport.seasons.profiles.index(profile)
        for number, test in enumerate(profile.tests):
            hits[place, number] += [nearest(row, profile.centres) > test.threshold, 1]
        hits[place, -1] += [cells["guess"] != cells["label"], 1]
    np.testing.assert_array_equal(counts.seasons, hits)
    pooled = hits.sum(axis=0).tolist()
    assert [[count.hits, count.n] for count in (*counts.rows, counts.errors)] == pooled
    in_july = year[year["day"].dt.month == 7]
    july = passport.seasons.profiles[6]
    assert july.n_reference == len(in_july)
    n_wrong = int((in_july["guess"] != in_july["label"]).sum())
    assert (july.errors.hits, july.errors.n) == (n_wrong, len(in_july))


def test_thresholds_are_readings_with_so_many_beyond():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(300, 3))
    numbers = np.repeat([0, 5, -1], 100)
    measured = measure_seasons(
        features,
        {},
        rng,
        unit="month",
        column="day",
        numbers=numbers,
        right=None,
        cells=[],
    )
    assert len(measured.places) == 100
    for place, profile in enumerate(measured.seasons.profiles):
        readings = measured.readings["far"][measured.places == place]
        assert len(readings) == 50
        for test in profile.tests:
            assert test.threshold in readings
            assert test.reference.hits == (readings > test.threshold).sum()
            assert abs(test.reference.hits / 50 - (1 - test.quantile)) <= 0.02
    # A row lies among the counted ones of its own season, in the order of the table.
    far = [
        nearest(row, measured.seasons.profiles[place].centres)
        for place, row in ((0, features[:100]), (1, features[100:200]))
        for row in row
    ]
    positions = [int(np.argmin(np.abs(np.array(far) - each))) for each in measured.readings["far"]]
    assert positions == sorted(positions)


def test_a_whole_reference_is_one_season():
    rng = np.random.default_rng(2)
    measured = measure_whole(rng.normal(size=(200, 2)), {}, rng)
    assert measured.seasons is None
    assert len(measured.readings["far"]) == 100
    assert set(measured.places.tolist()) == {0}
    for test in measured.tests:
        beyond = measured.readings["far"] > test.threshold
        assert (test.reference.hits, test.reference.n) == (beyond.sum(), 100)
