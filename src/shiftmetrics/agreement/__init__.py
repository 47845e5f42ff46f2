"""Posterior agreement: do a model's predictions survive this shift? Paired scores, no labels."""

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
