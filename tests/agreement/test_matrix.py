"""All pairs, and one beta carried to other environments: against separate calls; bad input."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from oracles import agreement_rows
from shiftmetrics import Computing
from shiftmetrics.agreement import (
    AgreementMatrixResult,
    agreement_matrix,
    agreement_transfer,
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


# --- all pairs -------------------------------------------------------------------------------------------


def test_the_matrix_holds_what_pairs_give() -> None:
    samples = {"clean": CLEAN, "noisy": 3 * NOISY, "noisier": NOISIER}
    matrix = agreement_matrix(samples)
    assert matrix.status.code == "certified"
    np.testing.assert_array_equal(matrix.agreement, matrix.agreement.T)
    assert matrix.agreement.diagonal() == pytest.approx(np.full(3, math.log(3)))
    names = list(samples)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        alone = posterior_agreement(samples[names[i]], samples[names[j]], computing=Computing(atol=1e-5))
        assert matrix.agreement[i, j] == alone.value
        assert matrix.beta[i, j] == matrix.beta[j, i] == alone.beta
        assert matrix.disagreement[i, j] == alone.disagreement
    assert matrix.value == pytest.approx(matrix.normalized[np.triu_indices(3, 1)].mean())
    assert matrix.means[0] == pytest.approx(matrix.normalized[0, 1:].mean())
    assert "agree most between clean and noisy" in matrix.headline()
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
    for j, fitted in enumerate((NOISY, NOISIER)):
        own = posterior_agreement(fitted, CLEAN)
        assert result.beta[:, j].tolist() == [own.beta] * 2
        assert result.agreement[j, j] == own.value
        for i, scores in enumerate((NOISY, NOISIER)):
            rows = np.asarray(agreement_rows(scores, CLEAN, own.beta), dtype=float)
            there = posterior_agreement(scores, CLEAN, beta=own.beta)
            assert result.agreement[i, j] == pytest.approx(there.value)
            assert result.standard_error[i, j] == pytest.approx(rows.std(ddof=1) / math.sqrt(250))
    assert result.loss[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert result.loss[1, 0] > 0.0
    assert result.value == pytest.approx(result.normalized[1, 0])
    assert len(result.to_frame()) == 2
    assert "noisier misses most" in result.headline()
    assert AgreementMatrixResult.from_json(result.to_json()).equals(result)
    each = agreement_transfer(
        {"noisy": NOISY, "half": NOISIER[:99]}, {"noisy": CLEAN, "half": CLEAN[:99]}, fit_on="noisy"
    )
    assert each.n_rows.tolist() == [250, 99]
    both = agreement_transfer({"noisy": NOISY, "noisier": NOISIER}, CLEAN)
    assert both.value == pytest.approx((both.normalized[0, 1] + both.normalized[1, 0]) / 2)


def test_a_predicted_prior_is_the_mean_over_environments() -> None:
    result = agreement_transfer({"noisy": NOISY, "noisier": NOISIER}, CLEAN, prior="predicted")
    shares = [posterior_agreement(scores, CLEAN, prior="predicted").prior for scores in (NOISY, NOISIER)]
    expected = posterior_agreement(NOISY, CLEAN, prior=np.mean(shares, axis=0))
    assert result.agreement[0, 0] == pytest.approx(expected.value, abs=1e-6)
    assert (result.loss >= -1e-5).all()


def test_an_infinite_beta_meets_a_contradiction() -> None:
    result = agreement_transfer({"same": 2 * CLEAN, "noisy": NOISY}, CLEAN, fit_on="same")
    assert result.beta[0, 0] == math.inf
    assert result.agreement[1, 0] == -math.inf
    assert result.status.code == "contradiction"
    assert not result.status.ok
    assert AgreementMatrixResult.from_json(result.to_json()).equals(result)
    nothing = agreement_transfer({"opposite": -CLEAN, "noisy": NOISY}, CLEAN, fit_on="opposite")
    assert nothing.status.code == "no_agreement"
    assert nothing.agreement[:, 0].tolist() == [0.0, 0.0]


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
