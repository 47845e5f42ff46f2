"""Losses that are given: fixed ones, and errors at a distance."""

import numpy as np
import pytest

from shiftmetrics.stability import CandidateLoss, FixedLoss, ZeroOneLoss, stability_criterion

INF = np.inf


def test_fixed_and_zero_one_are_candidates_too() -> None:
    distances = np.array([0.0, 0.4, 1.0, INF])
    zero_one = ZeroOneLoss(distances)
    losses = np.stack([(distances == 0).astype(float), np.ones(4)], axis=1)
    as_candidates = CandidateLoss(losses, np.stack([np.zeros(4), distances], axis=1), kind="exact")
    for threshold in (0.3, 0.5, 0.7):
        first, second = (stability_criterion(x, threshold) for x in (zero_one, as_candidates))
        assert first.value == pytest.approx(second.value, rel=1e-9)
    fixed = FixedLoss([0.1, 0.5, 2.0])
    column = CandidateLoss([[0.1], [0.5], [2.0]], np.zeros((3, 1)))
    assert stability_criterion(fixed, 1.0).value == stability_criterion(column, 1.0).value
