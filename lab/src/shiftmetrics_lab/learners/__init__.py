"""Training for robustness in torch: objectives and batch transforms for any loop, and one plain loop.

An objective is called as ``objective(model, batch)`` and returns the loss to minimise; a transform is called as
``transform(batch)`` and returns another batch. Both are frozen and hold nothing but their options.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "shiftmetrics_lab.learners needs torch: pip install 'shiftmetrics[torch]'"
    ) from error

from shiftmetrics_lab.learners.adversarial import Adversarial
from shiftmetrics_lab.learners.fit import fit
from shiftmetrics_lab.learners.interpolation import LISA
from shiftmetrics_lab.learners.objectives import ERM, IRM, Batch
from shiftmetrics_lab.learners.selection import EarlyStopping, ValidationScore
from shiftmetrics_lab.learners.tabular import NetworkClassifier

__all__ = [
    "ERM",
    "IRM",
    "LISA",
    "Adversarial",
    "Batch",
    "EarlyStopping",
    "NetworkClassifier",
    "ValidationScore",
    "fit",
]
