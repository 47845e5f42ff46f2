"""Selection without labels in scikit-learn: conventions of its estimators, and who wins."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from shiftmetrics import Resampling, posterior_agreement
from shiftmetrics.adapters.sklearn import AgreementScorer, response_of

IRIS = load_iris(return_X_y=True)
DIGITS = tuple(part[:500] for part in load_digits(return_X_y=True))


def noise(X, *, strength, rng):
    """Gaussian noise for arrays and tables."""
    return X + strength * np.random.default_rng(rng).normal(size=X.shape)


# --- the scorer ------------------------------------------------------------------------------------------


def test_the_scorer_is_posterior_agreement():
    model = LogisticRegression(max_iter=500).fit(*IRIS)
    scorer = AgreementScorer(noise, strength=0.3, random_state=5, criterion="agreement")
    X = IRIS[0]
    expected = posterior_agreement(
        model.decision_function(noise(X, strength=0.3, rng=5)),
        model.decision_function(X),
        prior="predicted",
    )
    assert scorer(model, X) == scorer(model, X, IRIS[1][::-1]) == expected.value
    assert (
        scorer.measure(model, X, resampling=Resampling(confidence_level=0.9, rng=0)).interval.low
        < expected.value
    )
    assert pickle.loads(pickle.dumps(scorer))(model, X) == expected.value
    assert AgreementScorer(noise, strength=0.3, random_state=5)(model, X) == expected.normalized


def test_the_scorer_takes_scorers_of_the_shifted_sample():
    model, (X, y) = LogisticRegression(max_iter=500).fit(*IRIS), IRIS
    shifted = noise(X, strength=0.3, rng=5)
    found = {
        name: AgreementScorer(noise, strength=0.3, random_state=5, criterion=name)(model, X, y)
        for name in ("accuracy", "f1_macro", "accuracy_and_f1", "neg_log_loss")
    }
    assert found["accuracy"] == model.score(shifted, y)
    assert found["neg_log_loss"] == get_scorer("neg_log_loss")(model, shifted, y)
    assert found["accuracy_and_f1"] == pytest.approx((found["accuracy"] + found["f1_macro"]) / 2)
    with pytest.raises(ValueError, match="y must be given for the criterion 'accuracy', got None"):
        AgreementScorer(noise, strength=0.3, criterion="accuracy")(model, X)


@pytest.mark.parametrize(
    "method", ["auto", "decision_function", "predict_proba", "predict_log_proba"]
)
def test_response_methods(method):
    model = LogisticRegression(max_iter=500).fit(*IRIS)
    value = AgreementScorer(noise, strength=0.3, response_method=method)(model, IRIS[0])
    # A softmax takes constants off the rows alone, which changes no posterior.
    assert value == pytest.approx(AgreementScorer(noise, strength=0.3)(model, IRIS[0]), abs=1e-6)


def test_zeros_of_a_forest_are_floored():
    model = RandomForestClassifier(20, random_state=0).fit(*IRIS)
    scorers = [
        AgreementScorer(noise, strength=0.3, response_method=m)
        for m in ("predict_proba", "predict_log_proba")
    ]
    with np.errstate(divide="ignore"):
        values = [scorer(model, IRIS[0]) for scorer in scorers]
    assert values[0] == pytest.approx(values[1], abs=1e-9)
    assert 0.3 < values[0] < np.log(3) + 0.01


def test_binary_margins():
    X, y = IRIS[0][:100], IRIS[1][:100]
    scorer = AgreementScorer(noise, strength=0.1, criterion="agreement")
    assert scorer(SVC().fit(X, y), X) == pytest.approx(np.log(2), abs=1e-3)


def test_with_labels_the_default_is_the_accuracy_on_the_shifted_sample():
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    scorer = AgreementScorer(noise, strength=2.0, random_state=1)
    shifted, _ = scorer.pair(X)
    assert scorer(model, X, y) == model.score(shifted, y) < 0.9
    assert scorer(model, X) == scorer.measure(model, X).normalized


def test_scikit_learn_takes_the_scorer():
    scorer = AgreementScorer(noise, strength=0.3)
    values = cross_val_score(KNeighborsClassifier(), *IRIS, scoring=scorer, cv=3)
    assert values.shape == (3,)
    search = GridSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [3, 15]}, scoring=scorer, cv=3
    ).fit(*IRIS)
    assert search.best_params_["n_neighbors"] in (3, 15)


def test_a_search_by_labels_of_shifted_rows():
    """Computed here step by step: accuracy and macro F1 on the shifted fold left out."""
    X, y = DIGITS
    scorer = AgreementScorer(noise, strength=4.0, criterion="accuracy_and_f1", random_state=3)
    grid = {"C": [1e-6, 1e-3, 1.0]}
    search = GridSearchCV(LogisticRegression(max_iter=300), grid, scoring=scorer, cv=3).fit(X, y)
    expected = []
    for train, test in StratifiedKFold(3).split(X, y):
        fitted = LogisticRegression(C=1e-3, max_iter=300).fit(X[train], y[train])
        predicted = fitted.predict(noise(X[test], strength=4.0, rng=3))
        parts = accuracy_score(y[test], predicted), f1_score(y[test], predicted, average="macro")
        expected.append(np.mean(parts))
    found = [search.cv_results_[f"split{part}_test_score"][1] for part in range(3)]
    assert found == pytest.approx(expected)
    assert search.best_params_ == {"C": 1e-3}


def test_a_constant_classifier_never_wins_by_agreement():
    scorer = AgreementScorer(noise, strength=2.0, criterion="agreement")
    constant = DummyClassifier(strategy="constant", constant=1)
    scores = [
        cross_val_score(model, *IRIS, scoring=scorer, cv=3).mean()
        for model in (constant, GaussianNB())
    ]
    assert scores[0] < 1e-9 < scores[1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: AgreementScorer(3), TypeError, "shift must be a callable, got 3"),
        (
            lambda: AgreementScorer(noise),
            ValueError,
            "strength must be given for a shift that has one",
        ),
        (
            lambda: AgreementScorer(noise, strength=1, response_method="predict"),
            ValueError,
            "response_method must be",
        ),
        (
            lambda: response_of(LinearRegression().fit(*IRIS), IRIS[0]),
            TypeError,
            "estimator must be a classifier",
        ),
        (
            lambda: response_of(
                SVC(decision_function_shape="ovo").fit(*load_digits(return_X_y=True)),
                np.zeros((2, 64)),
            ),
            ValueError,
            'one column for each of 10 classes, got 45. Pass decision_function_shape="ovr"',
        ),
        (
            lambda: AgreementScorer(lambda X: X[:5])(GaussianNB().fit(*IRIS), IRIS[0]),
            ValueError,
            "keeps the 150 samples, got 5",
        ),
    ],
)
def test_bad_calls_of_the_scorer(call, error, message):
    with pytest.raises(error, match=message):
        call()
