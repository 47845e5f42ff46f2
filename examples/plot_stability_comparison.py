"""
Which model is harder to break?
===============================

Three classifiers of tumours are right on 93 to 97 % of new rows. How little would raise the error rate of each to
a third, and is one of them harder to break by more than chance? All are measured on the same rows, so that what the
rows have in common cancels in the differences.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics.comparison import compare_results
from shiftmetrics.models import model_stability
from shiftmetrics.views import plot

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X, y_train, y = train_test_split(X, y, test_size=0.6, random_state=0)
models = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "shrunken": make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000)),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
}
for name, model in models.items():
    print(f"{name}: accuracy {model.fit(X_train, y_train).score(X, y):.3f}")

# %%
# Beside each stability stand its secondary metrics: how far the least shift moves the rows, how many, and what it
# leaves of the effective sample size; and the risk of each model within one budget, the cost that breaks the
# least stable.
results = {name: model_stability(model, X, y, threshold=1 / 3) for name, model in models.items()}
comparison = compare_results(results)
print(comparison.summary())

# %%
# Differences are read row by row. ``p_adjusted`` and the simultaneous interval hold for all pairs together.
columns = [
    "first",
    "second",
    "difference",
    "standard_error",
    "p_adjusted",
    "simultaneous_low",
    "simultaneous_high",
]
print(comparison.differences_frame()[columns].round(4).to_string(index=False))
plot(comparison)
plt.show()
