"""The stated answers are right: against simulation, numerical integration, and the golden numbers."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from shiftmetrics_lab.datasets import (
    make_gaussian_classes,
    make_margin_scores,
    make_mixtures,
    make_spurious_feature,
)


@pytest.mark.parametrize(
    ("weights", "reference_weights", "eta", "expected"),
    [
        ([1, 1, 0, 0], [0, 0, 1, 1], 1.0, np.log(2)),
        ([1, 1, 1, 1, 0], [0, 0, 0, 0, 1], 1.0, np.log(4)),
        # Figure 1, column 3: 4 novel and 2 shared modes of 6 against 4.
        ([1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1], 1.0, 2 / 3 * np.log(4)),
        ([1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], 1.0, 0.0),
        ([3, 1], [1, 1], 1.0, 0.0),  # one mode in excess has no entropy
        ([2, 1, 1], [1, 0, 1], 1.5, 0.0),
    ],
)
def test_ideal_novelty(weights, reference_weights, eta, expected):
    sample = make_mixtures(weights, reference_weights, n_samples=10, rng=0)
    assert sample.ideal_novelty(eta) == pytest.approx(expected, abs=1e-12)


def test_ideal_novelty_with_shared_modes_of_other_weight():
    # The shared modes at 0.4 in test, against 4 equal modes in the reference, of which 2 are shared.
    sample = make_mixtures(
        [0.15] * 4 + [0.2] * 2 + [0] * 2, [0] * 4 + [0.25] * 4, rng=0, n_samples=5
    )
    assert sample.ideal_novelty() == pytest.approx(0.6 * np.log(4), abs=1e-12)


def test_mixtures_have_their_weights_places_and_seed():
    sample = make_mixtures(
        [3, 1, 0], [0, 0, 1], n_samples=20_000, n_reference=50, scale=0.05, rng=0
    )
    np.testing.assert_allclose(
        np.bincount(sample.modes, minlength=3) / 20_000, [0.75, 0.25, 0.0], atol=0.01
    )
    assert sample.reference.shape == (50, 2)
    centre = sample.features[sample.modes == 0].mean(axis=0)
    np.testing.assert_allclose(centre, [1.0, 0.0], atol=0.005)
    again = make_mixtures([3, 1, 0], [0, 0, 1], n_samples=20_000, n_reference=50, scale=0.05, rng=0)
    np.testing.assert_array_equal(again.features, sample.features)


@pytest.mark.parametrize("separation", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("threshold", [0.45, 0.7])
def test_corruption_stability_by_integration(separation, threshold):
    sample = make_gaussian_classes(10, separation=separation, rng=0)
    mu = separation / 2
    quantile = mu + norm.ppf(threshold)
    integral = quad(lambda m: m**2 * norm.pdf(m - mu), 0.0, quantile)[0]
    assert sample.corruption_stability(threshold, 0.4) == pytest.approx(0.4 * integral, rel=1e-9)


def test_stability_of_a_large_sample_by_its_closed_forms():
    sample = make_gaussian_classes(400_000, separation=2.0, n_features=3, rng=0)
    distances, r = np.sort(sample.distances), 0.3
    assert np.mean(distances == 0) == pytest.approx(sample.error, abs=0.002)
    k = int(np.ceil(len(distances) * r))
    moved = np.sum(distances[: k - 1] ** 2) / len(distances)
    assert 0.4 * moved == pytest.approx(sample.corruption_stability(r, 0.4), rel=0.03)


def test_stability_below_the_error_rate_is_zero():
    sample = make_gaussian_classes(10, separation=1.0, rng=0)
    assert sample.corruption_stability(0.2, 0.4) == 0.0
    assert sample.reweighting_stability(0.2, 0.4) == 0.0


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("contradiction", [0.0, 0.1, 0.3, 0.95])
def test_margin_scores_by_a_fine_grid(n_classes, contradiction):
    sample = make_margin_scores(
        200, n_classes=n_classes, margin=3.0, contradiction=contradiction, rng=0
    )
    first, second = sample.scores.argmax(axis=1), sample.reference_scores.argmax(axis=1)
    assert np.mean(first != second) == sample.contradiction == contradiction
    values = []
    for beta in np.geomspace(1e-4, 20, 4001):
        p, q = (np.exp(beta * scores) for scores in (sample.scores, sample.reference_scores))
        p, q = p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)
        values.append(np.mean(np.log(n_classes * np.sum(p * q, axis=1))))
    assert sample.posterior_agreement == pytest.approx(max(0.0, *values), abs=2e-6)


def test_the_golden_number():
    sample = make_margin_scores(1000, margin=7.0, contradiction=0.3, rng=3)
    assert 1000 * (sample.posterior_agreement - np.log(2)) == pytest.approx(-610.864302, abs=1e-6)


def test_spurious_feature_misleads_where_it_flips():
    data = make_spurious_feature(20_000, flips=(0.1, 0.2, 0.9), noise=0.0, rng=0)
    for domain, flip in enumerate((0.1, 0.2, 0.9)):
        part = data.where(domain=domain)
        assert np.mean((part.X[:, 0] > 0) == part.y) == pytest.approx(0.75, abs=0.01)
        assert np.mean((part.X[:, 1] > 0) == part.y) == pytest.approx(1 - flip, abs=0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_mixtures([1, -1], [1, 1]), "weights must be at least 0"),
        (lambda: make_mixtures([0, 0], [1, 1]), "weights must be positive for at least one mode"),
        (lambda: make_mixtures([1], [1, 1]), "reference_weights must be of length 1, as weights"),
        (lambda: make_gaussian_classes(1), "n_samples must be an integer at least 2"),
        (
            lambda: make_margin_scores(contradiction=1.5),
            "contradiction must be a number at least 0 and at most 1",
        ),
        (lambda: make_margin_scores(margin=0.0), "margin must be a number greater than 0"),
        (lambda: make_spurious_feature(flips=(0.1, 2.0)), "flips must be at most 1"),
        (lambda: make_spurious_feature(rng="seed"), "rng must be a seed"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.slow
def test_the_measures_find_the_stated_answers():
    from shiftmetrics.agreement import posterior_agreement
    from shiftmetrics.novelty import kernel_entropic_novelty
    from shiftmetrics.stability import ZeroOneLoss, stability_criterion

    scores = make_margin_scores(2000, n_classes=5, margin=40.0, contradiction=0.2, rng=0)
    found = posterior_agreement(scores.scores, scores.reference_scores)
    assert found.value == pytest.approx(scores.posterior_agreement, abs=1e-6)

    classes = make_gaussian_classes(200_000, separation=2.0, rng=0)
    loss = ZeroOneLoss(classes.distances)
    for options, expected in (
        ({"theta1": 0.4, "theta2": np.inf}, classes.corruption_stability(0.3, 0.4)),
        ({"theta1": np.inf, "theta2": 0.4}, classes.reweighting_stability(0.3, 0.4)),
    ):
        stability = stability_criterion(loss, 0.3, **options)
        assert abs(stability.value - expected) < 4 * stability.standard_error + 1e-6

    mixtures = make_mixtures(
        [1] * 4 + [0] * 4, [0] * 4 + [1] * 4, n_samples=1500, scale=0.005, rng=0
    )
    novelty = kernel_entropic_novelty(mixtures.features, mixtures.reference, bandwidth=0.2)
    assert novelty.value == pytest.approx(mixtures.ideal_novelty(), abs=0.02)
