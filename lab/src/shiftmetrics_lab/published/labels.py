"""A model against labels: how well scores agree with an oracle of stated confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import Computing, computing_of
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Status, format_number
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_number
from shiftmetrics.agreement.channel import SymmetricChannel
from shiftmetrics.agreement.predictions import label_columns, predicted_columns
from shiftmetrics.agreement.priors import named_prior
from shiftmetrics.agreement.scores import ScorePairs, align_rows, prepare_pairs
from shiftmetrics.agreement.solver import status_of_maximum
from shiftmetrics.agreement.statistic import survey
from shiftmetrics_lab.published.one_sided import one_sided_rows, solve_one_side


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelAgreement(Record):
    """Agreement of a model with labels.

    Attributes
    ----------
    value : float
        Nats per sample: 0 is chance, log K at most. Higher is better.
    error_bound : float
        Certificate gap and rounding.
    status : Status
        How the search for beta ended.
    beta : float
        Inverse temperature of the model where the agreement is largest.
    confidence : float
        Probability that the oracle gives to the label.
    equivalent_error : float
        Error rate of the symmetric channel with this capacity. Lower is better.
    accuracy : float
        Fraction of rows (by weight) whose largest score is that of the label.
    per_sample : ndarray of shape (n_samples,)
        Contribution of each row; their weighted mean is ``value``.
    """

    value: float
    error_bound: float
    status: Status
    beta: float
    confidence: float
    equivalent_error: float
    accuracy: float
    per_sample: FloatArray

    def __str__(self) -> str:
        return (
            f"Agreement with labels held with probability {format_number(self.confidence)}: "
            f"{format_number(self.value)} nats at beta = {format_number(self.beta)}; "
            f"{100 * self.accuracy:.3g} % of the predictions are right."
        )


def label_agreement(
    scores: Any,
    labels: Any,
    *,
    confidence: float = 1.0,
    kind: str = "scores",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    pairing: Align = "labels",
    computing: Computing | None = None,
) -> LabelAgreement:
    """Agreement of a model with labels, taken as the posteriors of an oracle of stated confidence.

    Only the model's beta is free. With confidence 1 and no prior, ``log K - value`` is the log loss of the model at
    its best temperature.

    Parameters
    ----------
    scores, kind, sample_weight, floor, computing
        As in `posterior_agreement`.
    labels : array of shape (n_samples,)
        True classes: column positions, or column names where ``scores`` is a DataFrame.
    confidence : float, default 1
        Probability that the oracle gives to the label, at least the label's prior; the rest goes to the other
        classes in proportion to the prior. Below 1, a confident error of the model costs a bounded amount.
    prior : array of shape (n_classes,), optional
        Class prior, positive for every class that is a label. Default: uniform.
    pairing : {"labels", "position"}, default "labels"
        Whether a DataFrame and a series of labels are matched by row labels or as they stand.

    Returns
    -------
    LabelAgreement
        Value in nats per sample; higher is better.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`, or if labels are no classes of the scores, or the confidence is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.published import label_agreement
    >>> result = label_agreement(np.repeat([3.0, -3.0], [90, 10]), np.ones(100, dtype=int))
    >>> round(result.value, 6), round(result.beta, 4), result.accuracy
    (0.368064, 0.7324, 0.9)
    """
    computing = computing_of(computing, atol=1e-6, max_iter=200)
    confidence = check_number(confidence, "confidence", low=0.0, high=1.0)
    prior = named_prior(prior)
    if isinstance(prior, str):
        remedy = "Labels have frequencies: pass those."
        raise ArgumentValueError("prior", "None or an array", value=prior, remedy=remedy)
    pairs = prepare_pairs(
        scores,
        scores,
        kind=kind,
        prior=prior,
        sample_weight=sample_weight,
        floor=floor,
        pairing=pairing,
    )
    labels = align_rows(scores, labels, "labels", pairing)
    columns = label_columns(labels, "labels", scores, pairs.n_classes, pairs.n_samples)
    pairs, _ = survey(pairs, executor=computing.executor)
    posteriors = _oracle(pairs, np.unique(columns), confidence)
    used = np.cumsum(pairs.prior > 0.0) - 1  # place of each class among those of positive prior

    def offset(rows: slice, block: FloatArray) -> FloatArray:
        return np.asarray(posteriors[used[columns[rows]]])

    best = solve_one_side(
        pairs,
        0,
        offset,
        atol=computing.atol or 0.0,
        max_iter=computing.max_iter or 0,
        executor=computing.executor,
    )
    right = (predicted_columns(pairs)[0] == columns).astype(np.float64)
    return LabelAgreement(
        value=best.value,
        error_bound=best.error_bound,
        status=status_of_maximum(best),
        beta=best.x * pairs.scale,
        confidence=confidence,
        equivalent_error=SymmetricChannel(pairs.n_classes).error(best.value),
        accuracy=float(np.average(right, weights=pairs.weights)),
        per_sample=one_sided_rows(pairs, 0, offset, best.x, executor=computing.executor),
    )


def _oracle(pairs: ScorePairs, labels: Any, confidence: float) -> FloatArray:
    """Return log(q / pi) of an oracle for each label among the classes of positive prior, one label a row."""
    missing = labels[pairs.prior[labels] == 0.0]
    if len(missing):
        raise ArgumentValueError(
            "prior", "positive for every class that is a label", f"0 for {missing[0]}"
        )
    prior = pairs.prior[pairs.prior > 0.0]
    least = float(pairs.prior[labels].max())
    if confidence < least:
        raise ArgumentValueError(
            "confidence", f"at least {least:g}, the prior of a label", f"{confidence:g}"
        )
    ratio = np.broadcast_to(
        ((1.0 - confidence) / (1.0 - prior))[:, None], (len(prior), len(prior))
    ).copy()
    np.fill_diagonal(ratio, confidence / prior)
    with np.errstate(divide="ignore"):
        return np.log(ratio)
