"""A saved reading is applied, or the file is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.predictions import read_predictions
from shiftmetrics.tables.reading import load_reading
from tables.variants import cells, numbers_of, variant


@pytest.mark.parametrize("seed", range(30, 42))
def test_a_reading_gives_the_same_answer_again(seed, tmp_path):
    made = variant(seed)
    try:
        found = read_predictions([made.old, made.new], labels=made.labels, options=made.options)
    except ValueError:
        pytest.skip("two readings")
    path = tmp_path / "reading.toml"
    found.reading.save(path)
    again = read_predictions([made.old, made.new], labels=made.labels, reading=load_reading(path))
    assert numbers_of(again) == numbers_of(found)
    assert again.reading.to_toml() == found.reading.to_toml()


def _frame(**more):
    rng = np.random.default_rng(len(more))
    second = rng.uniform(size=20)
    return pd.DataFrame({"id": np.arange(20) + 7, "no": 1.0 - second, "yes": second, **more})


def test_what_would_be_guessed_otherwise_is_not():
    reading = read_predictions([cells(_frame()), cells(_frame())]).reading
    words = cells(_frame(yes="much"), "NEW", "new.csv")
    with pytest.raises(UnreadableTableError, match="numbers in the column 'yes'"):
        read_predictions([cells(_frame()), words], reading=reading)
    with pytest.raises(UnreadableTableError, match="latency"):
        read_predictions([cells(_frame()), cells(_frame(latency=1.0))], reading=reading)
    with pytest.raises(UnreadableTableError, match="files of predictions"):
        read_predictions([cells(_frame())], reading=reading)
    labels = cells(pd.DataFrame({"id": [7], "label": ["no"]}), "--labels", "labels.csv")
    with pytest.raises(UnreadableTableError, match="of labels"):
        read_predictions([cells(_frame()), cells(_frame())], labels=labels, reading=reading)
