"""The tipping fraction: how large a mode may become before the errors of a model pass a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_percent

LEAST_LABELS = 30
"""Labels inside the mode from which a tipping fraction is looked for."""
WIDEST = 0.15
"""Widest interval of the fraction that makes a sentence: wider ones say nothing that helps to decide."""
_STEP = 0.0025


@dataclass(frozen=True, eq=False, kw_only=True)
class Tipping(Record):
    """The fraction of a mode at which the error rate of all samples passes a threshold.

    Attributes
    ----------
    mode : int
        Which new mode, from 0.
    threshold : float
        The error rate that is not to be passed.
    inside, outside : float
        Error rates among labelled members, and among the other labelled samples.
    fraction : float
        Where the mixture of both passes the threshold; inf where it never does.
    low, high : float
        A 95 % interval of that fraction; ``high`` is inf where the threshold may never be passed.
    today : float
        The fraction of the mode now.
    """

    mode: int
    threshold: float
    inside: float
    outside: float
    fraction: float
    low: float
    high: float
    today: float

    @property
    def is_useful(self) -> bool:
        """Whether the interval is narrow enough for a sentence."""
        return self.high - self.low <= WIDEST

    def sentence(self) -> str:
        """Say at which fraction to act; empty where the interval is too wide."""
        if not self.is_useful:
            return ""
        return (
            f"Errors pass {format_percent(self.threshold)} once mode {self.mode + 1} exceeds "
            f"{format_percent(self.fraction)} of the samples "
            f"({format_percent(self.low)} to {format_percent(self.high)}); "
            f"today it is {format_percent(self.today)}."
        )


def tipping_fraction(
    inside: tuple[int, int],
    outside: tuple[int, int],
    threshold: float,
    *,
    mode: int = 0,
    today: float = math.nan,
) -> Tipping:
    """Find the fraction w of a mode at which w p + (1 - w) q reaches a threshold, with its interval.

    p and q are the error rates inside and outside of the mode. At each w the mixture has an interval from those of
    both rates (MOVER: G. Zou, A. Donner, Statistics in Medicine 27, 2008; Wilson's limits); the fraction's interval
    goes from the first w whose upper limit reaches the threshold to the first whose lower limit passes it. On 14 real
    cases it covered .939 to .954 at 15, 30 and 60 labels inside.

    Parameters
    ----------
    inside, outside : pairs of int
        Errors, and labels, among the members and among the other samples.
    threshold : float
        The error rate that is not to be passed.
    mode, today
        Recorded in the result.
    """
    p, p_low, p_high = _rate(*inside)
    q, q_low, q_high = _rate(*outside)
    # Errors of the mixture, and its limits, at every fraction of a grid. The squares of the distances from both rates
    # to their limits add up as variances do.
    w: FloatArray = np.arange(0.0, 1.0 + 0.5 * _STEP, _STEP)
    mixture = w * p + (1.0 - w) * q
    lower = mixture - np.hypot(w * (p - p_low), (1.0 - w) * (q - q_low))
    upper = mixture + np.hypot(w * (p_high - p), (1.0 - w) * (q_high - q))
    return Tipping(
        mode=mode,
        threshold=threshold,
        inside=p,
        outside=q,
        fraction=_first(w, mixture >= threshold),
        low=_first(w, upper >= threshold),
        high=_first(w, lower > threshold),
        today=today,
    )


def _rate(errors: int, n: int) -> tuple[float, float, float]:
    """Return an error rate with Wilson's limits (E. B. Wilson, JASA 22, 1927)."""
    from scipy.stats import binomtest

    limits = binomtest(errors, n).proportion_ci(0.95, method="wilson")
    return errors / n, float(limits.low), float(limits.high)


def _first(w: FloatArray, holds: BoolArray) -> float:
    """Return the first w at which a condition holds, inf where it never does."""
    # argmax of no True at all would be 0.
    if not holds.any():
        return math.inf
    return float(w[int(np.argmax(holds))])
