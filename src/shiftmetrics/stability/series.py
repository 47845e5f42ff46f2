"""Several stabilities of the same rows, one for each threshold or pair of prices, as columns of one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Result
from shiftmetrics.stability.result import ResultKind, StabilityResult, StabilityStatus


class SeriesStatus(Status):
    """How the solves of all points ended."""

    SOLVED = ("solved", True, "The stability of every point is certified.")
    MAX_ITER = (
        "max_iter",
        False,
        "At some points the evaluations ran out before the requested precision; errors say what was reached. "
        "Raise max_iter or rtol.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class StabilitySeries(Drawn, Result):
    """Base of `StabilityCurve` and `StabilitySurface`; arrays have the shape (n_points,).

    Attributes
    ----------
    status : SeriesStatus
        Not ok where a point missed the requested precision.
    kind : {"exact", "upper_bound", "lower_bound"}
        What the stabilities are for the model, given what its loss knows.
    base_risk : float
        Risk of the sample as it is.
    thresholds : ndarray
        Risk threshold of each point.
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
        What moves add to the risk, and then weights (equation 4.4 of arXiv:2405.03198); see `ExcessRisk`.
    reweighting_first, corruption_after : ndarray
        What weights add to the risk, and then moves.
    rms_moves, share_moved, effective_sample_fractions : ndarray
        How each shifted sample differs: root-mean-square move, share of rows that move, ``1 / mean(W^2)``.
    sensitivity_theta1, sensitivity_theta2 : ndarray
        Derivatives of the stability in the two prices.
    statuses : tuple of str
        Status of each point, as in `StabilityStatus`.
    n_passes : int
        Passes over the data that all points took together.
    """

    status: SeriesStatus
    kind: ResultKind
    base_risk: float
    thresholds: FloatArray
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
    n_passes: int

    @classmethod
    def of(cls, points: Sequence[StabilityResult], at: int, **fields: Any) -> Self:
        """Put the answers of all points into columns; the one at the position ``at`` gives the value."""

        def column(name: str) -> FloatArray:
            values = [getattr(point, name) for point in points]
            return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

        def excess(name: str) -> FloatArray:
            return np.array([getattr(point.excess_risk, name) for point in points])

        intervals = [point.interval for point in points]
        failed = any(not point.status.ok for point in points)
        errors = column("error_bound")
        return cls(
            value=points[at].value,
            error_bound=float(errors.max()),
            interval=intervals[at],
            status=SeriesStatus.MAX_ITER if failed else SeriesStatus.SOLVED,
            n_samples=points[0].n_samples,
            warnings=tuple(dict.fromkeys(warning for point in points for warning in point.warnings)),
            kind=points[0].kind,
            base_risk=points[0].base_risk,
            thresholds=np.array([point.settings["threshold"] for point in points]),
            stability=column("value"),
            errors=errors,
            standard_errors=column("standard_error"),
            lows=np.array([np.nan if part is None else part.low for part in intervals]),
            highs=np.array([np.nan if part is None else part.high for part in intervals]),
            duals=column("dual"),
            risks=column("risk"),
            corruption=excess("corruption"),
            reweighting=excess("reweighting"),
            reweighting_first=excess("reweighting_first"),
            corruption_after=excess("corruption_after"),
            rms_moves=column("rms_move"),
            share_moved=column("share_moved"),
            effective_sample_fractions=column("effective_sample_fraction"),
            sensitivity_theta1=column("sensitivity_theta1"),
            sensitivity_theta2=column("sensitivity_theta2"),
            statuses=tuple(str(point.status) for point in points),
            **fields,
        )

    def notes(self) -> list[str]:
        """Return the sentences that follow the headline."""
        sentences = super().notes()
        if self.kind == "upper_bound":
            sentences.insert(1, "Upper bounds: the true values may be lower, never higher.")
        elif self.kind == "lower_bound":
            sentences.insert(1, "Lower bounds: the true values may be higher, never lower.")
        for status in StabilityStatus:
            times = self.statuses.count(str(status))
            if times and status is not StabilityStatus.CONVERGED and status.ok:
                sentences.append(f"Status {status} at {times} of {len(self.statuses)} points: {status.text}")
        return sentences

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line for each point."""
        import pandas as pd

        columns = {
            name: part
            for name, part in vars(self).items()
            if isinstance(part, np.ndarray) and part.shape == self.stability.shape
        }
        singular = {"thresholds": "threshold", "risks": "risk", "duals": "dual", "errors": "error_bound"}
        singular |= {
            "standard_errors": "standard_error",
            "lows": "low",
            "highs": "high",
            "rms_moves": "rms_move",
        }
        singular |= {"effective_sample_fractions": "effective_sample_fraction", "shares": "share"}
        frame = pd.DataFrame({singular.get(name, name): part for name, part in columns.items()})
        return frame.assign(status=self.statuses)
