"""Drawings of agreement: pair by pair, over the inverse temperature, by confidence and by group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, to_float64
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.agreement import PosteriorAgreementResult
from shiftmetrics.agreement.scores import prepare_pairs
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import (
    INK,
    MUTED,
    REFERENCE,
    TEST,
    integer_ticks,
    legend_beside_bars,
    line_at,
    mark,
    name_rows,
    new_axes,
    plain_log_axis,
)

BINS = 40
MOST_CLASSES = 6
"""Classes whose changed predictions are drawn."""


@drawing(PosteriorAgreementResult, kind="pairs", default=True)
def draw_pairs(result: Any, ax: Any = None) -> Any:
    """Draw the agreement of each pair as a histogram, with the mean that is the measure."""
    if result.per_sample is None:
        remedy = "Compute it of arrays in memory."
        raise ArgumentValueError(
            "result", "its pairs", "one without per_sample", remedy, verb="hold"
        )
    ax = new_axes(ax)
    values = np.asarray(result.per_sample, dtype=np.float64)
    values = values[np.isfinite(values)]
    counts, *_ = ax.hist(values, bins=BINS, color=TEST, alpha=0.85, rwidth=0.92)
    ax.set(xlabel="agreement of the pair (nats)", ylabel="pairs")
    integer_ticks(ax.yaxis)
    filled = counts[counts > 0]
    # one bar would dwarf all others
    if filled.size > 3 and filled.max() > 30 * np.median(filled):
        ax.set_ylim(0.7, None)
        plain_log_axis(ax.yaxis)
        ax.set_ylabel("pairs (log scale)")
    line_at(ax, "x", result.value, f"mean {result.value:.3g}", color=INK, left=True)
    ax.set_title("Agreement, pair by pair")
    return ax


@drawing(PosteriorAgreementResult, kind="beta")
def draw_beta(result: Any, ax: Any = None) -> Any:
    """Draw the agreement against the inverse temperature, with the bound that certifies its maximum."""
    ax = new_axes(ax)
    search = result.search
    beta = np.asarray(search.beta)
    value = np.asarray(search.value)
    # a logarithmic axis has no place for 0 and infinity
    shown = np.isfinite(beta) & (beta > 0) & np.isfinite(value)
    # far below its maximum the curve falls without end
    top = max(result.value, 0.05)
    low = -0.6 * top
    high = 1.35 * top
    at = result.beta
    text = f"{result.value:.3g} nats at {at:.3g}"
    is_right = False
    if shown.any():
        beta = beta[shown]
        if search.bound is not None:
            bound = np.minimum(np.asarray(search.bound)[shown], high)
            look = {"color": REFERENCE, "alpha": 0.1, "linewidth": 0}
            ax.fill_between(beta, low, bound, step="post", label="cannot exceed", **look)
        ax.plot(beta, value[shown], color=TEST, marker="o", markersize=3, label="agreement")
        ax.legend(loc="lower center", ncols=2)
        # a maximum at 0 or infinity is marked at that end of the curve
        at = np.clip(at, beta.min(), beta.max())
        is_right = at > math.sqrt(beta.min() * beta.max())
    if 0 < at < math.inf:
        ax.plot([at], [result.value], marker="o", markersize=7, color=INK, zorder=3)
        # the text goes towards the middle of the logarithmic axis
        side = {"shift": (-8, 8), "ha": "right"} if is_right else {"shift": (8, 8), "ha": "left"}
        mark(ax, text, (at, result.value), **side)
    ax.axhline(0, color=MUTED, linewidth=0.8)
    plain_log_axis(ax.xaxis)
    ax.set(
        ylim=(low, high),
        xlabel="inverse temperature beta (log scale)",
        ylabel="agreement (nats)",
        title="Agreement at each confidence",
    )
    return ax


@drawing(PosteriorAgreementResult, kind="confidence")
def draw_confidence(result: Any, ax: Any = None, *, scores: Any, reference_scores: Any) -> Any:
    """Draw the probability of the predicted class, before and after the shift, from the scores of either side."""
    ax = new_axes(ax)
    both = posteriors_of_both(result, scores, reference_scores)
    after, before = both.max(axis=2)
    # the largest of n probabilities is at least 1/n
    edges = np.linspace(1.0 / both.shape[2], 1.0, 31)
    ax.hist(before, bins=edges, histtype="step", linewidth=1.8, color=REFERENCE, label="reference")
    ax.hist(after, bins=edges, color=TEST, alpha=0.45, label="shifted")
    ax.set(
        xlim=(edges[0], 1.0),
        xlabel="probability of the predicted class",
        ylabel="samples",
        title="Confidence before and after",
    )
    integer_ticks(ax.yaxis)
    ax.legend(loc="upper left")
    return ax


@drawing(PosteriorAgreementResult, kind="classes")
def draw_classes(
    result: Any, ax: Any = None, *, scores: Any, reference_scores: Any, class_names: Any = None
) -> Any:
    """Draw the predictions that change, by their class before and after: the classes with most of them."""
    after, before = posteriors_of_both(result, scores, reference_scores).argmax(axis=2)
    n_classes = result.n_classes
    changed = after != before
    left = np.bincount(before[changed], minlength=n_classes)
    joined = np.bincount(after[changed], minlength=n_classes)
    most = np.argsort(-(left + joined), kind="stable")[:MOST_CLASSES]
    names = np.arange(n_classes) if class_names is None else class_names
    ax = new_axes(ax, height=1.2 + 0.35 * len(most))
    places = name_rows(ax, [names[k] for k in most])
    ax.barh(places - 0.2, left[most], color=REFERENCE, height=0.38, label="before")
    ax.barh(places + 0.2, joined[most], color=TEST, height=0.38, label="after")
    integer_ticks(ax.xaxis)
    ax.set_xlabel("changed predictions")
    ax.set_title("Changed predictions, by class", loc="left")
    legend_beside_bars(ax)
    return ax


def posteriors_of_both(result: Any, scores: Any, reference_scores: Any) -> FloatArray:
    """Return the model's own probabilities, of shape (2, n_samples, n_classes): shifted, then reference."""
    from scipy.special import softmax

    # at inverse temperature 1, because it is the model that is shown, not the measure
    pairs = prepare_pairs(scores, reference_scores, kind=result.settings["kind"])
    planes = to_float64(pairs.block(slice(0, pairs.n_samples)))
    return np.asarray(softmax(planes[:2], axis=2))
