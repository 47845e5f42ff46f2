"""Selection without labels in scikit-learn: conventions of its estimators, and who wins."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    ParameterSampler,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracles
from shiftmetrics import Resampling, posterior_agreement
from shiftmetrics.adapters.sklearn import AgreementScorer, AgreementSearchCV
from shiftmetrics.adapters.sklearn.scorer import response_of

IRIS = load_iris(return_X_y=True)
DIGITS = tuple(part[:500] for part in load_digits(return_X_y=True))


def noise(X, *, strength, rng):
    """Gaussian noise for arrays and tables."""
    return X + strength * np.random.default_rng(rng).normal(size=X.shape)


class SlightlyLarger:
    """A shift; named without an address, since test workers must find the same names of tests."""

    def __call__(self, X):
        return 1.01 * (X if hasattr(X, "tocsr") else np.asarray(X, dtype=float))

    def __repr__(self):
        return "slightly_larger"


slightly_larger = SlightlyLarger()


def expected_failures(search: AgreementSearchCV) -> dict[str, str]:
    few = "ten rows in two folds and two halves leave a half without a class, which is said"
    return {} if search.shift else {"check_fit2d_1feature": few}


@parametrize_with_checks(
    [
        AgreementSearchCV(LogisticRegression(), {"C": [0.1]}, cv=2, random_state=0, shift=shift)
        for shift in (None, slightly_larger)
    ],
    expected_failed_checks=expected_failures,
)
def test_conventions(estimator, check):
    check(estimator)


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


@pytest.mark.parametrize("method", ["auto", "decision_function", "predict_proba", "predict_log_proba"])
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


def test_scikit_learn_takes_the_scorer():
    scorer = AgreementScorer(noise, strength=0.3)
    values = cross_val_score(KNeighborsClassifier(), *IRIS, scoring=scorer, cv=3)
    assert values.shape == (3,)
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3, 15]}, scoring=scorer, cv=3).fit(*IRIS)
    ours = AgreementSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [3, 15]}, shift=noise, strength=0.3, cv=3, random_state=0,
        criterion="agreement_over_ceiling",
    ).fit(*IRIS)  # fmt: skip
    seeded = AgreementScorer(
        noise, strength=0.3, random_state=int(np.random.RandomState(0).randint(2**31 - 1))
    )
    again = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3, 15]}, scoring=seeded, cv=3).fit(*IRIS)
    assert search.best_params_["n_neighbors"] in (3, 15)
    assert ours.cv_results_["mean_test_score"] == pytest.approx(again.cv_results_["mean_test_score"])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: AgreementScorer(3), TypeError, "shift must be a callable, got 3"),
        (lambda: AgreementScorer(noise), ValueError, "strength must be given for a shift that has one"),
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
                SVC(decision_function_shape="ovo").fit(*load_digits(return_X_y=True)), np.zeros((2, 64))
            ),
            ValueError,
            'one column for each of 10 classes, got 45. Pass decision_function_shape="ovr"',
        ),
        (
            lambda: AgreementScorer(lambda X: X[:5])(GaussianNB().fit(*IRIS), IRIS[0]),
            ValueError,
            "keeps the 150 rows, got 5",
        ),
    ],
)
def test_bad_calls_of_the_scorer(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- the search ------------------------------------------------------------------------------------------


def test_a_search_is_a_classifier_that_clones():
    search = AgreementSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}, random_state=3)
    assert is_classifier(search)
    assert clone(search).get_params()["random_state"] == 3
    fitted = search.fit(*IRIS)
    assert fitted.predict(IRIS[0]).shape == (150,)
    assert list(fitted.classes_) == [0, 1, 2]
    assert not hasattr(fitted, "decision_function")  # as its estimator has none
    assert pickle.loads(pickle.dumps(fitted)).score(*IRIS) == fitted.score(*IRIS) > 0.9
    again = clone(search).fit(*IRIS).cv_results_["mean_test_score"]
    assert np.array_equal(again, fitted.cv_results_["mean_test_score"])


def test_pipelines_and_tables():
    X, y = load_iris(return_X_y=True, as_frame=True)
    search = AgreementSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [1e-3, 1.0]},
        shift=noise,
        strength=0.2,
        cv=3,
        random_state=0,
    ).fit(X, y.map({0: "setosa", 1: "versicolor", 2: "virginica"}))
    assert list(search.feature_names_in_) == list(X.columns)
    table = pd.DataFrame(search.cv_results_)
    assert {"param_logisticregression__C", "split2_test_score", "mean_equivalent_error", "status"} <= set(
        table
    )
    assert sorted(table["rank_test_score"]) == [1, 2]
    assert search.best_score_ == table["mean_test_score"].max()


def test_two_models_of_disjoint_halves():
    """Computed here step by step: halves of each training fold, agreement on the fold left out."""
    X, y = IRIS
    search = AgreementSearchCV(
        LogisticRegression(max_iter=500), {"C": [1.0]}, cv=3, random_state=0, criterion="agreement"
    ).fit(X, y)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    expected = []
    for train, test in StratifiedKFold(3).split(X, y):
        halves = next(StratifiedKFold(2, shuffle=True, random_state=seed).split(train, y[train]))
        scores = [
            LogisticRegression(max_iter=500).fit(X[train[half]], y[train[half]]).decision_function(X[test])
            for half in halves
        ]
        expected.append(posterior_agreement(*scores, prior="predicted").value)
    assert search.best_score_ == pytest.approx(np.mean(expected), abs=1e-9)


@pytest.mark.parametrize("shift", [None, noise])
def test_a_constant_classifier_never_wins(shift):
    """Candidates that always predict one class agree with themselves for ever: no prior lets them win."""
    candidates = [
        {"model": [DummyClassifier(strategy="constant", constant=1)]},
        {"model": [KNeighborsClassifier()], "model__n_neighbors": [40]},
    ]
    from sklearn.pipeline import Pipeline

    for prior in ("predicted", None):
        search = AgreementSearchCV(
            Pipeline([("model", GaussianNB())]),
            candidates,
            shift=shift,
            strength=2.0 if shift else None,
            prior=prior,
            criterion="agreement",
            cv=3,
            random_state=0,
        ).fit(*IRIS)
        assert search.cv_results_["status"].tolist() == ["collapsed", "fit"]
        assert search.cv_results_["rank_test_score"].tolist() == [2, 1]
        assert search.best_index_ == 1
        assert search.status_.code == "fit"
    assert (
        search.cv_results_["mean_test_score"][0] > search.cv_results_["mean_test_score"][1]
    )  # without a prior


def test_with_a_shift_the_labels_it_keeps_judge():
    X, y = DIGITS
    options = {"shift": noise, "strength": 4.0, "cv": 3, "random_state": 0}
    search = AgreementSearchCV(LogisticRegression(max_iter=300), {"C": [1e-6, 1e-3, 1.0]}, **options).fit(
        X, y
    )
    assert search.criterion_ == "accuracy_and_f1"
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    expected = []
    for train, test in StratifiedKFold(3).split(X, y):
        fitted = LogisticRegression(C=1e-3, max_iter=300).fit(X[train], y[train])
        predicted = fitted.predict(noise(X[test], strength=4.0, rng=seed))
        expected.append(
            (accuracy_score(y[test], predicted) + f1_score(y[test], predicted, average="macro")) / 2
        )
    found = search.cv_results_
    assert [found[f"split{part}_test_score"][1] for part in range(3)] == pytest.approx(expected)
    assert found["status"].tolist() == ["collapsed", "fit", "fit"]
    assert search.best_params_ == {"C": 1e-3}


def test_candidates_vote_where_no_labels_judge():
    """Computed here step by step: the vote of candidates on unshifted rows, set against their shifted predictions."""
    X, y = DIGITS
    grid = {"n_neighbors": [1, 5, 30, 300]}
    search = AgreementSearchCV(
        KNeighborsClassifier(),
        grid,
        shift=noise,
        strength=4.0,
        cv=3,
        random_state=0,
        criterion="vote",
        n_jobs=2,
    ).fit(X, y)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    expected = []
    for train, test in StratifiedKFold(3).split(X, y):
        fitted = [KNeighborsClassifier(k).fit(X[train], y[train]) for k in grid["n_neighbors"]]
        shifted = noise(X[test], strength=4.0, rng=seed)
        votes, _ = oracles.weighted_vote(np.stack([model.predict(X[test]) for model in fitted]))
        rows = [model.predict(shifted) for model in fitted]
        expected.append(
            [(accuracy_score(votes, row) + f1_score(votes, row, average="macro")) / 2 for row in rows]
        )
    assert search.cv_results_["mean_test_score"] == pytest.approx(
        np.mean(expected, axis=0), abs=0.01
    )  # even votes
    halves = AgreementSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 30]}, cv=3, random_state=0).fit(
        X, y
    )
    assert halves.criterion_ == "vote"


def test_constant_classifiers_alone_are_said_to_be_collapsed():
    search = AgreementSearchCV(DummyClassifier(strategy="constant"), {"constant": [1, 2]}, cv=3)
    with pytest.warns(UserWarning, match="All 2 candidates: It predicts far fewer classes"):
        search.fit(*IRIS)
    assert search.status_.code == "collapsed"


def test_samplers_weights_and_groups():
    X, y = IRIS
    groups = np.repeat(np.arange(75), 2)
    seen = []

    class Recorder(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append((len(X), None if sample_weight is None else len(sample_weight)))
            return super().fit(X, y, sample_weight)

    search = AgreementSearchCV(
        Recorder(),
        ParameterSampler({"var_smoothing": [1e-9, 1e-6, 1e-3]}, 2, random_state=0),
        cv=StratifiedGroupKFold(3),
        random_state=0,
    ).fit(X, y, groups=groups, sample_weight=np.ones(150))
    assert len(search.cv_results_["params"]) == 2
    assert seen[-1] == (150, 150)
    assert all(rows == weights and rows % 2 == 0 for rows, weights in seen)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"param_grid": 3}, TypeError, "param_grid must be a mapping, or an iterable of settings, got 3"),
        ({"param_grid": []}, ValueError, "param_grid must be of at least one candidate"),
        ({"shift": "noise"}, TypeError, "shift must be a callable"),
        (
            {"response_method": "predict", "shift": slightly_larger},
            ValueError,
            "response_method must be one of",
        ),
        (
            {"estimator": LinearRegression(), "param_grid": {"fit_intercept": [True]}},
            TypeError,
            "must be a classifier",
        ),
    ],
)
def test_bad_input(change, error, message):
    search = AgreementSearchCV(
        **{"estimator": GaussianNB(), "param_grid": {"var_smoothing": [1e-9]}, **change}
    )
    with pytest.raises(error, match=message):
        search.fit(*IRIS)


def test_a_class_too_rare_to_be_halved():
    y = np.where(np.arange(150) < 2, 7, IRIS[1])
    search = AgreementSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=3, random_state=0)
    with (
        pytest.warns(UserWarning, match="least populated"),
        pytest.raises(ValueError, match="Merge rare classes"),
    ):
        search.fit(IRIS[0], y)
