"""A scorer for scikit-learn: what a fitted classifier is worth on a shifted sample."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from shiftmetrics._core.arrays import take_rows
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError, Setting, Wording
from shiftmetrics._core.validation import check_choice, seed_of
from shiftmetrics.agreement import PosteriorAgreementResult, posterior_agreement
from shiftmetrics.comparison.selection_criteria import AGREEMENT, OVER_CEILING

RESPONSES = ("auto", "decision_function", "predict_proba", "predict_log_proba")


class ShiftOfSample(Protocol):
    """A shift: called as ``shift(X)``, or as ``shift(X, strength=..., rng=...)``, it returns the shifted sample.

    Row i of what it returns is row i of ``X``, shifted. A shift that draws rows has a method ``origin(X, *, strength,
    rng)`` too, which returns the row of ``X`` that each came from.
    """

    def __call__(self, X: Any, /, **options: Any) -> Any:
        """Return the shifted sample."""


@dataclass(frozen=True)
class AgreementScorer:
    """Scorer of fitted classifiers on a shifted sample; higher is better.

    Pass it to ``cross_val_score``, ``GridSearchCV`` or any other function with a ``scoring`` callable. With labels it
    is the accuracy on the shifted sample, which chose best where that was measured; without them it is how far
    predictions stay as they were, which says how robust they are, not whether they are right. It can be pickled.

    Parameters
    ----------
    shift : callable
        Maps a sample to its shifted copy, row by row: ``shift(X)``, or, with a ``strength``, ``shift(X, strength=...,
        rng=...)``; see `ShiftOfSample`.
    strength : float, optional
        How much of the shift.
    response_method : {"auto", "decision_function", "predict_proba", "predict_log_proba"}, default "auto"
        What to take as scores; "auto" is the decision function where there is one, else probabilities.
    criterion : str, default "auto"
        "accuracy" where labels are passed, else "agreement_over_ceiling". Or "agreement" in nats per sample, as in
        the papers; with labels "accuracy_and_f1" (the mean of accuracy and macro F1), or any scorer of scikit-learn
        by its name, of the shifted sample, whose labels the shift keeps.
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

    shift: ShiftOfSample
    strength: float | None = None
    response_method: str = "auto"
    criterion: str = "auto"
    prior: Any = "predicted"
    random_state: Any = 0

    def __post_init__(self) -> None:
        if not callable(self.shift):
            raise ArgumentTypeError("shift", "a callable", value=self.shift)
        check_choice(self.response_method, "response_method", RESPONSES)
        if self.strength is None and "strength" in inspect.signature(self.shift).parameters:
            remedy = f"Shift: {self.shift!r}."
            raise ArgumentValueError("strength", "given for a shift that has one", "None", remedy)
        # every estimator gets the same shift, whatever the generator was used for before
        object.__setattr__(self, "random_state", seed_of(self.random_state))

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Return the score of a fitted estimator; criteria by labels need ``y``."""
        from sklearn.metrics import get_scorer

        criterion = self.criterion
        if criterion == "auto":
            criterion = OVER_CEILING if y is None else "accuracy"
        if criterion == AGREEMENT:
            return self.measure(estimator, X).value
        if criterion == OVER_CEILING:
            return self.measure(estimator, X).normalized
        if y is None:
            raise ArgumentValueError("y", f"given for the criterion {criterion!r}", "None")
        # a shift keeps labels, so that any scorer of scikit-learn applies to the shifted sample
        sample, _ = self.pair(X)
        if criterion == "accuracy_and_f1":
            accuracy = get_scorer("accuracy")(estimator, sample, y)
            macro_f1 = get_scorer("f1_macro")(estimator, sample, y)
            return float(np.mean([accuracy, macro_f1]))
        return float(get_scorer(criterion)(estimator, sample, y))

    def measure(self, estimator: Any, X: Any, **options: Any) -> PosteriorAgreementResult:
        """Return the whole result; ``options`` go to `posterior_agreement`."""
        sample, reference = self.pair(X)
        scores, kind = response_of(estimator, sample, self.response_method)
        reference_scores, _ = response_of(estimator, reference, self.response_method)
        return posterior_agreement(
            scores, reference_scores, kind=kind, **{"prior": self.prior, **options}
        )

    def pair(self, X: Any) -> tuple[Any, Any]:
        """Return the shifted sample and, row by row, what it was before."""
        options = {}
        if self.strength is not None:
            options = {"strength": self.strength, "rng": self.random_state}
        sample = self.shift(X, **options)
        reference = X
        if hasattr(self.shift, "origin"):
            rows = np.asarray(self.shift.origin(X, **options), dtype=np.int64)
            reference = take_rows(X, rows)
        n_samples = _length(reference)
        if _length(sample) != n_samples:
            raise ArgumentValueError(
                "shift", f"a function that keeps the {n_samples} samples", _length(sample)
            )
        return sample, reference


def _length(sample: Any) -> int:
    return int(sample.shape[0]) if hasattr(sample, "shape") else len(sample)


def response_of(estimator: Any, X: Any, response_method: str = "auto") -> tuple[Any, str]:
    """Return an estimator's scores for ``X`` and their kind, "scores" or "probabilities".

    Raises
    ------
    TypeError
        If it has no such method.
    ValueError
        If the scores have another number of columns than there are classes.
    """
    methods: tuple[str, ...] = (response_method,)
    if response_method == "auto":
        methods = ("decision_function", "predict_proba")
    method = next((name for name in methods if hasattr(estimator, name)), None)
    if method is None:
        expected = f"a classifier with {' or '.join(methods)}"
        remedy = "Regressors and outlier detectors have no classes to agree on."
        raise ArgumentTypeError("estimator", expected, type(estimator).__name__, remedy)
    scores = np.asarray(getattr(estimator, method)(X))
    n_classes = len(getattr(estimator, "classes_", ())) or None
    # a vector machine that votes one against one has a column for each pair of classes
    if scores.ndim == 2 and n_classes is not None and scores.shape[1] != n_classes:
        response = f"{method} of {type(estimator).__name__}"
        expected = f"one column for each of {n_classes} classes"
        shape = Setting("decision_function_shape", "ovr")
        remedy = Wording("Pass ", shape, " to support vector machines.")
        raise ArgumentValueError(response, expected, scores.shape[1], remedy)
    if method == "decision_function":
        return scores, "scores"
    if method == "predict_log_proba":
        # a logarithm of -inf becomes a probability of 0, which the measure floors
        scores = np.exp(scores)
    return scores, "probabilities"
