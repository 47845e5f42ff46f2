"""
Which corruption does this classifier survive?
==============================================

Eight corruptions of images, from noise to compression, at five strengths each. First on a photograph, to see what a
strength means; then on handwritten digits, where posterior agreement says without labels which of them a classifier
can take.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from shiftmetrics import posterior_agreement
from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.shifts import CORRUPTIONS, apply_shift

# %%
# Every shift is called in the same way. Images are uint8, or floating from 0 to 1; strength 0 changes nothing. The
# blur counts in pixels, all other strengths here run from 0 to 1.
photograph = load_sample_image("flower.jpg")[None, 60:380:2, 200:520:2]
shares = (0.0, 0.1, 0.2, 0.4, 0.8)
full = {"blur": 10.0}
figure, axes = plt.subplots(len(CORRUPTIONS), len(shares), figsize=(8, 12.6), layout="constrained")
for row, (name, shift) in zip(axes, CORRUPTIONS.items(), strict=True):
    for ax, share in zip(row, shares, strict=True):
        strength = share * full.get(name, 1.0)
        ax.imshow(shift(photograph, strength=strength, rng=0)[0])
        ax.set(xticks=[], yticks=[], title=f"{strength:g}")
    row[0].set_ylabel(name.replace("_", " "))
plt.show()

# %%
# Now a classifier of digits. `apply_shift` keeps the pairs, and how they were made.
digits = load("digits")
train, test = train_test_split(np.arange(len(digits)), test_size=0.5, random_state=0)
model = SVC(decision_function_shape="ovr").fit(digits.X[train].reshape(-1, 64), digits.y[train])
images, labels = digits.X[test], digits.y[test]
reference = model.decision_function(images.reshape(-1, 64))
pair = apply_shift(CORRUPTIONS["blur"], images, strength=1.0, rng=0)
print(pair)
print(pair.provenance())

# %%
# Agreement of the scores before and after, and beside it the accuracy, for which the labels are needed.
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharex=True, layout="constrained")
full = {"blur": 2.0}
for name, shift in CORRUPTIONS.items():
    agreement, accuracy = [], []
    for share in shares:
        shifted = shift(images, strength=share * full.get(name, 1.0), rng=0).reshape(-1, 64)
        agreement.append(
            posterior_agreement(model.decision_function(shifted), reference).normalized
        )
        accuracy.append(model.score(shifted, labels))
    axes[0].plot(shares, agreement, marker="o", label=name.replace("_", " "))
    axes[1].plot(shares, accuracy, marker="o")
    print(f"{name:15s} agreement {np.round(agreement, 2)}  accuracy {np.round(accuracy, 2)}")
axes[0].set(
    xlabel="strength (blur: 2 pixels at 1)", ylabel="normalized agreement", title="Without labels"
)
axes[1].set(xlabel="strength (blur: 2 pixels at 1)", ylabel="accuracy", title="With labels")
axes[0].legend(frameon=False)
plt.show()
