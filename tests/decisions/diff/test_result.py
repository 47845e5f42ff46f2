"""Results of comparing two models travel as JSON."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import diff_models
from shiftmetrics.decisions import DiffResult
from two_predictions import (
    LABELS,
    NEW,
    OLD,
    prices,
)


@pytest.mark.parametrize(
    "result",
    [
        diff_models(OLD, NEW, rng=0),
        diff_models(OLD, NEW, labels=LABELS, groups=np.arange(400) % 2, allow=0.01),
        diff_models(*prices()[1:], rng=0),
        diff_models(OLD.argmax(axis=1), NEW.argmax(axis=1), rng=0),
    ],
    ids=["scores", "labelled", "outputs", "hard labels"],
)
def test_results_travel_as_json(result: DiffResult, tmp_path: Any) -> None:
    for again in (DiffResult.from_json(result.to_json()),):
        assert again.equals(result)
        assert again.summary() == result.summary()
        pd.testing.assert_frame_equal(again.to_frame(), result.to_frame())
    result.to_json(tmp_path / "diff.json")
    assert DiffResult.from_json(tmp_path / "diff.json").equals(result)
    assert result.verdict in result._repr_html_()
