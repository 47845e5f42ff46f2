"""Training for robustness in torch: objectives and batch transforms for any loop, and one plain loop.

An objective is called as ``objective(model, batch)`` and returns the loss to minimise; a transform is called as
``transform(batch)`` and returns another batch. Both are frozen and hold nothing but their options.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("shiftmetrics.learners needs torch: pip install 'shiftmetrics[torch]'") from error

from shiftmetrics.learners.adversarial import NormBallAdversarial, PenaltyAdversarial
from shiftmetrics.learners.fit import FitResult, fit
from shiftmetrics.learners.grid import PAPER_GRID, GridResult, grid_search
from shiftmetrics.learners.interpolation import LISA, cutmix, mixup
from shiftmetrics.learners.invariance import IRM, irm_penalty
from shiftmetrics.learners.objectives import ERM, Batch, Objective, cross_entropy, squared_error
from shiftmetrics.learners.selection import (
    AccuracyScore,
    AgreementRateScore,
    EarlyStopping,
    PosteriorAgreementScore,
    predict_scores,
)
from shiftmetrics.learners.tabular import LogisticClassifier, NetworkClassifier
from shiftmetrics.learners.tilted import TiltedERM, tilted_mean

__all__ = [
    "ERM",
    "IRM",
    "LISA",
    "PAPER_GRID",
    "AccuracyScore",
    "AgreementRateScore",
    "Batch",
    "EarlyStopping",
    "FitResult",
    "GridResult",
    "LogisticClassifier",
    "NetworkClassifier",
    "NormBallAdversarial",
    "Objective",
    "PenaltyAdversarial",
    "PosteriorAgreementScore",
    "TiltedERM",
    "cross_entropy",
    "cutmix",
    "fit",
    "grid_search",
    "irm_penalty",
    "mixup",
    "predict_scores",
    "squared_error",
    "tilted_mean",
]
