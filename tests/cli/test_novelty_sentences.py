"""What ``shiftmetrics novelty a.csv b.csv`` says of changes that are no new cluster, and of tables."""

import re

import numpy as np
import pandas as pd
import pytest

COLUMNS = [f"c{number}" for number in range(5)]


def normal(seed, n=400):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 5)), columns=COLUMNS)


def with_mode(table, fraction, column, sign, seed):
    """Put the first rows far along a column."""
    size = round(fraction * len(table))
    mode = 0.7 * np.random.default_rng(seed).normal(size=(size, 5))
    mode[:, COLUMNS.index(column)] += 6.0 * sign
    return pd.concat([pd.DataFrame(mode, columns=COLUMNS), table[size:]], ignore_index=True)


def age_band(seed):
    """Ages from 45 to 55 are in the sample alone."""
    rng = np.random.default_rng(seed)
    tables = []
    for n in (600, 900):
        ages = rng.uniform(20, 80, n).round()
        tables.append(pd.DataFrame({"age": ages, "dose": rng.normal(size=n).round(3)}))
    reference = tables[1]
    return tables[0], reference[~reference["age"].between(45, 55)]


@pytest.fixture
def said(run, tmp_path):
    """Return a function that writes two tables and returns what the command says of them, in one line."""

    def said(sample, reference, *options):
        sample.to_csv(tmp_path / "a.csv", index=False)
        reference.to_csv(tmp_path / "b.csv", index=False)
        result = run("novelty", tmp_path / "a.csv", tmp_path / "b.csv", *options)
        assert result.exit_code == 0, result.output
        return " ".join(result.stdout.split())

    return said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sample", "reference", "words", "never"),
    [
        (
            with_mode(normal(0), 0.62, "c0", 1.0, 1),
            normal(2),
            ["New: about 62 %", "one mode", "(c0 ", "Nothing is shown to be missing"],
            ["Missing:", "Less frequent"],
        ),
        (1.3 * normal(7), normal(8), ["Something differs (p = .0", "wider spread"], ["New:"]),
        (0.8 * normal(7), normal(8), ["Something differs (p = .0", "narrower spread"], ["New:"]),
        (
            normal(7, 500).assign(c2=lambda table: table["c2"] + 0.5),
            normal(8, 500),
            ["Something differs (p = .0", "gradual shift in column c2 by +0."],
            ["New:", "Missing:"],
        ),
        (
            normal(9)[["c0"]] + 1.0,
            normal(10)[["c0"]],
            ["Something differs (p = .0", "gradual shift in column c0 by +1."],
            ["New:", "Missing:"],
        ),
        (
            with_mode(normal(3), 0.15, "c0", 1.0, 4),
            with_mode(normal(5), 0.15, "c1", -1.0, 6),
            ["New: about 1", "one mode", "(c0 ", "Missing: about 1", "(c1 -"],
            ["2 modes"],
        ),
        (*age_band(15), ["New: about 2", "(age 5"], ["Missing:", "gradual", "at least 0 %"]),
    ],
    ids=["62 % new", "wider", "narrower", "one column", "N(1, 1)", "new and missing", "age band"],
)
def test_each_change_is_called_what_it_is(said, sample, reference, words, never):
    text = said(sample, reference)
    for part in words:
        assert part in text
    for part in never:
        assert part not in text


def people(rng, n, start):
    return pd.DataFrame(
        {
            "id": [f"p{start + number}" for number in range(n)],
            "age": rng.normal(40, 10, n).clip(18, 80).round(),
            "job": rng.choice(["clerk", "nurse", "driver"], n),
            "income": rng.normal(30_000, 5_000, n).round(),
            "joined": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n), "D"),
        }
    )


@pytest.mark.slow
def test_tables_are_told_in_their_own_words(said):
    rng = np.random.default_rng(0)
    sample, reference = people(rng, 250, 0), people(rng, 250, 1000)
    sample.loc[:39, ["age", "job"]] = [99.0, "courier"]
    sample.loc[:39, "income"] = np.nan
    text = said(sample, reference)
    new = re.search(r"New: about (\d+) % .* rows p\d+, .*\(age 9\d.*, else [34]\d", text)
    assert new
    assert abs(int(new[1]) - 16) <= 5  # 40 of 250, and twice their standard error
    assert re.search(r"income missing in \d+ %, else", text)
    assert re.search(r"job = courier in \d+ %, else 0 %", text)
    assert "Took `id` as the id" in text
    reference.loc[:39, ["job", "joined"]] = ["pilot", pd.Timestamp("2020-05-01")]
    text = said(people(rng, 250, 0), reference)
    missing = re.search(r"Missing: about (\d+) % .* rows p\d+", text)
    assert missing
    assert abs(int(missing[1]) - 16) <= 5
    assert re.search(r"job = pilot in \d+ %, else 0 %", text)
    assert re.search(r"joined 20\d\d-\d\d-\d\d, else 2024-", text)
    assert "(cos)" not in text


@pytest.mark.slow
def test_dependent_rows_are_said_before_the_verdict(said):
    table = normal(20, 100)
    thrice = table.loc[table.index.repeat(3)]
    text = said(thrice, normal(21, 300))
    assert "Every row of features stands 3 times" in text
    assert text.index("independent samples") < text.index("New") if "New" in text else True
    both = said(pd.concat([normal(22, 200), table[:80]]), pd.concat([table, normal(23, 200)]))
    assert "80 rows stand in both samples" in both
    walk = np.random.default_rng(24).normal(size=(300, 5)).cumsum(axis=0)
    assert "as in a time series" in said(normal(25, 300), pd.DataFrame(walk, columns=COLUMNS))


def test_small_samples_say_what_they_cannot_show(said):
    text = said(normal(30, 60), normal(31, 60))
    assert "Nothing new shown at this size" in text
    assert "No mode of fewer than about" in text


@pytest.mark.parametrize("words", [False, True])
def test_groups_are_permuted_together(said, fails, tmp_path, words):
    tables = []
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        visits = np.repeat(rng.normal(size=(40, 2)), 5, axis=0) + 0.02 * rng.normal(size=(200, 2))
        table = pd.DataFrame(visits, columns=["a", "b"])
        table["patient"] = np.repeat(np.arange(40) + 1000 * seed, 5)
        if words:
            table["ward"] = rng.choice(["east", "west"], 200)
        tables.append(table)
    text = said(*tables, "--groups", "patient")
    assert "Nothing new shown" in text
    assert "patient" not in text
    message = fails("novelty", tmp_path / "a.csv", tmp_path / "b.csv", "--groups", "doctor")
    assert "--groups must name a column of TEST" in message
