"""Copies of rows are counted among all samples, and not among those that are searched."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import audit_samples
from shiftmetrics.decisions.audit import search
from shiftmetrics.decisions.audit.copies import copies_of_rows


def _table(seed: int, n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    numbers = {name: rng.normal(size=n) for name in "ab"}
    return pd.DataFrame(numbers | {"site": rng.choice(["north", "south"], n)})


NAMES = ["a", "b", "site"]


def test_copies_are_those_that_sets_of_rows_find() -> None:
    table, other = _table(0), _table(1)
    assert copies_of_rows(table, other, NAMES) == ()
    mixed = pd.concat([other[:150], table[:250]])
    both = set(map(tuple, mixed.to_numpy().tolist())) & set(map(tuple, table.to_numpy().tolist()))
    assert len(both) == 250
    assert "250 rows stand in both samples (62 %" in copies_of_rows(mixed, table, NAMES)[0]
    twice = pd.concat([table, table])
    assert "stands 2 times" in copies_of_rows(twice, other, NAMES)[0]


def test_equal_values_of_other_types_are_copies() -> None:
    table = _table(0).assign(count=np.arange(400))
    gaps = table.assign(count=table["count"].astype(float), b=table["b"].mask(table["b"] > 1))
    gaps["site"] = gaps["site"].astype("category")
    same = gaps.assign(site=gaps["site"].astype(str))
    names = [*NAMES, "count"]
    assert "400 rows stand in both" in copies_of_rows(gaps, same, names)[0]
    zeros = table.assign(a=-0.0)
    assert "400 rows" in copies_of_rows(zeros, table.assign(a=0.0), names)[0]


def test_rows_of_few_values_are_no_copies() -> None:
    rng = np.random.default_rng(0)
    one, other = (pd.DataFrame(rng.integers(0, 3, (300, 2)), columns=["a", "b"]) for _ in range(2))
    assert copies_of_rows(one, other, ["a", "b"]) == ()
    assert copies_of_rows(one, other, []) == ()


def test_an_audit_counts_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SEARCHED", 100)
    table = _table(0)
    current = table.sample(frac=1.0, random_state=0).reset_index(drop=True)
    current.loc[:59, "a"] += 50.0
    found = audit_samples(table, current)
    assert any("340 rows stand in both samples (85 %" in text for text in found.warnings)
