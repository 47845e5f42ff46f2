"""Training for robustness in torch: objectives and batch transforms for any loop, and one plain loop.

An objective is called as ``objective(model, batch)`` and returns the loss to minimise; a transform is called as
``transform(batch)`` and returns another batch. Both are frozen and hold nothing but their options.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("shiftmetrics.lab.learners needs torch: pip install 'shiftmetrics[torch]'") from error

from shiftmetrics.lab.learners.adversarial import NormBallAdversarial, PenaltyAdversarial
from shiftmetrics.lab.learners.fit import FitResult, fit
from shiftmetrics.lab.learners.grid import PAPER_GRID, GridResult, grid_search
from shiftmetrics.lab.learners.interpolation import LISA, cutmix, mixup
from shiftmetrics.lab.learners.invariance import IRM, irm_penalty
from shiftmetrics.lab.learners.objectives import ERM, Batch, Objective, cross_entropy, squared_error
from shiftmetrics.lab.learners.selection import (
    AccuracyScore,
    AgreementRateScore,
    EarlyStopping,
    PosteriorAgreementScore,
    predict_scores,
)
from shiftmetrics.lab.learners.tabular import LogisticClassifier, NetworkClassifier
from shiftmetrics.lab.learners.tilted import TiltedERM, tilted_mean

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
