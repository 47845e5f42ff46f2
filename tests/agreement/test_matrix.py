"""All pairs: against separate calls; bad input."""

import math

import numpy as np
import pytest

from shiftmetrics import Computing
from shiftmetrics.agreement import (
    AgreementMatrixResult,
    agreement_matrix,
    posterior_agreement,
)

RNG = np.random.default_rng(11)
LABELS = RNG.integers(3, size=250)
CLEAN = RNG.normal(size=(250, 3)) + 1.5 * np.eye(3)[LABELS]
NOISY = CLEAN + 0.8 * RNG.normal(size=(250, 3))
NOISIER = CLEAN + 2.0 * RNG.normal(size=(250, 3))


def test_the_matrix_holds_what_pairs_give() -> None:
    samples = {"clean": CLEAN, "noisy": 3 * NOISY, "noisier": NOISIER}
    matrix = agreement_matrix(samples)
    assert matrix.status.code == "certified"
    np.testing.assert_array_equal(matrix.agreement, matrix.agreement.T)
    assert matrix.agreement.diagonal() == pytest.approx(np.full(3, math.log(3)))
    names = list(samples)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        alone = posterior_agreement(
            samples[names[i]], samples[names[j]], computing=Computing(atol=1e-5)
        )
        assert matrix.agreement[i, j] == alone.value
        assert matrix.beta[i, j] == matrix.beta[j, i] == alone.beta
        assert matrix.disagreement[i, j] == alone.changes.disagreement
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
