"""A scorer for scikit-learn: whether the predictions of a fitted classifier survive a shift of the sample."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.validation import check_choice, describe, seed_of
from shiftmetrics.agreement import PosteriorAgreementResult, posterior_agreement

RESPONSES = ("auto", "decision_function", "predict_proba", "predict_log_proba")


@dataclass(frozen=True)
class AgreementScorer:
    """Scorer of fitted classifiers: how well do predictions survive a shift? No labels are used.

    Pass it to ``cross_val_score``, ``GridSearchCV`` or any other function with a ``scoring`` callable. It returns
    nats per sample; higher is better. It can be pickled.

    Parameters
    ----------
    shift : callable
        Maps a sample to its shifted copy, row by row: ``shift(X)``, or, with a ``strength``, ``shift(X, strength=...,
        rng=...)`` as those of `shiftmetrics.lab.shifts`.
    strength : float, optional
        How much of the shift.
    response_method : {"auto", "decision_function", "predict_proba", "predict_log_proba"}, default "auto"
        What to take as scores; "auto" is the decision function where there is one, else probabilities.
    prior : array, "predicted" or None, default "predicted"
        Class prior. With the predicted one a constant classifier scores 0; with None it would score highest.
    rng : int, Generator or None, default 0
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
    prior: Any = "predicted"
    rng: Any = 0

    def __post_init__(self) -> None:
        if not callable(self.shift):
            raise TypeError(describe("shift", "a callable", repr(self.shift)))
        check_choice(self.response_method, "response_method", RESPONSES)
        if self.strength is None and "strength" in inspect.signature(self.shift).parameters:
            remedy = f"Shift: {self.shift!r}."
            raise ValueError(describe("strength", "given for a shift that has one", "None", remedy))
        object.__setattr__(self, "rng", seed_of(self.rng))

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Return the agreement of a fitted estimator with itself, in nats per sample; ``y`` is not used."""
        return self.measure(estimator, X).value

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

            pair = apply_shift(self.shift, X, strength=self.strength, rng=self.rng)
            return pair.sample, pair.reference
        sample = self.shift(X)
        n_rows, n_shifted = (part.shape[0] if hasattr(part, "shape") else len(part) for part in (X, sample))
        if n_shifted != n_rows:
            raise ValueError(describe("shift", f"a function that keeps the {n_rows} rows", n_shifted))
        return sample, X


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
