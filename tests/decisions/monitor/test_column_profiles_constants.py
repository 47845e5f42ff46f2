"""Columns that are the same in all of a reference, and infinite cells: named with counts, and rarely by chance."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from shiftmetrics.decisions.monitor.column_profiles import ColumnProfile, moved_columns
from shiftmetrics.decisions.monitor.monitor import monitor_batch
from shiftmetrics.decisions.monitor.passport import Passport
from shiftmetrics.decisions.monitor.profile import make_passport
from shiftmetrics.tables.encoder.roles import Column

CONSTANTS = {"five": 5, "half": 2.5, "country": "US", "flag": True, "gap": np.nan}
WORDS = {
    "five": "five other than 5",
    "half": "half other than 2.5",
    "country": "country other than US",
    "flag": "flag other than True",
    "gap": "gap not missing",
}


def table(rng, n):
    return pd.DataFrame({"x": rng.normal(size=n), "y": rng.integers(0, 3, n)}).assign(**CONSTANTS)


@pytest.fixture(scope="module")
def passport():
    return make_passport(table(np.random.default_rng(0), 1000))


@pytest.mark.parametrize(
    ("name", "other"),
    [("five", 5.5), ("five", -7), ("half", 2.0), ("country", "DE"), ("flag", False), ("gap", 1.0)],
)
def test_another_value_of_a_constant_is_named_with_its_counts(rng, passport, name, other):
    batch = table(rng, 100)
    batch[name] = batch[name].astype(object)
    batch.loc[:11, name] = other
    batch[name] = batch[name].infer_objects()
    result = monitor_batch(passport, batch)
    (move,) = result.moved
    assert (move.rule, move.now, move.before) == (WORDS[name], (12, 100), (0, 1000))
    # One column of seven, and one number of batches.
    exact = fisher_exact([[1000, 0], [88, 12]]).pvalue
    assert move.p_value == pytest.approx(7 * exact)
    assert (result.verdict, result.exit_code) == ("NO ALARM", 0)
    assert f"a column has changed: {WORDS[name]} in 12 % of this batch, was 0 %" in result.sentence


def test_gaps_of_a_constant_are_said_as_gaps(rng, passport):
    batch = table(rng, 100)
    batch.loc[:29, "half"] = np.nan
    (move,) = monitor_batch(passport, batch).moved
    assert (move.rule, move.now) == ("half missing", (30, 100))


def test_a_batch_may_lack_constants_and_write_them_otherwise(rng, passport):
    lacking = table(rng, 100).drop(columns=list(CONSTANTS))
    first = monitor_batch(passport, lacking)
    assert first.moved == ()
    written = table(rng, 100).assign(five=5.0)
    assert monitor_batch(passport, written, state=first.state).moved == ()
    # One wrong cell of a hundred is no clear change of a reference of a thousand.
    written.loc[0, "country"] = "DE"
    assert monitor_batch(passport, written).moved == ()


def test_constants_are_named_by_chance_in_few_monitors():
    """A value of one in 1,000 that the reference happens to lack: 1 % of monitors may name a column."""
    named = 0
    n_monitors = 400
    column = Column("c", "left out")
    for seed in range(n_monitors):
        rng = np.random.default_rng(seed)
        reference = pd.Series(np.where(rng.random(300) < 1e-3, "b", "a"))
        profile = ColumnProfile.fit(Column("c", "category"), reference)
        if reference.nunique() == 1:
            profile = ColumnProfile.constant(column, reference)
        for number in range(1, 6):
            batch = pd.Series(np.where(rng.random(100) < 1e-3, "b", "a"))
            moves = moved_columns([profile], profile.count(batch)[None, :])
            level = 0.01 * 6 / (np.pi * number) ** 2
            named += any(move.p_value <= level for move in moves)
    # 1 % of 400; more than 10 has a probability below 1 %.
    assert named <= 10


def test_infinite_cells_are_no_missing_ones(rng, passport):
    batch = table(rng, 100)
    batch.loc[:39, "x"] = np.inf
    batch.loc[90:, "x"] = np.nan
    profile = next(each for each in passport.columns if each.column == "x")
    counts = profile.count(batch["x"])
    assert counts[-2:].tolist() == [40, 10]
    bins = [-np.inf, *profile.edges, np.inf]
    finite = pd.cut(batch["x"][40:90], bins).value_counts(sort=False)
    assert counts[:-2].tolist() == finite.tolist()
    assert profile.moved(counts) == ("x infinite", 0, 40)
    for place, edge in enumerate(profile.edges.tolist()):
        parts = profile._parts(counts)[1 + 2 * place : 3 + 2 * place]
        low = int((batch["x"][40:90] <= edge).sum())
        assert [part[2] for part in parts] == [low, 50 - low]
    assert make_passport(table(rng, 400).assign(x=np.inf)).columns[-1].is_constant


def test_a_passport_of_before_has_its_digest_and_counts_as_it_did(rng, passport, tmp_path):
    content = json.loads(passport.text)
    content["columns"] = [
        {key: value for key, value in column.items() if key != "has_infinite"}
        for column in content["columns"]
        if column["column"] in ("x", "y")
    ]
    for column in content["columns"]:
        # the cell of infinite numbers goes
        counts = column["counts"]["array"]
        column["counts"] |= {"array": [*counts[:-2], counts[-1]], "shape": [len(counts) - 1]}
    path = tmp_path / "old.json"
    path.write_text(json.dumps(content))
    old = Passport.load(path)
    # What an older release wrote had none of these, and its digest was that of the rest.
    later = ("seasons", "hints")
    kept = {key: value for key, value in content.items() if value or key not in later}
    text = json.dumps(kept, separators=(",", ":")) + "\n"
    assert old.text != passport.text
    batch = table(rng, 100)
    batch.loc[:39, "x"] = np.inf
    profile = old.columns[0]
    assert profile.count(batch["x"])[-1] == 40
    assert not profile.has_infinite
    assert old.digest == hashlib.sha256(text.encode()).hexdigest()[:16]
