"""One call for any result: it draws what that kind of result is drawn as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftmetrics._core.drawing import drawing_of, draws
from shiftmetrics._core.result import Result
from shiftmetrics._core.validation import describe
from shiftmetrics.agreement import (
    AdamAgreementResult,
    AgreementContributionsResult,
    AgreementCurvesResult,
    AgreementMatrixResult,
    AgreementTransferResult,
    FixedAgreementResult,
    LabelAgreementResult,
    PosteriorAgreementResult,
    PredictionRatesResult,
)
from shiftmetrics.comparison import ComparisonResult
from shiftmetrics.models.feature_result import FeatureStabilityResult
from shiftmetrics.novelty import ConfirmedModes, NoveltyResult, NoveltyTable
from shiftmetrics.stability import StabilityCurve, StabilitySurface
from shiftmetrics.stability.result import ShiftResult
from shiftmetrics.views.plot.agreement import plot_agreement
from shiftmetrics.views.plot.agreement_curves import plot_agreement_curves
from shiftmetrics.views.plot.agreement_groups import plot_adam_trace, plot_contributions, plot_rates
from shiftmetrics.views.plot.agreement_matrix import plot_agreement_matrix, plot_agreement_transfer
from shiftmetrics.views.plot.comparison import plot_comparison
from shiftmetrics.views.plot.feature_stability import plot_feature_stability
from shiftmetrics.views.plot.novelty import plot_novelty
from shiftmetrics.views.plot.novelty_rows import plot_confirmed_modes
from shiftmetrics.views.plot.novelty_table import plot_novelty_table
from shiftmetrics.views.plot.stability import plot_stability
from shiftmetrics.views.plot.stability_curves import plot_stability_prices, plot_stability_thresholds

_DRAWINGS: dict[type[Result], Callable[..., Any]] = {
    PosteriorAgreementResult: plot_agreement,
    FixedAgreementResult: plot_agreement,
    LabelAgreementResult: plot_agreement,
    AgreementContributionsResult: plot_contributions,
    AgreementCurvesResult: plot_agreement_curves,
    AgreementMatrixResult: plot_agreement_matrix,
    AgreementTransferResult: plot_agreement_transfer,
    AdamAgreementResult: plot_adam_trace,
    PredictionRatesResult: plot_rates,
    ComparisonResult: plot_comparison,
    FeatureStabilityResult: plot_feature_stability,
    ShiftResult: plot_stability,
    StabilityCurve: plot_stability_thresholds,
    StabilitySurface: plot_stability_prices,
    NoveltyResult: plot_novelty,
    ConfirmedModes: plot_confirmed_modes,
    NoveltyTable: plot_novelty_table,
}


def plot(result: Result, ax: Any = None, **options: Any) -> Any:
    """Draw a result of any measure and return the axes.

    Parameters
    ----------
    result : Result
        What a measure returned.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure, which ``matplotlib.pyplot.show`` shows.
    **options
        Passed on to the drawing of this kind of result.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        If ``result`` is not a result, or of a kind that has no drawing.
    """
    if not isinstance(result, Result):
        raise TypeError(describe("result", "a result of a measure", type(result).__name__))
    return drawing_of(type(result))(result, ax, **options)


for _kind, _draw in _DRAWINGS.items():
    draws(_kind)(_draw)
