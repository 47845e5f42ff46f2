"""Posterior agreement: do a model's predictions survive this shift? Paired scores, no labels."""

from typing import TYPE_CHECKING

from shiftmetrics._core.lazy import lazy_names

if TYPE_CHECKING:
    from shiftmetrics.agreement.curves import agreement_curves
    from shiftmetrics.agreement.curves_result import AgreementCurvesResult
    from shiftmetrics.agreement.matrix import AgreementMatrixResult, agreement_matrix
    from shiftmetrics.agreement.pairing import pair_samples
    from shiftmetrics.agreement.posterior import agreement_contributions, posterior_agreement
    from shiftmetrics.agreement.result import PosteriorAgreementResult

__all__ = [
    "AgreementCurvesResult",
    "AgreementMatrixResult",
    "PosteriorAgreementResult",
    "agreement_contributions",
    "agreement_curves",
    "agreement_matrix",
    "pair_samples",
    "posterior_agreement",
]

_HOME = {
    "AgreementCurvesResult": "curves_result",
    "AgreementMatrixResult": "matrix",
    "PosteriorAgreementResult": "result",
    "agreement_contributions": "posterior",
    "agreement_curves": "curves",
    "agreement_matrix": "matrix",
    "pair_samples": "pairing",
    "posterior_agreement": "posterior",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME)
