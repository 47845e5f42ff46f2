"""Risks at the values of a feature from the sum of a linear model: those that the model itself gives."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shiftmetrics.models import Decision
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.linear.value_risks import additive_value_risks
from shiftmetrics.models.reading.model import ModelProblem, problem_of
from shiftmetrics.models.search.importance import Draws, value_risks_of

RNG = np.random.default_rng(3)
N = 90
X = pd.DataFrame(
    {"a": RNG.normal(size=N), "b": RNG.normal(size=N), "c": RNG.choice(list("xyz"), N)}
)
VALUE = X.a.to_numpy() + (X.c == "x").to_numpy() + 0.5 * RNG.normal(size=N)
TWO = (VALUE > 0.4).astype(int)
THREE = np.digitize(VALUE, [-0.2, 0.8])


def problem(
    y: Any, loss: str = "zero_one", *, costs: Any = None, ties: bool = False
) -> ModelProblem:
    encode = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    last = LinearRegression() if loss == "squared" else LogisticRegression()
    model = make_pipeline(encode, last).fit(X, y)
    if ties:  # a boundary that many rows meet
        last.coef_[:] = np.rint(last.coef_)
        last.intercept_[:] = 0.0
    if costs is not None:
        return problem_of(Decision(model, costs=costs), X, y)
    return problem_of(model, X, y, loss=loss)


@pytest.mark.parametrize(
    "given",
    [
        problem(TWO),
        problem(THREE),
        problem(TWO, costs={1: 3.0}),
        problem(TWO, "log_loss"),
        problem(TWO, "hinge"),
        problem(VALUE, "squared"),
        problem(TWO, ties=True),
    ],
    ids=["two", "three", "costs", "log loss", "hinge", "squared", "ties"],
)
def test_they_are_those_of_the_model(given: ModelProblem) -> None:
    scores = AdditiveScores.of(given)
    weights = RNG.random((2, N))
    weights /= weights.sum(axis=1, keepdims=True)
    draws = Draws(weights, given.codes, np.full(N, 1.0 / N))
    for columns in ([0], [2], [0, 1], [1, 2]):
        place = np.array(columns)
        asked = value_risks_of(given.losses, given.codes, place, draws)
        before = given.count.rows
        found = additive_value_risks(given, scores, place, draws)
        np.testing.assert_allclose(found.risks, asked.risks, atol=1e-9)
        np.testing.assert_allclose(found.expected, asked.expected, atol=1e-9)
        np.testing.assert_array_equal(found.value_of, asked.value_of)
        assert given.count.rows - before < N


def test_leads_within_rounding_are_asked_for() -> None:
    rows = np.repeat([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]], 4, axis=0)
    model = LogisticRegression().fit(rows, [0, 1] * 6)
    model.coef_ = np.array([[1.0, 1.0]])
    model.intercept_ = np.array([-1.0])
    given = problem_of(model, rows, np.array([0, 1] * 6))
    draws = Draws(np.full((1, 12), 1 / 12), rows, np.full(12, 1 / 12))
    column = np.array([0])
    scores = AdditiveScores.of(given)
    found = additive_value_risks(given, scores, column, draws)
    asked = value_risks_of(given.losses, rows, column, draws)
    np.testing.assert_allclose(found.risks, asked.risks, atol=1e-12)
