"""A classifier of two samples whose scores leave out a sample's own label, and that is fast for many labellings."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray


class RidgeClassifier:
    """Weighted least squares of centred labels on coordinates, shrunk by a ridge.

    It serves the gate, which asks it for the scores under many permutations of the labels, the lower bound of the
    fraction, which fits it on some folds and asks it for another, and the scores of rows.

    Parameters
    ----------
    values : ndarray of shape (n_rows, rank)
        Coordinates V of the samples.
    weights : ndarray of shape (n_rows,)
        Weights of the samples.
    ridge : float
        What is added to the diagonal of V' W V.
    """

    def __init__(self, values: FloatArray, weights: FloatArray, ridge: float) -> None:
        from scipy.linalg import cho_factor, cho_solve

        self._values = values
        self._weights = weights
        # V' W V + ridge I, and V times its inverse.
        products = (values * weights[:, None]).T @ values
        products[np.diag_indices_from(products)] += ridge
        self._solved = np.ascontiguousarray(cho_solve(cho_factor(products), values.T).T)
        # The diagonal of the hat matrix: how much a sample decides its own score.
        self._leverage = weights * np.einsum("ij,ij->i", values, self._solved)

    def coefficients(self, labels: BoolArray) -> FloatArray:
        """Return the coefficients of the classifier for each row of labels: (n_permutations, rank)."""
        weighted = self._targets(labels) * self._weights
        return np.asarray(weighted @ self._solved)

    def scores(self, labels: BoolArray) -> FloatArray:
        """Return the leave-one-out scores of the samples: (n_permutations, n_rows).

        A sample's score without it is (y^ - h y) / (1 - h), with its fitted value y^ and its leverage h.
        """
        scores = self.coefficients(labels) @ self._values.T
        scores -= self._leverage * self._targets(labels)
        scores /= np.maximum(1.0 - self._leverage, 1e-9)
        return np.asarray(scores)

    def _targets(self, labels: BoolArray) -> FloatArray:
        fraction = labels @ self._weights / self._weights.sum()
        return np.asarray(labels - fraction[:, None])
