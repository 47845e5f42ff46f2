"""The register of drawings: each class of result has one or several kinds, one of them the default."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from shiftmetrics._core.drawing import drawing_of, draws
from shiftmetrics._core.result import Result
from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.views.drawings.style import style

_KINDS: dict[type, dict[str, Callable[..., Any]]] = {}


def drawing(
    *classes: type, kind: str, default: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as a drawing of these classes and of those derived from them.

    A class with several kinds names its ``default``.
    The function takes the result, the axes or None, and options by keyword. It is called in the house style.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def styled(result: Any, ax: Any = None, **options: Any) -> Any:
            with style():
                return function(result, ax, **options)

        for cls in classes:
            known = _KINDS.setdefault(cls, {})
            _KINDS[cls] = {kind: styled, **known} if default else {**known, kind: styled}
        draws(*classes)(_draw)
        return styled

    return register


def kinds_of(cls: type) -> dict[str, Callable[..., Any]]:
    """Return the drawings of a class by their kind, the default first."""
    kinds: dict[str, Callable[..., Any]] = {}
    for base in cls.__mro__:
        for kind, function in _KINDS.get(base, {}).items():
            kinds.setdefault(kind, function)
    return kinds


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
    'inverse temperature beta'
    """
    if isinstance(result, Mapping) and (kind != "search" or not result):
        remedy = 'Several are drawn together by kind="search".'
        raise ValueError(describe("result", "a result", f"a mapping of {len(result)} results", remedy))
    shown = _first(result)
    if not isinstance(shown, Result) and type(shown) not in _KINDS:
        raise TypeError(describe("result", "a result of a measure", type(shown).__name__))
    return drawing_of(type(shown))(result, ax, kind=kind, **options)


def _draw(result: Any, ax: Any = None, *, kind: str | None = None, **options: Any) -> Any:
    kinds = kinds_of(type(_first(result)))
    chosen = next(iter(kinds)) if kind is None else check_choice(kind, "kind", tuple(kinds))
    return kinds[chosen](result, ax, **options)


def _first(result: Any) -> Any:
    return next(iter(result.values())) if isinstance(result, Mapping) else result
