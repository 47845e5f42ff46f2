"""Scores of confusions: by hand, and confusions of several models against counting."""

import numpy as np
import pytest

from shiftmetrics.comparison.counts import confusions_of, scorer_of_confusions

# 6 hits of the first class and 2 of the second; 1 and 3 errors; the second model is always right
CONFUSIONS = np.array([[[6.0, 1.0], [3.0, 2.0]], [[7.0, 0.0], [0.0, 5.0]]])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("precision", 2 / 3),
        ("recall", 2 / 5),
        ("f1", 4 / 8),
        ("jaccard", 2 / 6),
        ("precision_macro", (6 / 9 + 2 / 3) / 2),
        ("recall_weighted", 8 / 12),
        ("f1_micro", 8 / 12),
        ("jaccard_macro", (6 / 10 + 2 / 6) / 2),
        ("positive_likelihood_ratio", (2 / 5) / (1 / 7)),
        ("neg_negative_likelihood_ratio", -(3 / 5) / (6 / 7)),
        ("matthews_corrcoef", (6 * 2 - 1 * 3) / np.sqrt(7 * 5 * 9 * 3)),
    ],
)
def test_scores_by_hand(name: str, expected: float) -> None:
    score = scorer_of_confusions(name, 2)
    assert score is not None
    of_perfect = {"positive_likelihood_ratio": np.nan, "neg_negative_likelihood_ratio": 0.0}
    np.testing.assert_allclose(score(CONFUSIONS), [expected, of_perfect.get(name, 1.0)], rtol=1e-14)


def test_nothing_predicted_is_zero() -> None:
    constant = np.array([[[4.0, 0.0], [3.0, 0.0]]])
    for name in ("precision", "recall", "f1", "jaccard", "matthews_corrcoef"):
        score = scorer_of_confusions(name, 2)
        assert score is not None
        assert score(constant) == [0.0]


@pytest.mark.parametrize("name", ["accuracy", "f1_samples", "f1_binary", "roc_auc", "jaccard_"])
def test_other_names_have_no_form(name: str) -> None:
    assert scorer_of_confusions(name, 3) is None
    assert scorer_of_confusions("f1", 3) is None


def test_confusions_are_counts_by_weight() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=50)
    predictions = rng.integers(3, size=(2, 50))
    weights = rng.exponential(size=50)
    found = confusions_of(labels, predictions, 3)(weights)
    for model in range(2):
        for label in range(3):
            for predicted in range(3):
                there = (labels == label) & (predictions[model] == predicted)
                assert found[model, label, predicted] == pytest.approx(weights[there].sum())
