"""Tables with words, dates and gaps: encoded on the way in, and told in their own units."""

import numpy as np
import pandas as pd
import pytest

from calls import novelty
from shiftmetrics.novelty import NoveltyResult


def table(seed: int, n: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "customer_id": [f"c{seed}{i:05d}" for i in range(n)],
            "age": rng.normal(40.0, 10.0, n),
            "job": rng.choice(["clerk", "driver", "nurse"], n),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.normal(3e4, 8e3, n)),
        }
    )


@pytest.fixture(scope="module")
def samples() -> tuple[pd.DataFrame, pd.DataFrame]:
    sample, reference = table(1, 300), table(2, 400)
    sample.loc[:44, "job"] = "courier"
    sample.loc[:44, "age"] = np.random.default_rng(3).normal(22.0, 2.0, 45)
    return sample, reference


@pytest.fixture(scope="module")
def result(samples: tuple[pd.DataFrame, pd.DataFrame]) -> NoveltyResult:
    return novelty(*samples)


def test_a_new_group_is_found_and_told_in_the_units_of_the_table(result: NoveltyResult) -> None:
    assert result.p_value <= 0.05
    members = np.unique(np.concatenate([mode.members() for mode in result.new]))
    assert (members < 45).mean() >= 0.8
    assert np.isin(np.arange(45), members).mean() >= 0.9
    columns = {column.name: column for mode in result.new for column in mode.columns}
    assert columns["age"].inside == pytest.approx(22.0, abs=3.0)
    assert columns["job = courier"].inside > 0.8
    # What was made of the columns stands in the result, and ids name the rows.
    (note,) = result.settings["encoding"]
    assert "customer_id" in note
    assert "customer_id" in result.summary()
    assert result.new[0].names[0].startswith("c1000")


def test_a_reference_of_later_dates_is_warned_of_above_the_answer() -> None:
    early, late = (table(seed, 60) for seed in (4, 5))
    early["day"] = pd.date_range("2024-01-01", periods=60).astype(str)
    late["day"] = pd.date_range("2024-06-01", periods=60).astype(str)
    (warning,) = novelty(early, late).above
    assert "`day`" in warning
    assert novelty(late, early).above == ()


def test_rows_of_a_table_are_scored_as_they_are(
    samples: tuple[pd.DataFrame, pd.DataFrame], result: NoveltyResult
) -> None:
    sample, _ = samples
    scores = result.score_rows(sample)
    assert scores[:45].min() > np.median(scores[45:])
    strong = result.new[0].score(sample)
    assert (strong[:45] >= 2.0 / 3.0).mean() >= 0.9
    with pytest.raises(ValueError, match="points must be a table with the columns"):
        result.score_rows(sample.drop(columns="age"))


def test_tables_of_numbers_stay_as_they_are(samples: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    numbers = [frame[["age"]] for frame in samples]
    assert novelty(*numbers).settings["encoding"] is None


def test_an_array_beside_a_table_of_words_is_refused(
    samples: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    with pytest.raises(TypeError, match="features"):
        novelty(samples[0], np.zeros((5, 4)))
