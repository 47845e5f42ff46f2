"""One column of numbers of each model."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from shiftmetrics.tables.python import cells_of


def two(**options):
    rng = np.random.default_rng(0)
    old = pd.DataFrame(
        {"query": np.arange(20) // 4, "doc": np.arange(20), "relevance": np.arange(20) % 3}
    )
    new = old.assign(dense=rng.normal(size=20))
    old = old.assign(bm25=rng.normal(size=20))
    files = [cells_of(old, "old"), cells_of(new, "new")]
    found = read_predictions(files, options=RoleOptions(task="rankings", **options))
    return old, new, found


@pytest.mark.parametrize("options", [{}, {"prediction": "bm25=dense"}])
def test_columns_of_other_names(options):
    old, new, found = two(**options)
    assert (found.files[0].outputs() == old["bm25"]).all()
    assert (found.files[1].outputs() == new["dense"]).all()
    assert found.truth.tolist() == old["relevance"].tolist()
    assert found.group.tolist() == old["query"].astype(str).tolist()


def test_columns_that_are_not_there():
    with pytest.raises(UnreadableTableError, match="bm25"):
        two(prediction="bm25")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_output_that_is_no_number_is_refused(value):
    rng = np.random.default_rng(0)
    old = pd.DataFrame(
        {"id": 7 * np.arange(30), "y": rng.normal(size=30), "pred": rng.normal(size=30)}
    )
    new = old.assign(pred=rng.normal(size=30))
    new.loc[4, "pred"] = value
    files = [cells_of(old, "old"), cells_of(new, "new")]
    with pytest.raises(UnreadableTableError, match="row 4"):
        read_predictions(files, options=RoleOptions(label="y"))
