"""The same source by two exporters is no change; a reference that came later is warned of."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import audit_samples
from shiftmetrics.tables.register import read_file


def orders(seed, first="2024-09-01", n=150):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "order_id": np.arange(n) + 1000 * seed,
            "code": rng.choice(["007", "012", "120"], n),
            "country": rng.choice(["NA", "US", "FR"], n),
            "paid": rng.random(n) < 0.5,
            "amount": rng.gamma(2.0, 20.0, n).round(2),
            "day": pd.date_range(first, periods=n, freq="h"),
        }
    )


def postgresql(frame, path):
    words = frame["paid"].map({True: "t", False: "f"})
    frame.assign(paid=words).to_csv(path, index=False)


def spreadsheet(frame, path):
    frame.to_csv(path, sep=";", decimal=",", index=False)


def with_index(frame, path):
    frame.to_csv(path)


def parquet(frame, path):
    pytest.importorskip("pyarrow")
    frame.to_parquet(path)


WRITERS = [postgresql, spreadsheet, with_index, parquet]


@pytest.mark.parametrize("write", WRITERS)
def test_two_exporters_are_no_change(write, tmp_path):
    orders(1).to_csv(tmp_path / "reference", index=False)
    write(orders(2), tmp_path / "current")
    cells = [read_file(tmp_path / name, name) for name in ("reference", "current")]
    result = audit_samples(*cells)
    assert result.verdict == "NO CHANGE SHOWN"
    assert result.settings["id_column"] == "order_id"
    assert {change.column for change in result.changes.columns} >= {"code", "country", "paid"}
    assert all(change.missing == (0.0, 0.0) for change in result.changes.columns)
    assert all(not change.new_levels for change in result.changes.columns)
    assert result.above == ()


def test_a_later_reference_is_warned_of_above_the_verdict():
    result = audit_samples(orders(1, "2025-01-01"), orders(2, "2024-01-01"))
    assert "later than those of the current sample" in result.above[0]
    assert result.headline().startswith("Warning: The dates of the reference")
    assert result.equals(type(result).from_json(result.to_json()))
