"""`plot` and cards of results: those of `views`, which names itself here, so that results need not import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Load = Callable[[], Callable[..., Any]]

_PLOTS: list[Load] = []
_CARDS: list[Load] = []


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
        return _PLOTS[-1]()(self, ax, kind=kind, **options)


def draw_by(plot: Load, card: Load) -> None:
    """Let results be drawn by the functions that these return, which are called when something is drawn."""
    _PLOTS.append(plot)
    _CARDS.append(card)


def card_of(result: Any) -> str:
    """Return a result as HTML for a notebook."""
    return str(_CARDS[-1]()(result))
