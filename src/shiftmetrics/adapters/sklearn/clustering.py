"""Clusters of what is new in a sample against a reference: the modes of novelty, as an estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.options import Computing
from shiftmetrics._core.validation import check_choice, check_number, check_rng, describe
from shiftmetrics.novelty import NoveltyResampling, kernel_entropic_novelty
from shiftmetrics.novelty.membership import MEMBERSHIP

NONE = -1
"""The label of rows that belong to no novel mode."""


class DifferentialClustering(ClusterMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster what is new in a sample against a reference.

    Each cluster is a mode of `kernel_entropic_novelty`, which finds and tests them. Rows of kinds that both samples
    hold belong to none.

    Parameters
    ----------
    eta : float, default 1.0
        How many times as frequent as in the reference counts as new; at least 1.
    kernel : {"gaussian", "cosine"} or callable, default "gaussian"
        Similarity of two rows, as for `kernel_entropic_novelty`.
    bandwidth : float or "auto", default "auto"
        Bandwidth of the Gaussian kernel.
    threshold : float, default 2/3
        Least membership of a row in a cluster, from 0.5 to 1: the share of such rows that are of the sample, were
        both samples equally large.
    n_resamples : int, default 199
        Relabellings that tell which modes are new; at least 19.
    confidence_level : float, default 0.95
        A mode counts as new where fewer than 1 - confidence_level of the relabellings show as much.
    random_state : int, Generator or RandomState, optional
        Draws rows, labels and whatever else is random. Default: a fixed seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of each row that was fitted, -1 for none; with ``fit(Z, y)`` those of the reference too.
    n_clusters_ : int
        How many clusters there are.
    result_ : NoveltyResult
        The novelty behind them.
    modes_ : tuple of Mode
        The modes, one for each cluster.
    n_features_in_, feature_names_in_
        As in every estimator of scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> known, sample = rng.normal(size=(100, 2)), rng.normal(size=(100, 2))
    >>> sample[:40] += 8.0
    >>> clustering = DifferentialClustering(bandwidth=2.0).fit(sample, reference=known)
    >>> clustering.n_clusters_, clustering.predict([[8.0, 8.0], [0.0, 0.0]]).tolist()
    (1, [0, -1])
    """

    def __init__(
        self,
        *,
        eta: float = 1.0,
        kernel: Any = "gaussian",
        bandwidth: float | str = "auto",
        threshold: float = MEMBERSHIP,
        n_resamples: int = 199,
        confidence_level: float = 0.95,
        random_state: Any = None,
    ) -> None:
        self.eta = eta
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.threshold = threshold
        self.n_resamples = n_resamples
        self.confidence_level = confidence_level
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, reference: Any = None) -> Self:
        """Find what ``X`` has more of than the reference.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_columns)
            The sample under test, or both samples with ``y``.
        y : array of shape (n_samples,), optional
            Where each row of ``X`` comes from: 1 for the sample under test, 0 for the reference.
        reference : array or DataFrame of shape (n_reference, n_columns), optional
            The reference, where ``X`` does not hold it. A pipeline would hand it past the steps before this one: give
            ``y`` there.

        Returns
        -------
        DifferentialClustering

        Raises
        ------
        ValueError
            If neither or both of ``y`` and ``reference`` are given, ``y`` holds other values than 0 and 1 or fewer
            than two of either, or an option is out of range.
        """
        check_number(self.threshold, "threshold", low=0.5, high=1.0)
        if not callable(self.kernel):
            check_choice(self.kernel, "kernel", ("gaussian", "cosine"))
        rows = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if (y is None) == (reference is None):
            expected = (
                "given, or y with the origin of each row (1 sample, 0 reference), and not both"
            )
            raise ValueError(describe("reference", expected, "neither" if y is None else "both"))
        if reference is not None:
            origin = np.ones(len(rows), dtype=bool)
            test, base = rows, validate_data(self, reference, dtype=np.float64, reset=False)
        else:
            origin = _origin(y, len(rows))
            test, base = rows[origin], rows[~origin]
        self.result_ = kernel_entropic_novelty(
            test,
            base,
            eta=self.eta,
            kernel=self.kernel,
            bandwidth=self.bandwidth,  # type: ignore[arg-type]
            resampling=NoveltyResampling(
                n_resamples=self.n_resamples,
                confidence_level=self.confidence_level,
                rng=_seed(self.random_state),
            ),
            computing=Computing(progress=False),
        )
        self.modes_ = self.result_.modes
        self.n_clusters_ = len(self.modes_)
        memberships = np.zeros((len(rows), self.n_clusters_))
        for column, mode in enumerate(self.modes_):
            memberships[origin, column] = mode.membership
            if reference is None:
                memberships[~origin, column] = mode.reference_membership
        self.labels_ = self._labels(memberships)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the membership of rows in each cluster, from 0 to 1: a column each."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        memberships = np.zeros((len(rows), self.n_clusters_))
        for column, mode in enumerate(self.modes_):
            memberships[:, column] = mode.score(rows)
        return memberships

    def predict(self, X: Any) -> IntArray:
        """Return the cluster of each row: that of its largest membership, -1 where none reaches the threshold."""
        return self._labels(np.asarray(self.transform(X)))  # a table after `set_output`

    def fit_predict(self, X: Any, y: Any = None, *, reference: Any = None) -> IntArray:
        """Fit, and return the cluster of each row of ``X``."""
        labels: IntArray = self.fit(X, y, reference=reference).labels_
        return labels

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns of `transform`."""
        check_is_fitted(self)
        return np.array([f"mode{i + 1}" for i in range(self.n_clusters_)], dtype=object)

    def _labels(self, memberships: FloatArray) -> IntArray:
        if not memberships.shape[1]:
            return np.full(len(memberships), NONE, dtype=np.int64)
        labels: IntArray = memberships.argmax(axis=1).astype(np.int64)
        labels[memberships.max(axis=1) < self.threshold] = NONE
        return labels


def _seed(random_state: Any) -> Any:
    """Return what draws, as `kernel_entropic_novelty` takes it."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is not None:
        check_rng(random_state, "random_state")
    return random_state


def _origin(y: Any, n_rows: int) -> Any:
    """Return a mask of the rows under test."""
    values = np.asarray(y)
    counts = [int((values == part).sum()) for part in (0, 1)]
    if values.shape != (n_rows,) or sum(counts) != n_rows or min(counts) < 2:
        expected = "0 (reference) or 1 (sample) for each row of X, with at least two rows of each"
        got = f"shape {values.shape} with the values {np.unique(values)[:5].tolist()}"
        raise ValueError(describe("y", expected, got))
    return values == 1
