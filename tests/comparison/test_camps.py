"""Camps of models, and rare events that are no collapse."""

import numpy as np

from pools import camps, models_of, one_hot
from shiftmetrics import Resampling, compare_agreement

FEW = Resampling(rng=0, n_resamples=60)


def test_two_camps_are_named_and_never_separated():
    _, before = camps()
    models = {f"model {m}": one_hot(row) for m, row in enumerate(before)}
    found = compare_agreement(models, models_of(before), criterion="vote", resampling=FEW)
    assert found.status.code == "tied"
    assert found.best.name in {f"model {m}" for m in range(4)}
    assert "Two camps" in found.warnings[0]
    assert all(f"model {m}" in found.warnings[0] for m in range(7))
    assert any(model.rank_low == 1 for model in found.models if model.name > "model 3")
    assert "cannot be told from it" in found.headline()


def test_rare_events_are_not_collapsed():
    """Calibrated probabilities of rare events are all below 1/2; the noisy copy only seems to use both classes."""
    rng = np.random.default_rng(0)
    risk = 0.3 * rng.random((500, 1)) ** 3
    noisy = np.clip(risk + 0.25 * rng.normal(size=risk.shape), 0.001, 0.999)
    flat = np.full_like(risk, 0.04)
    labels = (rng.random(500) < risk[:, 0]).astype(int)
    scores = {
        name: np.hstack([1 - p, p])
        for name, p in {"good": risk, "noisy": noisy, "flat": flat}.items()
    }
    before = {
        name: np.hstack([1 - p, p])
        for name, p in {"good": risk**1.1, "noisy": noisy, "flat": flat}.items()
    }
    for known in (None, labels):
        found = compare_agreement(scores, before, labels=known, resampling=FEW)
        collapsed = {model.name: model.collapsed for model in found.models}
        assert collapsed == {"good": False, "noisy": False, "flat": True}
        assert any("rare events" in text and text.startswith("good") for text in found.warnings)
    ranked = compare_agreement(scores, before, labels=labels, criterion="roc_auc", resampling=FEW)
    assert ranked.best.name == "good"
