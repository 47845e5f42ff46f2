"""The route of last resort, for any model that predicts: it searches with queries alone."""

from __future__ import annotations

from typing import Any

from shiftmetrics.models.column import SearchedRoute
from shiftmetrics.models.counterexamples import find_counterexamples
from shiftmetrics.models.model import LossName, ModelProblem
from shiftmetrics.models.outputs import last_step
from shiftmetrics.models.query_ascent import QueryAscent
from shiftmetrics.models.worst_case import WorstCase


class BlackboxRoute(SearchedRoute):
    """Upper bounds for anything with ``predict``, or a plain callable."""

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Return True if the model predicts, or can be called."""
        return hasattr(model, "predict") or callable(model)

    def worst_case(self, problem: ModelProblem) -> WorstCase | None:
        """Search for errors, or climb."""
        if problem.loss != "zero_one":
            return QueryAscent(problem).first()
        found = find_counterexamples(problem, n_queries=problem.n_queries)
        warnings: tuple[str, ...] = ()
        if len(getattr(last_step(problem.model), "calibrated_classifiers_", ())) > 1:
            text = "An average of calibrated models is searched; one calibrated with ensemble=False has exact routes."
            warnings = (text,)
        return WorstCase.of_errors(found.points, found.distances, warnings=warnings)
