"""The metrics that have a name: those of scikit-learn's scorers, whose larger values are better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import first_few

MetricNeed = Literal["answers", "probabilities", "outputs"]

_AVERAGES = ("macro", "micro", "weighted")
_RATES = ("f1", "jaccard", "precision", "recall")

BINARY = (*_RATES, "roc_auc", "average_precision")
"""Metrics of a positive class."""

OF_ANSWERS = (
    "accuracy", "balanced_accuracy", "matthews_corrcoef", "quadratic_kappa", *_RATES,
    *(f"{rate}_{average}" for rate in _RATES for average in _AVERAGES),
)  # fmt: skip
OF_PROBABILITIES = (
    "roc_auc", "average_precision", "roc_auc_ovr", "roc_auc_ovr_weighted", "neg_log_loss", "neg_brier_score",
)  # fmt: skip
OF_OUTPUTS = (
    "r2", "neg_mean_absolute_error", "neg_mean_squared_error", "neg_root_mean_squared_error",
    "neg_mean_pinball_loss",
)  # fmt: skip

POINTS = (*OF_ANSWERS, "roc_auc", "average_precision", "roc_auc_ovr", "roc_auc_ovr_weighted")
"""Metrics of at most 1, which are said in per cent and points; but kappa and correlations, which may be negative."""

PINBALL = "neg_mean_pinball_loss"
QUANTILE = 0.5
"""The quantile of a pinball loss that names none, as in scikit-learn."""


@dataclass(frozen=True, kw_only=True)
class NamedMetric:
    """A metric by name.

    Attributes
    ----------
    name : str
    needs : {"answers", "probabilities", "outputs"}
        Which predictions it takes.
    quantile : float
        Of a pinball loss.
    """

    name: str
    needs: MetricNeed
    quantile: float = QUANTILE

    @property
    def is_binary(self) -> bool:
        """Whether it is of a positive class."""
        return self.name in BINARY


def named_metric(text: str) -> NamedMetric:
    """Return the metric of a name; ``neg_mean_pinball_loss@0.9`` names its quantile.

    Raises
    ------
    ValueError
        If there is none of this name.

    Examples
    --------
    >>> named_metric("f1_macro").needs
    'answers'
    >>> named_metric("neg_mean_pinball_loss@0.9").quantile
    0.9
    """
    name, _, suffix = text.partition("@")
    groups: dict[MetricNeed, tuple[str, ...]] = {
        "answers": OF_ANSWERS,
        "probabilities": OF_PROBABILITIES,
        "outputs": OF_OUTPUTS,
    }
    for needs, names in groups.items():
        if name in names:
            return NamedMetric(name=name, needs=needs, quantile=_quantile(text, name, suffix))
    known = sorted({*OF_ANSWERS, *OF_PROBABILITIES, *OF_OUTPUTS})
    close = [other for other in known if name and (name in other or other in name)]
    expected = f"one of {first_few(close or known, 50, show=str)}"
    remedy = "From Python any function of true values and predictions may be given."
    raise ArgumentValueError("metric", expected, value=text, remedy=remedy)


def _quantile(text: str, name: str, suffix: str) -> float:
    if "@" not in text:
        return QUANTILE
    try:
        quantile = float(suffix)
    except ValueError:
        quantile = float("nan")
    if name != PINBALL or not 0.0 < quantile < 1.0:
        expected = f"a name, or {PINBALL}@ and a quantile between 0 and 1"
        raise ArgumentValueError("metric", expected, value=text)
    return quantile
