"""Posterior agreement of published network outputs: certified, ordered by the strength of the noise."""

from pathlib import Path

import numpy as np
import pytest

import oracles
from shiftmetrics.agreement import posterior_agreement

pytestmark = pytest.mark.realdata


def test_agreement_falls_with_noise(data_folder: Path) -> None:
    with np.load(data_folder / "imagenet16h_noise" / "imagenet16h.npz", allow_pickle=False) as stored:
        log_probs = stored["log_probs"]
    for prior in (None, "predicted"):
        for model in range(5):
            results = [
                posterior_agreement(log_probs[level, model], log_probs[0, model], prior=prior)
                for level in (1, 2, 3)
            ]
            values = [result.value for result in results]
            assert values[0] > values[1] > values[2] > 0.0
            for result in results:
                assert result.status.ok
                assert result.error_bound <= 1.001e-6
                assert result.n_evaluations < 40
                assert result.warnings == ()
                assert 0.0 < result.equivalent_error < 1 - 1 / 16


def test_networks_on_one_sample(data_folder: Path) -> None:
    with np.load(data_folder / "cifar10_logit_zoo" / "logits.npz", allow_pickle=False) as stored:
        logits = stored["logits"][:3]
    for i, j in ((0, 1), (1, 2), (2, 0)):
        result = posterior_agreement(logits[i], logits[j])
        assert result.status.ok
        assert result.error_bound <= 1.001e-6
        changed = np.mean(logits[i].argmax(axis=1) != logits[j].argmax(axis=1))
        assert result.disagreement == pytest.approx(changed, abs=1e-4)
        for factor in (0.5, 0.9, 1.1, 2.0):
            near = oracles.agreement(logits[i], logits[j], factor * result.beta)
            assert near <= result.value + result.error_bound
