"""Scorers of scikit-learn on known scores, and their quick forms."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

from pools import as_models, one_hot, pool
from shiftmetrics import Resampling, compare_agreement

FEW = Resampling(rng=0, n_resamples=60)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scorer", "n_classes"), [("roc_auc", 2), ("neg_log_loss", 3), ("f1", 2), ("roc_auc_ovr", 3)]
)
def test_any_scorer_of_scikit_learn_is_taken_by_its_name(scorer, n_classes):
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=200)
    X = rng.normal(size=(200, 3)) + labels[:, None]
    moved = X + rng.normal(size=X.shape)
    fitted = {f"C = {C}": LogisticRegression(C=C).fit(X, labels) for C in (1e-3, 1.0)}
    for method, kind in (("decision_function", "scores"), ("predict_proba", "probabilities")):
        before, after = (
            {name: getattr(m, method)(part) for name, m in fitted.items()} for part in (X, moved)
        )
        found = compare_agreement(
            after, before, labels=labels, criterion=scorer, kind=kind, resampling=FEW
        )
        for model in found.models:
            expected = metrics.get_scorer(scorer)(fitted[model.name], moved, labels)
            assert model.value == pytest.approx(expected)
        assert found.compared == f"{scorer} after the shift"


def test_scores_that_are_no_probabilities_are_turned_into_some():
    _, before, after = pool(n=50)
    labels = np.arange(50) % 4
    found = compare_agreement(
        as_models(after), as_models(before), labels=labels, criterion="neg_log_loss", resampling=FEW
    )
    row = after[int(found.best.name[-1])]
    assert found.value == pytest.approx(-metrics.log_loss(labels, softmax(one_hot(row, 4), axis=1)))


@pytest.mark.filterwarnings("ignore:Only one class")
def test_a_scorer_that_the_labels_do_not_define_is_refused():
    scores = {name: np.linspace(-1.0, 1.0, 30) for name in "ab"}
    with pytest.raises(ValueError, match="criterion must be defined by the rows and their labels"):
        compare_agreement(
            scores, scores, labels=np.zeros(30, int), criterion="roc_auc", resampling=FEW
        )


def test_the_area_under_the_curve_of_resamples_is_that_of_scikit_learn():
    from shiftmetrics.comparison.scorers import KnownScores, weighted_area_under_curve

    rng = np.random.default_rng(0)
    scores = rng.normal(size=(80, 2)).round(1)
    labels = rng.integers(2, size=80)
    area = weighted_area_under_curve(KnownScores(scores, np.array([0, 1])), labels)
    for _ in range(5):
        weights = rng.exponential(size=80)
        margins = scores[:, 1] - scores[:, 0]
        expected = metrics.roc_auc_score(labels, margins, sample_weight=weights)
        assert area(weights) == pytest.approx(expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_mean_log_probability_is_that_of_scikit_learn(n_classes) -> None:
    from shiftmetrics.comparison.scorers import KnownScores, mean_log_probability

    rng = np.random.default_rng(2)
    labels = rng.integers(n_classes, size=70)
    scores = 30.0 * rng.normal(size=(70, n_classes))  # some posteriors are below rounding
    order = np.arange(n_classes)[::-1]
    model = KnownScores(scores, order)
    score = mean_log_probability(model, labels)
    for _ in range(5):
        weights = rng.exponential(size=70)
        expected = metrics.log_loss(
            labels, model.predict_proba(np.arange(70)), sample_weight=weights
        )
        assert score(weights) == pytest.approx(-expected, rel=1e-12)
