"""Feature likelihood divergence: its fit is a maximum, it punishes copies, and bad input is named."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from shiftmetrics import Computing, Result
from shiftmetrics_lab.baselines import feature_likelihood_divergence
from shiftmetrics_lab.baselines.likelihood import _fit


@pytest.fixture(scope="module")
def data():
    return tuple(np.random.default_rng(0).normal(size=(4, 150, 5)))


def log_density(rows, centers, log_variances):
    squares = ((rows[:, None] - centers) ** 2).sum(axis=2)
    return -0.5 * squares / np.exp(log_variances) - 0.5 * rows.shape[1] * (
        np.log(2 * np.pi) + log_variances
    )


def test_the_fit_is_the_maximum_that_another_optimiser_finds():
    rng = np.random.default_rng(0)
    rows, centers = rng.normal(size=(60, 3)), rng.normal(size=(12, 3))
    mean = rows.mean(axis=0, keepdims=True)

    def loss(parameters):
        around = log_density(rows, centers, parameters[:-1]) - np.log(12)
        background = log_density(rows, mean, parameters[-1:])
        return -np.mean(logsumexp(np.hstack([around, background]), axis=1)) / 3

    start = np.log(((rows[:, None] - centers) ** 2).sum(axis=2).min(axis=0) / 3)
    spread = np.log(((rows - mean) ** 2).sum(axis=1).mean() / 3)
    other = minimize(loss, np.r_[start, spread], method="L-BFGS-B")
    fit = _fit(centers, rows, Computing(rtol=1e-12, max_iter=20_000))
    assert fit.converged
    # The background's variance is not returned: take the best one for the variances that are.
    mine = min(loss(np.r_[np.log(fit.variances), tau]) for tau in np.linspace(-3, 3, 2001))
    assert mine == pytest.approx(other.fun, abs=1e-3)


def test_the_value_is_the_difference_of_likelihoods(data):
    training, held_out, fresh, _ = data
    result = feature_likelihood_divergence(fresh, held_out, training=training)
    mean, scale = held_out.mean(axis=0), held_out.std(axis=0, ddof=1)
    rows, centers = (held_out - mean) / scale, (fresh - mean) / scale
    density = (
        logsumexp(
            log_density(rows, centers, np.log(result.parts["variances"])) - np.log(150), axis=1
        ).mean()
        / 5
    )
    assert result.parts["log_likelihood"] == pytest.approx(density, abs=1e-12)
    assert result.value == pytest.approx(100 * (result.parts["baseline"] - density))
    assert result.status.code == "converged"


def test_copies_noise_and_collapse_score_worse_than_fresh_data(data):
    training, held_out, fresh, other = data
    rng = np.random.default_rng(1)

    def value(sample):
        return feature_likelihood_divergence(sample, held_out, training=training)

    good = value(fresh)
    copied = value(training + 1e-3 * other)
    assert abs(good.value) < 20
    assert copied.value > 100 > 10 > good.value
    assert copied.parts["gap"] < -100
    assert abs(good.parts["gap"]) < 30
    collapsed = fresh[:2].repeat(75, axis=0) + 0.01 * other
    assert value(collapsed).value > good.value + 2
    assert value(fresh + 3.0).value > good.value + 10  # far away
    assert value(3.0 * rng.normal(size=(150, 5))).value > good.value + 5  # too wide
    exact = value(training)
    assert exact.warnings
    assert np.isfinite(exact.value)


def test_units_do_not_matter(data):
    training, held_out, fresh, _ = data
    plain = feature_likelihood_divergence(fresh, held_out, training=training)
    scale = np.array([1.0, 10.0, 1e-3, 5.0, 2.0])
    other = feature_likelihood_divergence(
        7 + scale * fresh, 7 + scale * held_out, training=7 + scale * training
    )
    assert other.value == pytest.approx(plain.value, abs=1e-6)


def test_a_constant_column_and_the_limit_of_rounds(data):
    training, held_out, fresh, _ = (np.c_[part, np.ones(150)] for part in data)
    assert np.isfinite(feature_likelihood_divergence(fresh, held_out, training=training).value)
    short = feature_likelihood_divergence(
        fresh, held_out, training=training, computing=Computing(max_iter=1)
    )
    assert short.status.code == "max_iter"
    assert not short.status.ok
    assert Result.from_json(short.to_json()).equals(short)


def test_bad_input_is_named(data):
    training, held_out, fresh, _ = data
    with pytest.raises(
        ValueError, match="training must be of as many columns as features, 5, got 2"
    ):
        feature_likelihood_divergence(fresh, held_out, training=training[:, :2])
    with pytest.raises(ValueError, match="training must be an array of at least 4 row"):
        feature_likelihood_divergence(fresh, held_out, training=training[:3])
    with pytest.raises(ValueError, match="reference must be finite"):
        feature_likelihood_divergence(fresh, held_out * np.nan, training=training)
    with pytest.raises(MemoryError, match="Take fewer rows of each"):
        feature_likelihood_divergence(
            fresh, held_out, training=training, computing=Computing(memory_limit=1000)
        )
