"""Roles in files whose rows are brought together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from tables.variants import cells

N = 60
RNG = np.random.default_rng(0)


def _read(old, new, **options):
    return read_predictions(
        [cells(old), cells(new, "NEW", "new.csv")], options=RoleOptions(**options)
    )


def _frame(**more):
    return pd.DataFrame({"id": np.arange(N) + 9, "prediction": RNG.integers(0, 2, N), **more})


def test_weights_by_name_and_groups_as_typed():
    own = {"sample_weight": RNG.uniform(size=N), "site": ["a", "b"] * (N // 2)}
    found = _read(_frame(**own), _frame(**own), group="site")
    assert found.weight == pytest.approx(own["sample_weight"])
    assert found.group.tolist() == own["site"]
    assert found.reading.files[0].weight == "sample_weight"


def test_equal_answers_of_both_models_are_answers():
    frame = _frame()
    found = _read(frame, frame)
    assert (found.files[0].answers() == found.files[1].answers()).all()
    assert found.reading.files[0].answer == "prediction"


@pytest.mark.parametrize(
    ("values", "is_regression"),
    [
        (RNG.normal(size=N), True),
        (RNG.integers(0, 100_000, N), True),
        (np.arange(N) % 3, False),
        (np.where(np.arange(N) % 2, 0.5, 1.0), False),
    ],
)
def test_a_regression_by_the_true_values(values, is_regression):
    frames = [
        pd.DataFrame({"id": np.arange(N) + 9, "prediction": values + 0, "y_true": values})
        for _ in range(2)
    ]
    frames[1]["prediction"] = frames[1]["prediction"].to_numpy()[::-1]
    if not is_regression and values.dtype.kind == "f":
        pytest.skip("two fractions may be classes, which are refused elsewhere")
    assert _read(*frames).is_regression is is_regression
