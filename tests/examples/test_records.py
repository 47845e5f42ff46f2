"""The records that `audit` is tried on: a quiet first half of a month, and two new things from its middle on."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.examples.records import records, write_records


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[pd.DataFrame]:
    paths = write_records(tmp_path_factory.mktemp("records"), n=1000, seed=1)
    assert [path.name for path in paths] == ["reference.csv", "current.csv"]
    return [pd.read_csv(path) for path in paths]


def test_what_is_new_is_new_from_the_middle_of_the_month_on(tables: list[pd.DataFrame]) -> None:
    reference, current = tables
    rider = current["job"] == "delivery rider"
    gap = current["income"].isna()
    assert not (reference["job"] == "delivery rider").any()
    assert not reference["income"].isna().any()
    assert rider.sum() == 80
    assert gap.sum() == 60
    assert not (rider & gap).any()
    assert current.loc[rider | gap, "day"].min() >= "2024-10-16"
    assert current.loc[rider, "hours"].mean() > current.loc[~rider, "hours"].mean() + 10


def test_persons_are_told_apart_and_days_are_in_order(tables: list[pd.DataFrame]) -> None:
    both = pd.concat(tables)
    assert both["person_id"].is_unique
    assert both["day"].is_monotonic_increasing
    assert tables[0]["day"].str.startswith("2024-09").all()


def test_the_seed_draws_the_records(tmp_path: Path) -> None:
    same = [records(np.random.default_rng(0), 50, "2024-09-01") for _ in range(2)]
    other = records(np.random.default_rng(1), 50, "2024-09-01")
    pd.testing.assert_frame_equal(*same)
    assert not same[0].equals(other)
