"""Losses: one small class each, which knows its worst-case transform and nothing of weights or solvers."""

from shiftmetrics.stability.losses.alternatives import AlternativesLoss
from shiftmetrics.stability.losses.base import Kind, Loss, Reach, Transform
from shiftmetrics.stability.losses.bounded import (
    BoundedHingeLoss,
    BoundedLogisticLoss,
    BoundedLoss,
    BoundedSquaredLoss,
)
from shiftmetrics.stability.losses.candidates import CandidateLoss
from shiftmetrics.stability.losses.fixed import FixedLoss, ZeroOneLoss
from shiftmetrics.stability.losses.linear import HingeLoss, LogisticLoss, SquaredLoss
from shiftmetrics.stability.losses.path import ScorePath
from shiftmetrics.stability.losses.pieces import PiecewiseLinearLoss

__all__ = [
    "AlternativesLoss",
    "BoundedHingeLoss",
    "BoundedLogisticLoss",
    "BoundedLoss",
    "BoundedSquaredLoss",
    "CandidateLoss",
    "FixedLoss",
    "HingeLoss",
    "Kind",
    "LogisticLoss",
    "Loss",
    "PiecewiseLinearLoss",
    "Reach",
    "ScorePath",
    "SquaredLoss",
    "Transform",
    "ZeroOneLoss",
]
