"""Maps planted in random columns: they are shown and named with figures that hold, and none is where none was."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact, ks_2samp

from shiftmetrics.decisions.audit.column_changes import compared_columns
from shiftmetrics.decisions.audit.column_maps import explaining_map
from shiftmetrics.tables.encoder.roles import Column

ROLES = {
    "temp": Column("temp", "number"),
    "size": Column("size", "number"),
    "hour": Column("hour", "number"),
    "when": Column("when", "date"),
    "city": Column("city", "category"),
}
PLANTED = {
    "x 1.8 + 32": ("temp", lambda x: x * 1.8 + 32),
    "x 1,000": ("size", lambda x: x * 1_000),
    "-x": ("size", lambda x: -x),
    "shifted by +6 hours": ("hour", lambda x: (x + 6) % 24),
    "shifted by -3 hours": ("when", lambda x: x - pd.Timedelta(3, "h")),
    "shifted by +5:30 hours": ("when", lambda x: x + pd.Timedelta(330, "min")),
}


def column_of(name, number, n=500):
    """Return a column of the source ``number // 2``, whose parameters are random; each number has other samples."""
    rng, source = np.random.default_rng(number), np.random.default_rng([7, number // 2])
    middle, spread = source.uniform(8, 16), source.uniform(1, 3)
    hours = np.clip(rng.normal(middle, spread, n), 0, 23.99)
    if name == "temp":
        return pd.Series(rng.normal(2.0 * middle, 3.0 * spread, n).round(1))
    if name == "size":
        return pd.Series(rng.lognormal(0.2 * middle, 0.3 * spread, n).round(3))
    if name == "hour":
        return pd.Series(np.floor(hours).astype(int))
    if name == "when":
        days = pd.to_timedelta(rng.integers(0, 300, n), "D")
        return pd.Series(
            pd.Timestamp("2024-01-01") + days + pd.to_timedelta(3_600 * hours // 1, "s")
        )
    return pd.Series(rng.choice(["Rome", "Oslo", "New York"], n, p=source.dirichlet([3, 3, 3])))


def compared(name, before, now, written=None):
    (change,) = compared_columns(before.to_frame(name), now.to_frame(name), [ROLES[name]], written)
    return change


def hours_of(column):
    return column.dt.hour + column.dt.minute / 60 + column.dt.second / 3_600


@pytest.mark.parametrize("words", PLANTED)
@pytest.mark.parametrize("number", range(0, 8, 2))
def test_a_planted_map_is_shown_and_named(words, number):
    name, planted = PLANTED[words]
    before, now = column_of(name, number), planted(column_of(name, number + 1))
    assert compared(name, before, now).is_shown
    found = explaining_map(ROLES[name], before, now)
    mapped = planted(before)
    if name == "when":
        mapped, now = hours_of(mapped), hours_of(now)
    left = ks_2samp(mapped, now).statistic
    if ":30" not in found or ":30" in words:
        assert found.partition(";")[0].rstrip(")") == f"as if {words} (effect {left:.2f} is left"
    # Where half an hour more or less fits better by chance, the whole hour stands beside it.
    else:
        assert found.endswith(f"; {words.removeprefix('shifted by ')} leave {left:.2f})")


def test_hours_are_told_by_their_name_or_their_whole_range():
    before, now = column_of("hour", 0), (column_of("hour", 1) - 4) % 24
    assert max(before.max(), now.max()) < 23
    assert explaining_map(Column("Hour of call", "number"), before, now).startswith(
        "as if shifted by -4"
    )
    assert explaining_map(Column("items", "number"), before, now) == ""


def test_times_of_day_are_compared_beside_the_dates():
    before, now = column_of("when", 0), column_of("when", 1) + pd.Timedelta(6, "h")
    change = compared("when", before, now)
    tests = [ks_2samp(before.astype("int64"), now.astype("int64"), method="asymp")]
    tests.append(ks_2samp(hours_of(before), hours_of(now), method="asymp"))
    assert change.p_value == pytest.approx(min(1.0, 2 * min(test.pvalue for test in tests)))
    assert change.effect == pytest.approx(tests[1].statistic)
    clocks = [side.dt.strftime("%H:%M:%S").sort_values().iloc[249:251] for side in (now, before)]
    middles = [pd.to_timedelta(side).mean() for side in clocks]
    said = [f"{part.components.hours:02d}:{part.components.minutes:02d}" for part in middles]
    assert change.text == f"time of day: median {said[0]}, was {said[1]}"
    # Dates without times are asked nothing more.
    days = [side.dt.normalize() for side in (before, now)]
    whole = ks_2samp(*(side.astype("int64") for side in days), method="asymp")
    assert compared("when", *days).p_value == pytest.approx(whole.pvalue)


@pytest.mark.parametrize("every", [1, 2, 9])
def test_blanks_at_the_ends_of_cells_are_a_change(every):
    before, now = column_of("city", 0), column_of("city", 1)
    blank = np.arange(len(now)) % every == 0
    written = now.where(~blank, now + " ")
    plain = compared("city", before, now)
    change = compared("city", before, now, (before.to_frame("city"), written.to_frame("city")))
    n = int(blank.sum())
    p_value = fisher_exact([[0, 500], [n, 500 - n]]).pvalue
    assert change.p_value == pytest.approx(2 * min(p_value, plain.p_value))
    assert change.is_shown
    assert change.effect == n / 500
    percent = {1: "100 %", 2: "50 %", 9: "11 %"}[every]
    assert change.text == f"blanks at the ends of cells in {percent}, was 0 %"


def test_cells_of_blanks_alone_and_blanks_on_both_sides_are_no_change():
    before, now = column_of("city", 0), column_of("city", 1)
    plain = compared("city", before, now)
    gaps = [side.where(np.arange(500) > 40, " ").to_frame("city") for side in (before, now)]
    assert compared("city", before, now, tuple(gaps)).p_value == plain.p_value
    both = [(side + " ").to_frame("city") for side in (before, now)]
    change = compared("city", before, now, tuple(both))
    assert (change.text, change.p_value) == (plain.text, min(1.0, 2 * plain.p_value))


def test_no_map_is_named_and_no_column_shown_where_nothing_changed():
    shown = 0
    for name, number in itertools.product(ROLES, range(100, 180, 2)):
        before, now = column_of(name, number), column_of(name, number + 1)
        written = before.to_frame(name), now.to_frame(name)
        shown += compared(name, before, now, written).is_shown
        assert explaining_map(ROLES[name], before, now) == ""
    # 200 columns at 1 %: more than 8 have a probability below 1e-3.
    assert shown <= 8


def test_other_changes_have_no_map():
    rng = np.random.default_rng(5)
    for number in range(0, 40, 2):
        before, now = column_of("temp", number), column_of("temp", number + 1)
        assert explaining_map(ROLES["temp"], before, now + before.std()) == ""
        assert explaining_map(ROLES["size"], before.abs(), 5 * now.abs()) == ""
        before, now = column_of("when", number), column_of("when", number + 1)
        wide = now.dt.normalize() + pd.to_timedelta(rng.integers(0, 86_400, len(now)), "s")
        assert explaining_map(ROLES["when"], before, wide) == ""


def test_columns_that_are_left_out_may_stand_in_one_sample():
    before, now = column_of("temp", 0).to_frame("temp"), column_of("temp", 1).to_frame("temp")
    columns = [Column("paid", "left out", "excluded"), ROLES["temp"]]
    (change,) = compared_columns(before.assign(paid=1), now, columns, (before, now))
    assert change.column == "temp"
