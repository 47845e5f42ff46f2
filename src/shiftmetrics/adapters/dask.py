"""Posterior agreement of Dask arrays: certified, with no more than a few numbers of each partition on the move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftmetrics._core.statistics import Statistic
from shiftmetrics._core.validation import describe
from shiftmetrics.agreement import PosteriorAgreementResult, ScorePairs, prepare_pairs
from shiftmetrics.agreement.sharded import sharded_agreement
from shiftmetrics.agreement.streaming import batch_pairs

try:
    import dask
    import dask.array as da
except ImportError as error:
    raise ImportError("shiftmetrics.adapters.dask needs Dask: pip install 'shiftmetrics[dask]'") from error

SPLIT_EVERY = 8
"""Statistics that one task of the tree adds up."""


def dask_agreement(
    scores: Any,
    reference_scores: Any,
    *,
    kind: str = "scores",
    prior: Any = None,
    floor: float | None = None,
    atol: float = 1e-6,
    max_iter: int = 200,
) -> PosteriorAgreementResult:
    """Posterior agreement of two Dask arrays, by tree sums over their partitions: about ten passes.

    It runs on whatever scheduler is active, threads or a cluster. Persist the arrays first if they fit in its memory.

    Parameters
    ----------
    scores, reference_scores : dask.array.Array of shape (n_samples, n_classes) or (n_samples,)
        Of the shifted and of the original sample, with the same partitions along the rows.
    kind : {"scores", "probabilities"}, default "scores"
        Probabilities become scores by their logarithm.
    prior : array of shape (n_classes,) or "predicted", optional
        Class prior, as in `shiftmetrics.posterior_agreement`.
    floor : float, optional
        Smaller probabilities are raised to it; needed where probabilities are 0.
    atol : float, default 1e-6
        Certified gap, in nats per sample.
    max_iter : int, default 200
        Most betas to evaluate.

    Returns
    -------
    PosteriorAgreementResult
        Without ``per_sample``; higher is better.

    Raises
    ------
    TypeError, ValueError
        As in `shiftmetrics.posterior_agreement`; also if an input is no Dask array, or partitions differ.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> shifted = da.from_array(np.where(np.arange(1000) < 300, -1.0, 1.0), chunks=250)
    >>> result = dask_agreement(shifted, da.ones(1000, chunks=250))
    >>> round(result.value, 6), result.n_samples
    (0.082283, 1000)
    """
    sides = [_rows(scores, "scores"), _rows(reference_scores, "reference_scores")]
    if sides[0].ndim != sides[1].ndim or sides[0].numblocks[0] != sides[1].numblocks[0]:
        raise ValueError(
            describe(
                "reference_scores",
                f"in {sides[0].numblocks[0]} partitions of rows like scores",
                f"{sides[1].numblocks[0]} (of {sides[1].ndim} dimensions)",
                "Rechunk one of them.",
            )
        )
    n_classes = int(sides[0].shape[1]) if sides[0].ndim == 2 else 2
    blank = np.zeros((1, n_classes))
    uniform = prepare_pairs(blank, blank, prior=None if isinstance(prior, str) else prior).prior
    if isinstance(prior, str):
        prepare_pairs(blank, blank, prior=prior)  # refuses any other word
    blocks = list(zip(*(side.to_delayed().ravel() for side in sides), strict=True))

    def total(function: Callable[[ScorePairs], Statistic]) -> Any:
        task = dask.delayed(_statistic)
        parts = [task(function, first, second, kind, floor, n_classes) for first, second in blocks]
        while len(parts) > 1:
            groups = [parts[i : i + SPLIT_EVERY] for i in range(0, len(parts), SPLIT_EVERY)]
            parts = [dask.delayed(_add)(group) for group in groups]
        (found,) = dask.compute(parts[0])
        if found is None:
            raise ValueError(describe("scores", "an array of at least one row", "none"))
        return found

    return sharded_agreement(
        total, uniform, kind=kind, prior=prior, floor=floor, atol=atol, max_iter=max_iter
    )


def _statistic(
    function: Callable[[ScorePairs], Statistic],
    scores: Any,
    reference_scores: Any,
    kind: str,
    floor: float | None,
    n_classes: int,
) -> Statistic | None:
    if len(scores) == 0 and len(reference_scores) == 0:
        return None
    pairs = batch_pairs(scores, reference_scores, kind=kind, prior=None, floor=floor, n_classes=n_classes)
    return function(pairs)


def _add(parts: list[Statistic | None]) -> Statistic | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    found = known[0]
    for part in known[1:]:
        found = found + part
    return found


def _rows(value: Any, argument: str) -> Any:
    """Return the array with whole rows in each partition."""
    if not isinstance(value, da.Array) or value.ndim not in (1, 2):
        got = f"{value.ndim} dimensions" if isinstance(value, da.Array) else type(value).__name__
        raise TypeError(describe(argument, "a Dask array of one or two dimensions", got))
    return value.rechunk({1: -1}) if value.ndim == 2 else value
