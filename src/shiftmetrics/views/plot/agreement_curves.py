"""Drawings of agreement over shift ratio and power: curves of several models, and their ranking."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.views.plot.style import INK, RULE, new_axes, style

MODEL_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#000000", "#7b5ea7")
"""One for each model, then again with another marker: Okabe and Ito's set, told apart by colour-blind readers."""

MARKERS = ("o", "s", "^", "D")

Quantity = Literal["normalized", "agreement", "equivalent_error", "beta", "afr_p", "afr_t"]

_LABELS: dict[str, str] = {
    "normalized": "agreement / log K",
    "agreement": "agreement (nats)",
    "equivalent_error": "equivalent error",
    "beta": "inverse temperature beta",
    "afr_p": "unchanged predictions (AFR_P)",
    "afr_t": "right predictions (AFR_T)",
}

WITH_INTERVALS = ("normalized", "agreement", "afr_p", "afr_t")


def plot_agreement_curves(
    result: Any,
    ax: Any = None,
    *,
    x: Literal["auto", "ratio", "power"] = "auto",
    y: Quantity = "normalized",
    at: Any = None,
) -> Any:
    """Draw a quantity of each model against the ratio or the power of the shift, with its sampling interval.

    Parameters
    ----------
    result : AgreementCurvesResult
        From `agreement_curves`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    x : {"auto", "ratio", "power"}, default "auto"
        What runs along the axis; "auto" takes the power where there are several.
    y : {"normalized", "agreement", "equivalent_error", "beta", "afr_p", "afr_t"}, default "normalized"
        What is drawn. Bands are sampling intervals, where there are any.
    at : float or str, optional
        The power (along the ratio) or the ratio (along the power) to draw. Default: the last.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the result has no such quantity, power or ratio.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import agreement_curves
    >>> from shiftmetrics.views.plot import plot_agreement_curves
    >>> scores = np.random.default_rng(0).normal(size=(100, 3))
    >>> plot_agreement_curves(agreement_curves(scores[::-1], scores, ratios=[0, 0.5, 1], rng=0)).get_xlabel()
    'ratio of shifted rows'
    """
    check_choice(y, "y", tuple(_LABELS))
    if getattr(result, y) is None:
        raise ValueError(describe("y", "a quantity of the result", f"{y!r}, which needs labels"))
    if check_choice(x, "x", ("auto", "ratio", "power")) == "auto":
        x = "power" if len(result.powers) > 1 else "ratio"
    along_power = x == "power"
    places = result.powers if along_power else [float(ratio) for ratio in result.ratios]
    others = [float(ratio) for ratio in result.ratios] if along_power else list(result.powers)
    chosen = len(others) - 1 if at is None else _place(at, others)
    numeric = all(isinstance(place, float) for place in places)
    where = np.asarray(places if numeric else np.arange(len(places)), dtype=np.float64)

    def curve(name: str, m: int) -> npt.NDArray[np.float64]:
        values = _quantity(result, name)[m]
        return np.asarray(values[:, chosen] if along_power else values[chosen, :])

    with style():
        ax = new_axes(ax)
        for m, model in enumerate(result.models):
            colour, marker = (
                MODEL_COLOURS[m % len(MODEL_COLOURS)],
                MARKERS[m // len(MODEL_COLOURS) % len(MARKERS)],
            )
            if y in WITH_INTERVALS:
                low, high = (curve(f"{y}_{end}", m) for end in ("low", "high"))
                ax.fill_between(where, low, high, color=colour, alpha=0.13, linewidth=0)
            values = curve(y, m)
            values = np.where(np.isfinite(values), values, np.nan)
            ax.plot(where, values, color=colour, marker=marker, markersize=4, label=model)
        if not numeric:
            ax.set_xticks(where, [str(place) for place in places])
        elif along_power:
            ax.set_xticks(where, [f"{place:g}" for place in where])
        ax.set(xlabel="power of the shift" if along_power else "ratio of shifted rows", ylabel=_LABELS[y])
        fixed = f"{others[chosen]:g}" if isinstance(others[chosen], float) else others[chosen]
        names = {True: f"ratio {fixed}", False: f"power {fixed}"}
        title = (
            "Agreement as the shift grows"
            if y in ("normalized", "agreement")
            else f"{_LABELS[y]} as the shift grows"
        )
        title = title[0].upper() + title[1:]
        ax.set_title(f"{title}, {names[along_power]}" if len(others) > 1 else title)
        if len(result.models) > 1:
            ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def plot_agreement_ranking(result: Any, ax: Any = None, *, ratio: float | None = None) -> Any:
    """Draw the models in the order of their agreement under the strongest shift, with intervals at every power.

    Parameters
    ----------
    result : AgreementCurvesResult
        From `agreement_curves`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    ratio : float, optional
        Ratio of shifted rows. Default: the last.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ratios = [float(part) for part in result.ratios]
    j = len(ratios) - 1 if ratio is None else _place(ratio, ratios)
    values, low, high = (
        _quantity(result, name) for name in ("normalized", "normalized_low", "normalized_high")
    )
    order = np.argsort(values[:, -1, j], kind="stable")
    n_powers = len(result.powers)
    with style():
        ax = new_axes(ax, height=0.9 + 0.42 * len(order))
        for p, power in enumerate(result.powers):
            height = np.arange(len(order)) + 0.44 * ((n_powers - 1) / 2 - p) / max(n_powers, 1)
            colour = _shade(p, n_powers)
            ax.hlines(height, low[order, p, j], high[order, p, j], color=colour, linewidth=1.6)
            name = f"{power:g}" if isinstance(power, float) else str(power)
            ax.plot(values[order, p, j], height, "o", markersize=5, color=colour, label=name)
        ax.set_yticks(np.arange(len(order)), [result.models[m] for m in order])
        ax.tick_params(axis="y", labelcolor=INK)
        ax.set(xlabel=_LABELS["normalized"], ylim=(-0.6, len(order) - 0.4))
        ax.grid(visible=True, axis="x")
        ax.grid(visible=False, axis="y")
        for line in np.arange(len(order) - 1) + 0.5:
            ax.axhline(line, color=RULE, linewidth=0.6)
        if n_powers > 1:
            ax.legend(title="power", loc="center left", bbox_to_anchor=(1.0, 0.5))
        ax.set_title("Which model agrees most with itself")
        if "level" in result.settings:
            ax.set_xlabel(f"{_LABELS['normalized']}, with {100 * result.settings['level']:g} % intervals")
    return ax


def _quantity(result: Any, name: str) -> npt.NDArray[np.float64]:
    """Return an array of the result, or the bounds of one; those of the normalized agreement are the agreement's."""
    if name in ("normalized_low", "normalized_high"):
        bound = getattr(result, name.replace("normalized", "agreement"))
        return np.asarray(bound / np.log(result.n_classes)[:, None, None])
    return np.asarray(getattr(result, name), dtype=np.float64)


def _place(wanted: Any, known: list[Any]) -> int:
    for place, value in enumerate(known):
        if value == wanted or (isinstance(value, float) and isinstance(wanted, int | float)
                               and math.isclose(value, wanted, rel_tol=1e-9)):  # fmt: skip
            return place
    listed = ", ".join(str(value) for value in known)
    raise ValueError(describe("at", f"one of {listed}", repr(wanted)))


def _shade(p: int, n_powers: int) -> tuple[float, ...]:
    """Darker for stronger shifts."""
    from matplotlib.colors import to_rgb

    share = (p + 1) / n_powers
    light, dark = np.array(to_rgb("#f2b48a")), np.array(to_rgb("#8a3203"))
    return tuple(light + share * (dark - light))
