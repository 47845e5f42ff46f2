"""The drawing of novelty: its spectrum. How frequent each mode is stands on the cards of the report."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics.novelty import NoveltyResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import (
    MUTED,
    REFERENCE,
    TEST,
    integer_ticks,
    new_axes,
)


@drawing(NoveltyResult, kind="spectrum")
def draw_spectrum(result: Any, ax: Any = None, *, n_eigenvalues: int = 20) -> Any:
    """Draw the largest eigenvalues: new in the test sample above the line, missing from it below."""
    ax = new_axes(ax)
    new = np.asarray(result.score.eigenvalues)[:n_eigenvalues]
    missing = np.zeros(0)
    if result.score.reverse_eigenvalues is not None:
        missing = np.asarray(result.score.reverse_eigenvalues)[:n_eigenvalues]
    if len(new):
        ax.bar(
            np.arange(len(new)) + 1, new, color=TEST, width=0.72, label="more in the test sample"
        )
    if len(missing):
        places = np.arange(len(missing)) + 1
        ax.bar(places, -missing, color=REFERENCE, width=0.72, label="more in the reference")
    # what is missing hangs below the line
    ax.axhline(0, color=MUTED, linewidth=0.8)
    ax.set_xlim(0.3, max(len(new), len(missing), 1) + 0.7)
    ax.set(xlabel="rank of the mode", ylabel="eigenvalue")
    integer_ticks(ax.xaxis)
    # room for the legend above the bars
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.5 * (high - low))
    if len(new) or len(missing):
        ax.legend(loc="upper right")
    ax.set_title("Spectrum of what is new")
    return ax
