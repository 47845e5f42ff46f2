"""Priors of classes: what users give, by name or as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_choice, check_vector


def named_prior(prior: Any) -> Any:
    """Return a prior as the measures know it: None for "uniform", "predicted", or what was given.

    Raises
    ------
    ValueError
        If it is another text.
    """
    if isinstance(prior, str):
        return (
            None if check_choice(prior, "prior", ("uniform", "predicted")) == "uniform" else prior
        )
    return prior


def check_prior(prior: Any, n_classes: int) -> FloatArray:
    """Return the prior of each class, with sum 1; uniform for None."""
    if prior is None:
        return np.full(n_classes, 1.0 / n_classes)
    vector = check_vector(prior, "prior", length=n_classes, low=0.0)
    total = float(vector.sum())
    if not (total > 0.0 and np.isfinite(total)):
        raise ArgumentValueError("prior", "positive for at least one class", f"a sum of {total:g}")
    return vector / total
