"""The risks of a linear model at the values of a feature, from its sum: no call of the model for each value."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.linear.scores import TOLERANCE, AdditiveScores
from shiftmetrics.models.reading.model import ModelProblem, losses_of_scores
from shiftmetrics.models.search.importance import Draws, ValueRisks, values_of_draws


def additive_value_risks(
    problem: ModelProblem, scores: AdditiveScores, columns: IntArray, draws: Draws
) -> ValueRisks:
    """Return the risks when all samples take the same values in some columns.

    The scores without these columns are known, and each value adds the same to those of all samples. Where the lead
    of the best class is within rounding, the model itself decides.

    Parameters
    ----------
    problem : ModelProblem
        The model and its samples; errors may have costs.
    scores : AdditiveScores
        What it sums.
    columns : array of int
        Positions of the columns.
    draws : Draws
        The samples that are averaged, and those whose values replace theirs.
    """
    n_samples = problem.n_samples
    values, fractions, value_of = values_of_draws(draws, columns, n_samples)
    now = scores(problem.codes, problem)
    rest = now - scores.part(problem.codes, problem, columns)
    # What these columns add does not depend on the others: any sample may carry the values.
    points = np.repeat(problem.codes[:1], len(values), axis=0)
    points[:, columns] = values
    added = scores.part(points, problem, columns)
    # Rounding is that of the sums: a small lead of one large sum over another may be nothing else.
    size = np.abs(rest).max() + np.abs(added).max() + np.abs(now).max()
    near = TOLERANCE * size
    if problem.loss == "zero_one" and added.shape[1] == 2:
        found = _of_two_classes(problem, rest, added, fractions, draws, near)
        # None where a lead is within rounding of 0: the loop below asks the model there.
        if found is not None:
            return ValueRisks(fractions, found[0], found[1], value_of)
    risks = np.empty((len(draws.weights), len(values)))
    expected = np.zeros(n_samples)
    for place, at_value in enumerate(added):
        losses = _losses(problem, rest + at_value, columns, values[place], near)
        risks[:, place] = draws.weights @ losses
        expected += fractions[place] * losses
    return ValueRisks(fractions, risks, expected, value_of)


# With two classes a sample is of the second one where its lead without the columns is above minus that of the value.
# So samples sorted by their lead, and values by theirs, need no comparison of all pairs.
def _of_two_classes(
    problem: ModelProblem,
    rest: FloatArray,
    added: FloatArray,
    fractions: FloatArray,
    draws: Draws,
    near: float,
) -> tuple[FloatArray, FloatArray] | None:
    """Return the risks at each value and the mean loss of each sample; None where a lead is within rounding of 0."""
    lead = rest[:, 1] - rest[:, 0]
    least = added[:, 0] - added[:, 1]  # above it a sample is of the second class
    order = np.argsort(lead)
    ordered = lead[order]
    first = np.searchsorted(ordered, least, side="right")
    below = np.searchsorted(ordered, least - near, side="left")
    above = np.searchsorted(ordered, least + near, side="right")
    if (below != above).any():
        return None
    costs = np.ones(problem.n_samples)
    if problem.costs is not None:
        costs = problem.costs[problem.y]
    is_second = problem.y == 1
    # Sums over the samples up to each, of those that err there, and of the others.
    weights = draws.weights[:, order] * costs[order]
    signs = np.where(is_second[order], 1.0, -1.0)
    steps = np.cumsum(weights * signs, axis=1)
    steps = np.pad(steps, ((0, 0), (1, 0)))
    all_second = (weights * ~is_second[order]).sum(axis=1, keepdims=True)
    # A sum less its own parts may end a rounding below 0.
    risks = np.maximum(all_second + steps[:, first], 0.0)
    # Of each sample, how often a value makes it of the second class.
    by_least = np.argsort(least)
    reached = np.searchsorted(least[by_least], lead, side="left")
    often = np.append(0.0, np.cumsum(fractions[by_least]))[reached]
    total = float(fractions.sum())
    expected = costs * np.maximum(np.where(is_second, total - often, often), 0.0)
    return risks, expected


def _losses(
    problem: ModelProblem, scores: FloatArray, columns: IntArray, value: FloatArray, near: float
) -> FloatArray:
    """Return the losses at scores of all samples, which have a value in some columns."""
    if problem.loss != "zero_one":
        return losses_of_scores(problem.loss, problem.y, scores)
    n_classes = scores.shape[1]
    if n_classes == 2:
        lead = scores[:, 1] - scores[:, 0]
        wrong = (lead > 0.0) != (problem.y == 1)
        lead = np.abs(lead)
    else:
        wrong = scores.argmax(axis=1) != problem.y
        best = np.partition(scores, n_classes - 2, axis=1)
        lead = best[:, -1] - best[:, -2]
    # Here the sum and the model may round to different classes: what the model predicts counts.
    unclear = np.flatnonzero(lead <= near)
    if unclear.size:
        points = problem.codes[unclear]
        points[:, columns] = value
        wrong[unclear] = problem.is_wrong(points, unclear)
    losses = np.asarray(wrong, dtype=np.float64)
    if problem.costs is None:
        return losses
    return np.asarray(losses * problem.costs[problem.y])
