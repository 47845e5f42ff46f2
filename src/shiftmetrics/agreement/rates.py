"""Rates beside agreement: how many predictions survive a shift, and how many are right before and after it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval, Result, Status, format_number, settings_of
from shiftmetrics._core.tables import Align, check_labels, label_codes
from shiftmetrics._core.validation import check_number, describe
from shiftmetrics.agreement.predictions import check_predictions
from shiftmetrics.agreement.scores import align_rows

EXACT = "exact binomial (Clopper-Pearson)"


COUNTED = Status("counted", "Rates are counted, nothing is estimated.")


@dataclass(frozen=True, eq=False, kw_only=True)
class Rate(Record):
    """A rate with its sampling interval.

    Attributes
    ----------
    value : float
        The rate among the rows.
    interval : Interval or None
        What other samples of this size would plausibly give; None where the sample cannot tell.
    """

    value: float
    interval: Interval | None


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionRates(Record):
    """The rates of one set of rows; those that need labels are None without them.

    Attributes
    ----------
    n_samples : int
        Number of rows.
    afr_p : Rate
        Share of predictions that the shift does not change.
    afr_t : Rate or None
        Share of shifted predictions that are right: accuracy under the shift.
    accuracy : Rate or None
        Share of reference predictions that are right: AFR_T before any shift.
    delta_afr : Rate or None
        Accuracy lost to the shift, ``accuracy - afr_t``.
    misled : Rate or None
        Share of the rows that were right before the shift and are wrong after it.
    attack_success_rate : Rate
        ``1 - afr_t``; without labels ``1 - afr_p``.
    macro_f1, reference_macro_f1 : Rate or None
        Mean over classes of the F1 score, of shifted and of reference predictions. A class counts when it is
        predicted or true in some row.
    """

    n_samples: int
    afr_p: Rate
    afr_t: Rate | None = None
    accuracy: Rate | None = None
    delta_afr: Rate | None = None
    misled: Rate | None = None
    attack_success_rate: Rate
    macro_f1: Rate | None = None
    reference_macro_f1: Rate | None = None

    def items(self) -> list[tuple[str, Rate]]:
        """Return the names and values of the rates there are."""
        rates = [(name, getattr(self, name)) for name in RATES]
        return [(name, rate) for name, rate in rates if rate is not None]


RATES = tuple(part.name for part in fields(PredictionRates) if part.name != "n_samples")
"""The rates, in the order of tables."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionRatesResult(Drawn, Result):
    """How many predictions survive a shift, over all rows and in each group.

    Attributes
    ----------
    value : float
        ``overall.afr_p.value``: the share of predictions that the shift does not change. Higher is better.
    status : Status
        Always ok.
    overall : PredictionRates
        Over all rows.
    groups : dict of str to PredictionRates
        In each group of rows; empty without ``groups``. Their intervals hold together with those of the other groups
        at the level ``1 - (1 - confidence_level) / n_groups``.
    n_classes : int
        Classes seen in any of the inputs.
    """

    measure = "prediction_rates"
    title = "Prediction rates"
    higher_is_better = True

    overall: PredictionRates
    groups: dict[str, PredictionRates] = field(default_factory=dict)
    n_classes: int

    def headline(self) -> str:
        """Return one sentence with the share of predictions kept and the accuracies."""
        kept = f"The shift leaves {_percent(self.value)} of the predictions unchanged (AFR_P)"
        if self.overall.afr_t is None or self.overall.accuracy is None:
            return f"{kept}."
        before, after = self.overall.accuracy.value, self.overall.afr_t.value
        return f"{kept}; {_percent(before)} were right before it and {_percent(after)} after it (AFR_T)."

    def notes(self) -> list[str]:
        """Return the sentence on the lowest groups, and those of every measure."""
        # The group that loses most of its predictions, and the one that is wrong most often.
        lowest = []
        names = ["afr_p"] if self.overall.afr_t is None else ["afr_p", "afr_t"]
        for name in names if self.groups else []:
            values = {group: getattr(rates, name).value for group, rates in self.groups.items()}
            group = min(values, key=values.__getitem__)
            lowest.append(f"{name.upper()} is lowest in group {group!r}: {_percent(values[group])}")
        return [*([f"{'; '.join(lowest)}."] if lowest else []), *super().notes()]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row for each rate: over "all" rows, then in each group."""
        import pandas as pd

        sets = [("all", self.overall.n_samples, self.overall.items())]
        sets += [(name, rates.n_samples, rates.items()) for name, rates in self.groups.items()]
        rows = [
            {
                "group": group,
                "rate": name,
                "value": rate.value,
                "interval_low": math.nan if rate.interval is None else rate.interval.low,
                "interval_high": math.nan if rate.interval is None else rate.interval.high,
                "n_samples": n_samples,
            }
            for group, n_samples, rates in sets
            for name, rate in rates
        ]
        return pd.DataFrame(rows)


def prediction_rates(
    predictions: Any,
    reference_predictions: Any,
    labels: Any = None,
    *,
    groups: Any = None,
    confidence_level: float = 0.95,
    pairing: Align = "labels",
) -> PredictionRatesResult:
    """Count how many predictions survive a shift, and how many are right before and after it.

    AFR_P, AFR_T (attack failure rates by predictions and by labels [1]_), the loss DeltaAFR, the attack success rate,
    accuracy and macro F1; for all rows and each group.

    Parameters
    ----------
    predictions : array of shape (n_samples,) or (n_samples, n_classes)
        Predicted labels on the shifted sample, or scores, of which the largest counts (ties: the first class). The
        classes of a DataFrame of scores are its column names, those of an array the column positions.
    reference_predictions : array of shape (n_samples,) or (n_samples, n_classes)
        The same on the original sample; row i belongs to the same observation.
    labels : array of shape (n_samples,), optional
        True classes.
    groups : array of shape (n_samples,), optional
        A label of the group of each row.
    confidence_level : float, default 0.95
        Confidence level of the intervals. Those of rates are exact binomial ones (Clopper-Pearson); that of
        ``delta_afr`` joins two of them, for rows misled and rows put right, at half the error each; those of macro
        F1 are normal, by the delta method.
    pairing : {"labels", "position"}, default "labels"
        Whether pandas inputs are matched by their index or as they stand.

    Returns
    -------
    PredictionRatesResult
        ``value`` is AFR_P; higher is better.

    Raises
    ------
    TypeError
        If labels are texts on one side and numbers on the other, or inputs hold neither.
    ValueError
        If lengths differ, values are missing, or one-dimensional numbers are no labels.

    References
    ----------
    .. [1] Carvalho et al., "Rethinking Robustness in Machine Learning: A Posterior Agreement Approach", TMLR 2025,
       arXiv:2503.16271, section 4.1; V. Jimenez Rodriguez, master thesis, ETH Zurich 2024, section 4.2.

    Examples
    --------
    >>> from shiftmetrics.agreement import prediction_rates
    >>> rates = prediction_rates([0, 1, 1, 0], [0, 1, 0, 0], labels=[0, 1, 0, 1])
    >>> rates.value, rates.overall.afr_t.value, rates.overall.delta_afr.value
    (0.75, 0.5, 0.25)
    >>> print(rates.overall.afr_p.interval)
    [0.1941, 0.9937] (95 %)
    """
    confidence_level = check_number(
        confidence_level, "confidence_level", low=0.0, high=1.0, open_low=True, open_high=True
    )
    named = (
        (reference_predictions, "reference_predictions"),
        (labels, "labels"),
        (groups, "groups"),
    )
    reference_predictions, labels, groups = (
        align_rows(predictions, value, name, pairing, "predictions") for value, name in named
    )
    # Scores become classes, and all classes one numbering.
    shifted = check_predictions(predictions, "predictions")
    reference = check_predictions(reference_predictions, "reference_predictions")
    if len(shifted) != len(reference):
        expected = f"of length {len(shifted)} like predictions"
        remedy = "Rows are pairs: pair the samples first."
        raise ValueError(
            describe("reference_predictions", expected, f"length {len(reference)}", remedy)
        )
    inputs = [(shifted, "predictions"), (reference, "reference_predictions")]
    if labels is not None:
        inputs.append((check_labels(labels, "labels", length=len(shifted)), "labels"))
    codes, classes = label_codes(*inputs)
    # Each group by itself, then all rows.
    by_group: dict[str, PredictionRates] = {}
    if groups is not None:
        names = check_labels(groups, "groups", length=len(shifted))
        for name in np.unique(names):
            by_group[str(name)] = _rates_of(
                [part[names == name] for part in codes], len(classes), confidence_level
            )
    overall = _rates_of(codes, len(classes), confidence_level)
    return PredictionRatesResult(
        value=overall.afr_p.value,
        error_bound=0.0,
        interval=overall.afr_p.interval,
        status=COUNTED,
        n_samples=len(shifted),
        overall=overall,
        groups=by_group,
        n_classes=len(classes),
        settings=settings_of(
            labels=labels is not None,
            groups=groups is not None,
            confidence_level=confidence_level,
            pairing=pairing,
        ),
    )


def _rates_of(codes: list[IntArray], n_classes: int, confidence_level: float) -> PredictionRates:
    """Count the rates of some rows; ``codes`` are shifted and reference predictions, and labels if there are any."""
    shifted, reference = codes[:2]
    n = len(shifted)
    kept = int(np.count_nonzero(shifted == reference))
    if len(codes) == 2:
        return PredictionRates(
            n_samples=n,
            afr_p=_rate(kept, n, confidence_level),
            attack_success_rate=_rate(n - kept, n, confidence_level),
        )
    # With labels: what was right before and after, and what the shift turned.
    labels = codes[2]
    right_after, right_before = shifted == labels, reference == labels
    misled = int(np.count_nonzero(right_before & ~right_after))
    corrected = int(np.count_nonzero(~right_before & right_after))
    after, before = int(right_after.sum()), int(right_before.sum())
    return PredictionRates(
        n_samples=n,
        afr_p=_rate(kept, n, confidence_level),
        afr_t=_rate(after, n, confidence_level),
        accuracy=_rate(before, n, confidence_level),
        delta_afr=_difference(misled, corrected, n, confidence_level),
        misled=_rate(misled, n, confidence_level),
        attack_success_rate=_rate(n - after, n, confidence_level),
        macro_f1=_macro_f1(shifted, labels, n_classes, confidence_level),
        reference_macro_f1=_macro_f1(reference, labels, n_classes, confidence_level),
    )


def _rate(count: int, n: int, confidence_level: float) -> Rate:
    return _bounded(
        count / n, *binomial_interval(count / n, n, confidence_level), confidence_level, EXACT
    )


def _bounded(value: float, low: float, high: float, confidence_level: float, method: str) -> Rate:
    return Rate(
        value=value,
        interval=Interval(low=low, high=high, confidence_level=confidence_level, method=method),
    )


def _difference(lost: int, gained: int, n: int, confidence_level: float) -> Rate:
    """Bound the difference of two rates of the same rows: both exact intervals hold together at this level."""
    # Half of the error probability for either rate.
    half = 1.0 - (1.0 - confidence_level) / 2.0
    lost_low, lost_high = binomial_interval(lost / n, n, half)
    gained_low, gained_high = binomial_interval(gained / n, n, half)
    method = f"difference of two {EXACT} intervals"
    return _bounded(
        (lost - gained) / n,
        lost_low - gained_high,
        lost_high - gained_low,
        confidence_level,
        method,
    )


def _macro_f1(
    predicted: IntArray, labels: IntArray, n_classes: int, confidence_level: float
) -> Rate:
    """Mean of F_k = 2 TP_k / (predicted_k + true_k) over the classes seen, with its delta-method interval."""
    from scipy.special import ndtri

    # F_k = 2 TP_k / (predicted_k + true_k)
    n = len(labels)
    hits = np.bincount(labels[predicted == labels], minlength=n_classes)
    size = np.bincount(predicted, minlength=n_classes) + np.bincount(labels, minlength=n_classes)
    seen = size > 0
    per_row = np.where(seen, n / np.maximum(size, 1), 0.0) / seen.sum()
    scores: FloatArray = 2.0 * hits / np.maximum(size, 1)
    value = float(scores[seen].mean())
    # Derivative of the score by the weight of a row: 2 for a hit, less F for each side that names the class.
    influence = (
        2.0 * (predicted == labels) * per_row[labels]
        - scores[predicted] * per_row[predicted]
        - scores[labels] * per_row[labels]
    )
    error = math.sqrt(float(np.mean(influence**2)) / n)
    # Delta method: the standard error is that of the mean influence.
    if error <= 1e-12:  # all right, or all wrong: the sample holds no sign of how it may vary
        return Rate(value=value, interval=None)
    # Normal around the mean, within [0, 1].
    reach = float(ndtri((1.0 + confidence_level) / 2.0)) * error
    low, high = max(0.0, value - reach), min(1.0, value + reach)
    return _bounded(value, low, high, confidence_level, "normal, by the delta method")


def _percent(value: float) -> str:
    return f"{format_number(100.0 * value)} %"
