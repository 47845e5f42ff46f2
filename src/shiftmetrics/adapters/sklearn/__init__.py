"""For scikit-learn: selection without labels by posterior agreement, and clusters of what is new in a sample.

A model is judged by whether its predictions for a sample survive a shift of it, or by whether two models fitted on
disjoint halves of the training data agree on rows that neither has seen. Labels train the models, but do not judge
them. Agreement is not accuracy.
"""

from shiftmetrics.adapters.sklearn.clustering import DifferentialClustering
from shiftmetrics.adapters.sklearn.scorer import AgreementScorer
from shiftmetrics.adapters.sklearn.search import AgreementSearchCV

__all__ = ["AgreementScorer", "AgreementSearchCV", "DifferentialClustering"]
