"""`plot` of results: that of `views`, which names itself here, so that results need not import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_LOADERS: list[Callable[[], Callable[..., Any]]] = []


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
        return _LOADERS[-1]()(self, ax, kind=kind, **options)


def plot_by(load: Callable[[], Callable[..., Any]]) -> None:
    """Let results be drawn by the function that ``load`` returns, which is called when something is drawn."""
    _LOADERS.append(load)
