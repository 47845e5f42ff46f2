"""The register of drawings by class and kind, in the style of the package, and `plot`, which draws any result."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.exceptions import ArgumentTypeError
from shiftmetrics._core.result import Result
from shiftmetrics._core.validation import check_choice
from shiftmetrics.views.drawings.style import style
from shiftmetrics.views.loading import load_views

Drawing = Callable[..., Any]

_DRAWINGS: dict[type, dict[str, Drawing]] = {}


def drawing(*classes: type, kind: str, default: bool = False) -> Callable[[Drawing], Drawing]:
    """Register the decorated function as a drawing of these classes and of those derived from them.

    It takes the result, the axes or None, and options by keyword, and draws in the style of the package. A class with
    several kinds names its ``default``.
    """

    def register(function: Drawing) -> Drawing:
        @functools.wraps(function)
        def styled(result: Any, ax: Any = None, **options: Any) -> Any:
            # the settings of the user come back after the drawing
            with style():
                return function(result, ax, **options)

        for cls in classes:
            # the default stands first
            known = _DRAWINGS.pop(cls, {})
            if default:
                _DRAWINGS[cls] = {kind: styled, **known}
            else:
                _DRAWINGS[cls] = {**known, kind: styled}
        return styled

    return register


def kinds_of(cls: type) -> dict[str, Drawing]:
    """Return the drawings of a class by their kind, the default first; empty where it has none."""
    load_views(cls, "drawings")
    kinds: dict[str, Drawing] = {}
    # the drawing of a class takes precedence over one of the same kind of its bases
    for base in cls.__mro__:
        for kind, function in _DRAWINGS.get(base, {}).items():
            kinds.setdefault(kind, function)
    return kinds


def plot(result: Any, ax: Any = None, *, kind: str | None = None, **options: Any) -> Any:
    """Draw a result of any measure and return the axes.

    Parameters
    ----------
    result : Result
        What a measure returned.
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
    if not isinstance(result, Result | Drawn):
        raise ArgumentTypeError("result", "a result of a measure", type(result).__name__)
    if isinstance(ax, str):
        remedy = f"Name a drawing with kind={ax!r}."
        raise ArgumentTypeError("ax", "axes of matplotlib", f"the string {ax!r}", remedy)
    kinds = kinds_of(type(result))
    if not kinds:
        raise ArgumentTypeError("result", "of a class that has a drawing", type(result).__name__)
    if kind is None:
        kind = next(iter(kinds))
    check_choice(kind, "kind", tuple(kinds))
    return kinds[kind](result, ax, **options)
