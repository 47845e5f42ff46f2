"""Several environments and models: against grids over both betas, separate calls and closed forms; bad input."""

import math

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from oracles import agreement_rows
from shiftmetrics.agreement import (
    AgreementMatrixResult,
    AgreementStatus,
    AgreementTransferResult,
    LabelAgreementResult,
    MatrixStatus,
    ModelAgreementResult,
    ModelAgreementStatus,
    TransferStatus,
    agreement_at,
    agreement_matrix,
    agreement_transfer,
    channel_capacity,
    label_agreement,
    model_agreement,
    posterior_agreement,
)

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


# --- two models, each at its own beta --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_no_pair_of_betas_on_a_grid_agrees_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(50, 4)) * 10.0 ** rng.uniform(-1, 1, size=(50, 1))
    reference = scores + rng.normal(size=(50, 4)) * (0.3, 1.0, 3.0, 0.1)[seed]
    result = model_agreement(scores, 5 * reference)
    grid = 10.0 ** np.linspace(-2.5, 2.5, 26)
    best = max(overlap(scores, 5 * reference, b1, b2) for b1 in grid for b2 in grid)
    assert result.value >= best - 1e-5
    assert result.value >= result.common_value - 1e-9
    if math.isfinite(result.beta) and math.isfinite(result.reference_beta):
        at = overlap(scores, 5 * reference, result.beta, result.reference_beta)
        assert result.value == pytest.approx(at, abs=1e-9)


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
            assert result.status is ModelAgreementStatus.local
        else:
            assert math.isfinite(result.value)
    both = model_agreement(scale * NOISY, scale * CLEAN)
    assert both.value == pytest.approx(plain.value, abs=1e-5)


def test_sides_may_be_swapped_and_one_beta_may_be_shared() -> None:
    result = model_agreement(NOISY, 4 * CLEAN)
    swapped = model_agreement(4 * CLEAN, NOISY)
    assert swapped.value == pytest.approx(result.value, abs=1e-5)
    common = model_agreement(NOISY, 4 * CLEAN, common_beta=True)
    certified = posterior_agreement(NOISY, 4 * CLEAN, atol=1e-5)
    assert common.value == certified.value
    assert common.beta == common.reference_beta == certified.beta
    assert common.status is ModelAgreementStatus.certified
    assert result.value > common.value
    assert "beta = " in result.headline()


def test_hard_predictions_against_calibrated_ones() -> None:
    """Votes of one side, probabilities of the other: the best posterior of the votes has infinite beta for none."""
    votes = np.eye(3)[NOISY.argmax(1)]
    result = model_agreement(votes, CLEAN)
    grid = 10.0 ** np.linspace(-2, 3, 26)
    best = max(overlap(votes, CLEAN, b1, b2) for b1 in grid for b2 in grid)
    assert result.value >= best - 1e-5


def test_ends_of_the_scale() -> None:
    perfect = model_agreement(7 * CLEAN, CLEAN)
    assert perfect.status is ModelAgreementStatus.boundary
    assert perfect.value == pytest.approx(math.log(3))
    assert perfect.beta == perfect.reference_beta == math.inf
    nothing = model_agreement(-CLEAN, CLEAN)
    assert nothing.value == 0.0
    assert nothing.status is ModelAgreementStatus.no_agreement
    flat = model_agreement(CLEAN, np.zeros((250, 3)))
    assert flat.value == pytest.approx(0.0, abs=1e-12)
    assert flat.status.ok


def test_weights_priors_and_other_arrays() -> None:
    weights = RNG.integers(0, 3, size=250)
    rows = np.repeat(np.arange(250), weights)
    weighted = model_agreement(NOISY, 3 * CLEAN, sample_weight=weights)
    assert weighted.value == pytest.approx(model_agreement(NOISY[rows], 3 * CLEAN[rows]).value, abs=2e-5)
    tensors = model_agreement(torch.tensor(NOISY), torch.tensor(3 * CLEAN))
    assert tensors.value == pytest.approx(model_agreement(NOISY, 3 * CLEAN).value, abs=1e-9)
    constant = np.tile([1.0, 0.0, 0.0], (250, 1))
    assert model_agreement(constant, 2 * constant, prior="predicted").value == pytest.approx(0.0, abs=1e-12)
    prior = [0.2, 0.3, 0.5]
    result = model_agreement(NOISY, CLEAN, prior=prior)
    assert result.value >= posterior_agreement(NOISY, CLEAN, prior=prior).value - 1e-6
    assert ModelAgreementResult.from_json(result.to_json()).equals(result)


# --- labels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.4, 0.9, 1.0])
def test_labels_by_a_grid(confidence: float) -> None:
    result = label_agreement(NOISY, LABELS, confidence=confidence)
    q = np.full((250, 3), (1 - confidence) / 2)
    q[np.arange(250), LABELS] = confidence

    def value(beta: float) -> float:
        p = np.exp(beta * NOISY - logsumexp(beta * NOISY, axis=1, keepdims=True))
        return float(np.log(3 * (p * q).sum(axis=1)).mean())

    grid = max(value(beta) for beta in 10.0 ** np.linspace(-3, 2, 501))
    assert result.value >= grid - 1e-9
    assert result.value == pytest.approx(grid, abs=1e-4)
    assert result.value == pytest.approx(value(result.beta), abs=1e-12)
    assert result.per_sample.mean() == pytest.approx(result.value)
    assert result.accuracy == np.mean(NOISY.argmax(1) == LABELS)
    assert result.status is AgreementStatus.converged
    assert LabelAgreementResult.from_json(result.to_json()).equals(result)


def test_equal_margins_have_the_capacity_of_their_error_rate() -> None:
    scores = np.eye(4)[np.where(np.arange(200) < 40, (np.arange(200) + 1) % 4, np.arange(200) % 4)]
    result = label_agreement(scores, np.arange(200) % 4)
    assert result.value == pytest.approx(channel_capacity(0.2, 4), abs=1e-6)
    assert result.equivalent_error == pytest.approx(0.2, abs=1e-3)


def test_label_edges() -> None:
    perfect = label_agreement(np.eye(3)[LABELS], LABELS)
    assert (perfect.beta, perfect.status) == (math.inf, AgreementStatus.boundary)
    assert perfect.value == pytest.approx(math.log(3))
    assert perfect.per_sample == pytest.approx(np.full(250, math.log(3)))
    unsure = label_agreement(np.eye(3)[LABELS], LABELS, confidence=0.8)
    assert (unsure.beta, unsure.value) == (math.inf, pytest.approx(math.log(3 * 0.8)))
    wrong = label_agreement(-CLEAN, CLEAN.argmax(1))
    assert (wrong.beta, wrong.value) == (0.0, 0.0)
    chance = label_agreement(CLEAN, LABELS, confidence=1 / 3)
    assert chance.value == pytest.approx(0.0, abs=1e-12)
    prior = label_agreement(np.eye(3)[LABELS], LABELS, prior=np.bincount(LABELS))
    assert prior.value == pytest.approx(-np.log(np.bincount(LABELS) / 250) @ np.bincount(LABELS) / 250)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 0.2}, "confidence must be at least 0.333333, the prior of a label, got 0.2"),
        ({"confidence": 1.1}, "confidence must be a number"),
        ({"prior": "predicted"}, "prior must be None or an array"),
        ({"prior": [0.0, 0.5, 0.5]}, "prior must be positive for every class that is a label, got 0 for 0"),
        ({"labels": np.full(250, 3)}, "labels must be classes of the scores"),
    ],
)
def test_bad_labels_are_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        label_agreement(**{"scores": NOISY, "labels": LABELS, **options})


# --- all pairs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("common_beta", [True, False])
def test_the_matrix_holds_what_pairs_give(common_beta: bool) -> None:
    samples = {"clean": CLEAN, "noisy": 3 * NOISY, "noisier": NOISIER}
    matrix = agreement_matrix(samples, common_beta=common_beta)
    assert matrix.status is (MatrixStatus.certified if common_beta else MatrixStatus.local)
    np.testing.assert_array_equal(matrix.agreement, matrix.agreement.T)
    assert matrix.agreement.diagonal() == pytest.approx(np.full(3, math.log(3)))
    names = list(samples)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        alone = model_agreement(samples[names[i]], samples[names[j]], common_beta=common_beta)
        assert matrix.agreement[i, j] == alone.value
        assert (matrix.beta[i, j], matrix.beta[j, i]) == (alone.beta, alone.reference_beta)
        assert matrix.disagreement[i, j] == alone.disagreement
    assert matrix.value == pytest.approx(matrix.normalized[np.triu_indices(3, 1)].mean())
    assert matrix.means[0] == pytest.approx(matrix.normalized[0, 1:].mean())
    assert "closest are clean and noisy" in matrix.headline()
    assert matrix.to_frame().loc["clean", "noisier"] == matrix.normalized[0, 2]
    assert AgreementMatrixResult.from_json(matrix.to_json()).equals(matrix)
    assert matrix.equivalent_error[0, 0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"one": CLEAN}, "scores must be a mapping of at least two names to scores, got 1 of them"),
        (CLEAN, "got ndarray"),
        ({"one": CLEAN, "two": CLEAN[:9]}, "must have the same shape"),
    ],
)
def test_bad_matrices_are_named(scores: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agreement_matrix(scores)


# --- one beta carried over -------------------------------------------------------------------------------


def test_environments_are_read_at_the_fitted_beta() -> None:
    result = agreement_transfer({"noisy": NOISY, "noisier": NOISIER}, CLEAN, fit_on="noisy")
    fitted = posterior_agreement(NOISY, CLEAN)
    assert result.beta == fitted.beta
    for k, scores in enumerate((NOISY, NOISIER)):
        rows = np.asarray(agreement_rows(scores, CLEAN, fitted.beta), dtype=float)
        assert result.agreement[k] == pytest.approx(agreement_at(scores, CLEAN, beta=fitted.beta).value)
        assert result.standard_error[k] == pytest.approx(rows.std(ddof=1) / math.sqrt(250))
        assert result.own_agreement[k] == posterior_agreement(scores, CLEAN).value
    assert result.loss[0] == pytest.approx(0.0, abs=1e-9)
    assert result.loss[1] > 0.0
    assert result.value == result.agreement[1]
    assert len(result.to_frame()) == 2
    assert "noisier misses most" in result.headline()
    assert AgreementTransferResult.from_json(result.to_json()).equals(result)
    each = agreement_transfer(
        {"noisy": NOISY, "half": NOISIER[:99]}, {"noisy": CLEAN, "half": CLEAN[:99]}, fit_on="noisy"
    )
    assert each.n_rows.tolist() == [250, 99]


def test_an_infinite_beta_meets_a_contradiction() -> None:
    result = agreement_transfer({"same": 2 * CLEAN, "noisy": NOISY}, CLEAN, fit_on="same")
    assert result.beta == math.inf
    assert result.agreement[1] == -math.inf
    assert result.status is TransferStatus.contradiction
    assert not result.status.ok
    assert AgreementTransferResult.from_json(result.to_json()).equals(result)
    nothing = agreement_transfer({"opposite": -CLEAN, "noisy": NOISY}, CLEAN, fit_on="opposite")
    assert nothing.status is TransferStatus.no_agreement
    assert nothing.agreement.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"a": CLEAN}, CLEAN, "a"), "scores must be a mapping of at least two environments"),
        (({"a": CLEAN, "b": NOISY}, CLEAN, "c"), "fit_on must be one of 'a', 'b', got 'c'"),
        (
            ({"a": CLEAN, "b": NOISY}, {"a": CLEAN}, "a"),
            "reference_scores must be a mapping with the environments",
        ),
    ],
)
def test_bad_environments_are_named(arguments: tuple, message: str) -> None:
    scores, reference, fit_on = arguments
    with pytest.raises(ValueError, match=message):
        agreement_transfer(scores, reference, fit_on=fit_on)
