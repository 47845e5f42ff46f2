"""What the likeliest tokens of two models say of their distributions, of which they are a part."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TypeVar

LEAST_REST = 1e-6
"""Rounding error of what the tokens that are not listed have together: the sum of some float32 numbers, less 1."""

TokenName = TypeVar("TokenName", bound=Hashable)


def least_divergence(old: Mapping[TokenName, float], new: Mapping[TokenName, float]) -> float:
    """Return what KL(old || new) is at least, from the likeliest tokens of both.

    The tokens that both list, and one rest of all others, are a partition of the vocabulary. By the
    data-processing inequality the divergence between the two distributions on a partition is never larger than
    that between the distributions themselves, so that this is a lower bound for certain.

    Parameters
    ----------
    old, new : mapping of token to float
        Log-probabilities.

    Returns
    -------
    float
        In nats; 0 where they have no token in common.

    Examples
    --------
    >>> from math import log
    >>> round(least_divergence({"a": log(0.5), "b": log(0.3)}, {"a": log(0.4), "c": log(0.3)}), 4)
    0.0204
    """
    common = [token for token in old if token in new]
    total = 0.0
    rest_old = 1.0
    rest_new = 1.0
    for token in common:
        p = math.exp(old[token])
        rest_old -= p
        rest_new -= math.exp(new[token])
        if p > 0.0:
            total += p * (old[token] - new[token])
    # Rounding makes the rest of the new model too small: a larger one only lowers the bound.
    rest_new = max(rest_new, 0.0) + LEAST_REST
    if rest_old > LEAST_REST:
        total += rest_old * math.log(rest_old / rest_new)
    return max(total, 0.0)


def top_token(logprobs: Mapping[TokenName, float]) -> TokenName:
    """Return the likeliest token, the first of equal ones by their names."""
    best = max(logprobs.values())
    return min((token for token, value in logprobs.items() if value == best), key=repr)
