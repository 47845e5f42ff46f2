"""Other distances between a sample and its reference: of outputs, row by row, and of features.

All are 0 where nothing changed, and lower is more alike. They stand beside the three measures, which say more.
"""

from shiftmetrics_lab.distances.alignment import pca_alignment
from shiftmetrics_lab.distances.features import feature_distance
from shiftmetrics_lab.distances.kernel import maximum_mean_discrepancy
from shiftmetrics_lab.distances.outputs import output_distance

__all__ = ["feature_distance", "maximum_mean_discrepancy", "output_distance", "pca_alignment"]
