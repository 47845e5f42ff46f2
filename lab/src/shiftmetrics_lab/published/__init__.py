"""What the papers run, for comparison: their solvers, and measures beside those of the library."""

from shiftmetrics_lab.published.adam import stability_criterion_adam
from shiftmetrics_lab.published.agreement import posterior_agreement_adam
from shiftmetrics_lab.published.canonical import canonical_coordinates
from shiftmetrics_lab.published.conic import stability_criterion_conic
from shiftmetrics_lab.published.contributions import approximate_contributions
from shiftmetrics_lab.published.gradients import model_stability_adam
from shiftmetrics_lab.published.labels import label_agreement
from shiftmetrics_lab.published.separate import model_agreement

__all__ = [
    "approximate_contributions",
    "canonical_coordinates",
    "label_agreement",
    "model_agreement",
    "model_stability_adam",
    "posterior_agreement_adam",
    "stability_criterion_adam",
    "stability_criterion_conic",
]
