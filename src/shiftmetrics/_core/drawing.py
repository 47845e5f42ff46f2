"""What packages above give to results, so that these need not import them: drawings and cards."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Load = Callable[[], Callable[..., Any]]

_PLOTS: list[Load] = []
_CARDS: list[Load] = []


# All control characters but tabs and ends of lines; those that turn the direction of writing or end a line otherwise;
# and those that nobody sees, so that two names look like one. Joiners stay: scripts and emoji need them.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_LONG_WORD = re.compile(r"\S{1001,}")


def printable(text: str) -> str:
    """Return text with its control characters made visible: escape sequences of files must not reach a terminal."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def one_line(text: str) -> str:
    """Return printable text on one line, so that no name passes for a sentence of ours.

    Words that nobody reads to their end are cut.
    """
    shown = printable(text).replace("\n", r"\n")
    return _LONG_WORD.sub(
        lambda found: f"{found[0][:300]}... ({len(found[0]):,} characters)", shown
    )


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
    """Register functions that return the drawings of results; they are called at the first drawing."""
    _PLOTS.append(plot)
    _CARDS.append(card)


def card_of(result: Any) -> str:
    """Return a result as HTML for a notebook."""
    return printable(str(_CARDS[-1]()(result)))
