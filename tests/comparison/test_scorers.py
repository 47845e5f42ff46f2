"""Scorers of scikit-learn on known scores, and their quick forms."""

import inspect
import warnings

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


QUICK = [
    "neg_log_loss",
    "neg_brier_score",
    "matthews_corrcoef",
    *[
        f"{rate}_{average}"
        for rate in ("precision", "recall", "f1", "jaccard")
        for average in ("macro", "micro", "weighted")
    ],
]
OF_TWO = [
    "roc_auc",
    "roc_auc_ovo",
    "roc_auc_ovr",
    "roc_auc_ovr_weighted",
    "average_precision",
    "precision",
    "recall",
    "f1",
    "jaccard",
]


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [*[(name, k) for name in QUICK for k in (2, 3)], *[(n, 2) for n in OF_TWO]],
)
def test_quick_forms_are_those_of_scikit_learn_for_all_models(name: str, n_classes: int) -> None:
    from shiftmetrics.comparison.scorers import KnownScores, resampled_scorer

    rng = np.random.default_rng(2)
    labels = rng.integers(n_classes, size=70)
    order = np.arange(n_classes)[::-1]
    models = [
        # some scores are equal, and one model predicts almost one class alone
        KnownScores(3.0 * rng.normal(size=(70, n_classes)), order),
        KnownScores(rng.normal(size=(70, n_classes)).round(), order),
        KnownScores(rng.normal(size=(70, n_classes)) + 9.0 * (order == 0), order),
    ]
    quick = resampled_scorer(name, models, labels)
    assert quick is not None
    scorer = metrics.get_scorer(name)
    if name == "neg_brier_score" and n_classes > 2 and not of_many_classes():
        pytest.skip("this version of scikit-learn has it for two classes alone")
    for _ in range(3):
        weights = rng.exponential(size=70)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a class that is never predicted
            expected = [
                scorer(model, np.arange(70), labels, sample_weight=weights) for model in models
            ]
        np.testing.assert_allclose(quick(weights), expected, rtol=1e-11, atol=1e-14)


def of_many_classes() -> bool:
    """Return True if the Brier score of scikit-learn takes more than two classes."""
    return "scale_by_half" in inspect.signature(metrics.brier_score_loss).parameters


def test_other_scorers_have_no_quick_form() -> None:
    from shiftmetrics.comparison.scorers import KnownScores, resampled_scorer

    models = [KnownScores(np.eye(3), np.arange(3))]
    for name in ("f1", "roc_auc", "f1_binary", "f1_samples", "top_k_accuracy"):
        assert resampled_scorer(name, models, np.arange(3)) is None


def test_log_probabilities_below_rounding_are_clipped() -> None:
    from shiftmetrics.comparison.scorers import KnownScores, log_probabilities

    rng = np.random.default_rng(2)
    labels = rng.integers(3, size=70)
    model = KnownScores(30.0 * rng.normal(size=(70, 3)), np.array([2, 1, 0]))
    expected = -metrics.log_loss(labels, model.predict_proba(np.arange(70)))
    found = log_probabilities(model, labels)
    assert found.mean() == pytest.approx(expected, rel=1e-12)
    assert found.min() == pytest.approx(np.log(np.finfo(float).eps))
