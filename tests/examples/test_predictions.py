"""The files that `diff` is tried on: probabilities of the same images, and a new model that is better."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.examples.predictions import write_predictions


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_predictions(tmp_path_factory.mktemp("predictions"))


def test_the_tables_hold_probabilities_of_the_same_images(files: list[Path]) -> None:
    assert [path.name for path in files] == ["old.csv", "new.csv", "labels.csv"]
    old, new, labels = (pd.read_csv(path, index_col="image_id") for path in files)
    assert list(old.index) == list(new.index) == list(labels.index)
    assert old.index.is_unique
    for table in (old, new):
        assert list(table.columns) == [str(digit) for digit in range(10)]
        np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-3)


def test_the_new_model_which_saw_more_is_better(files: list[Path]) -> None:
    old, new, labels = (pd.read_csv(path, index_col="image_id") for path in files)
    right = [(table.to_numpy().argmax(axis=1) == labels["label"]).mean() for table in (old, new)]
    assert 0.85 < right[0] < right[1] < 1.0
