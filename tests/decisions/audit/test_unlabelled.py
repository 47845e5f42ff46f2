"""Accuracy without labels: the formulas by hand, the refusal, and ranges on samples without shift."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from shiftmetrics._core.result import format_percent
from shiftmetrics.decisions.audit.unlabelled import (
    estimate_without_labels,
    tell_apart,
)
from shiftmetrics.decisions.calibration import Calibration, bounded_logarithms


def drawn(rng, n, sharpness=1.0):
    """Return calibrated probabilities of three classes, made sharper, and labels drawn from the calibrated ones."""
    logits = rng.normal(scale=2.0, size=(n, 3))
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1)
    sharp = np.exp(sharpness * logits)
    return sharp / sharp.sum(axis=1, keepdims=True), labels


def test_the_temperature_undoes_overconfidence():
    probabilities, labels = drawn(np.random.default_rng(0), 20_000, sharpness=2.0)
    calibration = Calibration.fit(probabilities, labels)
    assert calibration.temperature == pytest.approx(2.0, rel=0.05)


def test_expected_accuracy_is_the_isotonic_regression():
    probabilities, labels = drawn(np.random.default_rng(1), 500)
    calibration = Calibration.fit(probabilities, labels)
    logs = bounded_logarithms(probabilities) / calibration.temperature
    tempered = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    right = probabilities.argmax(axis=1) == labels
    expected = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    expected.fit(tempered.max(axis=1), right)
    np.testing.assert_allclose(
        calibration.expected_accuracy(probabilities),
        expected.predict(tempered.max(axis=1)),
        atol=1e-9,
    )


def test_the_range_by_hand():
    rng = np.random.default_rng(2)
    reference, labels = drawn(rng, 1000)
    current, _ = drawn(rng, 800)
    u = 0.1
    found = estimate_without_labels(reference, labels, current, unmatched_fraction=u)
    accuracy = (reference.argmax(axis=1) == labels).mean()
    estimate = Calibration.fit(reference, labels).expected_accuracy(current).mean()
    error = np.sqrt(estimate * (1 - estimate) / 800 + accuracy * (1 - accuracy) / 1000)
    margin = 0.03 + 0.5 * abs(estimate - accuracy) + 1.3 * error
    assert found.estimate == pytest.approx(estimate)
    assert found.low == pytest.approx((1 - u) * estimate - margin)
    assert found.high == pytest.approx(min(1.0, (1 - u) * estimate + u + margin))
    assert f"{format_percent(found.low)} to {format_percent(found.high)}" in found.sentence()


def test_partners_count_from_two_on():
    rng = np.random.default_rng(3)
    reference, labels = drawn(rng, 400)
    current, _ = drawn(rng, 400)
    own = reference.argmax(axis=1), current.argmax(axis=1)
    other = own[0], (own[1] + (np.arange(400) < 100)) % 3  # agreement falls by a quarter
    alone = estimate_without_labels(reference, labels, current, unmatched_fraction=0.0)
    options = {"unmatched_fraction": 0.0}
    one = estimate_without_labels(reference, labels, current, partners=[other], **options)
    two = estimate_without_labels(reference, labels, current, partners=[other] * 2, **options)
    assert one.estimate == alone.estimate
    by_agreement = alone.reference_accuracy - 0.25
    assert two.estimate == pytest.approx(0.5 * (alone.estimate + by_agreement))


def test_too_many_samples_without_counterpart_are_a_refusal():
    rng = np.random.default_rng(4)
    reference, labels = drawn(rng, 300)
    found = estimate_without_labels(reference, labels, reference, unmatched_fraction=0.38)
    assert (found.low, found.high) == (None, None)
    assert "38 %" in found.sentence()
    assert "cannot be told" in found.sentence()


def test_samples_of_one_source_are_not_told_apart():
    rng = np.random.default_rng(5)
    found = tell_apart(rng.normal(size=(400, 4)), rng.normal(size=(300, 4)))
    assert found.auc == pytest.approx(0.5, abs=0.08)
    assert found.alone_fraction <= 0.05
    moved = tell_apart(rng.normal(size=(400, 4)), rng.normal([6, 0, 0, 0], size=(300, 4)))
    assert moved.auc > 0.99
    assert moved.alone_fraction > 0.9


@pytest.mark.slow
def test_ranges_cover_where_nothing_changed():
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(100):
        reference, labels = drawn(rng, 500, sharpness=3.0)
        current, truth = drawn(rng, 500, sharpness=3.0)
        found = estimate_without_labels(reference, labels, current, unmatched_fraction=0.0)
        covered += found.low <= (current.argmax(axis=1) == truth).mean() <= found.high
    assert covered >= 95
