"""
Which measurement breaks a diagnosis most easily?
=================================================

A gradient-boosted model tells benign from malignant tumours by thirty measurements. How far would one of them alone
have to be off, in standard deviations, for the model to fail on one patient in five?
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import train_test_split

from shiftmetrics import Perturbation, feature_stability, model_stability
from shiftmetrics.views import plot

table = load_breast_cancer(as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(table.data, table.target, random_state=0)
model = GradientBoostingClassifier(random_state=0).fit(X_train, y_train)
print(f"Error rate: {1 - model.score(X_test, y_test):.3f}")

# %%
# Every threshold of every tree is tried for each sample, so the values are exact. Bars are the risk that permuting
# one measurement adds on average, with its interval; dots are the added risk at worst.

parts = {
    **{name: [name] for name in X_test},
    "all means": [name for name in X_test if name.startswith("mean")],
    "all worst values": [name for name in X_test if name.startswith("worst")],
    "all errors": [name for name in X_test if name.endswith("error")],
}
result = feature_stability(model, X_test, y_test, 0.2, perturbation=Perturbation(features=parts))
print(result.summary())
plot(result, top=12)
plt.show()

# %%
# Together they break the model more easily than any alone. For sums of trees that is searched, so the value is an
# upper bound; a certified lower bound stands beside it.

together = model_stability(model, X_test, y_test, 0.2)
print(together.summary())

# %%
# For whom? Patients in thirds of the tumour's size, with intervals.

size = (
    X_test["mean radius"]
    .rank(pct=True)
    .map(lambda share: ("small", "medium", "large")[min(int(share * 3), 2)])
)
by_size = feature_stability(
    model, X_test, y_test, 0.2, perturbation=Perturbation(features=["worst perimeter"], by=size)
)
print(
    by_size.subgroups_frame("all features")[
        ["subgroup", "value", "n_samples", "base_risk", "kind"]
    ].to_string(index=False)
)
plot(by_size, kind="subgroups")
plt.show()
