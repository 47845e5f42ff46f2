"""Other distances between a sample and its reference: of outputs, row by row, and of features.

All are 0 where nothing moved, and lower is more alike. They stand beside the three measures, which say more.
"""

from shiftmetrics.lab.distances.alignment import AlignmentStatus, PrincipalAlignment, pca_alignment
from shiftmetrics.lab.distances.features import centroid_distance, cosine_distance, frechet_distance
from shiftmetrics.lab.distances.kernel import kernel_inception_distance, maximum_mean_discrepancy
from shiftmetrics.lab.distances.outputs import jensen_shannon_divergence, kl_divergence, wasserstein_distance
from shiftmetrics.lab.distances.result import Distance, DistanceStatus

__all__ = [
    "AlignmentStatus",
    "Distance",
    "DistanceStatus",
    "PrincipalAlignment",
    "centroid_distance",
    "cosine_distance",
    "frechet_distance",
    "jensen_shannon_divergence",
    "kernel_inception_distance",
    "kl_divergence",
    "maximum_mean_discrepancy",
    "pca_alignment",
    "wasserstein_distance",
]
