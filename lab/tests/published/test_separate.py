"""Separate betas of two models: against grids over both betas."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from shiftmetrics import Computing
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics_lab.published import model_agreement

RNG = np.random.default_rng(11)
LABELS = RNG.integers(3, size=250)
CLEAN = RNG.normal(size=(250, 3)) + 1.5 * np.eye(3)[LABELS]
NOISY = CLEAN + 0.8 * RNG.normal(size=(250, 3))
NOISIER = CLEAN + 2.0 * RNG.normal(size=(250, 3))


def overlap(scores: np.ndarray, reference: np.ndarray, beta: float, reference_beta: float) -> float:
    p, q = (
        b * s - logsumexp(b * s, axis=1, keepdims=True)
        for s, b in ((scores, beta), (reference, reference_beta))
    )
    return math.log(scores.shape[1]) + float(logsumexp(p + q, axis=1).mean())


@pytest.mark.parametrize("seed", range(4))
def test_no_pair_of_betas_on_a_grid_agrees_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(50, 4)) * 10.0 ** rng.uniform(-1, 1, size=(50, 1))
    reference = scores + rng.normal(size=(50, 4)) * (0.3, 1.0, 3.0, 0.1)[seed]
    result = model_agreement(scores, 5 * reference)
    grid = 10.0 ** np.linspace(-2.5, 2.5, 26)
    best = max(overlap(scores, 5 * reference, b1, b2) for b1 in grid for b2 in grid)
    assert result.value >= best - 1e-5
    assert result.value >= result.common.value - 1e-9
    if math.isfinite(result.beta) and math.isfinite(result.reference_beta):
        at = overlap(scores, 5 * reference, result.beta, result.reference_beta)
        assert result.value == pytest.approx(at, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-180, 1e-3, 1e3, 1e180])
def test_scales_of_either_model_do_not_matter(scale: float) -> None:
    plain = model_agreement(NOISY, CLEAN)
    for result, factors in (
        (model_agreement(scale * NOISY, CLEAN), (scale, 1.0)),
        (model_agreement(NOISY, scale * CLEAN), (1.0, scale)),
    ):
        if 1e-100 < scale < 1e100:  # beyond, one model is flat beside the other in double precision
            assert result.value == pytest.approx(plain.value, abs=1e-5)
            assert result.beta * factors[0] == pytest.approx(plain.beta, rel=0.05)
            assert result.status.code == "local"
        else:
            assert math.isfinite(result.value)
    both = model_agreement(scale * NOISY, scale * CLEAN)
    assert both.value == pytest.approx(plain.value, abs=1e-5)


def test_sides_may_be_swapped_and_one_beta_may_be_shared() -> None:
    result = model_agreement(NOISY, 4 * CLEAN)
    swapped = model_agreement(4 * CLEAN, NOISY)
    assert swapped.value == pytest.approx(result.value, abs=1e-5)
    common = posterior_agreement(NOISY, 4 * CLEAN, computing=Computing(atol=1e-5))
    assert result.common.value == common.value
    assert result.value > common.value
    assert "beta = " in str(result)


def test_hard_predictions_against_calibrated_ones() -> None:
    """Votes of one side, probabilities of the other: the best posterior of the votes has infinite beta for none."""
    votes = np.eye(3)[NOISY.argmax(1)]
    result = model_agreement(votes, CLEAN)
    grid = 10.0 ** np.linspace(-2, 3, 26)
    best = max(overlap(votes, CLEAN, b1, b2) for b1 in grid for b2 in grid)
    assert result.value >= best - 1e-5


def test_ends_of_the_scale() -> None:
    perfect = model_agreement(7 * CLEAN, CLEAN)
    assert perfect.status.code == "boundary"
    assert perfect.value == pytest.approx(math.log(3))
    assert perfect.beta == perfect.reference_beta == math.inf
    nothing = model_agreement(-CLEAN, CLEAN)
    assert nothing.value == 0.0
    assert nothing.status.code == "no_agreement"
    flat = model_agreement(CLEAN, np.zeros((250, 3)))
    assert flat.value == pytest.approx(0.0, abs=1e-12)
    assert flat.status.ok


def test_weights_priors_and_other_arrays() -> None:
    weights = RNG.integers(0, 3, size=250)
    rows = np.repeat(np.arange(250), weights)
    weighted = model_agreement(NOISY, 3 * CLEAN, sample_weight=weights)
    assert weighted.value == pytest.approx(
        model_agreement(NOISY[rows], 3 * CLEAN[rows]).value, abs=2e-5
    )
    tensors = model_agreement(torch.tensor(NOISY), torch.tensor(3 * CLEAN))
    assert tensors.value == pytest.approx(model_agreement(NOISY, 3 * CLEAN).value, abs=1e-9)
    constant = np.tile([1.0, 0.0, 0.0], (250, 1))
    assert model_agreement(constant, 2 * constant, prior="predicted").value == pytest.approx(
        0.0, abs=1e-12
    )
    prior = [0.2, 0.3, 0.5]
    result = model_agreement(NOISY, CLEAN, prior=prior)
    assert result.value >= posterior_agreement(NOISY, CLEAN, prior=prior).value - 1e-6


@pytest.mark.slow
@pytest.mark.realdata
def test_networks_of_two_families_have_their_own_beta(data_folder: Path) -> None:
    with np.load(data_folder / "cifar10_logit_zoo" / "logits.npz", allow_pickle=False) as stored:
        networks = dict(zip(map(str, stored["model_names"]), stored["logits"], strict=True))
    first, second = networks["resnet20"], networks["resnet18_78acc"]
    own = model_agreement(first, second)
    assert own.value > own.common.value
    assert model_agreement(10 * first, second).value == pytest.approx(own.value, abs=1e-5)
