"""A scorer for scikit-learn: whether the predictions of a fitted classifier survive a shift of the sample."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftmetrics._core.validation import check_choice, describe, seed_of
from shiftmetrics.agreement import PosteriorAgreementResult, posterior_agreement
from shiftmetrics.lab.shifts import apply_shift

RESPONSES = ("auto", "decision_function", "predict_proba", "predict_log_proba")


class AgreementScorer:
    """A scorer for scikit-learn, made by `agreement_scorer`; it can be pickled and compares nothing with ``y``."""

    def __init__(
        self, shift: Any, strength: float | None, response_method: str, prior: Any, seed: int
    ) -> None:
        self.shift, self.strength, self.seed = shift, strength, seed
        self.response_method, self.prior = response_method, prior

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Return the agreement of a fitted estimator with itself, in nats per sample; ``y`` is not looked at."""
        return self.measure(estimator, X).value

    def measure(self, estimator: Any, X: Any, **options: Any) -> PosteriorAgreementResult:
        """Return the whole result; ``options`` go to `posterior_agreement`, such as ``confidence_level``."""
        sample, reference = shifted_pair(self.shift, X, strength=self.strength, seed=self.seed)
        scores, kind = response_of(estimator, sample, self.response_method)
        reference_scores, _ = response_of(estimator, reference, self.response_method)
        return posterior_agreement(scores, reference_scores, kind=kind, **{"prior": self.prior, **options})

    def __repr__(self) -> str:
        return f"agreement_scorer({self.shift!r}, strength={self.strength!r}, rng={self.seed!r})"


def agreement_scorer(
    shift: Callable[..., Any],
    *,
    strength: float | None = None,
    response_method: str = "auto",
    prior: Any = "predicted",
    rng: Any = 0,
) -> AgreementScorer:
    """Make a scorer of fitted classifiers: how well do predictions survive ``shift``? No labels are used.

    Hand it to ``cross_val_score``, ``GridSearchCV`` or any other place for a ``scoring`` callable.

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

    Returns
    -------
    AgreementScorer
        ``scorer(estimator, X, y=None)`` in nats per sample, higher is better; ``scorer.measure(estimator, X)`` is the
        whole result.

    Raises
    ------
    TypeError
        If ``shift`` is not callable.
    ValueError
        If ``response_method`` is unknown, or ``shift`` wants a strength and none is given.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from shiftmetrics.adapters.sklearn import agreement_scorer
    >>> scorer = agreement_scorer(lambda X: X + np.random.default_rng(0).normal(0, 0.2, X.shape))
    >>> values = cross_val_score(LogisticRegression(max_iter=500), *load_iris(return_X_y=True), scoring=scorer)
    >>> bool((values > 0.5).all())
    True
    """
    if not callable(shift):
        raise TypeError(describe("shift", "a callable", repr(shift)))
    check_choice(response_method, "response_method", RESPONSES)
    if strength is None and "strength" in inspect.signature(shift).parameters:
        raise ValueError(describe("strength", "given for a shift that has one", "None", f"Shift: {shift!r}."))
    return AgreementScorer(shift, strength, response_method, prior, seed_of(rng))


def shifted_pair(shift: Any, X: Any, *, strength: float | None, seed: int) -> tuple[Any, Any]:
    """Return the shifted sample and, row by row, what it was before."""
    if strength is not None:
        pair = apply_shift(shift, X, strength=strength, rng=seed)
        return pair.sample, pair.reference
    sample = shift(X)
    if _n_rows(sample) != _n_rows(X):
        raise ValueError(describe("shift", f"a function that keeps the {_n_rows(X)} rows", _n_rows(sample)))
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
        raise TypeError(
            describe(
                "estimator", f"a classifier with {' or '.join(methods)}", type(estimator).__name__,
                "Regressors and outlier detectors have no classes to agree on.",
            )
        )  # fmt: skip
    scores = np.asarray(getattr(estimator, method)(X))
    n_classes = len(getattr(estimator, "classes_", ())) or None
    if scores.ndim == 2 and n_classes is not None and scores.shape[1] != n_classes:
        raise ValueError(
            describe(
                f"{method} of {type(estimator).__name__}", f"one column for each of {n_classes} classes",
                f"{scores.shape[1]}", 'Pass decision_function_shape="ovr" to support vector machines.',
            )
        )  # fmt: skip
    if method == "predict_log_proba":  # zeros come back as such, so that they are floored
        return np.exp(scores), "probabilities"
    return scores, "probabilities" if method == "predict_proba" else "scores"


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
