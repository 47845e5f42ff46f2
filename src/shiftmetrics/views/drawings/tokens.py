"""The drawing of a comparison of tokens: how many change, against what is allowed."""

from __future__ import annotations

from typing import Any

from shiftmetrics.decisions.tokens.result import TokenDiffResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import BAD, GOOD, INK, mark, new_axes, percent_axes

_LEAST_REACH = 0.02
"""Fraction of the tokens that the axis shows at least."""


@drawing(TokenDiffResult, kind="changed", default=True)
def draw_changed_tokens(result: TokenDiffResult, ax: Any = None) -> Any:
    """Draw the fraction of tokens that change, with its interval; green is where it may be."""
    ax = new_axes(ax, height=1.9)
    reach = max(_LEAST_REACH, result.value)
    if result.interval is not None:
        reach = max(reach, result.interval.high)
    if result.allow is not None:
        # Twice what is allowed, so that the side that is not is seen as well.
        reach = max(reach, 2.0 * result.allow)
        ax.axvspan(0.0, result.allow, color=GOOD, alpha=0.08, linewidth=0)
        ax.axvspan(result.allow, 1.2 * reach, color=BAD, alpha=0.08, linewidth=0)
        ax.axvline(result.allow, color=BAD, linewidth=1.2)
        at = (result.allow, 0.0)
        mark(ax, "allowed", at, shift=(5, 4), xycoords=("data", "axes fraction"), color=BAD)
    if result.interval is not None:
        low, high = result.interval.low, result.interval.high
        ax.hlines(0.0, low, high, color=INK, linewidth=7)
    ax.plot(result.value, 0.0, "o", color="white", markeredgecolor=INK, markersize=9)
    ax.set_xlim(0.0, 1.2 * reach)
    ax.set_ylim(-1.0, 1.4)
    ax.set_yticks([])
    ax.grid(visible=False)
    percent_axes(ax, "x")
    ax.set_xlabel("of the tokens")
    ax.set_title("Top tokens that change", loc="left")
    return ax
