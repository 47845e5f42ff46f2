"""Measures of robustness, stability and novelty under distribution shift.

Will this model hold when the data shifts, how little does it take to break it, and what is new in the data?

Three measures, each from arrays, a file or the command line:

- `posterior_agreement`: do predictions survive *this* shift? Paired scores, no labels.
- `stability_criterion`: what is the *least* shift that breaks the model? Losses or distances to an error.
  `model_stability` takes a fitted model and its table, `feature_stability` does so for each feature alone.
- `kernel_entropic_novelty`: what is *new* in a sample, against a reference? Features, no labels.

And two decisions: `diff_models` says whether a new model is safe to put in the place of an old one, from both models'
predictions on the same rows, with exact intervals from few labels; `audit_samples` says what changed in a table, in
which rows and since when, and what that means for a model.

Names load the part of the library that they stand in when they are first used.
"""

import importlib
from typing import TYPE_CHECKING

from shiftmetrics._core.drawing import draw_by
from shiftmetrics._core.lazy import lazy_names
from shiftmetrics._version import __version__

if TYPE_CHECKING:
    from shiftmetrics._core.options import Computing, Resampling
    from shiftmetrics._core.result import Interval, Result
    from shiftmetrics.agreement import posterior_agreement
    from shiftmetrics.comparison import compare_agreement, compare_novelty, compare_stability
    from shiftmetrics.decisions import audit_samples, diff_models
    from shiftmetrics.models import (
        Decision,
        Perturbation,
        Search,
        feature_stability,
        model_stability,
    )
    from shiftmetrics.novelty import kernel_entropic_novelty
    from shiftmetrics.stability import (
        CandidateLoss,
        FixedLoss,
        HingeLoss,
        LogisticLoss,
        SquaredLoss,
        ZeroOneLoss,
        stability_criterion,
        worst_case_risk,
    )
    from shiftmetrics.views import write_report

__all__ = [
    "CandidateLoss",
    "Computing",
    "Decision",
    "FixedLoss",
    "HingeLoss",
    "Interval",
    "LogisticLoss",
    "Perturbation",
    "Resampling",
    "Result",
    "Search",
    "SquaredLoss",
    "ZeroOneLoss",
    "__version__",
    "audit_samples",
    "compare_agreement",
    "compare_novelty",
    "compare_stability",
    "diff_models",
    "feature_stability",
    "kernel_entropic_novelty",
    "model_stability",
    "posterior_agreement",
    "stability_criterion",
    "worst_case_risk",
    "write_report",
]

_HOMES = {
    "_core.options": ("Computing", "Resampling"),
    "_core.result": ("Interval", "Result"),
    "agreement": ("posterior_agreement",),
    "comparison": ("compare_agreement", "compare_novelty", "compare_stability"),
    "decisions": ("audit_samples", "diff_models"),
    "models": ("Decision", "Perturbation", "Search", "feature_stability", "model_stability"),
    "novelty": ("kernel_entropic_novelty",),
    "stability": (
        "CandidateLoss",
        "FixedLoss",
        "HingeLoss",
        "LogisticLoss",
        "SquaredLoss",
        "ZeroOneLoss",
        "stability_criterion",
        "worst_case_risk",
    ),
    "views": ("write_report",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

# Results are drawn by packages that they do not know.
draw_by(
    plot=lambda: importlib.import_module("shiftmetrics.views.drawings.kinds").plot,
    card=lambda: importlib.import_module("shiftmetrics.views.report.card").html_card,
)

__getattr__, __dir__ = lazy_names(__name__, _HOME)
