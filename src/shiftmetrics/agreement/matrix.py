"""Agreement of several samples or models with each other, as a matrix."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import Computing, computing_of, progress_bar
from shiftmetrics._core.result import Result, Status, format_percent
from shiftmetrics._core.tables import Align
from shiftmetrics.agreement.posterior import posterior_agreement
from shiftmetrics.agreement.priors import named_prior
from shiftmetrics.agreement.result import MAX_ITER

ENTRIES = {
    "agreement": "value",
    **{name: name for name in ("normalized", "equivalent_error", "beta")},
    "disagreement": "changes.disagreement",
}
"""Tables of the result, and the figure of each pair that stands in them."""

CERTIFIED = Status("certified", "Every pair has one beta, whose maximum is certified.")


@dataclass(frozen=True, eq=False, kw_only=True)
class AgreementMatrixResult(Drawn, Result):
    """Agreement of all pairs of names.

    Attributes
    ----------
    value : float
        Mean of the normalized agreement over all pairs, at most 1. Higher is better.
    error_bound : float
        Largest numerical error of a pair, normalized.
    status : Status
        How the searches ended.
    names : tuple of str
        Of the rows and columns.
    agreement, normalized, equivalent_error : ndarray of shape (n_names, n_names)
        Nats per sample, the same over its ceiling, and as the fraction of predictions that a channel flips. On the
        diagonal stands what a sample has with itself, its maximum.
    beta : ndarray of shape (n_names, n_names)
        Inverse temperature of each pair.
    disagreement : ndarray of shape (n_names, n_names)
        Fraction of samples that have no predicted class in common.
    n_classes : int
        Number of classes K.
    """

    measure = "agreement_matrix"
    title = "Agreement of all pairs"
    higher_is_better = True

    names: tuple[str, ...]
    agreement: FloatArray
    normalized: FloatArray
    equivalent_error: FloatArray
    beta: FloatArray
    disagreement: FloatArray
    n_classes: int

    @property
    def means(self) -> FloatArray:
        """Mean normalized agreement of each name with all others: how central it is."""
        n = len(self.names)
        return np.asarray(
            (self.normalized.sum(axis=1) - self.normalized.diagonal()) / max(n - 1, 1)
        )

    def headline(self) -> str:
        """Return one sentence with the extreme pairs."""
        # All pairs of different names.
        rows, columns = np.nonzero(~np.eye(len(self.names), dtype=bool))
        values = self.normalized[rows, columns]
        near, far = int(values.argmax()), int(values.argmin())

        def pair(place: int) -> str:
            names = f"{self.names[rows[place]]} and {self.names[columns[place]]}"
            return f"{names} ({format_percent(float(values[place]))})"

        return (
            f"Predictions agree most between {pair(near)}, least between {pair(far)}; of the agreement that is "
            f"possible, the {len(self.names)} keep {format_percent(self.value)} on average."
        )

    def to_frame(self) -> Any:
        """Return the normalized agreement as a square pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.normalized, index=list(self.names), columns=list(self.names))


def agreement_matrix(
    scores: Mapping[str, Any],
    *,
    kind: str = "auto",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    pairing: Align = "labels",
    computing: Computing | None = None,
) -> AgreementMatrixResult:
    """Posterior agreement of all pairs: of one model in several environments, or of several models on one sample.

    Parameters
    ----------
    scores : mapping of str to array of shape (n_samples, n_classes)
        At least two sets of scores for the same rows.
    kind, prior, sample_weight, floor
        As in `posterior_agreement`; "predicted" is a prior of its own for each pair.
    pairing : {"labels", "position"}, default "labels"
        Whether DataFrames are matched by row and column labels or as they stand.
    computing : Computing, optional
        ``executor``, ``progress``; ``atol``: certified gap in nats per sample (default 1e-5); ``max_iter``: most
        betas of a pair (default 200).

    Returns
    -------
    AgreementMatrixResult
        Higher is better.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`, or if fewer than two sets are given.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import agreement_matrix
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.normal(size=(400, 3))
    >>> noisy = {f"noise {s}": clean + s * rng.normal(size=(400, 3)) for s in (0.3, 0.6)}
    >>> agreement_matrix({"clean": clean, **noisy}).to_frame().round(3)
               clean  noise 0.3  noise 0.6
    clean      1.000      0.703      0.547
    noise 0.3  0.703      1.000      0.484
    noise 0.6  0.547      0.484      1.000
    """
    prior, computing = named_prior(prior), computing_of(computing, atol=1e-5, max_iter=200)
    if not isinstance(scores, Mapping) or len(scores) < 2:
        got = f"{len(scores)} of them" if isinstance(scores, Mapping) else type(scores).__name__
        raise ArgumentValueError("scores", "a mapping of at least two names to scores", got)
    names, samples = [str(name) for name in scores], list(scores.values())
    n = len(names)
    table = np.empty((len(ENTRIES), n, n))
    options: dict[str, Any] = {
        "kind": kind, "prior": prior, "floor": floor, "sample_weight": sample_weight, "pairing": pairing
    }  # fmt: skip
    results = []
    places = list(itertools.combinations_with_replacement(range(n), 2))
    # Agreement is symmetric: each pair once, with a certified search of its own.
    for i, j in progress_bar(computing.progress, "pairs", over=places):
        beta = math.inf if i == j else None  # a row with itself only gains from more confidence
        result = posterior_agreement(
            samples[i], samples[j], beta=beta, computing=computing, **options
        )
        table[:, i, j] = table[:, j, i] = [
            figure(result) for figure in map(attrgetter, ENTRIES.values())
        ]
        if i != j:
            results.append(result)
    first = results[0]
    entries: dict[str, Any] = dict(zip(ENTRIES, table, strict=True))
    return AgreementMatrixResult(
        value=float(entries["normalized"][np.triu_indices(n, 1)].mean()),
        error_bound=max(result.normalized_error_bound for result in results),
        status=CERTIFIED if all(result.status.ok for result in results) else MAX_ITER,
        n_samples=first.n_samples,
        names=tuple(names),
        n_classes=first.n_classes,
        settings=first.settings,
        **entries,
    )
