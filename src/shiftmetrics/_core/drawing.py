"""The register of drawings, by class and kind: `views` fills it, so that results need not import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Drawing = TypeVar("Drawing", bound=Callable[..., Any])

_DRAWINGS: dict[type, dict[str, Callable[..., Any]]] = {}
_LOADERS: list[Callable[[], object]] = []


class Drawn:
    """Mixin of the results that have a drawing."""

    def plot(self, ax: Any = None, *, kind: str | None = None, **options: Any) -> Any:
        """Draw the result with matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. Default: a new figure.
        kind : str, optional
            Which drawing; the page on reading results lists those of each class. Default: the first one.
        **options
            Passed on to that drawing; see `shiftmetrics.views`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return drawing_of(type(self), kind)(self, ax, **options)


def draws(*classes: type, kind: str, default: bool = False) -> Callable[[Drawing], Drawing]:
    """Register the decorated function as a drawing of these classes and of those derived from them.

    A class with several kinds names its ``default``.
    """

    def register(function: Drawing) -> Drawing:
        for cls in classes:
            known = _DRAWINGS.setdefault(cls, {})
            _DRAWINGS[cls] = {kind: function, **known} if default else {**known, kind: function}
        return function

    return register


def on_first_drawing(load: Callable[[], object]) -> None:
    """Call ``load``, which registers drawings, when the first drawing is asked for."""
    _LOADERS.append(load)


def kinds_of(cls: type) -> dict[str, Callable[..., Any]]:
    """Return the drawings of a class by their kind, the default first; empty where it has none."""
    while _LOADERS:
        _LOADERS.pop()()
    kinds: dict[str, Callable[..., Any]] = {}
    for base in cls.__mro__:
        for kind, function in _DRAWINGS.get(base, {}).items():
            kinds.setdefault(kind, function)
    return kinds


def drawing_of(cls: type, kind: str | None = None) -> Callable[..., Any]:
    """Return the function that draws results of class ``cls``, of one kind or the default.

    Raises
    ------
    TypeError
        If neither the class nor a class that it derives from has a drawing.
    ValueError
        If there is no such kind.
    """
    kinds = kinds_of(cls)
    if not kinds:
        raise TypeError(f"result must be of a class that has a drawing, got {cls.__name__}.")
    from shiftmetrics._core.validation import check_choice  # brings NumPy: not before it is needed

    return kinds[next(iter(kinds)) if kind is None else check_choice(kind, "kind", tuple(kinds))]
