"""The table classifiers behave as scikit-learn's do, and logistic regression finds the same optimum."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftmetrics_lab.learners import ERM, LISA, Adversarial, NetworkClassifier


@pytest.mark.slow
@parametrize_with_checks(
    [
        NetworkClassifier(epochs=80, random_state=0),
        NetworkClassifier(hidden_units=(), epochs=80, random_state=0),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


X, Y = make_classification(400, 6, n_informative=3, n_redundant=1, flip_y=0.2, random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("standardize", [True, False])
def test_logistic_classifier_is_logistic_regression(standardize):
    scaled = X * np.array([1.0, 2.0, 0.5, 1.0, 1.0, 3.0]) + 1.0
    ours = NetworkClassifier(
        hidden_units=(), epochs=3000, learning_rate=0.01, standardize=standardize, random_state=0
    ).fit(scaled, Y)
    theirs = LogisticRegression(C=np.inf, max_iter=10_000, tol=1e-10).fit(scaled, Y)
    np.testing.assert_allclose(ours.predict_proba(scaled), theirs.predict_proba(scaled), atol=2e-3)
    np.testing.assert_allclose(
        scaled @ ours.coef_[0] + ours.intercept_, ours.decision_function(scaled), atol=1e-9
    )


def test_coefficients_of_several_classes():
    rows, labels = load_iris(return_X_y=True)
    model = NetworkClassifier(hidden_units=(), random_state=0).fit(rows, labels)
    assert model.coef_.shape == (3, 4)
    np.testing.assert_allclose(
        rows @ model.coef_.T + model.intercept_, model.decision_function(rows), atol=1e-9
    )


def test_tables_with_names_and_text_labels():
    table = pd.DataFrame(X, columns=list("abcdef"))
    labels = np.where(Y == 1, "yes", "no")
    model = NetworkClassifier(epochs=150, random_state=0).fit(table, labels)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(table, labels) > 0.8
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[list("bacdef")])


def test_seed_clone_pipeline_and_grid_search():
    first = NetworkClassifier(epochs=20, random_state=3).fit(X, Y)
    again = clone(first).fit(X, Y)
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    pipeline = make_pipeline(StandardScaler(), NetworkClassifier(epochs=20, random_state=3)).fit(
        X, Y
    )
    assert pipeline.predict(X).shape == (400,)
    grid = {"objective": [ERM(temperature=0.5), Adversarial(penalty=1.0, n_steps=2), None]}
    search = GridSearchCV(NetworkClassifier(epochs=10, random_state=0), grid, cv=2).fit(X, Y)
    assert search.best_params_["objective"] in grid["objective"]


def test_the_module_takes_raw_rows():
    import torch

    shifted = 100.0 + 5.0 * X
    model = NetworkClassifier(epochs=100, random_state=0).fit(shifted, Y)
    scores = model.module_(torch.as_tensor(shifted)).detach().numpy()
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], model.decision_function(shifted))
    assert model.score(shifted, Y) > 0.8


@pytest.mark.parametrize(
    "options",
    [
        {"objective": Adversarial(radius=0.1, n_steps=2)},
        {"augmentation": LISA(n_classes=2)},
        {"activation": "elu", "hidden_units": (8, 4), "batch_size": 64},
        {"weight_decay": 0.1, "activation": "tanh"},
    ],
)
def test_every_option_trains(options):
    domain = np.arange(len(X)) % 2 if "augmentation" in options else None
    model = NetworkClassifier(epochs=60, random_state=0, **options).fit(X, Y, domain=domain)
    assert model.score(X, Y) > 0.75


@pytest.mark.parametrize(
    ("options", "labels", "message"),
    [
        ({"activation": "step"}, Y, "activation must be one of"),
        ({"hidden_units": (0,)}, Y, "hidden_units must be an integer at least 1"),
        ({}, np.zeros(400), "y must hold at least 2 classes, got 1 class"),
        ({}, np.linspace(0, 1, 400), "Unknown label type"),
    ],
)
def test_bad_input(options, labels, message):
    with pytest.raises(ValueError, match=message):
        NetworkClassifier(**options).fit(X, labels)
