"""The stability of a sample over risk thresholds or over prices: a point for each, and bounds in between."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Result, format_number
from shiftmetrics.stability.losses.base import Kind
from shiftmetrics.stability.result import ALREADY_AT_RISK, BOUNDARY, UNATTAINABLE, UNBOUNDED_LOSS
from shiftmetrics.stability.words import risk_in_words

COLUMNS = {
    "errors": "error_bound", "standard_errors": "standard_error", "lows": "low", "highs": "high", "duals": "dual",
    "risks": "risk", "corruption": "corruption", "reweighting": "reweighting",
    "reweighting_first": "reweighting_first", "corruption_after": "corruption_after", "rms_moves": "rms_move",
    "share_moved": "share_moved", "effective_sample_fractions": "effective_sample_fraction",
    "sensitivity_theta1": "sensitivity_theta1", "sensitivity_theta2": "sensitivity_theta2",
}  # fmt: skip
"""Arrays of a curve, and what their column is called in a table: as in the result of one point."""

_SPECIAL = (ALREADY_AT_RISK, BOUNDARY, UNATTAINABLE, UNBOUNDED_LOSS)


@dataclass(frozen=True, eq=False, kw_only=True)
class CurvePoints(Record):
    """What each point of a curve holds; arrays have the shape (n_points,).

    Attributes
    ----------
    thresholds, theta1, theta2 : ndarray
        Risk threshold and prices of each point.
    shares : ndarray or None
        Over prices: how cheap perturbation is, (1/theta1) / (1/theta1 + 1/theta2). At 0 samples may not change, at 1
        weights may not. None over thresholds.
    stability : ndarray
        The least cost of each point: 0 where the sample is at risk already, inf where the threshold is out of reach.
    errors : ndarray
        Numerical error of each.
    standard_errors, lows, highs : ndarray
        Sampling error and interval of each; nan where there is none.
    duals : ndarray
        Cost of one more unit of risk, dR/d threshold.
    risks : ndarray
        Risk of each shifted sample.
    corruption, reweighting : ndarray
        What perturbation adds to the risk, and then weights (equation 4.4 of arXiv:2405.03198); see `ExcessRisk`.
    reweighting_first, corruption_after : ndarray
        What weights add to the risk, and then perturbation.
    rms_moves, share_moved, effective_sample_fractions : ndarray
        How each shifted sample differs: root-mean-square distance, fraction of samples that change, and
        ``1 / mean(W^2)``.
    sensitivity_theta1, sensitivity_theta2 : ndarray
        Derivatives of the stability in the two prices.
    statuses : tuple of str
        Status of each point, as of `stability_criterion`.
    """

    thresholds: FloatArray
    theta1: FloatArray
    theta2: FloatArray
    shares: FloatArray | None = None
    stability: FloatArray
    errors: FloatArray
    standard_errors: FloatArray
    lows: FloatArray
    highs: FloatArray
    duals: FloatArray
    risks: FloatArray
    corruption: FloatArray
    reweighting: FloatArray
    reweighting_first: FloatArray
    corruption_after: FloatArray
    rms_moves: FloatArray
    share_moved: FloatArray
    effective_sample_fractions: FloatArray
    sensitivity_theta1: FloatArray
    sensitivity_theta2: FloatArray
    statuses: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class StabilityCurve(Drawn, Result):
    """Stability over risk thresholds, R(r), or over prices at one threshold.

    Over thresholds the curve is convex and nondecreasing with slope ``points.duals``, and ``value`` is the stability
    at the highest one. Over prices ``value`` is the lowest stability: the kind of shift that breaks the model at the
    least cost. Stability is 1-homogeneous in the prices, so that one line holds those of all pairs of prices.

    Attributes
    ----------
    kind : {"exact", "upper_bound", "lower_bound"}
        What the stabilities are for the model, given what its loss knows.
    base_risk : float
        Risk of the sample as it is.
    points : CurvePoints
        The arrays over the points.
    n_passes : int
        Passes over the data that all points took together.
    highest_risk : float
        The highest risk that any allowed shift reaches; inf where the loss has no upper limit. Nan over prices.
    """

    measure = "stability_curve"
    title = "Stability over risk thresholds"
    higher_is_better = True

    kind: Kind
    base_risk: float
    points: CurvePoints
    n_passes: int
    highest_risk: float = math.nan

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.points.shares is not None:
            object.__setattr__(self, "title", "Stability over prices")

    def headline(self) -> str:
        """Say what the highest threshold costs, or by which kind of shift the model breaks first."""
        risk = risk_in_words(float(self.points.thresholds[-1]), self.settings, self.base_risk)
        if self.points.shares is not None:
            return self._headline_over_prices(risk)
        if not np.isfinite(self.value):
            most = risk_in_words(self.highest_risk, self.settings, self.base_risk)
            return f"No allowed shift leads to more than {most}, the end of the curve."
        text = f"It takes a shift of cost {format_number(self.value)} to reach {risk}"
        dual = float(self.points.duals[-1])
        if np.isfinite(dual):
            return f"{text}; from there the next unit of risk costs {format_number(dual)}."
        return f"{text}, the highest risk that shifts reach."

    def _headline_over_prices(self, risk: str) -> str:
        finite = np.flatnonzero(np.isfinite(self.points.stability))
        if not len(finite):
            return f"No allowed shift leads to {risk} at any of {len(self.points.stability)} pairs of prices."

        points = self.points
        ways = {0.0: "by reweighting alone", 1.0: "by moves alone"}

        def point(place: int) -> str:
            assert points.shares is not None
            way = ways.get(float(points.shares[place]), "by both")
            prices = f"theta1 = {float(points.theta1[place]):.3g}, theta2 = {float(points.theta2[place]):.3g}"
            return f"{way} (cost {format_number(float(points.stability[place]))} at {prices})"

        low, high = finite[
            [self.points.stability[finite].argmin(), self.points.stability[finite].argmax()]
        ]
        return f"The cheapest way to {risk} is {point(low)}, the dearest {point(high)}."

    def notes(self) -> list[str]:
        """Return the sentences that follow the headline."""
        sentences = super().notes()
        if self.kind == "upper_bound":
            sentences.insert(1, "Upper bounds: the true values may be lower, never higher.")
        elif self.kind == "lower_bound":
            sentences.insert(1, "Lower bounds: the true values may be higher, never lower.")
        for status in _SPECIAL:
            times = self.points.statuses.count(status.code)
            if times:
                sentences.append(
                    f"Status {status} at {times} of {len(self.points.statuses)} points: {status.text}"
                )
        return sentences

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line for each point."""
        import pandas as pd

        names = {
            "thresholds": "threshold",
            "shares": "share",
            "theta1": "theta1",
            "theta2": "theta2",
        }
        names |= {"stability": "stability", **COLUMNS}
        parts = {column: getattr(self.points, name) for name, column in names.items()}
        return pd.DataFrame(
            {name: part for name, part in parts.items() if part is not None}
        ).assign(status=self.points.statuses)
