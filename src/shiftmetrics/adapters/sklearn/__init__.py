"""For scikit-learn: selection without labels by posterior agreement, and clusters of what is new in a sample.

A model is judged by whether its predictions for a sample survive a shift of it, or by whether two models fitted on
disjoint halves of the training data agree on rows that neither has seen. Labels train the models, but do not judge
them. Agreement is not accuracy: it rewards models that keep their word.
"""

from shiftmetrics.adapters.sklearn.clustering import DifferentialClustering
from shiftmetrics.adapters.sklearn.scorer import AgreementScorer, agreement_scorer
from shiftmetrics.adapters.sklearn.search import AgreementSearchCV, SelectionStatus

__all__ = [
    "AgreementScorer",
    "AgreementSearchCV",
    "DifferentialClustering",
    "SelectionStatus",
    "agreement_scorer",
]
