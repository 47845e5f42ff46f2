"""Evidence below a verdict, against other implementations."""

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    cohen_kappa_score,
    log_loss,
    roc_auc_score,
)

from shiftmetrics import diff_models
from two_predictions import (
    LABELS,
    NEW,
    OLD,
    rare,
)


def test_evidence_is_that_of_other_implementations() -> None:
    result = diff_models(OLD, NEW, labels=LABELS)
    evidence = result.evidence
    assert evidence.kappa == pytest.approx(
        cohen_kappa_score(OLD.argmax(axis=1), NEW.argmax(axis=1))
    )
    mean = 0.5 * (OLD + NEW)
    rows = np.arange(400)
    guess = mean[rows, NEW.argmax(axis=1)] - mean[rows, OLD.argmax(axis=1)]
    assert evidence.estimate == pytest.approx(guess.mean())
    losses = {measure.name: measure for measure in evidence.measures}
    assert losses["log loss"].old == pytest.approx(log_loss(LABELS, OLD))
    assert losses["log loss"].new == pytest.approx(log_loss(LABELS, NEW))
    hot = np.eye(4)[LABELS]
    assert losses["Brier score"].new == pytest.approx(((NEW - hot) ** 2).sum(axis=1).mean())
    interval = losses["log loss"].interval
    assert interval is not None
    assert interval.low < losses["log loss"].new - losses["log loss"].old < interval.high


def test_a_calibrated_model_of_rare_events_beats_its_noisy_copy() -> None:
    labels, chance, noisy = rare()
    result = diff_models(chance, noisy, labels=labels)
    assert any("threshold" in warning for warning in result.warnings)
    assert result.settings["threshold"] == pytest.approx(labels.mean())
    measures = {measure.name: measure for measure in result.evidence.measures}
    assert measures["AUC"].old == pytest.approx(roc_auc_score(labels, chance))
    assert measures["AUC"].new == pytest.approx(roc_auc_score(labels, noisy))
    expected = average_precision_score(labels, noisy)
    assert measures["average precision"].new == pytest.approx(expected)
    assert measures["AUC"].old > measures["AUC"].new
    assert measures["log loss"].old < measures["log loss"].new
    assert "collapsed" not in result.summary()
