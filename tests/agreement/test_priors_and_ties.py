"""Posterior agreement with a prior over the classes, and where scores tie."""

import math

import numpy as np
import pytest

import oracles
from shiftmetrics.agreement import posterior_agreement

LOG2 = math.log(2)


# --- priors ----------------------------------------------------------------------------------------------


def test_a_uniform_prior_is_the_default() -> None:
    scores, reference = oracles.noisy_pairs(3, 100, 4)
    first, second = (
        posterior_agreement(scores, reference, prior=prior) for prior in (None, np.full(4, 5.0))
    )
    assert first.value == pytest.approx(second.value, abs=1e-14)
    assert second.prior == pytest.approx(np.full(4, 0.25))


@pytest.mark.parametrize("seed", range(4))
def test_a_prior_stands_inside_the_posteriors(seed: int) -> None:
    scores, reference = oracles.noisy_pairs(seed, 60, 4)
    prior = np.random.default_rng(seed).dirichlet(np.ones(4))
    result = posterior_agreement(scores, reference, prior=prior)
    assert oracles.agreement(scores, reference, result.beta, prior) == pytest.approx(
        result.value, abs=1e-12
    )
    assert posterior_agreement(scores, reference, beta=0.0, prior=prior).value == pytest.approx(
        0.0, abs=1e-15
    )
    assert result.value <= -math.log(prior.min())
    for beta in np.geomspace(1e-3, 1e3, 100):
        assert (
            oracles.agreement(scores, reference, beta, prior) <= result.value + result.error_bound
        )


def test_with_the_predicted_prior_a_constant_classifier_scores_nothing() -> None:
    constant = np.zeros((100, 5))
    constant[:, 2] = np.linspace(1, 2, 100)
    robust = posterior_agreement(constant, constant[::-1])
    assert robust.value == pytest.approx(math.log(5))
    assert robust.effective_classes == pytest.approx(1.0)
    assert "constant" in robust.warnings[0]
    assert 'prior="predicted"' in robust.warnings[0]
    result = posterior_agreement(constant, constant[::-1], prior="predicted")
    assert result.value == 0.0
    assert result.status.code == "no_agreement"
    assert result.settings["prior"] == "predicted"


def test_the_predicted_prior_is_the_share_of_predictions_as_served() -> None:
    """Of tied classes the first is predicted, as by argmax."""
    scores = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    reference = np.array([[0.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    result = posterior_agreement(scores, reference, prior="predicted")
    assert result.prior == pytest.approx([3 / 4, 0.0, 1 / 4])
    shares = result.prior[[0, 2]]
    assert result.effective_classes == pytest.approx(math.exp(-np.sum(shares * np.log(shares))))


def test_perfect_agreement_under_the_predicted_prior_is_its_entropy() -> None:
    reference = np.random.default_rng(0).normal(size=(200, 4)) + np.array([2.0, 1.0, 0.0, 0.0])
    result = posterior_agreement(reference * 1.7, reference, prior="predicted")
    assert result.status.code == "boundary"
    assert result.value == pytest.approx(math.log(result.effective_classes), abs=1e-12)


def test_a_class_of_prior_zero_drops_out() -> None:
    scores, reference = oracles.noisy_pairs(4, 50, 4)
    scores[:, 3] += 100  # it would be predicted everywhere
    result = posterior_agreement(scores, reference, prior=[0.5, 0.25, 0.25, 0.0])
    without = posterior_agreement(scores[:, :3], reference[:, :3], prior=[0.5, 0.25, 0.25])
    assert result.value == pytest.approx(without.value, abs=1e-13)
    assert result.n_classes == 4
    assert posterior_agreement(scores, reference, prior=[0, 0, 1, 0]).value == 0.0


# --- ties ------------------------------------------------------------------------------------------------


def test_ties_cost_agreement_at_the_boundary() -> None:
    reference = np.array([[1.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    result = posterior_agreement(reference, reference[:, [0, 1, 2]].copy())
    # both sets {0, 1}: log(3 * 2 / 4); both {0}: log 3
    assert result.status.code == "boundary"
    assert result.value == pytest.approx((math.log(1.5) + math.log(3)) / 2)
    assert result.per_sample == pytest.approx([math.log(1.5), math.log(3)])


def test_a_finite_beta_can_beat_a_limit_with_ties() -> None:
    # Rows of ties gain nothing at infinity; the middle class is shared by near misses.
    scores = np.array([[1.0, 0.99, -5.0], [1.0, 1.0, 1.0]])
    reference = np.array([[1.0, 0.99, -5.0], [1.0, 1.0, 1.0]])
    result = posterior_agreement(scores, reference)
    grid = [oracles.agreement(scores, reference, beta) for beta in np.geomspace(1e-3, 1e5, 300)]
    assert max(grid) <= result.value + result.error_bound


def test_all_scores_tied_is_no_agreement() -> None:
    result = posterior_agreement(np.ones((5, 3)), np.full((5, 3), 7.0))
    assert result.value == 0.0
    assert result.beta == 0.0
    assert result.status.code == "no_agreement"
    assert result.search.n_evaluations == 0
    # A tie is one class: such a model uses one of three, and there is no agreement beyond chance.
    assert result.effective_classes == 1.0
    assert result.changes.kappa == 0.0
    assert result.changes.n_tied == 5


def test_what_changes_is_what_argmax_changes() -> None:
    """Scores rounded to 4 bits tie; the first of tied classes is served, and some predictions change."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2000, 4)) + 2.0 * np.eye(4)[rng.integers(4, size=2000)]
    rounded = np.round(scores * 2.0) / 2.0
    changed = np.mean(rounded.argmax(axis=1) != scores.argmax(axis=1))
    assert 0.01 < changed < 0.1
    result = posterior_agreement(rounded, scores)
    # Every pair shares a class of largest score, so that beta may rise without end.
    assert result.changes.disagreement == pytest.approx(changed)
    tied = np.sum(rounded == rounded.max(axis=1, keepdims=True), axis=1) > 1
    assert result.changes.n_tied == tied.sum()
    assert "None" not in result.headline()
    assert f"In {tied.sum()} of the 2000 pairs" in " ".join(result.notes())
    with_interval = posterior_agreement(rounded, scores, resampling=0.95)
    interval = with_interval.changes.disagreement_interval
    assert 0.0 < interval.low < changed < interval.high
