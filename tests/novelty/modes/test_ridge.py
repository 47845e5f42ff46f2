"""The ridge classifier against least squares that are solved again without each sample."""

import numpy as np

from shiftmetrics.novelty.modes.ridge import RidgeClassifier

RIDGE = 3.0


def solved(values, weights, targets):
    """Return the coefficients of weighted least squares with a ridge."""
    products = values.T @ (weights[:, None] * values) + RIDGE * np.eye(values.shape[1])
    return np.linalg.solve(products, values.T @ (weights * targets))


def test_scores_are_those_of_a_fit_without_the_sample():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 3))
    weights = rng.uniform(0.5, 2.0, 12)
    labels = rng.random((2, 12)) < 0.5
    classifier = RidgeClassifier(values, weights, RIDGE)
    scores = classifier.scores(labels)
    for number, row in enumerate(labels):
        targets = row - weights @ row / weights.sum()
        expected = solved(values, weights, targets)
        np.testing.assert_allclose(classifier.coefficients(labels)[number], expected, atol=1e-12)
        for place in range(12):
            others = np.arange(12) != place
            without = solved(values[others], weights[others], targets[others])
            np.testing.assert_allclose(scores[number, place], values[place] @ without, atol=1e-12)
