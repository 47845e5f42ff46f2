"""Posterior agreement: do a model's predictions survive this shift? The public function."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from shiftmetrics._core.confidence import ResamplingUnits, binomial_interval
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError, Setting, Wording
from shiftmetrics._core.options import Computing, Resampling, computing_of, resampling_of
from shiftmetrics._core.result import Interval, settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_number
from shiftmetrics.agreement.channel import channel_of
from shiftmetrics.agreement.contributions import split_agreement
from shiftmetrics.agreement.predictions import label_columns
from shiftmetrics.agreement.priors import named_prior
from shiftmetrics.agreement.result import BetaSearch, PosteriorAgreementResult, PredictionChanges
from shiftmetrics.agreement.sampling import n_trials, sample_agreement
from shiftmetrics.agreement.scores import ScorePairs, align_rows, prepare_pairs
from shiftmetrics.agreement.solver import given_units, pilot_betas, search_beta, status_of_maximum
from shiftmetrics.agreement.statistic import (
    AgreementLimits,
    confident_changes,
    evaluator,
    row_agreement,
    survey,
)

_LEAST_ROWS = 30
"""Pairs from which predictions that agree by chance alone are said to."""


def posterior_agreement(
    scores: Any,
    reference_scores: Any = None,
    *,
    kind: str = "auto",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    beta: float | None = None,
    pairing: Align = "labels",
    resampling: Resampling | float | None = None,
    computing: Computing | None = None,
) -> PosteriorAgreementResult:
    """Posterior agreement of paired scores: how far predictions survive a shift. No labels are needed.

    The largest mean log-overlap ``log(K sum_k p(k) q(k))``, over all inverse temperatures, between the Gibbs
    posteriors of a sample and of its shifted copy [1]_. It is found with a certificate: the function of beta is a
    difference of two convex ones (it is not concave), so bounds between evaluated betas enclose its maximum.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes) or (n_samples,)
        Scores (logits) on the shifted sample: NumPy, memory map, torch, any array API library, DataFrame or nested
        lists; or rows that need not fit in memory: arrays of HDF5 and zarr, pyarrow datasets (folders of parquet
        files), batches in an iterable that gives the same rows each time it is read, arrays and data frames of Dask.
        A one-dimensional array is a binary margin s, read as the scores (0, s). Without ``reference_scores``: batches
        that are pairs (scores, reference_scores). About ten passes are taken; of Dask only their sums leave the
        workers, and 1,000 rows that place the first betas.
    reference_scores : array of the same shape
        Scores on the original sample; row i belongs to the same observation as row i of ``scores``.
    kind : {"auto", "scores", "probabilities", "proportions"}, default "auto"
        What the rows hold. "auto": probabilities where no entry of both samples is negative and each row sums to 1
        (in one dimension: where all lie between 0 and 1), else scores. Probabilities become scores by
        their logarithm; in one dimension they are those of the second class. Rows of proportions, such as
        percentages, rounded probabilities or votes, are divided by their sum first.
    prior : array of shape (n_classes,), "uniform" or "predicted", optional
        Class prior inside the posteriors, scaled to sum 1; classes of prior 0 drop out, and may hold anything.
        Default: uniform, as in the papers, for which a constant classifier is perfectly robust. "predicted" takes how
        often each class is predicted, over both samples: then a constant classifier scores 0. It is the default of
        the torchmetrics class, of `agreement_loss` and of `compare_agreement`, which select models.
    sample_weight : array of shape (n_samples,), optional
        Non-negative observation weights. Not for batches and Dask.
    floor : float, optional
        Smaller probabilities are raised to it. Default: half the smallest positive entry if there are zeros.
    beta : float, optional
        A given inverse temperature, infinity included: nothing is searched. Take it, and ``prior``, from the result
        of other pairs to measure the agreement of these at it. Default: the beta of largest agreement.
    pairing : {"labels", "position"}, default "labels"
        Whether two DataFrames are matched by row and column labels or as they stand. Samples of different
        observations are paired by `pair_samples` first.
    resampling : Resampling or float, optional
        Compute a sampling interval at this confidence level. The bootstrap finds beta again in each resample; where
        no pair disagrees, the interval is the exact binomial bound on disagreements that were not seen. ``groups``
        are pairs that are resampled together, such as several versions of one picture. Only for ``beta=None``.
        Out-of-core data are read about ten times more, and five numbers of each row stay in memory.
    computing : Computing, optional
        ``executor``; ``atol``, the certified gap in nats per sample (default 1e-6); ``max_iter``, the most betas to
        evaluate (default 200; 15 to 40 suffice unless the agreement is close to 0); ``memory_limit``, the bytes that
        chunks of rows and the agreement of each row may take (default: none), without those of ``resampling``.

    Returns
    -------
    PosteriorAgreementResult
        Value in nats per sample; higher is better. Of batches and Dask without ``per_sample``.

    Raises
    ------
    TypeError
        If inputs hold no numbers, come from different array libraries, or are one-dimensional integers (labels), or
        batches cannot be read twice.
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
    >>> batches = [(shifted[part::10], reference[part::10]) for part in range(10)]
    >>> round(posterior_agreement(batches).value, 6)
    0.082283
    """
    if beta is not None:
        beta = check_number(beta, "beta", low=0.0, allow_inf=True)
    prior = named_prior(prior)
    computing = computing_of(computing, atol=1e-6, max_iter=200, memory_limit=None)
    resampling = resampling_of(resampling)
    if resampling is not None and beta is not None:
        raise ArgumentValueError("resampling", "None where beta is given", value=resampling)
    options: dict[str, Any] = {"kind": kind, "prior": prior, "floor": floor}
    # Validated: pairs in one order, and the rows that memory can hold.
    resampled = None
    pairs = prepare_pairs(
        scores,
        reference_scores,
        sample_weight=sample_weight,
        pairing=pairing,
        computing=computing,
        **options,
    )
    if pairs.elsewhere and sample_weight is not None:
        remedy = "Use arrays in memory, or in files."
        raise ArgumentValueError(
            "sample_weight", "None for batches and Dask", type(sample_weight).__name__, remedy
        )
    # Groups are in the order of the rows.
    if resampling is not None:
        groups = align_rows(scores, resampling.groups, "groups", pairing)
        resampling = dataclasses.replace(resampling, groups=groups)
        resampled = {
            **resampling.settings(),
            "n_units": ResamplingUnits.of(resampling.groups, pairs.n_samples).n_units,
        }
    # Map, add, solve; the settings repeat what was asked for.
    fields = _solved(pairs, prior, beta, resampling, computing)
    options.update(kind=pairs.kind, floor=pairs.floor)
    options["prior"] = prior_setting(prior)
    return PosteriorAgreementResult(
        **fields,
        settings=settings_of(
            **options,
            sample_weight=sample_weight is not None,
            beta=beta,
            pairing=pairing,
            resampling=resampled,
            computing=computing.settings(),
        ),
    )


def agreement_contributions(
    scores: Any,
    reference_scores: Any,
    labels: Any,
    *,
    kind: str = "auto",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    pairing: Align = "labels",
    computing: Computing | None = None,
) -> PosteriorAgreementResult:
    """Split posterior agreement by what happened to each pair: kept right, kept wrong, misled or changed.

    Parameters
    ----------
    scores, reference_scores, kind, prior, sample_weight, floor, computing
        As in `posterior_agreement`.
    labels : array of shape (n_samples,)
        True classes: column positions, or column names where ``scores`` is a DataFrame. The predicted class is
        that of the largest score (ties: the first).
    pairing : {"labels", "position"}, default "labels"
        Whether tables are matched by row and column labels or as they stand.

    Returns
    -------
    PosteriorAgreementResult
        Value in nats per sample; higher is better. Its ``contributions`` hold the four groups, whose parts add up to
        the agreement exactly.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`, or if a label is missing or no class of the scores.

    References
    ----------
    V. Jimenez Rodriguez, master thesis, ETH Zurich 2024, section B.1.2 and theorem B.1.1; Carvalho et al.,
    arXiv:2503.16271, section 4.1. The fourth group, wrong pairs that change, is left out there: with it the parts
    add up.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import agreement_contributions
    >>> reference = np.repeat(1.0, 1000)  # margins of the second class, 300 of which change sign
    >>> shifted = np.where(np.arange(1000) < 300, -1.0, 1.0)
    >>> split = agreement_contributions(shifted, reference, np.ones(1000, dtype=int)).contributions
    >>> [(name, group.n_samples, round(group.log_pa, 2)) for name, group in split.groups.items()]
    [('right', 700, -249.67), ('wrong', 0, 0.0), ('misled', 300, -361.19), ('changed', 0, 0.0)]
    """
    options: dict[str, Any] = {
        "kind": kind, "sample_weight": sample_weight, "floor": floor, "pairing": pairing
    }  # fmt: skip
    result = posterior_agreement(
        scores, reference_scores, prior=prior, computing=computing, **options
    )
    if result.per_sample is None:
        expected = "in memory for a split of their agreement"
        got = type(scores).__name__
        raise ArgumentTypeError("scores", expected, got, "Convert them to arrays.")
    # Their parts are split by what happened to each pair, at the beta of the agreement.
    parts = result.per_sample
    labels = align_rows(scores, labels, "labels", pairing)
    columns = label_columns(labels, "labels", scores, result.n_classes, result.n_samples)
    executor = computing_of(computing, atol=None, max_iter=None).executor
    pairs = prepare_pairs(scores, reference_scores, prior=result.prior, **options)
    pairs, _ = survey(pairs, executor=executor)
    split = split_agreement(pairs, result.beta, columns, parts, executor=executor)
    return dataclasses.replace(result, contributions=split)


def _solved(
    pairs: ScorePairs,
    prior: Any,
    beta: float | None,
    resampling: Resampling | None,
    computing: Computing,
) -> dict[str, Any]:
    """Return the fields of the result of pairs, wherever they are."""
    predicted = isinstance(prior, str)
    executor = computing.executor
    # One pass for the prior, the scale and the limits; some more for the maximum.
    pairs, limits = survey(pairs, predicted=predicted, executor=executor)
    evaluate = evaluator(pairs, executor=executor)
    if beta is None:
        guesses = pilot_betas(pairs, computing.atol or 0.0)
        best = search_beta(evaluate, limits, pairs.prior, None, computing, guesses)
    else:
        # Betas are searched in the scale of the pairs, and returned in that of the user.
        best = search_beta(evaluate, limits, pairs.prior, beta / pairs.scale, computing)
    channel = channel_of(pairs.prior, limits.class_fractions)
    value = min(best.value, channel.ceiling)  # whatever the rounding
    fields: dict[str, Any] = {
        "value": value,
        "n_samples": round(limits.n_rows),
        "prior": pairs.prior,
        "class_fractions": limits.class_fractions,
        "error_bound": best.error_bound,
        "status": status_of_maximum(best, given=beta is not None),
        "beta": float(given_units(np.asarray(best.x), pairs.scale)) if beta is None else beta,
        "search": BetaSearch(
            beta=given_units(best.points, pairs.scale),
            value=best.values,
            # A given beta has no certificate over the others.
            bound=best.bounds if beta is None else None,
            n_evaluations=best.n_evaluations,
            n_passes=best.n_passes,
        ),
        "warnings": _warnings(pairs, limits, predicted=predicted),
    }
    if not pairs.elsewhere:
        fields["per_sample"] = row_agreement(pairs, best.x, executor=executor)
    confident = 0.0
    if limits.changed > 0.0:
        confident = confident_changes(pairs, best.x, executor=executor) / limits.changed
    changes = PredictionChanges(
        disagreement=limits.changed / limits.weight,
        kappa=limits.kappa,
        confident=min(1.0, confident),
        n_tied=round(limits.n_tied),
    )
    if resampling is not None:
        sampled = sample_agreement(
            pairs,
            best,
            value=value,
            resampling=resampling,
            predicted=predicted,
            executor=executor,
        )
        fields["interval"] = sampled.interval
        fields["resampled"] = sampled.resampled
        # Flips fall as agreement rises: the upper end of one is the lower end of the other.
        flips = sampled.at_ceiling
        if flips is not None:
            # Both ends are agreements under the ceiling of the sample, which is the one that `channel` has.
            ends = channel.error(flips.high), channel.error(flips.low)
            flips = dataclasses.replace(flips, low=ends[0], high=ends[1])
        changes = dataclasses.replace(
            changes,
            disagreement_interval=_changes_interval(pairs, changes.disagreement, resampling),
            equivalent_error_interval=flips,
        )
    fields["changes"] = changes
    return fields


def _warnings(pairs: ScorePairs, limits: AgreementLimits, *, predicted: bool) -> tuple[str, ...]:
    """Return what the caller should know of pairs that agree for a reason of their own."""
    # A constant model agrees perfectly, or not at all: what it does depends on the prior.
    if limits.class_fractions.max() > 1.0 - 1e-9:
        constant = (
            "Every row of both samples is predicted to be the same class: the model is constant."
        )
        remedy: str = Wording(
            "Pass ", Setting("prior", "predicted"), " to measure the agreement beyond that."
        )
        if predicted:
            remedy = "With the predicted prior its agreement is 0."
        return (*pairs.warnings, f"{constant} {remedy}")
    if limits.n_identical == limits.n_rows:
        identical = (
            "scores and reference_scores are identical in every row (up to a constant), so they agree perfectly "
            "without saying anything about a shift. Check that the shifted sample was given."
        )
        return (identical, *pairs.warnings)
    # The standard error of the kappa of independent predictions (Fleiss, Cohen, Everitt 1969): 1 / sqrt(n) for two
    # classes, less for more.
    fractions = limits.class_fractions
    # Below 1 here: constant predictions have been dealt with above.
    chance = float(fractions @ fractions)
    spread = chance + chance**2 - 2.0 * float((fractions**3).sum())
    error = math.sqrt(max(spread, 0.0) / limits.n_rows) / (1.0 - chance)
    if limits.n_rows >= _LEAST_ROWS and abs(limits.kappa) <= 3.0 * error:
        unrelated = (
            "The predictions of both samples agree no more than those of unrelated rows may "
            f"(kappa {limits.kappa:.2f}): check that both hold the same rows in the same order."
        )
        return (unrelated, *pairs.warnings)
    return pairs.warnings


def _changes_interval(pairs: ScorePairs, disagreement: float, resampling: Resampling) -> Interval:
    """Return the exact binomial interval of the fraction of predictions that change."""
    low, high = binomial_interval(
        disagreement,
        n_trials(pairs, resampling),
        resampling.confidence_level,
        one_sided=disagreement in (0.0, 1.0),
    )
    return Interval(
        low=low, high=high, confidence_level=resampling.confidence_level, method="Clopper-Pearson"
    )


def prior_setting(prior: Any) -> str:
    """Name the prior for the settings of a result, which holds its numbers."""
    return prior if isinstance(prior, str) else "uniform" if prior is None else "given"
