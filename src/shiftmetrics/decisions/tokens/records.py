"""What a comparison of log-probabilities finds: counts, and the sequences that change most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.record import Record


@dataclass(frozen=True, eq=False, kw_only=True)
class TokenCounts(Record):
    """How many tokens there are.

    Attributes
    ----------
    n_sequences : int
        Sequences with at least one place that was compared.
    n_clusters : int
        Requests that they belong to: several answers to one request are one cluster.
    changed : int
        Places at which the likeliest token changes.
    not_compared : int
        Places of both logs after the first other token: their contexts differ.
    parted : int
        Sequences in which the tokens part.
    is_given : bool
        Whether all tokens were given to the models, so that contexts are equal throughout.
    spelling : str
        "id" or "bytes": by what tokens are the same.
    """

    n_sequences: int
    n_clusters: int
    changed: int
    not_compared: int
    parted: int
    is_given: bool
    spelling: str


@dataclass(frozen=True, eq=False, kw_only=True)
class TokenChanges(Record):
    """The sequences, those with the largest divergence first.

    Attributes
    ----------
    id : ndarray of shape (n_sequences,)
        The request.
    n_places, changed : ndarray of shape (n_sequences,)
        Places that were compared, and those at which the likeliest token changes.
    divergence : ndarray of shape (n_sequences,)
        What the mean divergence is at least, in nats.
    """

    id: npt.NDArray[Any]
    n_places: IntArray
    changed: IntArray
    divergence: FloatArray
