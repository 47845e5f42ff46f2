"""Drawings of results, with matplotlib alone: results go in, axes come out.

`plot` draws any result; the functions beside it draw one kind of result and know more options. matplotlib is imported
when something is drawn, not before.
"""

from shiftmetrics.views.plot.agreement import plot_agreement, plot_agreement_curve, plot_confidence
from shiftmetrics.views.plot.agreement_curves import plot_agreement_curves, plot_agreement_ranking
from shiftmetrics.views.plot.agreement_groups import plot_adam_trace, plot_contributions, plot_rates
from shiftmetrics.views.plot.agreement_matrix import plot_agreement_matrix, plot_agreement_transfer
from shiftmetrics.views.plot.comparison import plot_comparison
from shiftmetrics.views.plot.convergence import plot_convergence
from shiftmetrics.views.plot.dispatch import plot
from shiftmetrics.views.plot.feature_stability import plot_feature_stability
from shiftmetrics.views.plot.novelty import plot_bandwidth_sweep, plot_mode_frequencies, plot_novelty
from shiftmetrics.views.plot.novelty_rows import plot_confirmed_modes, plot_novelty_sizes
from shiftmetrics.views.plot.novelty_table import plot_novelty_ranks, plot_novelty_table
from shiftmetrics.views.plot.sensitive_sample import plot_sensitive_sample
from shiftmetrics.views.plot.stability import plot_excess_risk, plot_stability, plot_stability_curve
from shiftmetrics.views.plot.stability_curves import (
    plot_stability_prices,
    plot_stability_thresholds,
    plot_worst_case_risk,
)

__all__ = [
    "plot",
    "plot_adam_trace",
    "plot_agreement",
    "plot_agreement_curve",
    "plot_agreement_curves",
    "plot_agreement_matrix",
    "plot_agreement_ranking",
    "plot_agreement_transfer",
    "plot_bandwidth_sweep",
    "plot_comparison",
    "plot_confidence",
    "plot_confirmed_modes",
    "plot_contributions",
    "plot_convergence",
    "plot_excess_risk",
    "plot_feature_stability",
    "plot_mode_frequencies",
    "plot_novelty",
    "plot_novelty_ranks",
    "plot_novelty_sizes",
    "plot_novelty_table",
    "plot_rates",
    "plot_sensitive_sample",
    "plot_stability",
    "plot_stability_curve",
    "plot_stability_prices",
    "plot_stability_thresholds",
    "plot_worst_case_risk",
]
