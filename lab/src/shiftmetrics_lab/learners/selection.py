"""When to stop and what to keep: scores of a model on validation data, higher being better, and early stopping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from shiftmetrics._core.arrays import FloatArray, as_array
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.validation import check_integer, check_number
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.attacks.model import evaluation_mode, parameter_of
from shiftmetrics.comparison.criteria import SCORES, confusion
from shiftmetrics.comparison.selection_criteria import AGREEMENT, OVER_CEILING, choose_criterion

NEED_PAIRS = ("agreement_rate", AGREEMENT, OVER_CEILING)


def predict_scores(model: nn.Module, X: Any, *, batch_size: int = 4096) -> FloatArray:
    """Return the model's scores as NumPy float64, in evaluation mode, without gradients, batch by batch.

    Parameters
    ----------
    model : torch.nn.Module
        Left in the mode in which it came.
    X : array or Tensor of shape (n_samples, ...)
        Inputs, put on the device of the model's parameters and given their type (integer tensors keep theirs).
    batch_size : int, default 4096
        Rows at a time.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)

    Examples
    --------
    >>> import torch
    >>> predict_scores(torch.nn.Linear(2, 3), [[0.0, 1.0]]).shape
    (1, 3)
    """
    check_integer(batch_size, "batch_size", low=1)
    x = as_input(X, model)
    with evaluation_mode(model), torch.no_grad():
        parts = [model(x[start : start + batch_size]) for start in range(0, len(x), batch_size)]
    return np.asarray(torch.cat(parts).double().cpu().numpy())


def as_input(X: Any, model: nn.Module) -> torch.Tensor:
    """Return ``X`` as a tensor on the device of the model's parameters, and of their type.

    Tensors of integers keep their type: they are tokens.
    """
    array = as_array(X, "X")
    is_tensor = isinstance(array, torch.Tensor)
    x = torch.as_tensor(array if is_tensor else np.array(array))
    like = parameter_of(model)
    if like is None:
        return x if is_tensor else x.to(torch.get_default_dtype())
    return x.to(
        device=like.device, dtype=x.dtype if is_tensor and not x.is_floating_point() else like.dtype
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class ValidationScore:
    """Score of a model on validation data; higher is better.

    Parameters
    ----------
    criterion : str, default "auto"
        With labels "accuracy_and_f1" (the mean of accuracy and macro F1, the default), "accuracy",
        "balanced_accuracy", "f1_macro", or any scorer of scikit-learn by its name: of the shifted rows if there are
        some. Without labels "agreement_over_ceiling" (the default), "agreement" in nats, as in the papers, or
        "agreement_rate", the fraction of pairs predicted alike (AFR_P): how far predictions stay as they were.
    X : array of shape (n_samples, ...)
        Inputs.
    y : array of shape (n_samples,), optional
        Labels: positions of the outputs.
    X_shifted : array of shape (n_samples, ...), optional
        The same rows, shifted.
    prior : array of shape (n_classes,), "uniform" or "predicted", default "predicted"
        Class prior of the agreement. With the uniform one, as in the papers, a constant classifier agrees perfectly
        with itself, so that selection may pick one that has collapsed; with the predicted prior it scores 0.

    Raises
    ------
    ValueError
        If what the criterion needs is missing.

    Examples
    --------
    >>> import torch
    >>> 0.0 <= ValidationScore(X=[[0.0], [1.0]], y=[0, 1])(torch.nn.Linear(1, 2)) <= 1.0
    True
    >>> score = ValidationScore(X=[[-1.1], [1.0]], X_shifted=[[-1.0], [1.1]])
    >>> score.criterion, score(torch.nn.Linear(1, 2, bias=False)) > 0.9
    ('agreement_over_ceiling', True)
    """

    criterion: str = "auto"
    X: Any
    y: Any = None
    X_shifted: Any = None
    prior: Any = "predicted"

    def __post_init__(self) -> None:
        labels = self.y is not None
        if self.criterion != "agreement_rate":
            chosen = choose_criterion(self.criterion, 1, labels=labels, other_rows=False)
            object.__setattr__(self, "criterion", chosen)
        if self.X_shifted is None and self.criterion in NEED_PAIRS:
            raise ArgumentValueError("X_shifted", f"given for {self.criterion!r}", "None")

    def __call__(self, model: nn.Module) -> float:
        """Return the score of the model."""
        scores = predict_scores(model, self.X if self.X_shifted is None else self.X_shifted)
        if self.criterion not in NEED_PAIRS:
            return _by_labels(self.criterion, scores, np.asarray(self.y))
        reference = predict_scores(model, self.X)
        if self.criterion == "agreement_rate":
            return float(np.mean(scores.argmax(axis=1) == reference.argmax(axis=1)))
        result = posterior_agreement(scores, reference, prior=self.prior)
        return float(result.value if self.criterion == AGREEMENT else result.normalized)


def _by_labels(criterion: str, scores: FloatArray, labels: Any) -> float:
    """Return a score of confusions, or one of scikit-learn."""
    n_rows, n_classes = scores.shape
    if criterion in SCORES:
        known = max(n_classes, int(labels.max()) + 1)
        return SCORES[criterion](confusion(labels, scores.argmax(axis=1), known, np.ones(n_rows)))
    from sklearn.metrics import get_scorer

    from shiftmetrics.comparison.scorers import KnownScores

    return float(
        get_scorer(criterion)(KnownScores(scores, np.arange(n_classes)), np.arange(n_rows), labels)
    )


@dataclass(frozen=True, kw_only=True)
class EarlyStopping:
    """Keep the model of the best validation score, and stop when none better has come for a while.

    Parameters
    ----------
    score : callable or mapping of str to callable
        Maps the model to a number, higher being better: `ValidationScore` or your own. Of several, by name, each
        keeps its own best model in one run, which goes on while any of them gets better.
    patience : int, default 20
        Epochs without a better score after which training stops.
    min_gain : float, default 0.0
        By how much a score must exceed the best one to count as better.

    Examples
    --------
    >>> EarlyStopping(score=lambda model: 1.0, patience=3).patience
    3
    """

    score: Callable[[nn.Module], float] | Mapping[str, Callable[[nn.Module], float]]
    patience: int = 20
    min_gain: float = 0.0

    def __post_init__(self) -> None:
        if not self.scores or not all(callable(score) for score in self.scores.values()):
            wanted = "a callable that maps a model to a number, or a mapping of names to some"
            raise ArgumentTypeError("score", wanted, value=self.score)
        check_integer(self.patience, "patience", low=1)
        check_number(self.min_gain, "min_gain", low=0.0)

    @property
    def scores(self) -> Mapping[str, Callable[[nn.Module], float]]:
        """The scores by name; a single one is called "score"."""
        return self.score if isinstance(self.score, Mapping) else {"score": self.score}
