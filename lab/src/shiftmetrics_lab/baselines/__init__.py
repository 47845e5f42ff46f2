"""Other scores of a sample, and of a sample against a reference, to set beside novelty: exact, on any features.

The Frechet distance (FID) and the kernel Inception distance (KID) stand in `shiftmetrics_lab.distances`.
"""

from shiftmetrics_lab.baselines.diversity import inception_score, vendi_score
from shiftmetrics_lab.baselines.likelihood import feature_likelihood_divergence
from shiftmetrics_lab.baselines.manifold import manifold_scores

__all__ = ["feature_likelihood_divergence", "inception_score", "manifold_scores", "vendi_score"]
