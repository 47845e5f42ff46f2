"""Posterior agreement: do a model's predictions survive this shift? The public function."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

from shiftmetrics._core.probabilities import look_like_probabilities
from shiftmetrics._core.resampling import Units
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.tables import Align, align_tables
from shiftmetrics._core.validation import check_integer, check_number, seed_of
from shiftmetrics.agreement.intervals import sample_agreement
from shiftmetrics.agreement.result import PosteriorAgreementResult, certified_fields
from shiftmetrics.agreement.scores import ScorePairs, prepare_pairs
from shiftmetrics.agreement.solver import pilot_betas, solve_agreement
from shiftmetrics.agreement.statistic import AgreementLimits, evaluator, row_agreement, survey


def posterior_agreement(
    scores: Any,
    reference_scores: Any,
    *,
    kind: str = "scores",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    align: Align = "labels",
    atol: float = 1e-6,
    max_iter: int = 200,
    executor: Executor | None = None,
    keep_rows: bool = True,
    confidence_level: float | None = None,
    n_resamples: int = 1000,
    groups: Any = None,
    rng: Any = None,
) -> PosteriorAgreementResult:
    """Posterior agreement of paired scores: how far predictions survive a shift. No labels are needed.

    The largest mean log-overlap ``log(K sum_k p(k) q(k))``, over all inverse temperatures, between the Gibbs
    posteriors of a sample and of its shifted copy [1]_. It is found with a certificate: the function of beta is a
    difference of two convex ones (it is not concave), so bounds between evaluated betas enclose its maximum.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes) or (n_samples,)
        Scores (logits) on the shifted sample: NumPy, torch, any array API library, DataFrame or nested lists. A
        one-dimensional array is a binary margin s, read as the scores (0, s).
    reference_scores : array of the same shape
        Scores on the original sample; row i belongs to the same observation as row i of ``scores``.
    kind : {"scores", "probabilities"}, default "scores"
        Probabilities become scores by their logarithm; in one dimension they are those of the second class.
    prior : array of shape (n_classes,) or "predicted", optional
        Class prior inside the posteriors, scaled to sum 1; classes of prior 0 drop out. Default: uniform, for which a
        constant classifier is perfectly robust. "predicted" takes the share of rows, of both samples, in which each
        class is predicted: then a constant classifier scores 0, which is what choosing a model needs.
    sample_weight : array of shape (n_samples,), optional
        Non-negative observation weights.
    floor : float, optional
        Smaller probabilities are raised to it. Default: half the smallest positive entry if there are zeros.
    align : {"labels", "position"}, default "labels"
        Whether two DataFrames are matched by row and column labels or as they stand.
    atol : float, default 1e-6
        Certified gap, in nats per sample.
    max_iter : int, default 200
        Most betas to evaluate; 15 to 40 suffice unless the agreement is close to 0.
    executor : concurrent.futures.Executor, optional
        Threads that work on blocks of rows. Default: one for each CPU.
    keep_rows : bool, default True
        Whether to compute ``per_sample``.
    confidence_level : float, optional
        Compute a sampling interval of this level, between 0 and 1: by the bootstrap, with beta found anew in each
        draw; where no pair disagrees, by the exact binomial bound on contradictions that did not show.
    n_resamples : int, default 1000
        Bootstrap draws.
    groups : array of shape (n_samples,), optional
        Labels of pairs that belong together, such as the picture that several pairs show: they are drawn together.
    rng : int, Generator or None
        Seed of the draws, recorded in the settings. The same seed draws the same pairs for another model.

    Returns
    -------
    PosteriorAgreementResult
        Value in nats per sample; higher is better.

    Raises
    ------
    TypeError
        If inputs hold no numbers, come from different array libraries, or are one-dimensional integers (labels).
    ValueError
        If shapes or labels differ, values are not finite, there is one class only, or an argument is out of range.

    References
    ----------
    .. [1] Carvalho et al., "Rethinking Robustness in Machine Learning: A Posterior Agreement Approach", TMLR 2025,
       arXiv:2503.16271, eq. (10) and theorem 2. Its theorem 3 (concavity) does not hold.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import posterior_agreement
    >>> reference = np.repeat(1.0, 1000)  # 1000 binary margins, of which 300 change sign
    >>> shifted = np.where(np.arange(1000) < 300, -1.0, 1.0)
    >>> result = posterior_agreement(shifted, reference)
    >>> round(result.value, 6), round(result.equivalent_error, 4)
    (0.082283, 0.3)
    """
    atol = check_number(atol, "atol", low=0.0, open_low=True)
    max_iter = check_integer(max_iter, "max_iter", low=1)
    seed = None
    if confidence_level is not None:
        confidence_level = check_number(
            confidence_level, "confidence_level", low=0.0, high=1.0, open_low=True, open_high=True
        )
        n_resamples = check_integer(n_resamples, "n_resamples", low=2)
        seed = seed_of(rng)
        _, groups = align_tables(scores, groups, "scores", "groups", align=align)
    pairs = prepare_pairs(
        scores,
        reference_scores,
        kind=kind,
        prior=prior,
        sample_weight=sample_weight,
        floor=floor,
        align=align,
    )
    predicted = isinstance(prior, str)
    pairs, limits = survey(pairs, predicted=predicted, executor=executor)
    best = solve_agreement(
        evaluator(pairs, executor=executor),
        limits,
        prior=pairs.prior,
        atol=atol,
        max_iter=max_iter,
        guesses=pilot_betas(pairs, atol),
    )
    value = min(best.value, math.log(pairs.n_classes)) if prior is None else best.value
    sampling = None
    if confidence_level is not None and seed is not None:
        sampling = sample_agreement(
            pairs,
            limits,
            best,
            Units.of(groups, pairs.n_samples),
            value=value,
            level=confidence_level,
            n_resamples=n_resamples,
            seed=seed,
            predicted=predicted,
            executor=executor,
        )
    per_sample = row_agreement(pairs, best.x, executor=executor) if keep_rows else None
    fields = certified_fields(best, limits, prior=pairs.prior, scale=pairs.scale, uniform=prior is None)
    return PosteriorAgreementResult(
        **fields,
        interval=None if sampling is None else sampling.interval,
        per_sample=per_sample,
        resampled=None if sampling is None else sampling.resampled,
        settings=settings_of(
            kind=pairs.kind,
            prior=prior_setting(prior),
            sample_weight=sample_weight is not None,
            floor=pairs.floor,
            align=align,
            atol=atol,
            max_iter=max_iter,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            groups=groups is not None,
            rng=seed,
        ),
        warnings=(
            *input_warnings(pairs, limits),
            *constant_warning(fields["effective_classes"], predicted=predicted),
        ),
    )


def prior_setting(prior: Any) -> str:
    """Name the prior for the settings of a result, which holds its numbers."""
    return prior if isinstance(prior, str) else "uniform" if prior is None else "given"


def input_warnings(pairs: ScorePairs, limits: AgreementLimits) -> Iterator[str]:
    """Say what is odd about the input, with the remedy."""
    if limits.n_identical == limits.n_rows:
        yield (
            "scores and reference_scores are identical in every row (up to a constant), so they agree perfectly "
            "without saying anything about a shift. Check that the shifted sample was given."
        )
    for array, name in ((pairs.scores, "scores"), (pairs.reference_scores, "reference_scores")):
        if pairs.kind == "scores" and look_like_probabilities(array):
            rows = "rows are non-negative and sum to 1" if array.ndim == 2 else "values lie between 0 and 1"
            yield f'{name} look like probabilities ({rows}). If they are, pass kind="probabilities".'


def constant_warning(effective_classes: float, *, predicted: bool) -> Iterator[str]:
    """Say that the model is constant, and what that does to its agreement."""
    if effective_classes < 1.0 + 1e-9:
        remedy = (
            "With the predicted prior its agreement is 0."
            if predicted
            else 'Pass prior="predicted" to measure the agreement beyond that.'
        )
        yield f"Every row of both samples is predicted to be the same class: the model is constant. {remedy}"
