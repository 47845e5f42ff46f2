"""Register of the functions that draw results, by class: `views` fills it, so that results need not import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Drawing = TypeVar("Drawing", bound=Callable[..., Any])

_DRAWINGS: dict[type, Callable[..., Any]] = {}
_LOADERS: list[Callable[[], object]] = []


class Drawn:
    """Mixin of the results that have a drawing."""

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the result with matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. Default: a new figure.
        **options
            Passed on to the drawing of this class of result; see `shiftmetrics.views`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return drawing_of(type(self))(self, ax, **options)


def draws(*classes: type) -> Callable[[Drawing], Drawing]:
    """Register the decorated function as the drawing of these classes and of those derived from them."""

    def register(function: Drawing) -> Drawing:
        _DRAWINGS.update(dict.fromkeys(classes, function))
        return function

    return register


def on_first_drawing(load: Callable[[], object]) -> None:
    """Call ``load``, which registers drawings, when the first drawing is asked for."""
    _LOADERS.append(load)


def drawing_of(kind: type) -> Callable[..., Any]:
    """Return the function that draws results of class ``kind``.

    Raises
    ------
    TypeError
        If neither the class nor a class that it derives from has a drawing.
    """
    while _LOADERS:
        _LOADERS.pop()()
    for base in kind.__mro__:
        if base in _DRAWINGS:
            return _DRAWINGS[base]
    raise TypeError(f"result must be of a class that has a drawing, got {kind.__name__}.")
