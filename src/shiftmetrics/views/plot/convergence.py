"""Drawing of a search for the least shift: how its risk comes to the threshold, or how its value settles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.views.plot.style import INK, MUTED, REFERENCE, TEST, THIRD, mark, new_axes, style

_COLOURS = (TEST, REFERENCE, THIRD, INK, MUTED)


def plot_convergence(result: Any, ax: Any = None, *, kind: Literal["risk", "value"] = "risk") -> Any:
    """Draw the rounds of a search, or the steps of a gradient method, like figures 5 and 6b of the stability paper.

    Parameters
    ----------
    result : result, or dict of str to results
        Results with a trace, such as `model_stability` returns for networks with a loss that is not 0/1, or the
        gradient steps of `shiftmetrics.lab.published`; several are drawn together by name.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    kind : {"risk", "value"}, default "risk"
        "risk" draws the risk of the worst case at the dual price of each round, which ends at the threshold; "value"
        the stability found, and the certified lower bound where there is one.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If a result has no trace.

    References
    ----------
    Blanchet, Cui, Li, Liu, "Stability Evaluation through Distributional Perturbation Analysis", ICML 2024,
    arXiv:2405.03198.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.models import model_stability
    >>> from shiftmetrics.views.plot import plot_convergence
    >>> X = np.linspace(-1.0, 1.0, 30)[:, None]
    >>> result = model_stability(lambda rows: 0.9 * rows[:, 0], X, X[:, 0], 0.1, loss="squared")
    >>> plot_convergence(result).get_ylabel()
    'risk of the worst case'
    """
    check_choice(kind, "kind", ("risk", "value"))
    named = dict(result) if isinstance(result, Mapping) else {"": result}
    if not named:
        raise ValueError(describe("result", "at least one result", "an empty dict"))
    traces = {name: _trace(one, kind) for name, one in named.items()}
    steps = all("trace_risk" in getattr(one, "parts", {}) for one in named.values())
    with style():
        ax = new_axes(ax)
        for place, (name, one) in enumerate(named.items()):
            values, colour = traces[name], _COLOURS[place % len(_COLOURS)]
            rounds = np.arange(len(values)) + (0 if steps else 1)
            ax.plot(rounds, values, color=colour, label=name or None, **_markers(len(values)))
            lower = getattr(one, "lower_bound", None)
            if kind == "value" and lower is not None:
                ax.axhline(lower, color=colour, linewidth=1.2, linestyle=(0, (4, 3)))
                mark(ax, "certified lower bound", (1, lower), xycoords=("axes fraction", "data"),
                     shift=(-2, 3), ha="right", color=colour)  # fmt: skip
        if kind == "risk":
            for threshold in sorted({float(one.settings["threshold"]) for one in named.values()}):
                ax.axhline(threshold, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
                mark(ax, f"threshold {threshold:.3g}", (1, threshold), xycoords=("axes fraction", "data"),
                     shift=(-2, 3), ha="right", color=MUTED)  # fmt: skip
        if not steps:
            from matplotlib.ticker import MaxNLocator

            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="step" if steps else "round of the search")
        ax.set_ylabel("risk of the worst case" if kind == "risk" else "stability")
        ax.set_title(
            "How the search comes to the threshold" if kind == "risk" else "How the stability settles"
        )
        if len(named) > 1:
            ax.legend()
        ax.margins(y=0.12)
    return ax


def _markers(n_values: int) -> dict[str, Any]:
    return {"marker": "o", "markersize": 4.5} if n_values <= 60 else {}


def _trace(result: Any, kind: str) -> FloatArray:
    """Return one number for each round or step; what is infinite is left out of the drawing."""
    parts = getattr(result, "parts", {})
    if f"trace_{kind}" in parts:
        found = parts[f"trace_{kind}"]
    else:
        trace = getattr(result, "trace", None)
        if trace is None:
            raise ValueError(
                describe(
                    "result", "a result of a search in rounds", f"a {type(result).__name__} without a trace",
                    "Closed forms and the 0/1 loss need one solve alone, so nothing converges.",
                )
            )  # fmt: skip
        found = trace.risks if kind == "risk" else trace.values
    values = np.asarray(found, dtype=np.float64)
    return np.where(np.isfinite(values), values, np.nan)
