"""Losses: one small class each, which knows its worst-case transform and nothing of weights or solvers."""

from shiftmetrics.stability.losses.base import Kind as Kind
from shiftmetrics.stability.losses.base import Loss as Loss
from shiftmetrics.stability.losses.base import Reach as Reach
from shiftmetrics.stability.losses.base import Transform as Transform
from shiftmetrics.stability.losses.bounded import BoundedHingeLoss as BoundedHingeLoss
from shiftmetrics.stability.losses.bounded import BoundedLogisticLoss as BoundedLogisticLoss
from shiftmetrics.stability.losses.bounded import BoundedLoss as BoundedLoss
from shiftmetrics.stability.losses.bounded import BoundedSquaredLoss as BoundedSquaredLoss
from shiftmetrics.stability.losses.bounded import ScorePath as ScorePath
from shiftmetrics.stability.losses.candidates import AlternativesLoss as AlternativesLoss
from shiftmetrics.stability.losses.candidates import CandidateLoss as CandidateLoss
from shiftmetrics.stability.losses.fixed import FixedLoss as FixedLoss
from shiftmetrics.stability.losses.fixed import ZeroOneLoss as ZeroOneLoss
from shiftmetrics.stability.losses.linear import HingeLoss as HingeLoss
from shiftmetrics.stability.losses.linear import LogisticLoss as LogisticLoss
from shiftmetrics.stability.losses.linear import PiecewiseLinearLoss as PiecewiseLinearLoss
from shiftmetrics.stability.losses.linear import SquaredLoss as SquaredLoss
