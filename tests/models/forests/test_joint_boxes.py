"""Boxes of several trees put together: those that no later tree can turn are dropped."""

import numpy as np
import pytest
from sklearn.ensemble import (
    RandomForestClassifier,
)

from shiftmetrics.models import Search, model_stability
from shiftmetrics.models.forests import bounds


def test_boxes_that_no_later_tree_can_turn_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that, a forest whose boxes are too many to pair would have no sharper distance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    model = RandomForestClassifier(40, random_state=0).fit(X, y)
    options = {"resampling": None, "computing": Search(progress=False)}
    with_it = model_stability(model, X, y, 0.3, **options)
    monkeypatch.setattr(bounds, "_MOST_MEETINGS", -1)
    without = model_stability(model, X, y, 0.3, **options)
    assert without.lower_bound < with_it.lower_bound <= with_it.value
    assert with_it.value <= without.value * (1 + 1e-12)
