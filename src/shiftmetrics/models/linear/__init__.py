"""The route for linear models of scikit-learn, alone or at the end of a pipeline that keeps their scores a sum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics.models.linear.geometry import Geometry
from shiftmetrics.models.linear.nearest import nearest_errors
from shiftmetrics.models.linear.scores import AdditiveScores, points_to_check
from shiftmetrics.models.linear.search import closed_form, losses_of, searched
from shiftmetrics.models.outputs import last_step
from shiftmetrics.models.question import LossName, Question
from shiftmetrics.models.route import Answer

_TOLERANCE = 1e-6
_LARGEST_LOG_LOSS = 15.0


class LinearRoute:
    """Exact worst cases of models whose scores are a sum over the raw columns."""

    searches = False

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Return True if the last step has coefficients; a regression must predict or a classifier score by them."""
        last = last_step(model)
        parts = getattr(last, "estimators_", None)
        if type(last).__name__ == "OneVsRestClassifier" and parts is not None:
            linear = all(hasattr(part, "coef_") for part in parts)
        else:
            linear = hasattr(last, "coef_")
        return linear and hasattr(model, "predict" if loss == "squared" else "decision_function")

    def answer(self, question: Question) -> Answer | None:
        """Answer in closed form where there is one; None when the scores are no such sum."""
        scores = question.once("scores", AdditiveScores.of)
        if scores is None:
            return None
        geometry = Geometry(question, scores)
        if question.loss == "zero_one":
            return nearest_errors(geometry)
        if not question.once("is_loss", lambda question: self._is_loss(question, scores)):
            return None
        several = question.loss == "log_loss" and scores.intercept.shape[0] > 2
        if several or geometry.whole.any() or geometry.joined:
            return searched(geometry)
        return closed_form(geometry)

    @staticmethod
    def _is_loss(question: Question, scores: AdditiveScores) -> bool:
        """Return True if the loss of the model, such as that of its probabilities, is the one of these scores."""
        points = points_to_check(question)
        repeated = replace(question, y=np.resize(question.y, len(points)))
        actual = repeated.losses(points, slice(None))
        formula = losses_of(repeated, scores(points, question))
        if question.loss == "log_loss":  # a small probability is 1 minus another, rounded
            actual = np.minimum(actual, _LARGEST_LOG_LOSS)
            formula = np.minimum(formula, _LARGEST_LOG_LOSS)
        return bool(np.allclose(actual, formula, rtol=_TOLERANCE, atol=_TOLERANCE))
