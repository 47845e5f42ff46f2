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
from shiftmetrics._core.exceptions import ArgumentValueError

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


QUICK = [
    "neg_log_loss",
    "neg_brier_score",
    "d2_log_loss_score",
    "d2_brier_score",
    "top_k_accuracy",
    "average_precision",
    "roc_auc_ovr",
    "roc_auc_ovr_weighted",
    "matthews_corrcoef",
    *[
        f"{rate}_{average}"
        for rate in ("precision", "recall", "f1", "jaccard")
        for average in ("macro", "micro", "weighted")
    ],
]
OF_TWO = ["roc_auc", "roc_auc_ovo", "roc_auc_ovo_weighted", "precision", "recall", "f1", "jaccard"]


def three_models(n_classes: int, n_samples: int = 70):
    """Return labels and models: with some equal scores in the second, and almost one class alone in the third."""
    from shiftmetrics.comparison.scorers import KnownScores

    rng = np.random.default_rng(2)
    labels = rng.integers(n_classes, size=n_samples)
    order = np.arange(n_classes)[::-1]
    shape = n_samples, n_classes
    scores = [
        3.0 * rng.normal(size=shape),
        rng.normal(size=shape).round(),
        rng.normal(size=shape) + 9.0 * (order == 0),
    ]
    return labels, [KnownScores(part, order) for part in scores]


def asked(name: str, models, labels, weights=None, rows=None):
    """Return what scikit-learn itself answers, on some rows."""
    rows = np.arange(len(labels)) if rows is None else rows
    used = {} if weights is None else {"sample_weight": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a class that is never predicted
        scorer = metrics.get_scorer(name)
        return [scorer(model, rows, labels[rows], **used) for model in models]


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [*[(name, k) for name in QUICK for k in (2, 3)], *[(n, 2) for n in OF_TWO]],
)
def test_quick_forms_are_those_of_scikit_learn_for_all_models(name: str, n_classes: int) -> None:
    from shiftmetrics.comparison.scorers import resampled_scorer

    labels, models = three_models(n_classes)
    quick = resampled_scorer(name, models, labels)
    assert quick is not None
    if name == "neg_brier_score" and n_classes > 2 and not of_many_classes():
        pytest.skip("this version of scikit-learn has it for two classes alone")
    if name not in metrics.get_scorer_names():
        pytest.skip("this version of scikit-learn does not have it")
    rng = np.random.default_rng(3)
    for _ in range(3):
        weights = rng.exponential(size=70)
        expected = asked(name, models, labels, weights)
        np.testing.assert_allclose(quick(weights), expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [
        ("roc_auc_ovo", 4),
        ("roc_auc_ovo_weighted", 4),
        ("positive_likelihood_ratio", 2),
        ("neg_negative_likelihood_ratio", 2),
    ],
)
def test_scorers_that_take_no_weights_count_repeated_rows(name: str, n_classes: int) -> None:
    from shiftmetrics.comparison.scorers import resampled_scorer

    labels, models = three_models(n_classes)
    quick = resampled_scorer(name, models[:2], labels)
    assert quick is not None
    times = np.random.default_rng(4).integers(1, 4, size=70)
    repeated = np.repeat(np.arange(70), times)
    expected = asked(name, models[:2], labels, rows=repeated)
    np.testing.assert_allclose(quick(times.astype(float)), expected, rtol=1e-11)


def of_many_classes() -> bool:
    """Return True if the Brier score of scikit-learn takes more than two classes."""
    return "scale_by_half" in inspect.signature(metrics.brier_score_loss).parameters


def test_other_scorers_have_no_quick_form() -> None:
    from shiftmetrics.comparison.scorers import KnownScores, resampled_scorer

    models = [KnownScores(np.eye(3), np.arange(3))]
    for name in ("f1", "roc_auc", "f1_binary", "f1_samples", "positive_likelihood_ratio"):
        assert resampled_scorer(name, models, np.arange(3)) is None


def test_every_scorer_of_classes_is_quick_or_refused() -> None:
    """None that answers is left to be asked again for every model and resample."""
    from shiftmetrics.comparison.scorers import asked_scorer, resampled_scorer, scorer_of_classes

    # these come with criteria of their own
    own = {"accuracy", "balanced_accuracy"}
    for n_classes in (2, 3):
        labels, models = three_models(n_classes)
        for name in sorted(set(metrics.get_scorer_names()) - own):
            try:
                scorer_of_classes(name)
            except ValueError as error:
                assert error.argument == "criterion"  # noqa: PT017
                continue
            if resampled_scorer(name, models, labels) is not None:
                continue
            with pytest.raises(ValueError, match="criterion"):
                asked_scorer(name, models, labels)(np.ones(70))


def test_a_scorer_without_a_quick_form_is_asked_for_each_model() -> None:
    from shiftmetrics.comparison.scorers import asked_scorer

    labels, models = three_models(3)
    weights = np.random.default_rng(3).exponential(size=70)
    expected = asked("jaccard_macro", models, labels, weights)
    assert asked_scorer("jaccard_macro", models, labels)(weights).tolist() == expected


@pytest.mark.parametrize("name", ["r2", "neg_mean_absolute_error", "rand_score", "no_such_score"])
def test_scores_of_something_else_than_classes_are_refused(name: str) -> None:
    """Numbers of classes are no numbers: another order of the same classes would give another answer."""
    scores = {name: np.random.default_rng(0).normal(size=(30, 3)) for name in "ab"}
    with pytest.raises(ArgumentValueError) as caught:
        compare_agreement(scores, scores, labels=np.arange(30) % 3, criterion=name, resampling=FEW)
    assert caught.value.argument == "criterion"
    assert name in str(caught.value)


def test_log_probabilities_below_rounding_are_clipped() -> None:
    from shiftmetrics.comparison.scorers import KnownScores, log_probabilities

    rng = np.random.default_rng(2)
    labels = rng.integers(3, size=70)
    model = KnownScores(30.0 * rng.normal(size=(70, 3)), np.array([2, 1, 0]))
    expected = -metrics.log_loss(labels, model.predict_proba(np.arange(70)))
    found = log_probabilities(model, labels)
    assert found.mean() == pytest.approx(expected, rel=1e-12)
    assert found.min() == pytest.approx(np.log(np.finfo(float).eps))
