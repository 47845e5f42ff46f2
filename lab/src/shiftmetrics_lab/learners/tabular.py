"""A scikit-learn classifier for tables, trained with any objective: a small network or logistic regression."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import check_choice, check_integer, check_number
from shiftmetrics_lab.learners.fit import fit
from shiftmetrics_lab.learners.objectives import Objective
from shiftmetrics_lab.learners.selection import predict_scores

_ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "elu": nn.ELU, "tanh": nn.Tanh}


class Standardize(nn.Module):
    """Subtract a mean and divide by a scale: the normalisation belongs inside the model."""

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: FloatArray, scale: FloatArray) -> None:
        super().__init__()
        self.register_buffer("mean", torch.as_tensor(mean))
        self.register_buffer("scale", torch.as_tensor(scale))

    def forward(self, x: Tensor) -> Tensor:
        """Return the standardised rows."""
        return (x - self.mean) / self.scale


class NetworkClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A feed-forward network for tables: by default one hidden layer of 16 units, as in the stability paper.

    Parameters
    ----------
    hidden_units : sequence of int, default (16,)
        Width of each hidden layer; empty for logistic regression: with the default objective and enough epochs it is
        scikit-learn's unpenalised ``LogisticRegression``.
    activation : {"relu", "elu", "tanh"}, default "relu"
        Between layers.
    objective : callable, optional
        What to minimise, such as `Adversarial`; `ERM` by default. Adversarial objectives perturb
        the standardised rows, so that a change by one standard deviation counts 1.
    augmentation : callable, optional
        Changes each batch, such as `LISA`.
    epochs, batch_size
        See `fit`. (The paper gives no number of epochs.)
    learning_rate, weight_decay : float
        Of Adam, with decoupled weight decay. (The paper uses 1e-3.)
    standardize : bool, default True
        Whether columns are centred and scaled first, inside the model.
    random_state : int, RandomState or None
        Seed of the initial parameters and of training.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    module_ : torch.nn.Module
        Maps raw rows (float64) to scores of shape (n_samples, n_classes).
    losses_ : ndarray of shape (n_epochs,)
        The objective in each epoch.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Without hidden layers: weights in the units of the raw columns; with two classes, those of the margin.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts likewise.
    n_features_in_, feature_names_in_
        As scikit-learn has them.

    References
    ----------
    Blanchet, Cui, Li, Liu (arXiv:2405.03198), section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> NetworkClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    >>> linear = NetworkClassifier(hidden_units=(), random_state=0).fit(X, y)
    >>> bool(abs(X @ linear.coef_.T + linear.intercept_ - linear.decision_function(X)).max(axis=None) < 1e-9)
    True
    """

    def __init__(
        self,
        *,
        hidden_units: Sequence[int] = (16,),
        activation: str = "relu",
        objective: Objective | None = None,
        augmentation: Any = None,
        epochs: int = 300,
        batch_size: int | None = None,
        learning_rate: float = 1e-2,
        weight_decay: float = 0.0,
        standardize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.hidden_units = hidden_units
        self.activation = activation
        self.objective = objective
        self.augmentation = augmentation
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.standardize = standardize
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, domain: Any = None) -> Self:
        """Train on a table.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,)
            Labels.
        domain : array of shape (n_samples,), optional
            Integer domains, for the objectives and transforms that need them.

        Returns
        -------
        NetworkClassifier
            Itself.
        """
        check_choice(self.activation, "activation", tuple(_ACTIVATIONS))
        check_number(self.learning_rate, "learning_rate", low=0.0, open_low=True)
        check_number(self.weight_decay, "weight_decay", low=0.0)
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least 2 classes, got 1 class ({self.classes_[0]!r}).")
        mean, scale = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
        if self.standardize:
            mean, scale = rows.mean(axis=0), rows.std(axis=0)
            scale = np.where(scale > 1e-12 * np.maximum(1.0, np.abs(mean)), scale, 1.0)
        seed = int(check_random_state(self.random_state).randint(2**31))
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network = self._network(rows.shape[1], len(self.classes_))
        trained = fit(
            network,
            (rows - mean) / scale,
            codes.astype(np.int64),
            objective=self.objective,
            transform=self.augmentation,
            domain=domain,
            epochs=self.epochs,
            batch_size=self.batch_size,
            optimizer=torch.optim.AdamW(
                network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay
            ),
            rng=seed,
            progress=False,
        )
        self.module_ = nn.Sequential(Standardize(mean, scale), network).eval()
        self.losses_ = trained.losses
        return self

    def _network(self, n_features: int, n_classes: int) -> nn.Sequential:
        widths = [
            n_features,
            *(check_integer(width, "hidden_units", low=1) for width in self.hidden_units),
        ]
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise(widths):
            layers += [
                nn.Linear(before, after, dtype=torch.float64),
                _ACTIVATIONS[self.activation](),
            ]
        return nn.Sequential(*layers, nn.Linear(widths[-1], n_classes, dtype=torch.float64))

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return predict_scores(self.module_, validate_data(self, X, dtype=np.float64, reset=False))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of shape (n_samples, n_classes); with two classes, the margin of the second."""
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities of shape (n_samples, n_classes)."""
        from scipy.special import softmax

        return np.asarray(softmax(self._scores(X), axis=1))

    def predict(self, X: Any) -> Any:
        """Return the most probable label of each row."""
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the (weighted) fraction of rows that are predicted right."""
        return float(super().score(X, y, sample_weight))

    @property
    def coef_(self) -> FloatArray:
        """Weights in the units of the raw columns, without hidden layers; with two classes, those of the margin."""
        return self._linear()[0]

    @property
    def intercept_(self) -> FloatArray:
        """Intercepts likewise."""
        return self._linear()[1]

    def _linear(self) -> tuple[FloatArray, FloatArray]:
        check_is_fitted(self)
        module: Any = self.module_
        scaling, layers = module
        if len(layers) > 1:
            raise AttributeError("coef_ and intercept_ exist for hidden_units=() only.")
        weights = layers[0].weight.detach().numpy() / scaling.scale.numpy()
        intercepts = layers[0].bias.detach().numpy() - weights @ scaling.mean.numpy()
        if len(self.classes_) == 2:
            return weights[1:] - weights[:1], intercepts[1:] - intercepts[:1]
        return weights, intercepts
