"""
Choosing a model without labels
===============================

Which hyper-parameter will hold when the data shifts? Cross-validated accuracy looks at labels, but only at data as
they are. Agreement looks at no labels, but at the shift: do the predictions for held-out digits survive noise, or a
rotation? Here both choose within four families of classifiers, and the accuracy on *shifted* test digits, which
neither has seen, tells who chose better. Agreement does not always win, and we shall see where it loses.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.ndimage import rotate
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from shiftmetrics.adapters.sklearn import AgreementScorer

images, digits = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    images / 16, digits, test_size=0.5, random_state=0
)


# %%
# The shifts are functions of a sample, a strength and a seed, as those of ``shiftmetrics_lab.shifts`` are.
def noise(X, *, strength, rng):
    return np.clip(X + np.random.default_rng(rng).normal(0, strength, X.shape), 0, 1)


def rotation(X, *, strength, rng):
    turned = rotate(X.reshape(-1, 8, 8), strength, axes=(1, 2), reshape=False, order=1)
    return turned.reshape(len(X), -1)


SHIFTS = {"noise": (noise, 0.4), "rotation": (rotation, 25.0)}

# %%
# Four families, and a constant classifier, which agrees with itself whatever happens: with the predicted prior, the
# default, it scores 0.
FAMILIES = {
    "logistic regression": {
        "model": [LogisticRegression(max_iter=300)],
        "model__C": [0.001, 0.01, 0.1, 1, 10],
    },
    "neighbours": {"model": [KNeighborsClassifier()], "model__n_neighbors": [1, 5, 20, 100]},
    "naive Bayes": {"model": [GaussianNB()], "model__var_smoothing": [1e-3, 0.03, 0.1, 0.3, 1]},
    "support vectors": {"model": [SVC()], "model__gamma": [0.003, 0.03, 0.1, 0.3]},
    "constant": {"model": [DummyClassifier()], "model__strategy": ["most_frequent"]},
}
pipeline = Pipeline([("model", GaussianNB())])
by_accuracy = GridSearchCV(pipeline, list(FAMILIES.values()), cv=3, refit=False).fit(
    X_train, y_train
)

rows = []
for shift_name, (shift, strength) in SHIFTS.items():
    scorer = AgreementScorer(shift, strength=strength, criterion="agreement", random_state=0)
    by_agreement = GridSearchCV(
        pipeline, list(FAMILIES.values()), scoring=scorer, cv=3, refit=False
    ).fit(X_train, y_train)
    X_shifted = shift(X_test, strength=strength, rng=1)
    results = by_agreement.cv_results_
    for i, params in enumerate(results["params"]):
        family = next(
            name
            for name, grid in FAMILIES.items()
            if type(grid["model"][0]) is type(params["model"])
        )
        fitted = clone(pipeline).set_params(**clone(params, safe=False)).fit(X_train, y_train)
        rows.append(
            {
                "shift": shift_name,
                "family": family,
                "setting": next(
                    (f"{key[7:]} {value}" for key, value in params.items() if key != "model"), ""
                ),
                "agreement": results["mean_test_score"][i],
                "accuracy": by_accuracy.cv_results_["mean_test_score"][i],
                "shifted accuracy": fitted.score(X_shifted, y_test),
            }
        )
table = pd.DataFrame(rows)
print(table.round(3).to_string(index=False))

# %%
# Who chooses better within each family? Each line holds the accuracy on shifted test digits of the setting that
# agreement chose, of the one that accuracy chose, and of the best there was.
choices = []
for (shift_name, family), part in table[table["family"] != "constant"].groupby(
    ["shift", "family"], sort=False
):
    choices.append(
        {
            "shift": shift_name,
            "family": family,
            "by agreement": part.loc[part["agreement"].idxmax(), "shifted accuracy"],
            "by accuracy": part.loc[part["accuracy"].idxmax(), "shifted accuracy"],
            "best": part["shifted accuracy"].max(),
        }
    )
choices = pd.DataFrame(choices)
choices["agreement minus accuracy"] = choices["by agreement"] - choices["by accuracy"]
print(choices.round(3).to_string(index=False))

# %%
# Over all candidates agreement orders the accuracy under shift much better than clean accuracy does. Its choices
# win where clean accuracy drives a model towards a sharp fit (logistic regression under both shifts, support vectors
# under noise), and lose among nearest neighbours under rotation: the vote of twenty neighbours is steadier than that
# of one, and less often right. Agreement measures steadiness; where the sharper model is right more often than it is
# unsteady, labels know better.
for shift_name, part in table[table["family"] != "constant"].groupby("shift"):
    print(
        f"{shift_name}: rank correlation with shifted accuracy"
        f" {spearmanr(part['agreement'], part['shifted accuracy'])[0]:.2f} of agreement,"
        f" {spearmanr(part['accuracy'], part['shifted accuracy'])[0]:.2f} of clean accuracy"
    )
constant = table[table["family"] == "constant"]
assert (constant["agreement"] < 1e-6).all()

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, shift_name in zip(axes, SHIFTS, strict=True):
    for family, marker in zip(FAMILIES, "os^DX", strict=True):
        part = table[(table["shift"] == shift_name) & (table["family"] == family)]
        ax.plot(part["agreement"], part["shifted accuracy"], marker, label=family, alpha=0.8)
    ax.set(title=f"Under {shift_name}", xlabel="agreement of held-out predictions (nats)")
axes[0].set_ylabel("accuracy on shifted test digits")
axes[0].legend(frameon=False, loc="upper left")
plt.show()
