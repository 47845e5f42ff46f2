"""Picking a penalty by its validation score, as the papers do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import progress_bar

Model = TypeVar("Model")

PAPER_GRID = tuple(round(0.1 * step, 1) for step in range(1, 11))
"""0.1, 0.2, ..., 1.0: penalties and temperatures that the stability paper tries."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FitGrid(Generic[Model]):
    """What a grid search found.

    Attributes
    ----------
    value : float
        The value of the highest score; the first of them in a tie.
    model : object
        The model trained with it.
    values, scores : ndarray of shape (n_values,)
        All that was tried.
    """

    value: float
    model: Model
    values: FloatArray
    scores: FloatArray

    def to_frame(self) -> Any:
        """Return values and scores as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame({"value": self.values, "score": self.scores})


def grid_search(
    train: Callable[[float], Model],
    score: Callable[[Model], float],
    values: Sequence[float] = PAPER_GRID,
    *,
    progress: bool = True,
) -> FitGrid[Model]:
    """Train once for each value and keep the model of the highest validation score.

    Parameters
    ----------
    train : callable
        Maps a value to a trained model. Seed it alike for all values.
    score : callable
        Maps a model to a number, higher being better, such as `ValidationScore`.
    values : sequence of float, default `PAPER_GRID`
        What to try, in order of preference: the first one wins a tie.
    progress : bool, default True
        Whether to show a progress bar.

    Returns
    -------
    FitGrid

    Raises
    ------
    ValueError
        If there are no values, or a score is NaN.

    Examples
    --------
    >>> found = grid_search(lambda value: value, lambda model: -abs(model - 0.32), progress=False)
    >>> found.value
    0.3
    """
    if not len(values):
        raise ArgumentValueError("values", "a sequence of at least one value", "none")
    best: tuple[float, Model] | None = None
    scores: list[float] = []
    for value in progress_bar(progress, "grid", over=values, unit="fit"):
        model = train(value)
        scores.append(float(score(model)))
        if math.isnan(scores[-1]):
            raise ArgumentValueError("score", "a number", f"NaN at {value:g}")
        if best is None or scores[-1] > max(scores[:-1]):
            best = (float(value), model)
    assert best is not None  # there is at least one value
    return FitGrid(
        value=best[0],
        model=best[1],
        values=np.asarray(values, dtype=np.float64),
        scores=np.asarray(scores),
    )
