"""Curves of agreement over the power of a shift and the ratio of shifted samples."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, as_like, namespace
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import (
    Computing,
    Resampling,
    always_resampling,
    computing_of,
    progress_bar,
)
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_number, check_vector, first_few
from shiftmetrics.agreement.channel import channel_of
from shiftmetrics.agreement.curves_result import (
    SOLVED,
    SOME_UNSOLVED,
    AgreementCurvesResult,
    CurveEstimates,
    CurveSearches,
    Power,
)
from shiftmetrics.agreement.posterior import prior_setting
from shiftmetrics.agreement.predictions import label_columns, predicted_columns
from shiftmetrics.agreement.priors import named_prior
from shiftmetrics.agreement.sampling import n_trials, sample_agreement
from shiftmetrics.agreement.scores import ScorePairs, align_rows, prepare_pairs
from shiftmetrics.agreement.solver import search_beta
from shiftmetrics.agreement.statistic import evaluator, limits_of, survey

RATIOS = tuple(k / 10 for k in range(11))
"""Ratios of shifted samples, unless others are given."""

ONE_POWER = "shift"
"""Name of the power where there is only one."""


def agreement_curves(
    scores: Any,
    reference_scores: Any,
    *,
    ratios: Any = RATIOS,
    labels: Any = None,
    perturbation_sizes: Any = None,
    kind: str = "auto",
    prior: Any = None,
    floor: float | None = None,
    pairing: Align = "labels",
    resampling: Resampling | float = 0.95,
    computing: Computing | None = None,
) -> AgreementCurvesResult:
    """Agreement, AFR_P and AFR_T against the power of a shift and the ratio of shifted samples.

    At ratio alpha the first fraction alpha of the samples is shifted and the others are as they were [1]_. The
    samples are put in order once, and every point is certified.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes), or mapping of such arrays
        Scores on the shifted samples; of several powers a mapping from the power, a number or a name.
    reference_scores : array of shape (n_samples, n_classes)
        Scores on the original samples.
    ratios : array of shape (n_ratios,), default 0, 0.1, ..., 1
        Fractions of shifted samples, each rounded to an integer number of them.
    labels : array of shape (n_samples,), optional
        True classes, for AFR_T: column positions, or column names of tables.
    perturbation_sizes : array of shape (n_samples,), or mapping of such arrays by power, optional
        How far each sample was changed; the smallest changes come first, as in the papers' adversarial ratio (samples
        that an attack failed on may be infinite). Default: a random order, the same for all powers.
    kind, floor
        As in `posterior_agreement`.
    prior : array of shape (n_classes,), "uniform" or "predicted", optional
        As in `posterior_agreement`, but "predicted" is one prior for all points: the predictions on the original
        samples and on all samples shifted, averaged over powers.
    pairing : {"labels", "position"}, default "labels"
        Whether DataFrames are matched by row and column labels or as they stand.
    resampling : Resampling or float, default 0.95
        Of the intervals; pairs of one group count once. Its ``rng`` also gives the order of the samples, and of
        samples of equal size.
    computing : Computing, optional
        ``executor``, ``progress``; ``atol``, the certified gap of each point in nats per sample (default 1e-5);
        ``max_iter``, the most betas of each point (default 200).

    Returns
    -------
    AgreementCurvesResult
        ``to_frame()`` is one tidy table. Higher is better.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`, or if powers, ratios, sizes or labels do not fit together.

    References
    ----------
    .. [1] Carvalho et al., "Rethinking Robustness in Machine Learning: A Posterior Agreement Approach", TMLR 2025,
       arXiv:2503.16271, sections 4.1 and 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics import Resampling
    >>> from shiftmetrics.agreement import agreement_curves
    >>> rng = np.random.default_rng(0)
    >>> reference = 3 * rng.normal(size=(500, 4))
    >>> noise = rng.normal(size=(500, 4))
    >>> curves = agreement_curves(
    ...     {power: reference + power * noise for power in (1.0, 2.0)}, reference, ratios=[0, 0.5, 1],
    ...     resampling=Resampling(rng=0),
    ... )
    >>> curves.normalized.round(3).tolist()
    [[1.0, 0.809, 0.725], [1.0, 0.643, 0.51]]
    """
    prior, computing = named_prior(prior), computing_of(computing, atol=1e-5, max_iter=200)
    resampling = always_resampling(resampling)
    groups = align_rows(reference_scores, resampling.groups, "groups", pairing, "reference_scores")
    resampling = dataclasses.replace(resampling, groups=groups)
    fractions = np.unique(check_vector(ratios, "ratios", low=0.0))
    check_number(float(fractions[-1]), "ratios", low=0.0, high=1.0)
    # One prior, one set of labels and one order of ratios for all powers.
    tables = _by_power(scores)
    options: dict[str, Any] = {"kind": kind, "prior": prior, "floor": floor}
    samples = _pairs_of_powers(tables, reference_scores, pairing, options, computing)
    n_samples = samples[0].n_samples
    truth = None
    if labels is not None:
        labels = align_rows(reference_scores, labels, "labels", pairing, "reference_scores")
        truth = label_columns(labels, "labels", reference_scores, samples[0].n_classes, n_samples)
    counts = _row_counts(fractions, n_samples)
    points: list[dict[str, Any]] = []
    with progress_bar(computing.progress, "curves", len(tables)) as bar:
        for power, pairs in zip(tables, samples, strict=True):
            sizes = np.zeros(n_samples)
            if perturbation_sizes is not None:
                given = _of_power(perturbation_sizes, power)
                given = align_rows(
                    reference_scores, given, "perturbation_sizes", pairing, "reference_scores"
                )
                sizes = check_vector(
                    given, "perturbation_sizes", length=n_samples, low=0.0, allow_inf=True
                )
            # Row i is shifted from the ratio at position segment[i] on.
            # At a ratio the rows of rank below its count are shifted: the first such count is the first one above
            # the rank.
            segment = np.searchsorted(counts, _shift_rank(sizes, resampling.rng), side="right")
            points += _solve_ratios(pairs, segment, len(fractions), truth, resampling, computing)
            bar.update()
    shape = (len(tables), len(fractions))
    found: dict[str, FloatArray] = {}
    for name in points[0]:
        found[name] = np.array([point[name] for point in points]).reshape(shape)
    ceiling = found["ceiling"]
    # A ceiling of 0 is that of a constant model under its own prior: nothing can agree.
    where = ceiling > 0.0
    value = 0.0
    if where.all():
        value = float((found["agreement"] / ceiling).min())
    return AgreementCurvesResult(
        value=value,
        error_bound=float((found["errors"][where] / ceiling[where]).max(initial=0.0)),
        status=SOLVED if found["converged"].all() else SOME_UNSOLVED,
        n_samples=n_samples,
        powers=tuple(tables),
        ratios=fractions,
        agreement=_estimates(found, "agreement"),
        ceiling=ceiling,
        equivalent_error=found["equivalent_error"],
        afr_p=_estimates(found, "afr_p"),
        afr_t=None if labels is None else _estimates(found, "afr_t"),
        search=CurveSearches(
            beta=found["beta"],
            errors=found["errors"],
            n_evaluations=int(found["n_evaluations"].sum()),
        ),
        settings=settings_of(
            kind=kind,
            prior=prior_setting(prior),
            floor=floor,
            pairing=pairing,
            labels=labels is not None,
            perturbation_sizes=perturbation_sizes is not None,
            resampling=resampling.settings(),
            computing=computing.settings(),
        ),
    )


def _by_power(scores: Any) -> dict[Power, Any]:
    """Return the scores by power, ascending where powers are numbers."""
    if not isinstance(scores, Mapping):
        return {ONE_POWER: scores}
    if not scores:
        raise ArgumentValueError("scores", "given for at least one power", "none")
    keys = list(scores)
    if all(isinstance(key, numbers.Real) for key in keys):
        keys = sorted(keys)
    return {_power(key): scores[key] for key in keys}


def _of_power(sizes: Any, power: Power) -> Any:
    """Return the perturbation sizes of one power."""
    if not isinstance(sizes, Mapping):
        return sizes
    by_power = {_power(key): part for key, part in sizes.items()}
    if power not in by_power:
        expected = f"given for power {power!r}"
        raise ArgumentValueError("perturbation_sizes", expected, first_few(sizes, 4) or "none")
    return by_power[power]


def _power(key: Any) -> Power:
    if isinstance(key, numbers.Real) and not isinstance(key, bool):
        return float(key)
    return str(key)


def _pairs_of_powers(
    tables: dict[Power, Any],
    reference: Any,
    pairing: Align,
    options: dict[str, Any],
    computing: Computing,
) -> list[ScorePairs]:
    """Return the pairs at each power, with one prior for all of them."""
    # Each power against the same reference, in one order of rows.
    surveyed = []
    for table in tables.values():
        aligned = align_rows(reference, table, "scores", pairing, "reference_scores")
        pairs = prepare_pairs(aligned, reference, pairing="position", **options)
        surveyed.append(survey(pairs, executor=computing.executor))
    if not isinstance(options["prior"], str):
        return [pairs for pairs, _ in surveyed]
    predicted = np.mean([limits.class_fractions for _, limits in surveyed], axis=0)
    return [pairs.replace(prior=predicted / predicted.sum()) for pairs, _ in surveyed]


def _estimates(found: dict[str, FloatArray], name: str) -> CurveEstimates:
    return CurveEstimates(value=found[name], low=found[f"{name}_low"], high=found[f"{name}_high"])


def _row_counts(ratios: FloatArray, n_samples: int) -> IntArray:
    """Return the number of rows at each ratio."""
    # Ratios are rounded to whole samples; one that shifts none is a mistake.
    counts = np.asarray([round(float(ratio) * n_samples) for ratio in ratios], dtype=np.int64)
    none = (ratios > 0.0) & (counts == 0)
    if none.any():
        expected = f"0 or enough to shift one of {n_samples} rows"
        raise ArgumentValueError("ratios", expected, f"{ratios[none][0]:g}")
    return counts


def _shift_rank(sizes: FloatArray, seed: int) -> IntArray:
    """Return the place of each row in the order in which rows are shifted: by size, ties by a random order."""
    # Sorted by size, and by a random number where sizes are equal.
    ties = np.random.default_rng(seed).permutation(len(sizes))
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.lexsort((ties, sizes))] = np.arange(len(sizes))
    return rank


def _solve_ratios(
    pairs: ScorePairs,
    segment: IntArray,
    n_ratios: int,
    truth: IntArray | None,
    resampling: Resampling,
    computing: Computing,
) -> Iterator[dict[str, Any]]:
    """Solve at every ratio: row i is shifted from the ratio at position ``segment[i]`` on."""
    guesses: list[float] = []
    shifted, reference = predicted_columns(pairs)
    trials = n_trials(pairs, resampling)
    for j in range(n_ratios):
        # The samples shifted so far; the best beta of the ratio before is a good guess.
        shifted_so_far = segment <= j
        some = _shifted_in_part(pairs, shifted_so_far)
        limits = limits_of(some, executor=computing.executor)
        # Rows with themselves cannot disagree, and rise without end: f' = 2 (E_2beta[b] - E_beta[b]) >= 0.
        beta = None if shifted_so_far.any() else math.inf
        evaluate = evaluator(some, executor=computing.executor)
        best = search_beta(evaluate, limits, pairs.prior, beta, computing, guesses=guesses)
        # Only speed depends on guesses: the certificate covers all betas whatever is tried first.
        guesses = [best.x] if 0.0 < best.x < math.inf else []
        low = high = best.value
        if beta is None:  # to first order, beta may stay fixed
            options: dict[str, Any] = {
                "resampling": resampling,
                "refit_beta": False,
                "executor": computing.executor,
            }
            interval = sample_agreement(some, best, value=best.value, **options).interval
            low, high = (low, high) if interval is None else (interval.low, interval.high)
        # What this agreement means: its ceiling, and the flips of a channel.
        channel = channel_of(pairs.prior, limits.class_fractions)
        point = {
            "agreement": best.value,
            "agreement_low": low,
            "agreement_high": high,
            "errors": best.error_bound,
            "ceiling": channel.ceiling,
            "equivalent_error": channel.error(best.value),
            "beta": best.x * pairs.scale,
            "n_evaluations": best.n_evaluations if beta is None else 0,
            "converged": best.converged,
        }
        # Rates are counted, with exact binomial intervals.
        predicted = np.where(shifted_so_far, shifted, reference)
        for name, expected in (("afr_p", reference), ("afr_t", truth)):
            if expected is not None:
                rate = float(np.mean(predicted == expected))
                ends = binomial_interval(rate, trials, resampling.confidence_level)
                point |= {name: rate, f"{name}_low": ends[0], f"{name}_high": ends[1]}
        yield point


def _shifted_in_part(pairs: ScorePairs, is_shifted: BoolArray) -> ScorePairs:
    """Return the pairs in which only some rows are shifted; the others are paired with themselves."""
    scores, reference = pairs.scores, pairs.reference_scores
    mask = as_like(is_shifted if scores.ndim == 1 else is_shifted[:, None], scores)
    return pairs.replace(scores=namespace(scores).where(mask, scores, reference))
