"""Seasons of a passport: which sample is of which, refusals that say what is needed, batches of other seasons."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from seasonal import month_of, year_of
from shiftmetrics.decisions.monitor.monitor import monitor_batch
from shiftmetrics.decisions.monitor.passport import Passport
from shiftmetrics.decisions.monitor.profile import make_passport
from shiftmetrics.decisions.monitor.seasons import (
    LEAST_OF_SEASON,
    NAMES,
    matched_cells,
    season_names,
    season_numbers,
)
from shiftmetrics.decisions.monitor.state import MonitorState
from shiftmetrics.decisions.monitor.state_file import StateFile


@pytest.fixture(scope="module")
def passport():
    year = year_of(np.random.default_rng(0))
    options = {"time": "day", "season": "month", "label": "label", "model": "guess"}
    return make_passport(year, **options)


@pytest.mark.parametrize("unit", ["month", "weekday", "hour"])
def test_numbers_are_those_of_the_calendar(unit):
    hours = pd.date_range("2024-02-26 05:30", periods=400, freq="7h")
    frame = pd.DataFrame({"at": [*hours, pd.NaT]})
    words = {"month": "%B", "weekday": "%A", "hour": "%H"}[unit]
    expected = [hour.strftime(words) for hour in hours]
    if unit == "hour":
        expected = [f"{int(hour)}:00" for hour in expected]
    *numbers, none = season_numbers(frame, "at", unit, "batch").tolist()
    assert [NAMES[unit][number] for number in numbers] == expected
    assert none == -1


def test_seasons_in_a_row_are_said_shortly():
    assert (
        season_names("month", [0, 1, 2, 6, 10, 11]) == "January to March, July, November, December"
    )


def test_a_season_with_too_few_rows_is_refused_and_the_remedy_works(rng):
    year = year_of(rng, 60)
    in_march = year.index[year["day"].dt.month == 3]
    few = year.drop(in_march[12:])
    with pytest.raises(ValueError, match=f"at least {LEAST_OF_SEASON} rows each, got 12 of March"):
        make_passport(few, time="day", season="month")
    made = make_passport(few.drop(in_march[:12]), time="day", season="month")
    assert [each.number for each in made.seasons.profiles] == [0, 1, *range(3, 12)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"season": "month"}, "'day'"),
        ({"season": "month", "time": "wind"}, "'day'"),
        ({"season": "hour", "time": "day"}, "Leave season out"),
        ({"season": "year", "time": "day"}, "'weekday'"),
    ],
)
def test_seasons_that_cannot_be_told_are_refused(rng, options, words):
    with pytest.raises(ValueError, match=words):
        make_passport(year_of(rng, 50), **options)


def test_samples_of_no_season_are_said_and_not_counted(rng):
    made = make_passport(year_of(rng, 60, months=range(1, 7)), time="day", season="month")
    batch = pd.concat([month_of(rng, 6, 30), month_of(rng, 8, 20), month_of(rng, 1, 5)])
    batch.iloc[-5:, 0] = pd.NaT
    counts = made.count(batch)
    assert {count.n for count in counts.rows} == {30}
    assert counts.of_season.tolist() == [0, 0, 0, 0, 0, 30]
    assert any("20 samples of August not compared" in text for text in counts.above)
    assert any("5 samples without a date" in text for text in counts.above)
    alone = monitor_batch(made, month_of(rng, 8, 20))
    assert alone.state.rows[0].n_samples == 0
    assert np.isfinite(alone.value)


def test_parts_add_up_and_files_read_back(passport, tmp_path):
    rng = np.random.default_rng(3)
    passport.save(tmp_path / "p.json")
    again = Passport.load(tmp_path / "p.json")
    assert again.equals(passport)
    assert (again.digest, again.version) == (passport.digest, 3)
    assert (tmp_path / "p.json").stat().st_size <= 100_000
    batch = pd.concat([month_of(rng, 2, 40), month_of(rng, 3, 60)])
    whole = passport.count(batch)
    assert (again.count(batch[:50]) + again.count(batch[50:])).equals(whole)
    file = StateFile(tmp_path / "s.json")
    for month in (1, 2, 3, 4):
        before = file.read(passport)
        counts = passport.count(month_of(rng, month, moved=9.0 * (month > 1)))
        state = before
        if before is not None and before.samples_changed:
            state = before.acknowledge("sensor")
        result = monitor_batch(passport, counts, state=state)
        file.write(result, before)
    state = file.read(passport)
    assert state.acknowledged
    assert state.equals(MonitorState.load(file.path, passport))
    assert file.replay(passport).equals(state)


def test_counts_of_other_seasons_are_refused(passport, rng):
    plain = make_passport(year_of(rng, 50), label="label", model="guess")
    with pytest.raises(ValueError, match="12 seasons"):
        monitor_batch(passport, plain.count(month_of(rng, 5)))


def test_a_limit_that_was_changed_by_hand_is_named(passport, rng):
    result = monitor_batch(passport, month_of(rng, 5))
    alarm = result.state.rows[0]
    for name, value in (("limits", alarm.limits + 0.1), ("urns", alarm.urns[:3])):
        rows = (replace(alarm, **{name: value}), *result.state.rows[1:])
        with pytest.raises(ValueError, match=name):
            monitor_batch(passport, month_of(rng, 6), state=replace(result.state, rows=rows))


def test_matched_cells_have_the_seasons_of_the_batch(rng):
    cells = rng.integers(20, 90, (4, 6))
    now = np.array([30, 0, 10, 60])
    kept = matched_cells(cells, now)
    # By whole samples: the share of each season that is kept gives the proportions of the batch.
    parts = [n / cells[season].sum() for season, n in enumerate(now)]
    most = max(parts)
    expected = sum(part / most * row for part, row in zip(parts, cells, strict=True))
    np.testing.assert_allclose(kept, expected, atol=0.5)
    assert (kept <= cells.sum(axis=0)).all()
