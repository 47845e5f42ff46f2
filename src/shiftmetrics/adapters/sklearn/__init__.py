"""For scikit-learn: selection without labels by posterior agreement, and clusters of what is new in a sample.

`AgreementScorer` judges a classifier by whether its predictions survive a shift of the sample. Agreement is not
accuracy: where labels exist, give the scorer a criterion that uses them.
"""

from shiftmetrics.adapters.sklearn.clustering import DifferentialClustering
from shiftmetrics.adapters.sklearn.scorer import AgreementScorer

__all__ = ["AgreementScorer", "DifferentialClustering"]
