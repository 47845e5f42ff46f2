"""Linear models of scikit-learn, alone or at the end of a pipeline that keeps their scores a sum over columns."""

from shiftmetrics.models.linear.duels import DuelRoute as DuelRoute
from shiftmetrics.models.linear.route import LinearRoute as LinearRoute
