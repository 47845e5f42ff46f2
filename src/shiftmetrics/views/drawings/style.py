"""One look for all drawings: colours that colour-blind readers can tell apart, few lines, no box.

Each colour has one meaning everywhere: `TEST` is the sample under test (shifted, new), `REFERENCE` the baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray

INK = "#1f2a33"
MUTED = "#66727d"
RULE = "#d5dbe0"
TEST = "#c2500e"
REFERENCE = "#1d6f94"
THIRD = "#7b5ea7"
FAINT = "#e9edf0"
GOOD = "#2f7d4f"
BAD = "#b3261e"

LONGEST_NAME = 24
"""Characters of a name beside the axes, which leaves room for them."""
DASHED = (0, (4, 3))
READABLE = 0.5
"""Brightness of a cell from which dark numbers read better than white ones."""

STYLE_SHEET = Path(__file__).parent / "house.mplstyle"


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the package inside the block; the user's own settings come back after it."""
    import matplotlib

    with matplotlib.rc_context(fname=STYLE_SHEET):
        yield


def new_axes(ax: Any | None, *, width: float = 6.4, height: float = 3.6) -> Any:
    """Return ``ax``, or the axes of a new figure that ``pyplot.show`` will show."""
    if ax is not None:
        ax.set_axisbelow(True)  # grid lines of the caller's style stay behind the bars
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def band(ax: Any, x: FloatArray, low: FloatArray, high: FloatArray, color: str) -> None:
    """Shade an interval around a curve."""
    ax.fill_between(x, low, high, color=color, alpha=0.14, linewidth=0)


def legend_beside_bars(ax: Any) -> None:
    """Draw a legend at the right of horizontal bars, which leave room for it."""
    # the room has no ticks: no fraction is above 100 %
    right = ax.get_xlim()[1]
    ax.set_xticks([tick for tick in ax.get_xticks() if 0.0 <= tick <= right])
    ax.set_xlim(right=1.7 * right)
    ax.legend(loc="center right")


def integer_ticks(axis: Any) -> None:
    """Put the ticks of an axis of counts at integers."""
    axis.get_major_locator().set_params(integer=True)


def mark(
    ax: Any, text: str, at: tuple[float, float], *, shift: tuple[float, float], **options: Any
) -> None:
    """Write a few words beside a point, ``shift`` points away from it."""
    options = {"color": INK, "fontsize": 9, **options}
    ax.annotate(text, at, xytext=shift, textcoords="offset points", **options)


def line_at(
    ax: Any,
    axis: str,
    value: float,
    text: str,
    *,
    color: str = MUTED,
    left: bool = False,
    zorder: float = 2,
) -> None:
    """Draw a dashed line across the axes where ``axis``, "x" or "y", has this value, and name it at its end."""
    # one look for all such lines
    line = {"color": color, "linewidth": 1.2, "linestyle": DASHED, "zorder": zorder}
    if axis == "y":
        ax.axhline(value, **line)
        beside: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "shift": (-2, 3)}
        beside["ha"] = "right"
        mark(ax, text, (1, value), color=color, **beside)
        return
    ax.axvline(value, **line)
    beside = {"xycoords": ("data", "axes fraction"), "shift": (5, -2), "ha": "left"}
    if left:
        beside |= {"shift": (-5, -2), "ha": "right"}
    mark(ax, text, (value, 1), color=color, va="top", **beside)


def name_rows(ax: Any, names: Sequence[Any]) -> Any:
    """Name the places 0, 1, ... from the top of the axes down, and return them."""
    places = np.arange(len(names))
    ax.set_yticks(places, [cut(str(name)) for name in names])
    ax.tick_params(axis="y", labelcolor=INK)
    # the first row on top
    ax.set_ylim(len(names) - 0.3, -0.7)
    ax.grid(visible=True, axis="x")
    ax.grid(visible=False, axis="y")
    return places


def cut(name: str, longest: int = LONGEST_NAME) -> str:
    """Cut a long name in its middle: where many are long, they often differ at the end."""
    if len(name) <= longest:
        return name
    half = longest // 2
    return f"{name[:half]}…{name[-half:]}"


def percent_axes(ax: Any, which: str) -> None:
    """Print the ticks of the axes named in ``which``, "x" or "y" or both, as percentages."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for name in which:
        axis = ax.xaxis if name == "x" else ax.yaxis
        axis.set_major_locator(MaxNLocator(nbins=5))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.6g} %"))


def plain_log_axis(axis: Any) -> None:
    """Make an axis logarithmic with few ticks in plain numbers: 0.2, 0.5, 1, 2, 5, 10; its label should say so."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis._set_axes_scale("log")
    low, high = axis.get_view_interval()
    # less than two decades have room for 2 and 5 between the powers of ten
    steps = (1.0, 2.0, 5.0) if high < 50 * max(low, 1e-300) else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps, numticks=7))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")
