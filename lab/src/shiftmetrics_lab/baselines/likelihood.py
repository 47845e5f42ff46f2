"""Feature likelihood divergence: how likely held-out data are under a density around the rows of a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, to_float64
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.neighbours import pairwise_distances
from shiftmetrics._core.options import Computing, check_memory, check_memory_limit, computing_of
from shiftmetrics._core.result import Status, format_number, settings_of
from shiftmetrics._core.tables import Align, align_tables
from shiftmetrics._core.validation import (
    check_magnitude,
    check_matrix,
    check_rng,
    check_same_library,
)
from shiftmetrics_lab.result import LabResult

_LEAST_LOG_VARIANCE = -40.0
"""A Gaussian on top of a training row would shrink for ever; this is as far as it may."""

_MEMORISED = 1000.0


CONVERGED = Status("converged", "The likelihood of the training rows stopped growing.")
MAX_ITER = Status(
    "max_iter",
    "The likelihood of the training rows still grew: the value may be a little off.",
    "Raise max_iter or rtol.",
    ok=False,
)


def feature_likelihood_divergence(
    features: Any,
    reference: Any,
    *,
    training: Any,
    align: Align = "labels",
    rng: Any = None,
    computing: Computing | None = None,
) -> LabResult:
    """Feature likelihood divergence (FLD) of a sample: fidelity, diversity and novelty in one number.

    A Gaussian around each row of the sample, with a variance of its own, is fitted to the likelihood of the training
    data; the held-out data are then scored. A copy of a training row gets a tiny variance, so that it explains no
    held-out row: a generator that memorises scores badly, although it is faithful.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        The sample under test, such as generated data.
    reference : array of shape (n_reference, n_columns)
        Held-out data, which the generator never saw.
    training : array of shape (n_training, n_columns)
        The data that the generator was trained on; at least four rows.
    align : {"labels", "position"}, default "labels"
        Whether the columns of tables match by name or by position.
    rng : int or Generator, optional
        Splits the training data for the baseline. Default: a fixed seed.
    computing : Computing, optional
        Stop when the mean log-likelihood per column grows by less than ``rtol`` (1e-6) in a round, or after
        ``max_iter`` (500) rounds; ``memory_limit`` is for the matrices of distances.

    Returns
    -------
    LabResult
        In hundredths of a nat per column; near 0 for fresh data, and below 0 for a sample that explains the held-out
        data better than half of the training rows do. Its ``parts``:

        - ``gap``: generalisation gap, the negative log-likelihood of the training rows minus that of the held-out
          ones, in the same units; far below 0 for a sample that repeats training rows;
        - ``log_likelihood``, ``baseline``: mean log-likelihood of the held-out rows, in nats per column, under the
          sample and under half of the training rows;
        - ``variances`` of shape (n_samples,): fitted variance of the Gaussian around each row of the sample, in
          standardised units: small for copies of training rows;
        - ``n_iterations``, ``n_training``: rounds of the fit, and rows of the training data.

    Raises
    ------
    ValueError
        If a sample has too few rows, columns differ, or values are not finite.
    TypeError
        If the inputs are not numbers, or come from two array libraries.
    MemoryError
        If the distances need more than the memory limit.

    Notes
    -----
    Jiralerspong et al. (arXiv:2302.04440). Columns are standardised by the held-out data. The variances are found by
    expectation maximisation, in closed form each round, from the nearest training row of each row; ``error_bound`` is
    an estimate here, of what more rounds would add to the likelihood of the training rows. A broad Gaussian
    around the mean of the training data takes part in the fit, and not in the score, so that no training row is left
    without likelihood. The baseline is the same with half of the training rows in place of the sample, fitted to the
    other half.

    Examples
    --------
    >>> import numpy as np
    >>> training, held_out, fresh = np.random.default_rng(0).normal(size=(3, 200, 4))
    >>> good = feature_likelihood_divergence(fresh, held_out, training=training)
    >>> copied = feature_likelihood_divergence(training + 1e-3, held_out, training=training)
    >>> good.value < 20 < 200 < copied.value
    True
    """
    options = computing_of(computing, rtol=1e-6, max_iter=500, memory_limit=None)
    sample, held_out, trained = _checked(features, reference, training, align)
    limit = check_memory_limit(options.memory_limit)
    check_memory(
        40 * len(sample) * max(len(trained), len(held_out)),
        limit,
        f"{len(sample)} rows of features against {len(trained)} of training",
        "Take fewer rows of each.",
    )
    mean, scale = held_out.mean(axis=0), held_out.std(axis=0, ddof=1)
    scale = np.where(scale > 0.0, scale, 1.0)  # a constant column tells nothing apart
    sample, held_out, trained = ((part - mean) / scale for part in (sample, held_out, trained))
    fit = _fit(sample, trained, options)
    score, own = (
        _log_likelihood(held_out, sample, fit.variances),
        _log_likelihood(trained, sample, fit.variances),
    )
    order = check_rng(0 if rng is None else rng).permutation(len(trained))
    half = min(len(sample), len(trained) // 2)
    centers, others = trained[order[:half]], trained[order[half:]]
    base_fit = _fit(centers, others, options)
    baseline = _log_likelihood(held_out, centers, base_fit.variances)
    value = 100.0 * (baseline - score)
    converged = fit.converged and base_fit.converged
    warnings: tuple[str, ...] = ()
    if value > _MEMORISED:
        warnings = (
            "The value is very high: most rows of the sample may be copies of training rows.",
        )
    gap = 100.0 * (score - own)
    return LabResult(
        title="Feature likelihood divergence",
        unit="hundredths of a nat per column",
        value=value,
        error_bound=100.0 * (fit.remaining + base_fit.remaining),
        status=CONVERGED if converged else MAX_ITER,
        n_samples=len(sample),
        parts={
            "gap": gap,
            "n_reference": len(held_out),
            "log_likelihood": score,
            "baseline": baseline,
            "variances": fit.variances,
            "n_iterations": fit.n_iterations,
            "n_training": len(trained),
        },
        remark=f"0 is as good as fresh data. Generalisation gap: {format_number(gap)}.",
        settings=settings_of(
            align=align, rng=0 if rng is None else rng, computing=options.settings()
        ),
        warnings=warnings,
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    """Variances of the Gaussians around the rows of a sample."""

    variances: FloatArray
    n_iterations: int
    converged: bool
    remaining: float
    """How much the log-likelihood per column would still grow, if it went on as in the last two rounds."""


def _checked(features: Any, reference: Any, training: Any, align: Align) -> list[FloatArray]:
    arrays: list[Any] = []
    named = ((features, "features", 2), (reference, "reference", 2), (training, "training", 4))
    for value, name, min_rows in named:
        _, value = align_tables(features, value, "features", name, align=align, rows=False)
        array = check_matrix(value, name, min_rows=min_rows)
        if arrays:
            check_same_library(arrays[0], array, "features", name)
            if array.shape[1] != arrays[0].shape[1]:
                expected = f"of as many columns as features, {arrays[0].shape[1]}"
                raise ArgumentValueError(name, expected, f"{array.shape[1]}")
        check_magnitude(array, name)
        arrays.append(array)
    return [to_float64(array) for array in arrays]


def _fit(centers: FloatArray, rows: FloatArray, options: Computing) -> _Fit:
    """Maximise the likelihood of ``rows`` over the variances of Gaussians around ``centers``."""
    assert options.rtol is not None
    assert options.max_iter is not None
    n_columns = rows.shape[1]
    squares = pairwise_distances(rows, centers) ** 2
    # The background: around the mean of the rows, as heavy as all centres together.
    mean = rows.mean(axis=0)
    far = np.square(rows - mean).sum(axis=1)
    least = math.exp(_LEAST_LOG_VARIANCE)
    variances = np.maximum(squares.min(axis=0) / n_columns, least)
    broad = max(float(far.mean()) / n_columns, least)
    before, gain, remaining = -math.inf, math.inf, math.inf
    for iteration in range(1, options.max_iter + 1):
        terms = _terms(squares, variances, n_columns) - math.log(len(centers))
        background = _terms(far[:, None], np.array([broad]), n_columns)[:, 0]
        top = np.maximum(terms.max(axis=1), background)
        shares = np.exp(terms - top[:, None])
        back = np.exp(background - top)
        total = shares.sum(axis=1) + back
        likelihood = float(np.mean(top + np.log(total))) / n_columns
        rate = min((likelihood - before) / gain, 1.0 - 1e-6) if gain > 0.0 else 0.0
        before, gain = likelihood, likelihood - before
        remaining = max(gain, 0.0) * max(rate, 0.0) / (1.0 - rate)
        if gain <= options.rtol:
            return _Fit(variances, iteration, True, remaining)
        shares /= total[:, None]
        back /= total
        weights = shares.sum(axis=0)
        reached = (
            weights > np.finfo(np.float64).tiny
        )  # a centre that explains no row keeps its variance
        spread = np.einsum("ij,ij->j", shares, squares)
        variances = np.where(
            reached, spread / np.where(reached, weights, 1.0) / n_columns, variances
        )
        variances = np.maximum(variances, least)
        if back.sum() > 0.0:
            broad = max(float(back @ far) / float(back.sum()) / n_columns, least)
    return _Fit(variances, options.max_iter, False, remaining)


def _terms(squares: FloatArray, variances: FloatArray, n_columns: int) -> FloatArray:
    """Return the log-densities of Gaussians at squared distances."""
    return np.asarray(-0.5 * (squares / variances + n_columns * np.log(2.0 * math.pi * variances)))


def _log_likelihood(rows: FloatArray, centers: FloatArray, variances: FloatArray) -> float:
    """Return the mean log-likelihood of ``rows`` in nats per column."""
    terms = _terms(pairwise_distances(rows, centers) ** 2, variances, rows.shape[1]) - math.log(
        len(centers)
    )
    top = terms.max(axis=1)
    mean = float(np.mean(top + np.log(np.exp(terms - top[:, None]).sum(axis=1))))
    return mean / int(rows.shape[1])
