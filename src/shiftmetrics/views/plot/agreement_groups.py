"""Drawings of who agrees: confidence and share of each group of pairs, rates by group of rows."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.views.plot.style import INK, MUTED, REFERENCE, TEST, mark, new_axes, percent_axes, style

WORDS = {
    "right": "right,\nkept",
    "wrong": "wrong,\nkept",
    "misled": "right,\nmisled",
    "changed": "wrong,\nchanged",
}

RATE_NAMES = {
    "afr_p": "unchanged predictions (AFR_P)",
    "afr_t": "right predictions (AFR_T)",
    "accuracy": "right before the shift",
    "delta_afr": "accuracy lost",
    "misled": "right, then misled",
    "attack_success_rate": "attack success rate",
    "macro_f1": "macro F1",
    "reference_macro_f1": "macro F1 before the shift",
}


def plot_contributions(
    result: Any, ax: Any = None, *, kind: Literal["confidence", "contribution"] = "confidence"
) -> Any:
    """Draw the four groups of pairs: how sure the model is in each, or what each costs.

    Parameters
    ----------
    result : AgreementContributionsResult
        From `agreement_contributions`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    kind : {"confidence", "contribution"}, default "confidence"
        "confidence" draws the mean posterior of the predicted class at beta = 1 in either sample, with its standard
        error; "contribution" draws what each group takes from log PA.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from shiftmetrics.agreement import agreement_contributions
    >>> from shiftmetrics.views.plot import plot_contributions
    >>> margins = [2.0, 1.0, -1.0, 0.5]
    >>> plot_contributions(agreement_contributions(margins[::-1], margins, [1, 1, 0, 0])).get_ylabel()
    'posterior of the predicted class'
    """
    check_choice(kind, "kind", ("confidence", "contribution"))
    names = list(result.groups)
    groups = [result.groups[name] for name in names]
    place = np.arange(len(names))
    with style():
        ax = new_axes(ax)
        if kind == "contribution":
            ax.bar(place, [group.log_pa for group in groups], color=TEST, width=0.6)
            ax.axhline(0, color=MUTED, linewidth=0.8)
            ax.set(ylabel="part of log PA (nats)")
            ax.set_title("What each group takes from perfect agreement")
        else:
            sides = (
                ("plain_reference_confidence", REFERENCE, "reference"),
                ("plain_confidence", TEST, "shifted"),
            )
            for k, (field, colour, label) in enumerate(sides):
                bars = [getattr(group, field) for group in groups]
                ax.bar(
                    place + 0.36 * (k - 0.5),
                    [bar.mean or 0.0 for bar in bars],
                    yerr=[bar.standard_error or 0.0 for bar in bars],
                    width=0.34,
                    color=colour,
                    label=label,
                    error_kw={"ecolor": INK, "elinewidth": 1.0, "capsize": 2.5},
                )
            ax.set(ylabel="posterior of the predicted class", ylim=(0, 1.02))
            ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
            ax.set_title("Confidence, by what happened")
        ax.set_xticks(
            place, [f"{WORDS[name]}\n{group.n_samples}" for name, group in zip(names, groups, strict=True)]
        )
        ax.tick_params(axis="x", labelcolor=INK, length=0)
    return ax


def plot_rates(result: Any, ax: Any = None, *, rate: str = "afr_p") -> Any:
    """Draw a rate in each group with its interval, from the worst to the best, and over all rows.

    Parameters
    ----------
    result : PredictionRatesResult
        From `prediction_rates`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    rate : str, default "afr_p"
        Name of a rate that the result has. Without groups, all rates are drawn.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the result has no such rate.
    """
    overall = dict(result.overall.items())
    if rate not in overall:
        raise ValueError(describe("rate", f"one of {', '.join(overall)}", repr(rate)))
    if result.groups:
        shown = {name: dict(rates.items())[rate] for name, rates in result.groups.items()}
        shown = dict(sorted(shown.items(), key=lambda item: item[1].value))
    else:
        shown = overall
    with style():
        ax = new_axes(ax, height=1.0 + 0.27 * len(shown))
        place = np.arange(len(shown))
        for row, part in zip(place, shown.values(), strict=True):
            if part.interval is not None:
                ax.hlines(row, part.interval.low, part.interval.high, color=TEST, linewidth=1.6)
        ax.plot([part.value for part in shown.values()], place, "o", color=TEST, markersize=5)
        if result.groups:
            whole = overall[rate]
            if whole.interval is not None:
                ax.axvspan(whole.interval.low, whole.interval.high, color=REFERENCE, alpha=0.12, linewidth=0)
            ax.axvline(whole.value, color=REFERENCE, linewidth=1.2, linestyle=(0, (4, 3)))
            mark(ax, "all rows", (whole.value, 1.0), xycoords=("data", "axes fraction"), shift=(4, 3),
                 color=REFERENCE)  # fmt: skip
        ax.set_yticks(place, list(shown) if result.groups else [RATE_NAMES[name] for name in shown])
        ax.tick_params(axis="y", labelcolor=INK)
        ax.set(ylim=(-0.7, len(shown) - 0.3))
        ax.set_xlabel(RATE_NAMES[rate] if result.groups else "rate")
        ax.grid(visible=True, axis="x")
        ax.grid(visible=False, axis="y")
        percent_axes(ax, "x")
        ax.set_title("From group to group" if result.groups else "Prediction rates", pad=14)
    return ax


def plot_adam_trace(result: Any, ax: Any = None) -> Any:
    """Draw beta over the gradient steps, with the beta of the certified maximum.

    Parameters
    ----------
    result : AdamAgreementResult
        From `posterior_agreement_adam`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    with style():
        ax = new_axes(ax)
        beta = np.append(result.trace_beta, result.beta)
        ax.plot(np.arange(len(beta)), beta, color=TEST)
        if math.isfinite(result.best_beta):
            ax.axhline(result.best_beta, color=REFERENCE, linewidth=1.2, linestyle=(0, (4, 3)))
            mark(ax, f"certified maximum at {result.best_beta:.3g}", (1, result.best_beta),
                 xycoords=("axes fraction", "data"), shift=(-2, 3), ha="right", color=REFERENCE)  # fmt: skip
        ax.set(xlabel="step", ylabel="inverse temperature beta")
        ax.set_title("Where gradient steps take beta")
    return ax
