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
features, reference_features = (
    components.transform(images[test]),
    components.transform(images[reference]),
)

# %%
# Two finite samples of *one* distribution differ too, so what is new is tested against rows relabelled at random.
result = kernel_entropic_novelty(features, reference_features)
print(result.summary())

# %%
# The eigenvalues behind the score: most of it is noise, spread over many small ones.
plot(result)
plt.show()

# %%
# What is it? The mode shows itself by its exemplars: the rows of the batch with the highest membership.
mode = result.new[0]
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
print(
    f"{np.mean(members == 4) * len(members) / np.sum(digits[test] == 4):.0%} of the fours are members"
)
