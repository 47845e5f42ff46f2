"""A scorer for scikit-learn: what a fitted classifier is worth on a shifted sample."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.validation import check_choice, describe, seed_of
from shiftmetrics.agreement import PosteriorAgreementResult, posterior_agreement
from shiftmetrics.comparison.judges import AGREEMENT, OVER_CEILING

RESPONSES = ("auto", "decision_function", "predict_proba", "predict_log_proba")


@dataclass(frozen=True)
class AgreementScorer:
    """Scorer of fitted classifiers on a shifted sample; higher is better.

    Pass it to ``cross_val_score``, ``GridSearchCV`` or any other function with a ``scoring`` callable. By default it
    uses no labels: how far predictions stay as they were says how robust they are, not whether they are right. It can
    be pickled.

    Parameters
    ----------
    shift : callable
        Maps a sample to its shifted copy, row by row: ``shift(X)``, or, with a ``strength``, ``shift(X, strength=...,
        rng=...)`` as those of `shiftmetrics.lab.shifts`.
    strength : float, optional
        How much of the shift.
    response_method : {"auto", "decision_function", "predict_proba", "predict_log_proba"}, default "auto"
        What to take as scores; "auto" is the decision function where there is one, else probabilities.
    criterion : str, default "agreement_over_ceiling"
        That, or "agreement" in nats per sample, as in the papers. With labels "accuracy_and_f1" (the mean of accuracy
        and macro F1), or any scorer of scikit-learn by its name, of the shifted sample, whose labels the shift keeps.
    prior : array of shape (n_classes,), "uniform" or "predicted", default "predicted"
        Class prior of the agreement: a constant classifier scores 0 with the predicted, most with the uniform one.
    random_state : int, Generator, RandomState or None, default 0
        Seed of the shift, the same for every estimator.

    Raises
    ------
    TypeError
        If ``shift`` is not callable.
    ValueError
        If ``response_method`` is unknown, or ``shift`` has a strength and none is given.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from shiftmetrics.adapters.sklearn import AgreementScorer
    >>> scorer = AgreementScorer(lambda X: X + np.random.default_rng(0).normal(0, 0.2, X.shape))
    >>> values = cross_val_score(LogisticRegression(max_iter=500), *load_iris(return_X_y=True), scoring=scorer)
    >>> bool((values > 0.5).all())
    True
    """

    shift: Callable[..., Any]
    strength: float | None = None
    response_method: str = "auto"
    criterion: str = OVER_CEILING
    prior: Any = "predicted"
    random_state: Any = 0

    def __post_init__(self) -> None:
        if not callable(self.shift):
            raise TypeError(describe("shift", "a callable", value=self.shift))
        check_choice(self.response_method, "response_method", RESPONSES)
        if self.strength is None and "strength" in inspect.signature(self.shift).parameters:
            remedy = f"Shift: {self.shift!r}."
            raise ValueError(describe("strength", "given for a shift that has one", "None", remedy))
        object.__setattr__(self, "random_state", seed_of(self.random_state))

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Return the score of a fitted estimator; labels ``y`` are used if the criterion is one of theirs."""
        if self.criterion in (AGREEMENT, OVER_CEILING):
            return score_by(self.criterion, self.measure(estimator, X), estimator, X, y)
        return score_by(self.criterion, None, estimator, self.pair(X)[0], y)

    def measure(self, estimator: Any, X: Any, **options: Any) -> PosteriorAgreementResult:
        """Return the whole result; ``options`` go to `posterior_agreement`."""
        sample, reference = self.pair(X)
        scores, kind = response_of(estimator, sample, self.response_method)
        reference_scores, _ = response_of(estimator, reference, self.response_method)
        return posterior_agreement(scores, reference_scores, kind=kind, **{"prior": self.prior, **options})

    def pair(self, X: Any) -> tuple[Any, Any]:
        """Return the shifted sample and, row by row, what it was before."""
        if self.strength is not None:
            from shiftmetrics.lab.shifts import apply_shift

            pair = apply_shift(self.shift, X, strength=self.strength, rng=self.random_state)
            return pair.sample, pair.reference
        sample = self.shift(X)
        n_rows, n_shifted = (part.shape[0] if hasattr(part, "shape") else len(part) for part in (X, sample))
        if n_shifted != n_rows:
            raise ValueError(describe("shift", f"a function that keeps the {n_rows} rows", n_shifted))
        return sample, X


def score_by(criterion: str, result: Any, estimator: Any, sample: Any, y: Any) -> float:
    """Return a score by a criterion: from the result of agreement, or of an estimator by labels."""
    from sklearn.metrics import get_scorer

    if criterion in (AGREEMENT, OVER_CEILING):
        return float(result.value if criterion == AGREEMENT else result.normalized)
    if y is None:
        raise ValueError(describe("y", f"given for the criterion {criterion!r}", "None"))
    parts = ("accuracy", "f1_macro") if criterion == "accuracy_and_f1" else (criterion,)
    return float(np.mean([get_scorer(part)(estimator, sample, y) for part in parts]))


def response_of(estimator: Any, X: Any, response_method: str = "auto") -> tuple[Any, str]:
    """Return an estimator's scores for ``X`` and their kind, "scores" or "probabilities".

    Raises
    ------
    TypeError
        If it has no such method.
    ValueError
        If the scores have another number of columns than there are classes.
    """
    methods = RESPONSES[1:3] if response_method == "auto" else (response_method,)
    method = next((name for name in methods if hasattr(estimator, name)), None)
    if method is None:
        expected = f"a classifier with {' or '.join(methods)}"
        remedy = "Regressors and outlier detectors have no classes to agree on."
        raise TypeError(describe("estimator", expected, type(estimator).__name__, remedy))
    scores = np.asarray(getattr(estimator, method)(X))
    n_classes = len(getattr(estimator, "classes_", ())) or None
    if scores.ndim == 2 and n_classes is not None and scores.shape[1] != n_classes:
        response, expected = (
            f"{method} of {type(estimator).__name__}",
            f"one column for each of {n_classes} classes",
        )
        remedy = 'Pass decision_function_shape="ovr" to support vector machines.'
        raise ValueError(describe(response, expected, scores.shape[1], remedy))
    if method == "predict_log_proba":  # zeros come back as such, so that they are floored
        return np.exp(scores), "probabilities"
    return scores, "probabilities" if method == "predict_proba" else "scores"
