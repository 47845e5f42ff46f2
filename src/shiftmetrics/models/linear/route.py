"""The route for linear models of scikit-learn, alone or at the end of a pipeline that keeps their scores a sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics.models.encoders import final_step
from shiftmetrics.models.linear.geometry import Geometry
from shiftmetrics.models.linear.nearest import nearest_errors
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.linear.search import searched
from shiftmetrics.models.linear.smooth import closed_form
from shiftmetrics.models.question import LossName, Question
from shiftmetrics.models.route import Answer

_TOLERANCE = 1e-6
_LARGEST_LOG_LOSS = 30.0


class LinearRoute:
    """Exact worst cases of models whose scores are a sum over the raw columns."""

    name = "linear"

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Tell whether the last step has coefficients; a regression must predict them, a classifier score by them."""
        last = final_step(model)
        parts = getattr(last, "estimators_", None)
        if type(last).__name__ == "OneVsRestClassifier" and parts is not None:
            linear = all(hasattr(part, "coef_") for part in parts)
        else:
            linear = hasattr(last, "coef_")
        return linear and hasattr(model, "predict" if loss == "squared" else "decision_function")

    def answer(self, question: Question) -> Answer | None:
        """Answer in closed form where there is one; None when the scores are no such sum."""
        scores = AdditiveScores.of(question)
        if scores is None:
            return None
        geometry = Geometry(question, scores)
        if question.loss == "zero_one":
            return nearest_errors(geometry)
        answer = closed_form(geometry)
        several = question.loss == "log_loss" and scores.intercept.shape[0] > 2
        if not several and not self._is_loss(question, answer):
            return None
        if several or geometry.whole.any() or geometry.joined:
            return searched(geometry)
        return answer

    @staticmethod
    def _is_loss(question: Question, answer: Answer) -> bool:
        """Tell whether the closed form is the loss that the model has, such as its own probabilities."""
        own = question.losses(question.codes, slice(None))
        formula = answer.loss.base(slice(0, question.n_samples))
        if question.loss == "log_loss":  # probabilities below the rounding of 1 are cut off
            own, formula = np.minimum(own, _LARGEST_LOG_LOSS), np.minimum(formula, _LARGEST_LOG_LOSS)
        return bool(np.allclose(own, formula, rtol=_TOLERANCE, atol=_TOLERANCE))
