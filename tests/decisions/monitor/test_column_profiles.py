"""Columns that moved: their cells, rules and fractions, counted again with pandas."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shiftmetrics.decisions.monitor.column_profiles import add_recent, moved_columns
from shiftmetrics.decisions.monitor.monitor import _moved, monitor_batch
from shiftmetrics.decisions.monitor.passport import BatchCounts, Passport
from shiftmetrics.decisions.monitor.profile import make_passport
from shiftmetrics.decisions.monitor.row_tests import Count


def weather(rng, n):
    return pd.DataFrame(
        {
            "temp": rng.normal(60, 15, n).round(1),
            "wind": rng.gamma(2, 4, n).round(1),
            "station": rng.choice(["JFK", "LGA", "EWR"], n),
        }
    )


def holds(rule, frame):
    """Return which rows a rule is about, by its words."""
    name, _, rest = rule.partition(" ")
    if rest == "missing":
        return frame[name].isna()
    for words, compare in (
        ("at most ", lambda x, limit: x <= float(limit)),
        ("above ", lambda x, limit: x > float(limit)),
        ("= ", lambda x, level: x.astype(str) == level),
    ):
        if rest.startswith(words):
            return compare(frame[name], rest.removeprefix(words))
    raise AssertionError(rule)


def watched(passport, batches):
    state = None
    for batch in batches:
        result = monitor_batch(passport, batch, state=state)
        state = result.state
    return result


def celsius(frame, where):
    frame.loc[where, "temp"] = ((frame.loc[where, "temp"] - 32) / 1.8).round(1)
    return frame


def test_a_column_that_moved_is_named_with_its_true_fractions(rng):
    reference = weather(rng, 2000)
    passport = make_passport(reference)
    batches = [weather(rng, 200) for _ in range(3)]
    for _ in range(5):
        frame = weather(rng, 200)
        batches.append(celsius(frame, frame["station"] == "LGA"))
    result = watched(passport, batches)
    assert result.verdict == "CHANGED"
    (move,) = result.moved
    last = pd.concat(batches[-move.n_batches :])
    for frame, (hits, n) in ((last, move.now), (reference, move.before)):
        assert (int(holds(move.rule, frame).sum()), len(frame)) == (hits, n)
    assert move.rule.startswith("temp at most")
    shares = (f"{100 * hits / n:.2g} %" for hits, n in (move.now, move.before))
    now, before = shares
    batches_in_words = f"the last {move.n_batches} batches" if move.n_batches > 1 else "this batch"
    assert (
        move.text.split()
        == f"{move.rule} in {now} of {batches_in_words}, was {float(before[:-2]):.1f} %".split()
    )
    assert result.notes()[0] == f"Moved: {move.text}."


@pytest.mark.parametrize("what", ["missing", "level", "new level"])
def test_gaps_and_levels_are_named_too(rng, what):
    passport = make_passport(weather(rng, 1500))
    batches = []
    for _ in range(6):
        frame = weather(rng, 200)
        if what == "missing":
            frame.loc[:79, "wind"] = np.nan
            frame["temp"] += 40.0
        else:
            frame["station"] = np.where(
                rng.random(200) < 0.7, "EWR" if what == "level" else "SWF", frame["station"]
            )
            frame["wind"] *= 4.0
        batches.append(frame)
    moves = {move.rule: move for move in watched(passport, batches).moved}
    rule = {
        "missing": "wind missing",
        "level": "station = EWR",
        "new level": "other levels of station",
    }[what]
    last = pd.concat(batches[-moves[rule].n_batches :])
    expected = (
        ~last["station"].isin(["JFK", "LGA", "EWR"]) if what == "new level" else holds(rule, last)
    )
    assert moves[rule].now == (int(expected.sum()), len(last))


def test_the_level_counts_every_column_and_window(rng):
    """The p-value is that of the clearest window, times the questions that are left (Holm)."""
    reference = weather(rng, 1000)[["temp", "station"]]
    passport = make_passport(reference)
    batches = [weather(rng, 100)[["temp", "station"]] for _ in range(4)]
    for frame in batches:
        frame.loc[:19, "temp"] = 5.0
    recent = np.zeros((0, 0), dtype=np.int64)
    for frame in batches:
        recent = add_recent(recent, passport.count(frame).columns)
    (move,) = moved_columns(passport.columns, recent)
    profile = next(each for each in passport.columns if each.column == "temp")
    bins = [-np.inf, *profile.edges, np.inf]
    p_values = []
    for window in (1, 2, 4):
        last = pd.concat(batches[-window:])
        counts = [pd.cut(side["temp"], bins).value_counts(sort=False) for side in (reference, last)]
        table = np.array(counts)
        rare = table.sum(axis=0) * len(last) / (len(last) + len(reference)) < 5.0
        if rare.any():
            table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
        p_values.append(stats.chi2_contingency(table).pvalue)
    # Two columns and three windows are asked.
    assert move.p_value == pytest.approx(6 * min(p_values))
    assert move.n_batches == (1, 2, 4)[int(np.argmin(p_values))]


def test_a_column_is_named_without_an_alarm_where_it_is_clear_beyond_all_batches(rng):
    passport = make_passport(weather(rng, 1000))
    frame = weather(rng, 60)
    frame["wind"] += 3.0  # in one batch too little for an alarm
    result = monitor_batch(passport, frame)
    assert result.verdict == "NO ALARM"
    assert result.exit_code == 0
    (move,) = moved_columns(passport.columns, result.state.recent)
    assert [each.equals(move) for each in result.moved] == [True]
    assert result.sentence == (
        f"The first batch, of 60 samples, raises no alarm, but a column has changed: {move.text}."
    )
    assert result.next_steps == ["Find what changed: shiftmetrics audit REFERENCE BATCH."]
    # The part of a batch falls with its number: what is named at first is not after a thousand batches.
    for n_batches in (1, 10, 10**6):
        later = replace(result.state, n_batches=n_batches)
        clear = move.p_value <= 0.01 * 6.0 / (np.pi * n_batches) ** 2
        assert bool(_moved(passport, later)) == clear


@pytest.mark.parametrize("gone", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("n_columns", "word"), [(2, "CHANGED"), (40, "NO ALARM")])
def test_a_column_that_is_gone_is_never_no_change(rng, gone, n_columns, word):
    """Of few columns it moves the samples; of many it is named alone. The reference has no gaps."""
    names = [f"c{number}" for number in range(n_columns)]
    passport = make_passport(pd.DataFrame(rng.normal(size=(1000, n_columns)), columns=names))
    batch = pd.DataFrame(rng.normal(size=(60, n_columns)), columns=names).assign(c1=gone)
    result = monitor_batch(passport, batch)
    assert word in result.verdict
    how = "missing" if np.isnan(gone) else "infinite"
    assert result.moved[0].text == f"c1 {how} in 100 % of this batch, was 0 %"
    assert "no change" not in result.sentence


def test_columns_are_hardly_ever_named_without_a_change(rng):
    """At most 1 % of monitors name one; of 60 monitors, 3 or more have a probability of 2 %."""
    named = 0
    for _ in range(60):
        passport = make_passport(rng.normal(size=(200, 5)))
        results = []
        for _ in range(4):
            state = results[-1].state if results else None
            results.append(monitor_batch(passport, rng.normal(size=(50, 5)), state=state))
        named += any(result.moved and not result.exit_code for result in results)
    assert named < 3


def test_an_alarm_without_a_column_says_so(rng):
    """Both columns are distributed as before, and go together now."""
    x = rng.normal(size=2000)
    passport = make_passport(pd.DataFrame({"a": x, "b": x + 0.1 * rng.normal(size=2000)}))
    batches = [pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"]) for _ in range(6)]
    result = watched(passport, batches)
    assert result.exit_code == 1
    assert result.moved == ()
    assert result.notes()[0].startswith("No column alone")


def test_parts_of_a_batch_add_up(rng):
    passport = make_passport(weather(rng, 300))
    frame = weather(rng, 90)
    whole = passport.count(frame)
    parts = passport.count(frame[:40]) + passport.count(frame[40:])
    assert parts.columns.tolist() == whole.columns.tolist()
    assert whole.columns.sum() == 90 * len(passport.columns)
    # Counts that were made by hand have none of columns.
    by_hand = BatchCounts(whole.rows, Count(0, 0))
    assert (whole + by_hand).columns.size == 0
    assert monitor_batch(passport, by_hand).state.recent.size == 0


def test_eight_batches_are_kept(rng):
    recent = np.zeros((0, 0), dtype=np.int64)
    for number in range(11):
        recent = add_recent(recent, np.array([number, 2 * number]))
    assert recent[:, 0].tolist() == list(range(3, 11))


def test_awkward_columns_are_counted(rng, tmp_path):
    frame = pd.DataFrame(
        {0: rng.normal(size=200), 1: [1.0] * 150 + [np.nan] * 50, 2: rng.choice(["a", None], 200)}
    )
    passport = make_passport(frame)
    passport.save(tmp_path / "p.json")
    passport = Passport.load(tmp_path / "p.json")
    batch = frame[:50].copy()
    batch.loc[:9, 0] = [np.inf, -np.inf, 1e308, -1e308, np.nan, 0, 0, 0, 0, 0]
    counts = passport.count(batch).columns
    assert counts.sum() == 50 * len(passport.columns)


def test_a_passport_without_profiles_has_the_digest_that_it_had(rng):
    passport = make_passport(weather(rng, 300))
    from dataclasses import replace
    from hashlib import sha256

    old = replace(passport, columns=())
    text = old.text.replace(',"columns":[]', "").replace(',"seasons":null,"hints":[]', "")
    assert '"columns":[]' not in text
    assert old.digest == sha256(text.encode()).hexdigest()[:16]
    assert old.digest != passport.digest
    assert monitor_batch(old, weather(rng, 50)).moved == ()
