"""Explainable boosting machines: a table of scores for each term, by bins, cut into a tree."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shiftmetrics.models.forests import forest_of
from shiftmetrics.models.forests.from_interpret import read_interpret

RNG = np.random.default_rng(0)
CUTS = [[np.array([0.0, 1.0, 2.0]), np.array([0.5])], [np.array([-1.0, 3.0])]]


def machine(**other: Any) -> SimpleNamespace:
    """Return a model of two columns and their pair, which has coarser bins of the first."""
    fields = {
        "link_": "logit",
        "feature_types_in_": ["continuous", "continuous"],
        "term_features_": [(0,), (1,), (0, 1)],
        "term_scores_": [RNG.normal(size=6), RNG.normal(size=5), RNG.normal(size=(4, 5))],
        "bins_": CUTS,
        "intercept_": np.array([0.25]),
    }
    return SimpleNamespace(**{**fields, **other})


def looked_up(model: Any, rows: np.ndarray) -> np.ndarray:
    """Return the sums of a model from its tables, row by row."""
    total = np.full(len(rows), 0.25)
    for k, row in enumerate(rows):
        for features, scores in zip(model.term_features_, model.term_scores_, strict=True):
            place = []
            for feature in features:
                cuts = CUTS[feature][min(len(CUTS[feature]), len(features)) - 1]
                number = 0 if np.isnan(row[feature]) else 1 + int((cuts <= row[feature]).sum())
                place.append(number)
            total[k] += scores[tuple(place)]
    return total


def test_terms_are_looked_up_by_their_bins() -> None:
    model = machine()
    forest = read_interpret(model)
    values = [-5.0, 0.0, 0.5, 1.0, 2.0, 3.0, 9.0, np.nan]
    values += [float(np.nextafter(value, -np.inf)) for value in (0.0, 0.5, 1.0, 3.0, -1.0)]
    rows = np.array([(a, b) for a in values for b in values])
    found = forest.total(forest.leaves(rows))
    np.testing.assert_allclose(found[:, 1] - found[:, 0], looked_up(model, rows), atol=1e-12)


def test_others_are_none() -> None:
    assert read_interpret(machine(link_="cloglog")) is None
    assert read_interpret(machine(feature_types_in_=["continuous", "nominal"])) is None
    large = [np.zeros(6), np.zeros(5), np.zeros((300, 300))]
    assert read_interpret(machine(term_scores_=large)) is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_machines_of_the_library(n_classes: int) -> None:
    glassbox = pytest.importorskip("interpret.glassbox")
    X = RNG.normal(size=(150, 2))
    X[RNG.random(X.shape) < 0.1] = np.nan
    y = np.digitize(np.nan_to_num(X).sum(axis=1), [0.0, 1.5][: n_classes - 1])
    kind = glassbox.ExplainableBoostingClassifier
    model = kind(max_rounds=10, outer_bags=2, n_jobs=1, max_bins=8, max_interaction_bins=8)
    model.fit(X, y)
    forest = forest_of(model)
    outputs = forest.total(forest.leaves(X))
    np.testing.assert_allclose(forest.probabilities(outputs), model.predict_proba(X), atol=1e-9)
