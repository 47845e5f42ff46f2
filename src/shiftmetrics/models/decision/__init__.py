"""The nearest counter-examples of any model, from its predictions alone: no scores, no gradients."""

from shiftmetrics.models.decision.search import CounterExamples, nearest_counterexamples

__all__ = ["CounterExamples", "nearest_counterexamples"]
