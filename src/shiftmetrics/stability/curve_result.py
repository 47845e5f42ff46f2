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
from shiftmetrics.stability.status import ALREADY_AT_RISK, BOUNDARY, UNATTAINABLE, UNBOUNDED_LOSS
from shiftmetrics.stability.words import risk_in_words

_SPECIAL = (ALREADY_AT_RISK, BOUNDARY, UNATTAINABLE, UNBOUNDED_LOSS)


@dataclass(frozen=True, eq=False, kw_only=True)
class CurvePoints(Record):
    """What each point of a curve holds; arrays have the shape (n_points,).

    Attributes
    ----------
    threshold, theta1, theta2 : ndarray
        Risk threshold and prices of each point.
    cheapness : ndarray or None
        Over prices: how cheap perturbation is, (1/theta1) / (1/theta1 + 1/theta2). At 0 samples may not change, at 1
        weights may not. None over thresholds.
    stability : ndarray
        The least cost of each point: 0 where the sample is at risk already, inf where the threshold is out of reach.
    error_bound : ndarray
        Numerical error of each.
    standard_error, interval_low, interval_high : ndarray
        Sampling error and interval of each; nan where there is none.
    slope_threshold, slope_theta1, slope_theta2 : ndarray
        Derivatives of the stability in the threshold and in the prices; see `Slopes`.
    risk : ndarray
        Risk of each shifted sample.
    corruption, reweighting : ndarray
        What perturbation adds to the risk, and then weights (equation 4.4 of arXiv:2405.03198); see `ExcessRisk`.
    reweighting_first, corruption_after : ndarray
        What weights add to the risk, and then perturbation.
    rms_distance, changed_fraction, effective_sample_fraction : ndarray
        How each shifted sample differs: root-mean-square distance, fraction of samples that change, and
        ``1 / mean(W^2)``.
    status : tuple of str
        Status of each point, as of `stability_criterion`.
    """

    threshold: FloatArray
    cheapness: FloatArray | None = None
    theta1: FloatArray
    theta2: FloatArray
    stability: FloatArray
    error_bound: FloatArray
    standard_error: FloatArray
    interval_low: FloatArray
    interval_high: FloatArray
    slope_threshold: FloatArray
    slope_theta1: FloatArray
    slope_theta2: FloatArray
    risk: FloatArray
    corruption: FloatArray
    reweighting: FloatArray
    reweighting_first: FloatArray
    corruption_after: FloatArray
    rms_distance: FloatArray
    changed_fraction: FloatArray
    effective_sample_fraction: FloatArray
    status: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class StabilityCurve(Drawn, Result):
    """Stability over risk thresholds, R(r), or over prices at one threshold.

    Over thresholds the curve is convex and nondecreasing with the slope ``points.slope_threshold``, and ``value`` is
    the stability at the highest one. Over prices ``value`` is the lowest stability: the kind of shift that breaks the
    model at the least cost. Stability is 1-homogeneous in the prices, so that one line holds those of all pairs
    of prices.

    Attributes
    ----------
    kind : {"exact", "upper_bound", "lower_bound"}
        What the stabilities are for the model, given what its loss knows.
    base_risk : float
        Current risk of the sample.
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
        if self.points.cheapness is not None:
            object.__setattr__(self, "title", "Stability over prices")

    def headline(self) -> str:
        """Say what the highest threshold costs, or by which kind of shift the model breaks first."""
        points = self.points
        risk = risk_in_words(float(points.threshold[-1]), self.settings, self.base_risk)
        if points.cheapness is not None:
            return self._headline_over_prices(risk)
        if not np.isfinite(self.value):
            most = risk_in_words(self.highest_risk, self.settings, self.base_risk)
            return f"No allowed shift leads to more than {most}, the end of the curve."
        text = f"It takes a shift of cost {format_number(self.value)} to reach {risk}"
        slope = float(points.slope_threshold[-1])
        if np.isfinite(slope):
            return f"{text}; from there the next unit of risk costs {format_number(slope)}."
        return f"{text}, the highest risk that shifts reach."

    def _headline_over_prices(self, risk: str) -> str:
        stability = self.points.stability
        finite = np.flatnonzero(np.isfinite(stability))
        if not len(finite):
            return f"No allowed shift leads to {risk} at any of {len(stability)} pairs of prices."
        low = finite[stability[finite].argmin()]
        high = finite[stability[finite].argmax()]
        return (
            f"The cheapest way to {risk} is {self._point_in_words(low)}, "
            f"the most expensive {self._point_in_words(high)}."
        )

    def _point_in_words(self, place: int) -> str:
        points = self.points
        assert points.cheapness is not None
        ways = {0.0: "by reweighting alone", 1.0: "by perturbation alone"}
        way = ways.get(float(points.cheapness[place]), "by both")
        prices = f"theta1 = {points.theta1[place]:.3g}, theta2 = {points.theta2[place]:.3g}"
        return f"{way} (cost {format_number(float(points.stability[place]))} at {prices})"

    def notes(self) -> list[str]:
        """Return the sentences that follow the headline."""
        sentences = super().notes()
        statuses = self.points.status
        for status in _SPECIAL:
            times = statuses.count(status.code)
            if times:
                where = f"at {times} of {len(statuses)} points"
                sentences.append(f"Status {status} {where}: {status.text}")
        return sentences

    def details(self) -> list[str]:
        """Return the sentences of every measure, and whether the values are bounds."""
        sentences = super().details()
        if self.kind == "upper_bound":
            sentences.insert(1, "Upper bounds: the true values may be lower, never higher.")
        elif self.kind == "lower_bound":
            sentences.insert(1, "Lower bounds: the true values may be higher, never lower.")
        return sentences

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line for each point."""
        import pandas as pd

        columns = {name: part for name, part in vars(self.points).items() if part is not None}
        return pd.DataFrame(columns)
