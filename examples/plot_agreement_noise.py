"""
Which classifier keeps its word under noise?
============================================

Three classifiers of handwritten digits see the same test images twice: as they are, and with noise. Posterior
agreement asks, without any labels, whether their predictions survive, and at what confidence. We set it
beside the accuracy that only labels can tell.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from shiftmetrics import posterior_agreement

# %%
# The models, and the test images at growing noise. Pixels are in [0, 1].
images, digits = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    images / 16, digits, test_size=0.5, random_state=0
)
models = {
    "logistic regression": LogisticRegression(max_iter=1000).fit(X_train, y_train),
    "nearest neighbours": KNeighborsClassifier(15).fit(X_train, y_train),
    "naive Bayes": GaussianNB(var_smoothing=1e-2).fit(X_train, y_train),
}
strengths = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
noise = np.random.default_rng(0).normal(size=X_test.shape)
shifted = [np.clip(X_test + strength * noise, 0, 1) for strength in strengths]

# %%
# Probabilities go in as they are. Nearest neighbours give zeros, which are floored; the floor is recorded in
# the settings of the result.
rows = []
for name, model in models.items():
    reference = model.predict_proba(X_test)
    for strength, X in zip(strengths, shifted, strict=True):
        result = posterior_agreement(
            model.predict_proba(X), reference, kind="probabilities", prior="predicted"
        )
        rows.append(
            {
                "model": name,
                "noise": strength,
                "agreement": result.normalized,
                "equivalent error": result.equivalent_error,
                "status": str(result.status),
                "accuracy": model.score(X, y_test),
            }
        )
table = pd.DataFrame(rows)
print(table.round(3).to_string(index=False))

# %%
# Agreement falls with the noise as accuracy does, but it also sees *how* a model fails: one that errs with
# confidence loses more than one that hesitates.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, layout="constrained")
for name, part in table.groupby("model", sort=False):
    axes[0].plot(part["noise"], part["agreement"], marker="o", label=name)
    axes[1].plot(part["noise"], part["accuracy"], marker="o", label=name)
axes[0].set(
    xlabel="noise (standard deviation)", ylabel="normalized agreement", title="Without labels"
)
axes[1].set(xlabel="noise (standard deviation)", ylabel="accuracy", title="With labels")
axes[1].legend(frameon=False)
plt.show()

# %%
# Which images agree least? The result keeps each row's part.
name = "logistic regression"
result = posterior_agreement(
    models[name].predict_proba(shifted[3]), models[name].predict_proba(X_test), kind="probabilities"
)
print(result.summary())
worst = np.argsort(result.per_sample)[:6]
figure, axes = plt.subplots(2, 6, figsize=(8, 3), layout="constrained")
for column, row in zip(axes.T, worst, strict=True):
    for ax, sample in zip(column, (X_test, shifted[3]), strict=True):
        ax.imshow(sample[row].reshape(8, 8), cmap="gray_r")
        ax.set_axis_off()
        ax.set_title(str(models[name].predict(sample[row : row + 1])[0]), fontsize=10)
figure.suptitle("Agree least: original above, shifted below, with the prediction")
plt.show()
