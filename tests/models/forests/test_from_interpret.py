"""Explainable boosting machines: a table of scores for each term, by bins, cut into a tree."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nearest_errors import nearest_error_with_categories
from shiftmetrics import model_stability
from shiftmetrics.models.forests import forest_of
from shiftmetrics.models.forests.from_interpret import codes_of_interpret, read_interpret

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


def test_categories_have_codes_and_bins_of_their_own() -> None:
    # In pairs, two of the three categories share a bin.
    bins = [[np.array([0.0])], [{"u": 1, "v": 2, "w": 3}, {"u": 1, "v": 2, "w": 1}]]
    scores = [RNG.normal(size=4), RNG.normal(size=5), RNG.normal(size=(4, 4))]
    kinds = ["continuous", "nominal"]
    model = machine(feature_types_in_=kinds, bins_=bins, term_scores_=scores)
    forest = read_interpret(model)
    cells = [(x, word) for x in (-1.0, 0.0, np.nan) for word in ("u", "v", "w", "other", None)]
    rows = pd.DataFrame(cells, columns=["x", "word"])
    outputs = forest.total(forest.leaves(codes_of_interpret(model)(rows)))
    for output, (x, word) in zip(outputs, cells, strict=True):
        number = 0 if np.isnan(x) else 1 + int(x >= 0.0)
        alone = 0 if word is None else bins[1][0].get(word, 4)
        paired = 0 if word is None else bins[1][1].get(word, 3)
        expected = 0.25 + scores[0][number] + scores[1][alone] + scores[2][number, paired]
        assert output[1] - output[0] == pytest.approx(expected)


def test_others_are_none() -> None:
    assert read_interpret(machine(link_="cloglog")) is None
    assert read_interpret(machine(feature_types_in_=["continuous", "text"])) is None
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


@pytest.mark.parametrize("words", [True, False], ids=["words", "integers"])
def test_categories_of_the_library_are_measured_exactly(words: bool) -> None:
    glassbox = pytest.importorskip("interpret.glassbox")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.integers(0, 4, size=80)})
    y = ((frame["a"] + 1.5 * (frame["b"] == 2) + rng.normal(0, 0.3, 80)) > 0.4).astype(int)
    if words:
        frame["b"] = frame["b"].map(lambda place: "stuv"[place])
    options = {"max_rounds": 10, "outer_bags": 2, "n_jobs": 1, "max_bins": 6}
    kinds = ["continuous", "nominal"]
    model = glassbox.ExplainableBoostingClassifier(feature_types=kinds, **options).fit(frame, y)
    result = model_stability(model, frame, y, 0.6, resampling=None)
    assert (result.kind, result.search.route) == ("exact", "ensemble")
    edges = np.nextafter(model.bins_[0][0], -np.inf)
    expected = nearest_error_with_categories(model.predict, frame, y, edges)
    np.testing.assert_allclose(result.loss.distances, expected, rtol=1e-6, atol=1e-9)
