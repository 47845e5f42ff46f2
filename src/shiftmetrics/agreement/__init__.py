"""Posterior agreement: do a model's predictions survive this shift? Paired scores, no labels."""

from shiftmetrics.agreement.adam import AdamAgreementResult, AdamStatus, posterior_agreement_adam
from shiftmetrics.agreement.channel import channel_capacity, equivalent_error
from shiftmetrics.agreement.contributions import (
    AgreementContributionsResult,
    Confidence,
    EntropyChange,
    GroupContribution,
    agreement_contributions,
)
from shiftmetrics.agreement.curves import AgreementCurvesResult, CurvesStatus, agreement_curves
from shiftmetrics.agreement.description import DescriptionLengthResult, DescriptionStatus, description_length
from shiftmetrics.agreement.environments import AgreementTransferResult, TransferStatus, agreement_transfer
from shiftmetrics.agreement.fixed import FixedAgreementResult, FixedAgreementStatus, agreement_at
from shiftmetrics.agreement.grid import AgreementGridStatistic, BetaGrid, grid_statistic
from shiftmetrics.agreement.labels import LabelAgreementResult, label_agreement
from shiftmetrics.agreement.matrix import AgreementMatrixResult, MatrixStatus, agreement_matrix
from shiftmetrics.agreement.models import ModelAgreementResult, ModelAgreementStatus, model_agreement
from shiftmetrics.agreement.pairing import Pairing, pair_samples
from shiftmetrics.agreement.posterior import posterior_agreement
from shiftmetrics.agreement.rates import (
    PredictionRates,
    PredictionRatesResult,
    Rate,
    RatesStatus,
    prediction_rates,
)
from shiftmetrics.agreement.result import AgreementStatus, PosteriorAgreementResult
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
from shiftmetrics.agreement.streaming import StreamedAgreementResult, StreamStatus, streamed_agreement
from shiftmetrics.agreement.unpaired import UnpairedAgreementResult, unpaired_agreement

__all__ = [
    "AdamAgreementResult",
    "AdamStatus",
    "AgreementContributionsResult",
    "AgreementCurvesResult",
    "AgreementGridStatistic",
    "AgreementLimits",
    "AgreementMatrixResult",
    "AgreementStatistic",
    "AgreementStatus",
    "AgreementTransferResult",
    "BetaGrid",
    "Confidence",
    "CurvesStatus",
    "DescriptionLengthResult",
    "DescriptionStatus",
    "EntropyChange",
    "FixedAgreementResult",
    "FixedAgreementStatus",
    "GroupContribution",
    "LabelAgreementResult",
    "MatrixStatus",
    "ModelAgreementResult",
    "ModelAgreementStatus",
    "Pairing",
    "PosteriorAgreementResult",
    "PredictionRates",
    "PredictionRatesResult",
    "Rate",
    "RatesStatus",
    "ScorePairs",
    "StreamStatus",
    "StreamedAgreementResult",
    "TransferStatus",
    "UnpairedAgreementResult",
    "agreement_at",
    "agreement_contributions",
    "agreement_curves",
    "agreement_matrix",
    "agreement_transfer",
    "channel_capacity",
    "description_length",
    "equivalent_error",
    "evaluator",
    "grid_statistic",
    "label_agreement",
    "limits_of",
    "model_agreement",
    "pair_samples",
    "posterior_agreement",
    "posterior_agreement_adam",
    "prediction_rates",
    "prepare_pairs",
    "row_agreement",
    "solve_agreement",
    "streamed_agreement",
    "survey",
    "unpaired_agreement",
]
