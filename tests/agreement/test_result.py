"""What a result of agreement says: fields, files, sentences and secondary metrics."""

import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import cohen_kappa_score

import oracles
from shiftmetrics._core.result import Result
from shiftmetrics.agreement import PosteriorAgreementResult, posterior_agreement
from shiftmetrics.comparison.ranking import has_collapsed


def pairs(*groups: tuple[int, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Binary pairs from groups (count, margin, reference margin)."""
    return (
        oracles.binary_scores(*((count, margin) for count, margin, _ in groups)),
        oracles.binary_scores(*((count, margin) for count, _, margin in groups)),
    )


def test_common_fields_and_round_trip(tmp_path: Path) -> None:
    scores, reference = oracles.noisy_pairs(12, 40, 5)
    for result in (
        posterior_agreement(scores, reference, sample_weight=np.arange(1, 41)),
        posterior_agreement(scores, scores),
    ):
        assert isinstance(result, Result)
        assert result.higher_is_better
        assert result.n_samples == 40
        assert result.n_classes == 5
        assert result.interval is None
        assert result.log_pa == pytest.approx(40 * (result.value - math.log(5)), abs=1e-12)
        assert result.settings["versions"]["numpy"] == np.__version__
        assert PosteriorAgreementResult.from_json(result.to_json()).equals(result)
        result.to_json(tmp_path / "result.json")
        assert Result.from_json(tmp_path / "result.json").equals(result)
        assert pickle.loads(pickle.dumps(result)).equals(result)
        frame = result.to_frame()
        assert frame.loc[0, "beta"] == result.beta


def test_the_summary_reads() -> None:
    text = posterior_agreement(*pairs((700, 1, 1), (300, -1, 1))).summary()
    assert text.startswith("30 % of the predictions change (kappa 0.00)")
    assert "agreement 0.08228 of a maximum of 0.6931 nats (12 %)" in text
    assert "flipping 30 % of them" in text
    assert "Higher is better" in text
    assert "infinite beta" in posterior_agreement([[0.0, 1.0]], [[0.0, 1.0]]).summary()
    assert "chance" in posterior_agreement([[0.0, 1.0]], [[1.0, 0.0]]).summary()


def test_secondary_metrics_of_a_rare_class() -> None:
    """A perfect detector of 5 % reaches its ceiling: nothing flips, and it has not collapsed."""
    margins = np.where(np.arange(1000) < 50, 2.0, -2.0)
    result = posterior_agreement(margins, 3.0 * margins, prior="predicted")
    assert result.value == pytest.approx(0.1985, abs=1e-4)
    assert (result.normalized, result.equivalent_error) == pytest.approx((1.0, 0.0))
    assert (result.changes.kappa, result.changes.confident) == (1.0, 0.0)
    assert result.ceiling == pytest.approx(result.value)
    np.testing.assert_allclose(result.class_fractions, [0.95, 0.05])
    assert not has_collapsed(result.class_fractions)
    assert result.warnings == ()


def test_kappa_is_that_of_cohen() -> None:
    rng = np.random.default_rng(0)
    reference = rng.normal([2.0, 0.0, 0.0, 0.0], size=(300, 4))
    shifted = reference + rng.normal(size=(300, 4))
    expected = cohen_kappa_score(shifted.argmax(axis=1), reference.argmax(axis=1))
    assert posterior_agreement(shifted, reference).changes.kappa == pytest.approx(expected)


@pytest.mark.parametrize("prior", [None, "predicted"])
def test_confident_changes_are_counted_at_the_best_beta(prior: str | None) -> None:
    rng = np.random.default_rng(1)
    reference = 2.0 * rng.normal(size=(400, 3)) + [1.0, 0.0, 0.0]
    shifted = reference + 1.5 * rng.normal(size=(400, 3))
    result = posterior_agreement(shifted, reference, prior=prior)
    sides = [
        softmax(result.beta * part + np.log(result.prior), axis=1) for part in (shifted, reference)
    ]
    changed = shifted.argmax(axis=1) != reference.argmax(axis=1)
    top = [
        side[np.arange(400), part.argmax(axis=1)]
        for side, part in zip(sides, (shifted, reference), strict=True)
    ]
    confident = changed & (np.minimum(*top) >= 0.9)
    assert 0 < confident.sum() < changed.sum()
    assert result.changes.confident == pytest.approx(confident.sum() / changed.sum())
    batches = [(shifted[k::4], reference[k::4]) for k in range(4)]
    assert posterior_agreement(batches, prior=prior).changes.confident == result.changes.confident
