"""Ratios of differences of logits: errors are those above 0, whatever the scale of the logits."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.attacks.model import margin_loss
from shiftmetrics_lab.attacks.losses import (
    difference_of_logits_ratio,
    targeted_difference_of_logits_ratio,
)


@given(seed=st.integers(0, 1000))
def test_ratios_are_those_of_any_scale(seed):
    rng = np.random.default_rng(seed)
    logits = torch.tensor(rng.normal(scale=3.0, size=(7, 5)))
    y = torch.tensor(rng.integers(0, 5, 7))
    margin = margin_loss(logits, y)
    for scaled in (1.0, 7.0):  # the ratios do not change with the scale of the logits
        ratio = difference_of_logits_ratio(scaled * logits, y)
        torch.testing.assert_close(ratio, difference_of_logits_ratio(logits, y))
        assert ((ratio > 0) == (margin > 0)).all()
        target = (y + 1) % 5
        loss = targeted_difference_of_logits_ratio(target)
        torch.testing.assert_close(loss(scaled * logits, y), loss(logits, y))
