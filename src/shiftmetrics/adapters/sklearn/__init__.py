"""Selection without labels for scikit-learn: a scorer, and a search, that choose by posterior agreement.

A model is judged by whether its predictions for a sample survive a shift of it, or by whether two models fitted on
disjoint halves of the training data agree on rows that neither has seen. Labels train the models, but do not judge
them. Agreement is not accuracy: it rewards models that keep their word.
"""

from shiftmetrics.adapters.sklearn.scorer import AgreementScorer, agreement_scorer
from shiftmetrics.adapters.sklearn.search import AgreementSearchCV, SelectionStatus

__all__ = ["AgreementScorer", "AgreementSearchCV", "SelectionStatus", "agreement_scorer"]
