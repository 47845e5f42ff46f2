"""Data sets: synthetic samples with known answers, and loaders for real ones.

`load` reads a local path, or downloads first with ``download=True``: resumable, checked against a checksum, complete
or absent. Nothing is bundled but scikit-learn's digits.
"""

from shiftmetrics_lab.datasets.loading import load
from shiftmetrics_lab.datasets.synthetic import (
    make_gaussian_classes,
    make_margin_scores,
    make_mixtures,
    make_spurious_feature,
)

__all__ = [
    "load",
    "make_gaussian_classes",
    "make_margin_scores",
    "make_mixtures",
    "make_spurious_feature",
]
