"""The result of curves of agreement: estimates with their intervals at each power and ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Result, Status, format_number, format_percent

Power = float | str
"""Of a shift: a number or a name."""

SOLVED = Status("solved", "Every point of every curve is certified to the tolerance.")
SOME_UNSOLVED = Status(
    "max_iter",
    "At some points the certificate did not reach the tolerance: errors say how close it is.",
    "Raise max_iter or atol.",
    ok=False,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveEstimates(Record):
    """A quantity at each point of the curves, between the ends of its sampling interval."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveSearches(Record):
    """The searches for beta.

    Attributes
    ----------
    beta : ndarray
        Inverse temperatures; infinity where every pair has a predicted class in common.
    errors : ndarray
        Numerical errors of the agreement.
    n_evaluations : int
        Betas evaluated, each on all samples of one power.
    """

    beta: FloatArray
    errors: FloatArray
    n_evaluations: int


@dataclass(frozen=True, eq=False, kw_only=True)
class AgreementCurvesResult(Drawn, Result):
    """Agreement and prediction rates of a model over shift power and ratio.

    Arrays have the shape (n_powers, n_ratios) of ``powers`` and ``ratios``.

    Attributes
    ----------
    value : float
        The lowest normalized agreement of all points, in [0, 1]. Higher is better.
    error_bound : float
        The largest numerical error of all points, normalized.
    status : Status
        Not ok where a point missed the tolerance.
    powers : tuple of float or str
        Powers of the shift, as given.
    ratios : ndarray of shape (n_ratios,)
        Fractions of shifted samples, ascending.
    agreement : CurveEstimates
        Posterior agreement in nats per sample, and its sampling interval: that of `posterior_agreement`, but with
        beta kept as it is where it is neither 0 nor infinite.
    ceiling : ndarray
        The most that predictions of the same class fractions can agree, in nats: log K where the prior is uniform.
    equivalent_error : ndarray
        Fraction of the predictions that a channel of this agreement flips at random. Lower is better.
    afr_p : CurveEstimates
        Fraction of unchanged predictions, with exact binomial intervals.
    afr_t : CurveEstimates or None
        Fraction of right predictions, the same; None without labels.
    search : CurveSearches
        Beta and numerical error at each point.
    """

    measure = "agreement_curves"
    title = "Agreement over the levels of a shift"
    higher_is_better = True

    powers: tuple[Power, ...]
    ratios: FloatArray
    agreement: CurveEstimates
    ceiling: FloatArray
    equivalent_error: FloatArray
    afr_p: CurveEstimates
    afr_t: CurveEstimates | None = None
    search: CurveSearches

    def __post_init__(self) -> None:
        super().__post_init__()
        # a file may hold other arrays, which sentences and tables would index in vain
        shape = (len(self.powers), len(self.ratios))
        estimates = [self.agreement, self.afr_p]
        if self.afr_t is not None:
            estimates.append(self.afr_t)
        arrays = [self.ceiling, self.equivalent_error, self.search.beta, self.search.errors]
        for part in estimates:
            arrays += [part.value, part.low, part.high]
        if any(np.shape(array) != shape for array in arrays):
            expected = f"of shape {shape}, by powers and ratios"
            raise ArgumentValueError("arrays", expected, "others")

    @property
    def normalized(self) -> FloatArray:
        """Agreement over its ceiling, in [0, 1]."""
        return self.over_ceiling(self.agreement.value)

    def over_ceiling(self, agreement: FloatArray) -> FloatArray:
        """Return an array of agreements over the ceiling at each point; 0 where that is 0."""
        return np.divide(
            agreement, self.ceiling, out=np.zeros(agreement.shape), where=self.ceiling > 0.0
        )

    def headline(self) -> str:
        """Return one sentence with what is left at the end of the curves."""
        level = self.powers[-1]
        if not isinstance(level, str):
            level = format_number(level)
        at = ""
        if len(self.powers) > 1:
            at = f"At the level {level} of the shift, "
        if self.ratios[-1] < 1.0:
            at += f"with {format_percent(float(self.ratios[-1]))} of the samples shifted, "
        kept = format_percent(float(self.afr_p.value[-1, -1]))
        last = format_percent(float(self.normalized[-1, -1]))
        text = f"{at}{kept} of the predictions are unchanged, with {last} of the agreement that is possible."
        return text[0].upper() + text[1:]

    def to_frame(self) -> Any:
        """Return a tidy pandas DataFrame: one row for each power and ratio."""
        import pandas as pd

        # One row for each point, in the order of powers and, within them, of ratios.
        power, ratio = (part.ravel() for part in np.indices(self.ceiling.shape))
        columns: dict[str, Any] = {
            "power": [self.powers[k] for k in power],
            "ratio": self.ratios[ratio],
            "normalized": self.normalized.ravel(),
            "ceiling": self.ceiling.ravel(),
            "equivalent_error": self.equivalent_error.ravel(),
            "beta": self.search.beta.ravel(),
            "errors": self.search.errors.ravel(),
        }
        for name in ("agreement", "afr_p", "afr_t"):
            estimates = getattr(self, name)
            if estimates is not None:
                columns[name] = estimates.value.ravel()
                columns[f"{name}_low"] = estimates.low.ravel()
                columns[f"{name}_high"] = estimates.high.ravel()
        return pd.DataFrame(columns)
