"""
What have I never seen before?
==============================

A reference sample of handwritten digits lacks one digit. Kernel entropic novelty compares a new batch with
it, without labels, and should say three things: that there is something new, what it looks like, and which
rows of the batch show it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from shiftmetrics import kernel_entropic_novelty
from shiftmetrics.views import plot

# %%
# Two halves of the data; the digit 4 is withheld from the reference. Principal components are the features.
images, digits = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(images))
test, reference = order[:800], order[800:]
reference = reference[digits[reference] != 4]
components = PCA(8, random_state=0).fit(images[reference])
features, reference_features = components.transform(images[test]), components.transform(images[reference])

# %%
# New is what is more than twice as frequent as in the reference (``eta``). Two finite samples of *one* distribution
# differ too, so everything is read against a null: rows relabelled at random. The bandwidth is one that parts the
# digits; :func:`~shiftmetrics.lab.novelty_studies.bandwidth_sweep` shows what others give.
result = kernel_entropic_novelty(features, reference_features, eta=2, bandwidth=15)
print(result.summary())

# %%
# Most of the score is such noise, spread over many small modes; but the first eigenvalue stands far above what
# relabelling gives. One mode is there.
plot(result)
plt.show()

# %%
# What is it? The mode shows itself by its exemplars: the rows of the batch with the highest membership.
mode = result.modes[0]
exemplars = test[mode.top(12)]
figure, axes = plt.subplots(1, 12, figsize=(9, 1.3), layout="constrained")
for ax, row in zip(axes, exemplars, strict=True):
    ax.imshow(images[row].reshape(8, 8), cmap="gray_r")
    ax.set_axis_off()
figure.suptitle("What is new in this batch")
plt.show()

# %%
# Which rows show it: its members. Nobody said so, but they are fours.
members = digits[test[mode.members()]]
print(f"{len(members)} members, {np.mean(members == 4):.0%} of them fours")
print(f"{np.mean(members == 4) * len(members) / np.sum(digits[test] == 4):.0%} of the fours are members")
