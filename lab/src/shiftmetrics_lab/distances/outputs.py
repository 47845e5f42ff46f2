"""Distances between the class distributions of a model on a sample and on its reference, row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, namespace, to_float64
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_choice
from shiftmetrics_lab.distances.inputs import check_outputs
from shiftmetrics_lab.distances.transport import TransportCost
from shiftmetrics_lab.result import LabResult, mean_distance

METHODS = ("kl", "jensen_shannon", "wasserstein")


def output_distance(
    scores: Any,
    reference_scores: Any,
    *,
    method: str = "jensen_shannon",
    kind: str = "scores",
    beta: float = 1.0,
    cost: Any = None,
    align: Align = "labels",
    progress: bool = True,
) -> LabResult:
    """Mean distance between the class distributions of pairs of rows; lower is more alike, 0 for equal outputs.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes)
        Scores (logits) on the sample under test: any array of the Python array API, DataFrame or nested lists.
    reference_scores : array of the same shape
        Scores on the reference; row i belongs to the same observation as row i of ``scores``.
    method : {"jensen_shannon", "kl", "wasserstein"}, default "jensen_shannon"
        With p of the sample and q of the reference:

        - "kl": ``sum_k p(k) log(p(k) / q(k))`` in nats (Kullback-Leibler). It is not symmetric: swap the arguments
          for the other direction.
        - "jensen_shannon": the mean of the divergences of p and of q to the average of both, in nats: symmetric, from
          0 to log 2 (no class in common). Its square root, row by row, is a metric.
        - "wasserstein": the least cost of turning p into q (earth mover's distance).
    kind : {"scores", "probabilities"}, default "scores"
        Probabilities are scaled to sum 1 in each row.
    beta : float, default 1.0
        Inverse temperature: scores are multiplied by it.
    cost : array of shape (n_classes, n_classes), optional
        For "wasserstein": what moving probability from class i to class j costs. Non-negative, 0 on its diagonal.
        Default: 1 between any two classes, for which the distance is the total variation, half the sum of the
        absolute differences. Costs ``abs(s[i] - s[j])`` of classes in an order are recognised and solved in closed
        form; any others by an exact linear program for each row.
    align : {"labels", "position"}, default "labels"
        Whether two DataFrames are matched by row and column labels or as they stand.
    progress : bool, default True
        Whether to show a progress bar for work of more than two seconds.

    Returns
    -------
    LabResult
        With the distance of each row in ``per_sample``. The ``error_bound`` holds the duality gap of linear programs.

    Raises
    ------
    ValueError
        If shapes differ, values are not finite, probabilities are none, or the cost is negative or not 0 on its
        diagonal.
    TypeError
        If the inputs are not numbers, or come from two array libraries.

    Examples
    --------
    >>> divergence = output_distance([[0.5, 0.5]], [[0.25, 0.75]], method="kl", kind="probabilities")
    >>> round(divergence.value, 6)
    0.143841
    >>> output_distance([[1.0, 0.0]], [[0.0, 1.0]], kind="probabilities").value  # log 2
    0.6931471805599453
    >>> p, q, steps = [[0.5, 0.5, 0.0]], [[0.0, 0.5, 0.5]], [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    >>> output_distance(p, q, method="wasserstein", cost=steps, kind="probabilities").value
    1.0
    """
    check_choice(method, "method", METHODS)
    if cost is not None and method != "wasserstein":
        raise ArgumentValueError(
            "cost", "None with this method", "a matrix", 'Pass method="wasserstein".'
        )
    pairs = check_outputs(scores, reference_scores, kind=kind, beta=beta, align=align)
    settings = {"method": method, "kind": kind, "beta": beta, "align": align}
    if method == "wasserstein":
        solver = TransportCost.of(cost, pairs.n_classes)
        rows = solver.solve(pairs, progress=progress)
        name, units = "Wasserstein distance" + (" (total variation)" if cost is None else ""), ""
        magnitude, gap = solver.largest, float(rows[:, 1].mean())
        settings |= {"cost": None if cost is None else solver.cost.tolist(), "route": solver.route}
    else:
        name = "Kullback-Leibler divergence" if method == "kl" else "Jensen-Shannon divergence"
        units, gap = "nats", 0.0
        rows = pairs.map_rows(_kl_rows if method == "kl" else _js_rows)
        magnitude = float(rows[:, 1].mean()) if np.isfinite(rows[:, 1]).all() else 0.0
    return mean_distance(
        name,
        rows[:, 0],
        magnitude,
        unit=units,
        n_classes=pairs.n_classes,
        gap=gap,
        settings=settings,
    )


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
