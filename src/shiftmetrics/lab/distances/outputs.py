"""Distances between what a model puts out on a sample and on its reference: class distributions, row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, namespace, to_float64
from shiftmetrics._core.tables import Align
from shiftmetrics.lab.distances.inputs import check_outputs
from shiftmetrics.lab.distances.result import Distance, mean_distance
from shiftmetrics.lab.distances.transport import TransportCost


def kl_divergence(
    scores: Any,
    reference_scores: Any,
    *,
    kind: str = "scores",
    beta: float = 1.0,
    align: Align = "labels",
) -> Distance:
    """Mean Kullback-Leibler divergence from the reference's class distributions to the sample's, in nats.

    ``sum_k p(k) log(p(k) / q(k))`` of each pair of rows, with p of the sample and q of the reference. It is not
    symmetric: swap the arguments for the other direction. Lower is more alike; 0 where the outputs are equal.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes)
        Scores (logits) on the sample under test: any array of the Python array API, DataFrame or nested lists.
    reference_scores : array of the same shape
        Scores on the reference; row i belongs to the same observation as row i of ``scores``.
    kind : {"scores", "probabilities"}, default "scores"
        Probabilities are scaled to sum 1 in each row.
    beta : float, default 1.0
        Inverse temperature: scores are multiplied by it.
    align : {"labels", "position"}, default "labels"
        Whether two DataFrames are matched by row and column labels or as they stand.

    Returns
    -------
    Distance
        With the divergence of each row in ``per_sample``.

    Raises
    ------
    ValueError
        If shapes differ, values are not finite, or probabilities are none.
    TypeError
        If the inputs are not numbers, or come from two array libraries.

    See Also
    --------
    jensen_shannon_divergence : Symmetric and bounded.

    Examples
    --------
    >>> divergence = kl_divergence([[0.5, 0.5]], [[0.25, 0.75]], kind="probabilities")
    >>> round(divergence.value, 6)
    0.143841
    """
    pairs = check_outputs(scores, reference_scores, kind=kind, beta=beta, align=align)
    rows = pairs.map_rows(_kl_rows)
    return mean_distance(
        "Kullback-Leibler divergence",
        rows[:, 0],
        _finite_mean(rows[:, 1]),
        units="nats",
        n_classes=pairs.n_classes,
        kind=kind,
        beta=beta,
        align=align,
    )


def jensen_shannon_divergence(
    scores: Any,
    reference_scores: Any,
    *,
    kind: str = "scores",
    beta: float = 1.0,
    align: Align = "labels",
) -> Distance:
    """Mean Jensen-Shannon divergence between the class distributions of pairs of rows, in nats.

    The mean of the two Kullback-Leibler divergences to the average of both distributions: symmetric, and between 0
    (equal outputs) and log 2 (no class in common). Lower is more alike. Its square root, row by row, is a metric.

    Parameters
    ----------
    scores, reference_scores, kind, beta, align
        As for `kl_divergence`.

    Returns
    -------
    Distance
        With the divergence of each row in ``per_sample``.

    Raises
    ------
    ValueError, TypeError
        As `kl_divergence`.

    Examples
    --------
    >>> jensen_shannon_divergence([[1.0, 0.0]], [[0.0, 1.0]], kind="probabilities").value  # log 2
    0.6931471805599453
    """
    pairs = check_outputs(scores, reference_scores, kind=kind, beta=beta, align=align)
    rows = pairs.map_rows(_js_rows)
    return mean_distance(
        "Jensen-Shannon divergence",
        rows[:, 0],
        float(rows[:, 1].mean()),
        units="nats",
        n_classes=pairs.n_classes,
        kind=kind,
        beta=beta,
        align=align,
    )


def wasserstein_distance(
    scores: Any,
    reference_scores: Any,
    *,
    cost: Any = None,
    kind: str = "scores",
    beta: float = 1.0,
    align: Align = "labels",
    progress: bool = True,
) -> Distance:
    """Mean Wasserstein (earth mover's) distance between the class distributions of pairs of rows.

    The least cost of turning the distribution of the sample into that of the reference, when moving probability from
    class i to class j costs ``cost[i, j]``. Lower is more alike; 0 where the outputs are equal.

    Parameters
    ----------
    scores, reference_scores, kind, beta, align
        As for `kl_divergence`.
    cost : array of shape (n_classes, n_classes), optional
        Non-negative, 0 on its diagonal. Default: 1 between any two classes, for which the distance is the total
        variation, half the sum of the absolute differences. Costs ``abs(s[i] - s[j])`` of classes in an order are
        recognised and solved in closed form; any others by an exact linear program for each row.
    progress : bool, default True
        Whether to show a progress bar for work of more than two seconds.

    Returns
    -------
    Distance
        In units of the cost, with the distance of each row in ``per_sample``. ``error_bound`` is certified: it holds
        the duality gap of the programs.

    Raises
    ------
    ValueError
        If the cost is negative, not 0 on its diagonal, or of another shape; and as `kl_divergence`.
    TypeError
        As `kl_divergence`.

    Examples
    --------
    >>> wasserstein_distance([[0.5, 0.5, 0.0]], [[0.0, 0.5, 0.5]], kind="probabilities").value
    0.5
    >>> steps = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    >>> wasserstein_distance([[0.5, 0.5, 0.0]], [[0.0, 0.5, 0.5]], cost=steps, kind="probabilities").value
    1.0
    """
    pairs = check_outputs(scores, reference_scores, kind=kind, beta=beta, align=align)
    solver = TransportCost.of(cost, pairs.n_classes)
    rows = solver.solve(pairs, progress=progress)
    result = mean_distance(
        "Wasserstein distance" if cost is not None else "Wasserstein distance (total variation)",
        rows[:, 0],
        float(solver.largest),
        n_classes=pairs.n_classes,
        cost=None if cost is None else solver.cost.tolist(),
        route=solver.route,
        kind=kind,
        beta=beta,
        align=align,
    )
    gap = float(rows[:, 1].mean())
    return result if gap == 0.0 else result.with_bound(result.error_bound + gap)


def _kl_rows(p: Array, log_p: Array, q: Array, log_q: Array) -> FloatArray:
    xp = namespace(p)
    with np.errstate(invalid="ignore", over="ignore"):
        terms = xp.where(p > 0.0, p * (log_p - log_q), 0.0 * p)
        sizes = xp.where(p > 0.0, p * (xp.abs(log_p) + xp.abs(log_q)), 0.0 * p)
    value = xp.clip(xp.sum(terms, axis=1), min=0.0)
    return to_float64(xp.stack([value, xp.sum(sizes, axis=1)], axis=1))


def _js_rows(p: Array, log_p: Array, q: Array, log_q: Array) -> FloatArray:
    xp = namespace(p)
    with np.errstate(invalid="ignore", divide="ignore"):
        log_m = xp.logaddexp(log_p, log_q) - math.log(2.0)
        first = xp.where(p > 0.0, p * (log_p - log_m), 0.0 * p)
        second = xp.where(q > 0.0, q * (log_q - log_m), 0.0 * q)
        sizes = xp.where(p + q > 0.0, (p + q) * xp.abs(log_m), 0.0 * p)
    value = xp.clip(0.5 * xp.sum(first + second, axis=1), min=0.0, max=math.log(2.0))
    return to_float64(xp.stack([value, xp.sum(sizes, axis=1)], axis=1))


def _finite_mean(values: FloatArray) -> float:
    return float(values.mean()) if np.isfinite(values).all() else 0.0
