"""The losses of a network's logits: they agree with each other."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.attacks.geometry import steepest
from shiftmetrics.attacks.model import cross_entropy, margin_loss, smooth_margin_loss


@given(seed=st.integers(0, 1000))
def test_losses_agree_with_each_other(seed):
    rng = np.random.default_rng(seed)
    logits = torch.tensor(rng.normal(scale=3.0, size=(7, 5)), requires_grad=True)
    y = torch.tensor(rng.integers(0, 5, 7))
    margin = margin_loss(logits, y)
    assert ((margin > 0) == (logits.argmax(1) != y)).all()
    smooth = smooth_margin_loss(logits, y)
    torch.testing.assert_close(torch.nn.functional.softplus(smooth), cross_entropy(logits, y))
    first, second = (
        torch.autograd.grad(part.sum(), logits, retain_graph=True)[0]
        for part in (smooth, cross_entropy(logits, y))
    )
    torch.testing.assert_close(steepest(first, "l2"), steepest(second, "l2"))
