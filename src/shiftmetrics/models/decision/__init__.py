"""The nearest counter-examples of any model, from its predictions alone: no scores, no gradients."""

from shiftmetrics.models.decision.search import CounterExamples as CounterExamples
from shiftmetrics.models.decision.search import nearest_counterexamples as nearest_counterexamples
