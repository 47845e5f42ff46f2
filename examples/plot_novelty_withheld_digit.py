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

# %%
# Two halves of the data; the digit 4 is withheld from the reference. Principal components are the features.
images, digits = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(images))
test, reference = order[:800], order[800:]
reference = reference[digits[reference] != 4]
components = PCA(8, random_state=0).fit(images[reference])
features, reference_features = components.transform(images[test]), components.transform(images[reference])

# %%
# Two finite samples of *one* distribution differ too, so everything is read against a null: rows relabelled
# at random.
result = kernel_entropic_novelty(features, reference_features, rng=0)
print(result.summary())

# %%
# Most of the score is such noise, spread over many small modes; but the first eigenvalue stands far above
# what relabelling gives. One mode is there.
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.bar(np.arange(1, 21), result.eigenvalues[:20], label="this batch")
ax.axhline(result.null.largest, color="C1", label="largest of relabelled rows")
ax.set(xlabel="mode", ylabel="excess frequency")
ax.legend(frameon=False)
plt.show()

# %%
# What is it? The mode shows itself by its exemplars: the rows of the batch with the highest membership.
mode = result.modes[0]
exemplars = test[mode.exemplars[:12]]
figure, axes = plt.subplots(1, 12, figsize=(9, 1.3), layout="constrained")
for ax, row in zip(axes, exemplars, strict=True):
    ax.imshow(images[row].reshape(8, 8), cmap="gray_r")
    ax.set_axis_off()
figure.suptitle("What is new in this batch")
plt.show()
print(f"share of fours among the exemplars: {np.mean(digits[exemplars] == 4):.0%}")
