"""Steps that take a column of numbers apart: where they jump or turn, read from their types and attributes.

Bins, numbers that stand for missing cells, absolute values and squares are no monotone functions of a number, but
monotone ones between a few places. With these places known, trees behind them can be cut as exactly as any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray

Before: TypeAlias = Callable[[FloatArray], Any]
"""From coded rows to what a step takes."""


@dataclass(frozen=True, eq=False)
class Turn:
    """Where a step jumps, or turns: once a column that it takes passes a number.

    Attributes
    ----------
    before : callable
        From coded rows to what the step takes.
    place : int
        The column among these.
    threshold : float
        Numbers up to it are on one side.
    """

    before: Before
    place: int
    threshold: float


def turns_of(step: Any, n_columns: int) -> list[list[float]] | None:
    """Return for each column that a step takes the numbers up to which it is monotone; None where nothing is known.

    Parameters
    ----------
    step : object
        A fitted step of scikit-learn.
    n_columns : int
        How many columns it takes.
    """
    find = _REGISTER.get(type(step).__name__)
    if find is None:
        return None
    return find(step, n_columns)


def _of_bins(step: Any, n_columns: int) -> list[list[float]] | None:
    if step.encode == "ordinal":
        return None  # which rises
    return [_below(edges[1:-1]) for edges in step.bin_edges_]


def _of_missing_mark(step: Any, n_columns: int) -> list[list[float]] | None:
    """Return both sides of a number that stands for a missing cell."""
    mark = step.missing_values
    if not isinstance(mark, int | float | np.number) or np.isnan(mark):
        return None
    return [around(float(mark))] * n_columns


def around(mark: float) -> list[float]:
    """Return the numbers before a mark and the mark itself, as columns of any width hold it."""
    # Columns in fewer bits hold the number that is nearest to it.
    turns: set[float] = set()
    for dtype in (np.float64, np.float32, np.float16):
        with np.errstate(over="ignore"):
            held = np.array([mark], dtype=dtype).astype(np.float64)
        turns.update(_below(held))
        turns.update(held.tolist())
    return sorted(turns)


def _of_function(step: Any, n_columns: int) -> list[list[float]] | None:
    if step.kw_args or not any(step.func is known for known in (np.abs, np.square)):
        return None
    return [[0.0]] * n_columns


def _of_splines(step: Any, n_columns: int) -> list[list[float]] | None:
    """Return the knots, and where a basis function is level between them."""
    from scipy.interpolate import PPoly

    if step.extrapolation not in ("constant", "linear", "continue"):
        return None
    if step.degree == 0:  # beyond the last knot, scikit-learn raises
        return None
    turns = []
    for spline in step.bsplines_:
        found = set(spline.t.tolist())
        for weights in spline.c.T:
            slope = PPoly.from_spline((spline.t, weights, spline.k)).derivative()
            level = slope.roots(extrapolate=step.extrapolation == "continue")
            found.update(level[np.isfinite(level)].tolist())
        turns.append(sorted(found))
    return turns


def _below(numbers: npt.NDArray[Any] | Sequence[float]) -> list[float]:
    """Return the last numbers before these."""
    before = np.nextafter(np.asarray(numbers, dtype=np.float64), -np.inf)
    return [float(number) for number in before]


_REGISTER: dict[str, Callable[[Any, int], list[list[float]] | None]] = {
    "KBinsDiscretizer": _of_bins,
    "SimpleImputer": _of_missing_mark,
    "MissingIndicator": _of_missing_mark,
    "SplineTransformer": _of_splines,
    "FunctionTransformer": _of_function,
}
