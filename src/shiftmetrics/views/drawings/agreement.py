"""Drawings of agreement: pair by pair, over the inverse temperature, by confidence and by group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, as_array, to_float64
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.validation import describe
from shiftmetrics.agreement import PosteriorAgreementResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import (
    INK,
    MUTED,
    REFERENCE,
    TEST,
    integer_ticks,
    line_at,
    mark,
    new_axes,
    plain_log_axis,
)

BINS = 40

PAIR_GROUPS = {
    "right": "right,\nkept",
    "wrong": "wrong,\nkept",
    "misled": "right,\nmisled",
    "changed": "wrong,\nchanged",
}


@drawing(PosteriorAgreementResult, kind="pairs", default=True)
def draw_pairs(result: Any, ax: Any = None) -> Any:
    """Draw the agreement of each pair as a histogram, with the mean that is the measure."""
    if result.per_sample is None:
        raise ValueError(
            "result must hold its pairs, got one without per_sample. Compute it of arrays in memory."
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
    beta = np.asarray(result.search.beta)
    value = np.asarray(result.search.value)
    bound = np.full(len(beta), np.nan)
    if result.search.bound is not None:
        bound = np.asarray(result.search.bound)
    # a logarithmic axis has no place for 0 and infinity
    shown = np.isfinite(beta) & (beta > 0) & np.isfinite(value)
    beta = beta[shown]
    value = value[shown]
    # far below its maximum the curve falls without end
    top = max(result.value, 0.05)
    low = -0.6 * top
    high = 1.35 * top
    at = result.beta
    if beta.size:
        bound = np.minimum(bound[shown], high)
        style = {"color": REFERENCE, "alpha": 0.1, "linewidth": 0}
        ax.fill_between(beta, low, bound, step="post", label="cannot exceed", **style)
        ax.plot(beta, value, color=TEST, marker="o", markersize=3, label="agreement")
        ax.legend(loc="lower center", ncols=2)
        # a maximum at 0 or infinity is marked at that end of the curve
        if at <= 0:
            at = beta.min()
        elif not math.isfinite(at):
            at = beta.max()
    if math.isfinite(at) and at > 0:
        ax.plot([at], [result.value], marker="o", markersize=7, color=INK, zorder=3)
        text = f"{result.value:.3g} nats at {result.beta:.3g}"
        # the text goes towards the middle of the logarithmic axis
        if beta.size > 0 and at > math.sqrt(beta.min() * beta.max()):
            mark(ax, text, (at, result.value), shift=(-8, 8), ha="right")
        else:
            mark(ax, text, (at, result.value), shift=(8, 8), ha="left")
    ax.axhline(0, color=MUTED, linewidth=0.8)
    plain_log_axis(ax.xaxis)
    ax.set(
        ylim=(low, high), xlabel="inverse temperature beta (log scale)", ylabel="agreement (nats)"
    )
    ax.set_title("Agreement at each confidence")
    return ax


@drawing(PosteriorAgreementResult, kind="confidence")
def draw_confidence(result: Any, ax: Any = None, *, scores: Any, reference_scores: Any) -> Any:
    """Draw the probability of the predicted class, before and after the shift, from the scores of either side."""
    ax = new_axes(ax)
    _, after, n_classes = predictions(scores, result)
    _, before, _ = predictions(reference_scores, result)
    # the largest of n probabilities is at least 1/n
    edges = np.linspace(1.0 / n_classes, 1.0, 31)
    ax.hist(before, bins=edges, histtype="step", linewidth=1.8, color=REFERENCE, label="reference")
    ax.hist(after, bins=edges, color=TEST, alpha=0.45, label="shifted")
    ax.set(xlim=(edges[0], 1.0), xlabel="probability of the predicted class", ylabel="samples")
    integer_ticks(ax.yaxis)
    ax.legend(loc="upper left")
    ax.set_title("Confidence before and after")
    return ax


def predictions(scores: Any, result: Any) -> tuple[IntArray, FloatArray, int]:
    """Return the predicted class of each row, its probability by the model itself, and the number of classes."""
    values = as_array(scores, "scores")
    n_classes = int(values.shape[1]) if values.ndim == 2 else 2
    predicted = np.empty(len(values), dtype=np.int64)
    confidence = np.empty(len(values))
    # block by block, because the scores may be a memory map
    for rows in row_blocks(len(values), 8 * n_classes):
        probabilities = _probabilities(to_float64(values[rows]), result)
        predicted[rows] = probabilities.argmax(axis=1)
        confidence[rows] = probabilities.max(axis=1)
    return predicted, confidence, n_classes


def _probabilities(values: FloatArray, result: Any) -> FloatArray:
    """Return the softmax at inverse temperature 1, or the probabilities as they are."""
    from scipy.special import softmax

    given = result.settings.get("kind", "scores") != "scores"
    if values.ndim == 1:
        # one column stands for the second of two classes
        first = 1.0 - values if given else np.zeros_like(values)
        values = np.stack([first, values], axis=1)
    if given:
        return np.asarray(values / values.sum(axis=1, keepdims=True))
    return np.asarray(softmax(values, axis=1))


@drawing(PosteriorAgreementResult, kind="contributions")
def draw_contributions(result: Any, ax: Any = None) -> Any:
    """Draw what each group of pairs takes from log PA."""
    if result.contributions is None:
        remedy = "Call agreement_contributions."
        raise ValueError(
            describe("result", "split by what happened to each pair", "another one", remedy)
        )
    ax = new_axes(ax)
    groups = dict(result.contributions.groups)
    names = [f"{PAIR_GROUPS[name]}\n{group.n_samples}" for name, group in groups.items()]
    ax.bar(names, [group.log_pa for group in groups.values()], color=TEST, width=0.6)
    ax.tick_params(axis="x", labelcolor=INK, length=0)
    ax.axhline(0, color=MUTED, linewidth=0.8)
    ax.set(ylabel="part of log PA (nats)")
    ax.set_title("What each group takes from perfect agreement")
    return ax
