"""Other scores of a sample against a reference, to set beside novelty: each short, exact, on any features."""

from shiftmetrics.lab.baselines.diversity import (
    Diversity,
    DiversityStatus,
    inception_score,
    rke_score,
    vendi_score,
)
from shiftmetrics.lab.baselines.likelihood import (
    LikelihoodDivergence,
    LikelihoodStatus,
    feature_likelihood_divergence,
)
from shiftmetrics.lab.baselines.manifold import ManifoldScores, ManifoldStatus, manifold_scores
from shiftmetrics.lab.distances import frechet_distance, kernel_inception_distance

__all__ = [
    "Diversity",
    "DiversityStatus",
    "LikelihoodDivergence",
    "LikelihoodStatus",
    "ManifoldScores",
    "ManifoldStatus",
    "feature_likelihood_divergence",
    "frechet_distance",
    "inception_score",
    "kernel_inception_distance",
    "manifold_scores",
    "rke_score",
    "vendi_score",
]
