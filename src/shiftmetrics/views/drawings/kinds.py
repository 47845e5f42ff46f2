"""`plot`, which draws any result, and the decorator that gives a drawing the house style and registers it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from shiftmetrics._core.drawing import Drawn, drawing_of, draws
from shiftmetrics._core.result import Result
from shiftmetrics._core.validation import describe
from shiftmetrics.views.drawings.style import style


def drawing(
    *classes: type, kind: str, default: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as a drawing of these classes, in the house style.

    It takes the result, the axes or None, and options by keyword; see `shiftmetrics._core.drawing.draws`.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def styled(result: Any, ax: Any = None, **options: Any) -> Any:
            with style():
                return function(result, ax, **options)

        return draws(*classes, kind=kind, default=default)(styled)

    return register


def plot(result: Any, ax: Any = None, *, kind: str | None = None, **options: Any) -> Any:
    """Draw a result of any measure and return the axes.

    Parameters
    ----------
    result : Result, or mapping of str to Result
        What a measure returned. Several results, by name, are drawn together by ``kind="search"``.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure, which ``matplotlib.pyplot.show`` shows.
    kind : str, optional
        Which drawing; the page on reading results lists those of each class. Default: the first one.
    **options
        Passed on to that drawing.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        If ``result`` is not a result, or of a class that has no drawing.
    ValueError
        If ``kind`` is not a drawing of its class.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics import posterior_agreement
    >>> from shiftmetrics.views import plot
    >>> scores = np.random.default_rng(0).normal(size=(100, 3))
    >>> plot(posterior_agreement(scores, scores[::-1]), kind="beta").get_xlabel()
    'inverse temperature beta (log scale)'
    """
    if isinstance(result, Mapping) and (kind != "search" or not result):
        remedy = 'Several are drawn together by kind="search".'
        raise ValueError(describe("result", "a result", f"a mapping of {len(result)} results", remedy))
    shown = next(iter(result.values())) if isinstance(result, Mapping) else result
    if not isinstance(shown, Result | Drawn):
        raise TypeError(describe("result", "a result of a measure", type(shown).__name__))
    return drawing_of(type(shown), kind)(result, ax, **options)
