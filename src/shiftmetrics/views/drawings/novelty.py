"""Drawings of novelty: the spectrum, modes, tests of modes, and several samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics.novelty import NoveltyResult, NoveltyTable
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import (
    INK,
    MUTED,
    REFERENCE,
    TEST,
    line_at,
    name_rows,
    new_axes,
    percent_axes,
    plain_log_axis,
)

DARK = 0.6
"""Share of the colour scale above which numbers are printed in white."""


@drawing(NoveltyResult, kind="spectrum", default=True)
def draw_spectrum(result: Any, ax: Any = None, *, n_eigenvalues: int = 20) -> Any:
    """Draw the largest eigenvalues: new in the test sample above the line, missing from it below."""
    ax = new_axes(ax)
    lost = () if result.reverse_eigenvalues is None else result.reverse_eigenvalues
    sides = (
        (1.0, np.asarray(result.eigenvalues)[:n_eigenvalues], result.null, TEST, "more in the test sample"),
        (-1.0, np.asarray(lost)[:n_eigenvalues], result.reverse_null, REFERENCE, "more in the reference"),
    )
    width = max(*(len(values) for _, values, *_ in sides), 1)
    edges = [0.3, width + 0.7]
    for sign, values, null, colour, label in sides:
        if len(values):
            ax.bar(np.arange(len(values)) + 1, sign * values, color=colour, width=0.72, label=label)
        if null is not None and (sign > 0 or len(values)):
            ax.fill_between(edges, sign * null.largest, color=MUTED, alpha=0.22, linewidth=0, zorder=0.5)
            ax.axhline(sign * null.largest, color=MUTED, linewidth=1.0, linestyle="--")
    if result.null is not None:
        ax.plot([], [], color=MUTED, linewidth=1.0, linestyle="--", label="largest of relabelled rows")
    ax.axhline(0, color=MUTED, linewidth=0.8)
    ax.set(xlim=edges, xlabel="rank of the mode", ylabel="eigenvalue")
    ax.xaxis.get_major_locator().set_params(integer=True)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.5 * (high - low))  # the legend stands above the band, not in it
    ax.legend(loc="upper right")
    ax.set_title("Spectrum of what is new")
    return ax


@drawing(NoveltyResult, kind="frequencies")
def draw_frequencies(result: Any, ax: Any = None) -> Any:
    """Draw how frequent each described mode is in the test sample and in the reference."""
    ax = new_axes(ax)
    place = name_rows(ax, range(1, len(result.modes) + 1))
    test = np.array([mode.frequency for mode in result.modes])
    reference = np.array([mode.reference_frequency for mode in result.modes])
    ax.hlines(place, np.minimum(test, reference), np.maximum(test, reference), color=MUTED, linewidth=1.2)
    ax.plot(test, place, "o", color=TEST, markersize=6, label="test")
    ax.plot(reference, place, "o", color=REFERENCE, markersize=6, label="reference")
    ax.set(xlabel="mean membership", ylabel="mode")
    ax.set_xlim(0, 1.1 * float(max(test.max(initial=0.0), reference.max(initial=0.0), 1e-9)))
    percent_axes(ax, "x")
    ax.legend(loc="lower right")
    ax.set_title("How frequent each mode is")
    return ax


@drawing(NoveltyResult, kind="tests")
def draw_tests(result: Any, ax: Any = None) -> Any:
    """Draw how many times as frequent each mode is on held-out rows, with its lower bound."""
    tests = result.tests
    if tests is None:
        raise ValueError(
            "result must hold tests of its modes, got none. Pass resampling=NoveltyResampling(held_out=0.5)."
        )
    ax = new_axes(ax, height=1.6 + 0.36 * max(2, len(tests)))
    low = np.array([mode.ratio_low for mode in tests])
    ratio = np.array([mode.ratio for mode in tests])
    colours = np.array([TEST if mode.confirmed else MUTED for mode in tests])
    seen = np.isfinite(ratio)
    known = np.concatenate([low, ratio[seen], [result.eta]])
    left, right = float(known[known > 0.0].min()) / 2.0, 3.0 * float(known.max())
    ax.set_xlim(left, right)
    plain_log_axis(ax.xaxis)
    place = name_rows(ax, range(1, len(tests) + 1))
    start = np.maximum(low, left)
    ax.hlines(place, start, np.where(seen, ratio, right), color=colours, linewidth=1.6)
    ax.scatter(start, place, color=colours, marker="|", s=80, linewidth=1.6)
    ax.scatter(ratio[seen], place[seen], color=colours[seen], s=36, zorder=3)
    open_end = {"marker": ">", "s": 36, "clip_on": False}
    ax.scatter(np.full((~seen).sum(), right), place[~seen], color=colours[~seen], **open_end)
    line_at(ax, "x", result.eta, f"eta = {result.eta:g}", color=INK)
    ax.set(xlabel="times as frequent in the test sample", ylabel="mode")
    ax.set_title("Modes on held-out rows, with lower bounds")
    return ax


@drawing(NoveltyTable, kind="pairs", default=True)
def draw_pairs(
    table: Any, ax: Any = None, *, feature_set: str | None = None, bandwidth: int | None = None
) -> Any:
    """Draw the excess novelty of each sample (row) against each other (column) at one setting.

    ``feature_set`` is a name, by default the first; ``bandwidth`` a position, by default the middle one.
    """
    from matplotlib.colors import LinearSegmentedColormap

    place = table.bandwidths.shape[1] // 2 if bandwidth is None else bandwidth
    frame = table.pairs(feature_set=feature_set, bandwidth=place)
    values, names = frame.to_numpy(dtype=np.float64), [str(name) for name in frame.index]
    n = len(names)
    ax = new_axes(ax, width=1.0 + 0.85 * n, height=0.8 + 0.55 * n)
    largest = max(float(np.nanmax(values)), 1e-12)
    colours = LinearSegmentedColormap.from_list("novelty", ["#ffffff", TEST])
    ax.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=0.0, vmax=largest, aspect="auto")
    for row, column in np.argwhere(np.isfinite(values)):
        colour = "white" if values[row, column] > DARK * largest else INK
        text = f"{values[row, column]:.2f}"
        ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=9)
    ax.set_xticks(range(n), names, rotation=30, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(n), names)
    for draw_line in (ax.axhline, ax.axvline):  # the means stand apart
        draw_line(n - 1.5, color=INK, linewidth=0.8)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set(xlabel="is the reference", ylabel="is tested")
    ax.set_title("Novelty beyond the null, in nats")
    return ax


@drawing(NoveltyTable, kind="ranks")
def draw_ranks(table: Any, ax: Any = None) -> Any:
    """Draw the rank of each sample at each setting, with its interval over draws."""
    from matplotlib import colormaps

    sets, widths = table.bandwidths.shape
    count = len(table.names)
    labels = [
        f"σ = {width:.3g}" + (f"\n{name}" if sets > 1 and place == (widths - 1) // 2 else "")
        for name, row in zip(table.feature_sets, table.bandwidths, strict=True)
        for place, width in enumerate(row)
    ]
    places = np.arange(sets * widths, dtype=np.float64)
    ranks, low, high = (
        np.asarray(part).reshape(-1, count) for part in (table.ranks, table.rank_low, table.rank_high)
    )
    # A rank of the mean over draws can lie outside the ranks of most draws.
    reach = np.maximum(np.stack([ranks - low, high - ranks]), 0)
    ax = new_axes(ax, width=max(5.0, 2.0 + 0.9 * len(places)), height=3.4)
    for i, name in enumerate(table.names):
        shift, colour = (i - (count - 1) / 2) * 0.5 / count, colormaps["viridis"](0.9 * i / max(1, count - 1))
        for start in range(0, len(places), widths):  # a line for each feature set
            part = slice(start, start + widths)
            ax.errorbar(
                places[part] + shift, ranks[part, i], yerr=reach[:, part, i], color=colour, marker="o",
                markersize=5, capsize=3, linewidth=1.2, label=None if start else str(name),
            )  # fmt: skip
    ax.set_xticks(places, labels)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.invert_yaxis()
    ax.set(ylabel="rank (1 is the most novel)")
    ax.set_title("Ranks, with 90 % of the draws")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
