"""The drawings of novelty: its spectrum, and how frequent each mode is on either side."""

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
    legend_beside_bars,
    name_rows,
    new_axes,
    percent_axes,
)

MOST_MODES = 6
"""Modes of either side that are drawn."""


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


@drawing(NoveltyResult, kind="modes")
def draw_mode_fractions(result: Any, ax: Any = None) -> Any:
    """Draw how frequent each new and each missing mode is, in the test sample and in the reference."""
    shown = [*result.new[:MOST_MODES], *result.missing[:MOST_MODES]]
    ax = new_axes(ax, height=1.2 + 0.35 * max(len(shown), 1))
    names = [f"{'missing' if mode.missing else 'mode'} {mode.index + 1}" for mode in shown]
    places = name_rows(ax, names)
    sides = {
        "test sample": ([mode.fraction for mode in shown], TEST, -0.2),
        "reference": ([mode.reference_fraction for mode in shown], REFERENCE, 0.2),
    }
    for name, (fractions, color, shift) in sides.items():
        ax.barh(places + shift, fractions, color=color, height=0.38, label=name)
    percent_axes(ax, "x")
    ax.set_xlabel("fraction of the samples")
    ax.set_title("Modes, beside what is known", loc="left")
    if shown:
        legend_beside_bars(ax)
    return ax
