"""
What is the least shift that breaks a diagnosis?
================================================

A logistic regression tells malignant from benign tumours and is wrong in four of a hundred cases. How little
would the data have to change for one in ten to be wrong? We ask for shifts that change who is seen
(reweighting), for shifts that change the measurements (corruption), and for both; and then one measurement at
a time.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from shiftmetrics import ZeroOneLoss, stability_criterion, worst_case_risk

# %%
# The model. For a linear classifier the distance of a row to the nearest error is its margin over the norm of
# the weights, and 0 where it is wrong already. Features are in standard deviations, and so are the distances.
data = load_breast_cancer(as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.5, random_state=0
)
scaler = StandardScaler().fit(X_train)
model = LogisticRegression(C=0.1, max_iter=1000).fit(scaler.transform(X_train), y_train)
weights = model.coef_[0]
margins = np.where(y_test == 1, 1, -1) * model.decision_function(scaler.transform(X_test))
loss = ZeroOneLoss(np.maximum(margins, 0) / np.linalg.norm(weights))

# %%
# The least shift to an error rate of ten percent, when rows may move and weigh more or less.
result = stability_criterion(loss, 0.1)
print(result.summary())

# %%
# Stability against the risk that we would call broken. Forbidding one of the two kinds of shift makes the
# other pay alone.
thresholds = np.linspace(0.04, 0.5, 24)
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for label, prices in {
    "both": {},
    "only measurements move": {"theta2": np.inf},
    "only weights change": {"theta1": np.inf},
}.items():
    ax.plot(
        thresholds, [stability_criterion(loss, r, **prices).value for r in thresholds], label=label
    )
ax.set(xlabel="risk threshold", ylabel="stability R (cost of the least shift)", yscale="log")
ax.legend(frameon=False)
plt.show()

# %%
# The inverse question: what error rate can a given cost buy?
for budget in (0.01, 0.1, 1.0):
    print(f"budget {budget:5}: error rate up to {worst_case_risk(loss, budget).value:.3f}")

# %%
# One measurement at a time. If only feature j may move, an error is ``margin / |w_j|`` away. Low stability
# means that a small error of this one measurement breaks the model: the features to measure well.
feature_stability = pd.Series(
    {
        name: stability_criterion(
            ZeroOneLoss(np.maximum(margins, 0) / abs(weight)), 0.1, theta2=np.inf
        ).value
        for name, weight in zip(data.data.columns, weights, strict=True)
    }
).sort_values()
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
shown = feature_stability.head(8)[::-1]
ax.barh(shown.index, shown)
ax.set(
    xlabel="stability when only this feature moves", title="The eight most sensitive measurements"
)
plt.show()
