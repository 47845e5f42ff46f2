"""Posterior agreement: do a model's predictions survive this shift? Paired scores, no labels."""

from shiftmetrics.agreement.channel import channel_capacity, equivalent_error
from shiftmetrics.agreement.fixed import FixedAgreementResult, FixedAgreementStatus, agreement_at
from shiftmetrics.agreement.pairing import Pairing, pair_samples
from shiftmetrics.agreement.posterior import AgreementStatus, PosteriorAgreementResult, posterior_agreement
from shiftmetrics.agreement.scores import ScorePairs, prepare_pairs
from shiftmetrics.agreement.solver import solve_agreement
from shiftmetrics.agreement.statistic import (
    AgreementLimits,
    AgreementStatistic,
    evaluator,
    limits_of,
    row_agreement,
    survey,
)
from shiftmetrics.agreement.unpaired import UnpairedAgreementResult, unpaired_agreement

__all__ = [
    "AgreementLimits",
    "AgreementStatistic",
    "AgreementStatus",
    "FixedAgreementResult",
    "FixedAgreementStatus",
    "Pairing",
    "PosteriorAgreementResult",
    "ScorePairs",
    "UnpairedAgreementResult",
    "agreement_at",
    "channel_capacity",
    "equivalent_error",
    "evaluator",
    "limits_of",
    "pair_samples",
    "posterior_agreement",
    "prepare_pairs",
    "row_agreement",
    "solve_agreement",
    "survey",
    "unpaired_agreement",
]
