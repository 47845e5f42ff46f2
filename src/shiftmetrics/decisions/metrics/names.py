"""The metrics that have a name: those of scikit-learn's scorers, whose larger values are better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import first_few

MetricNeed = Literal["answers", "probabilities", "outputs", "sets", "queries"]

_AVERAGES = ("macro", "micro", "weighted")
_RATES = ("f1", "jaccard", "precision", "recall")

BINARY = (*_RATES, "roc_auc", "average_precision")
"""Metrics of a positive class."""

OF_ANSWERS = (
    "accuracy", "balanced_accuracy", "matthews_corrcoef", "quadratic_kappa", *_RATES,
    *(f"{rate}_{average}" for rate in _RATES for average in _AVERAGES),
)  # fmt: skip
AREAS = ("roc_auc_ovr", "roc_auc_ovr_weighted", "roc_auc_ovo", "roc_auc_ovo_weighted")
"""Areas under the curves of several classes."""

OF_PROBABILITIES = (
    "roc_auc", "average_precision", *AREAS, "top_k_accuracy", "neg_log_loss", "neg_brier_score", "d2_log_loss_score",
    "d2_brier_score",
)  # fmt: skip
OF_OUTPUTS = (
    "r2", "explained_variance", "d2_absolute_error_score", "neg_mean_absolute_error", "neg_mean_squared_error",
    "neg_root_mean_squared_error", "neg_mean_absolute_percentage_error", "neg_mean_squared_log_error",
    "neg_root_mean_squared_log_error", "neg_mean_poisson_deviance", "neg_mean_gamma_deviance",
    "neg_mean_pinball_loss",
)  # fmt: skip

OF_SETS = (
    "exact_match", "jaccard_samples", "f1_samples", "precision_samples", "recall_samples", "neg_hamming_loss",
)  # fmt: skip
"""Means over rows of several labels each."""

NDCG = "ndcg"
"""The mean over queries of how high the relevant documents stand."""

POINTS = (
    *OF_ANSWERS, "roc_auc", "average_precision", *AREAS, "top_k_accuracy", *OF_SETS[:-1], NDCG,
)  # fmt: skip
"""Metrics of at most 1, which are said in per cent and points; but kappa and correlations, which may be negative."""

PINBALL = "neg_mean_pinball_loss"
QUANTILE = 0.5
"""The quantile of a pinball loss that names none, as in scikit-learn."""

TOP = "top_k_accuracy"
N_TOP = 2
"""Classes among which the true one has to be where none are named, as in scikit-learn."""

INSTEAD = {
    "neg_max_error": "One row alone decides it, so that nothing follows for others: neg_mean_absolute_error.",
    "max_error": "One row alone decides it, so that nothing follows for others: neg_mean_absolute_error.",
    "neg_median_absolute_error": "Hardly any row moves a median: neg_mean_absolute_error.",
    "positive_likelihood_ratio": (
        "A ratio has no limit where few are wrong: recall, once with each class as positive."
    ),
    "neg_negative_likelihood_ratio": (
        "A ratio has no limit where few are right: recall, once with each class as positive."
    ),
}
"""What to take in place of scorers for which no interval can hold."""


@dataclass(frozen=True, kw_only=True)
class NamedMetric:
    """A metric by name.

    Attributes
    ----------
    name : str
    needs : {"answers", "probabilities", "outputs", "sets", "queries"}
        Which predictions it takes; sets are several labels a row, queries several rows each.
    quantile : float
        Of a pinball loss.
    n_top : int
        The likeliest classes of a top-k accuracy; the first documents of an NDCG, 0 for all.
    """

    name: str
    needs: MetricNeed
    quantile: float = QUANTILE
    n_top: int = N_TOP

    @property
    def is_binary(self) -> bool:
        """Whether it is of a positive class."""
        return self.name in BINARY


def named_metric(text: str) -> NamedMetric:
    """Return the metric of a name.

    ``neg_mean_pinball_loss@0.9`` names its quantile, ``top_k_accuracy@5`` the number of classes, ``ndcg@10`` that of
    documents.

    Raises
    ------
    ValueError
        If there is none of this name, or no interval holds for it.

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
        "sets": OF_SETS,
        "queries": (NDCG,),
    }
    for needs, names in groups.items():
        if name in names:
            quantile, n_top = _numbers(text, name, suffix)
            return NamedMetric(name=name, needs=needs, quantile=quantile, n_top=n_top)
    known = sorted({*OF_ANSWERS, *OF_PROBABILITIES, *OF_OUTPUTS, *OF_SETS, NDCG})
    # Near misses are parts of a name, such as auc, and names with more behind, such as r2_score.
    close = [other for other in known if name and (name in other or other in name)]
    expected = f"one of {first_few(close or known, 50, show=str)}"
    remedy = _instead(text)
    if remedy is None:
        remedy = "From Python any function of true values and predictions may be given."
    else:
        # scikit-learn has this metric, so that it is no slip, and similar names would not help.
        expected = "a metric for which an interval holds"
    raise ArgumentValueError("metric", expected, value=text, remedy=remedy)


def _instead(name: str) -> str | None:
    """Return what to do in place of a scorer of scikit-learn that has no interval here; None for other names."""
    from sklearn.metrics import get_scorer, get_scorer_names

    if name not in get_scorer_names():
        return None
    if name in INSTEAD:
        return INSTEAD[name]
    module = str(getattr(getattr(get_scorer(name), "_score_func", None), "__module__", ""))
    if ".cluster" in module:
        return "It compares clusterings, whose names mean nothing: of classes there are f1_macro and others."
    return "From Python give it as a function of true values and predictions."


def _numbers(text: str, name: str, suffix: str) -> tuple[float, int]:
    """Return the quantile and the number of classes that stand behind a name."""
    if "@" not in text:
        return QUANTILE, 0 if name == NDCG else N_TOP
    if name in (TOP, NDCG) and suffix.isdecimal() and int(suffix) >= 1:
        return QUANTILE, int(suffix)
    try:
        quantile = float(suffix)
    except ValueError:
        quantile = float("nan")
    if name == PINBALL and 0.0 < quantile < 1.0:
        return quantile, N_TOP
    expected = (
        f"a name, {PINBALL}@ and a quantile between 0 and 1, {TOP}@ and a number of classes, or {NDCG}@ and a number "
        "of documents"
    )
    raise ArgumentValueError("metric", expected, value=text)
