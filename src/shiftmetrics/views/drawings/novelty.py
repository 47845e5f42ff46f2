"""Drawings of novelty: the spectrum, and modes."""

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
    name_rows,
    new_axes,
    percent_axes,
)


@drawing(NoveltyResult, kind="spectrum", default=True)
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


@drawing(NoveltyResult, kind="frequencies")
def draw_frequencies(result: Any, ax: Any = None) -> Any:
    """Draw how frequent each described mode is in the test sample and in the reference."""
    ax = new_axes(ax)
    changed = result.changes.modes
    modes = (*result.modes, *result.missing, *changed)
    names = []
    for mode in modes:
        word = "less" if mode.missing else "more"
        if mode in changed:
            names.append(f"{word} frequent {mode.index + 1}")
        else:
            names.append(f"missing {mode.index + 1}" if mode.missing else mode.index + 1)
    place = name_rows(ax, names)
    # a line from one frequency to the other shows the difference
    test = np.array([mode.fraction for mode in modes])
    reference = np.array([mode.reference_fraction for mode in modes])
    ax.hlines(
        place, np.minimum(test, reference), np.maximum(test, reference), color=MUTED, linewidth=1.2
    )
    ax.plot(test, place, "o", color=TEST, markersize=6, label="test")
    ax.plot(reference, place, "o", color=REFERENCE, markersize=6, label="reference")
    ax.set(xlabel="fraction of the samples", ylabel="mode")
    highest = max(test.max(initial=0.0), reference.max(initial=0.0), 1e-9)
    ax.set_xlim(0, 1.1 * float(highest))
    percent_axes(ax, "x")
    ax.legend(loc="lower right")
    ax.set_title("How frequent each mode is")
    return ax
