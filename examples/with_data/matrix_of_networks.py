"""
Which of 21 networks agree with each other?
===========================================

The logits of 21 networks on the 10,000 test images of CIFAR-10, compared pair by pair without any labels. Networks of
one family agree most, and a network trained to 78 % accuracy stands apart from all others.

Needs ``cifar10_logit_zoo/logits.npz``: set SHIFTMETRICS_DATA to the folder that holds it. Takes about ten seconds.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from shiftmetrics import Computing
from shiftmetrics.agreement import agreement_matrix
from shiftmetrics_lab.published import label_agreement, model_agreement

folder = os.environ.get("SHIFTMETRICS_DATA")
if not folder:
    sys.exit(
        "Set SHIFTMETRICS_DATA to the folder that holds cifar10_logit_zoo to run this example."
    )
with np.load(Path(folder) / "cifar10_logit_zoo" / "logits.npz") as data:
    networks = dict(zip(map(str, data["model_names"]), data["logits"], strict=True))
    labels = data["labels"]

# %%
# All 210 pairs, one beta for both networks of a pair, each maximum certified.
matrix = agreement_matrix(networks, computing=Computing(progress=True))
print(matrix.summary())
matrix.plot()

# %%
# How central a network is among all others tells much about its accuracy, though no label was looked at.
accuracy = np.array([(scores.argmax(axis=1) == labels).mean() for scores in networks.values()])
order = np.argsort(-matrix.means)
for k in order[[0, 1, 2, -3, -2, -1]]:
    print(f"{matrix.names[k]:24} mean agreement {matrix.means[k]:.3f}   accuracy {accuracy[k]:.3f}")
ranks = [np.argsort(np.argsort(part)) for part in (matrix.means, accuracy)]
print(f"rank correlation with accuracy: {np.corrcoef(*ranks)[0, 1]:.2f}")

# %%
# One beta for both takes their scales for real. With a beta each, the scales do not matter: scores ten times as
# large change nothing.
first, second = networks["resnet20"], networks["resnet18_78acc"]
for factor in (1.0, 10.0):
    own = model_agreement(factor * first, second)
    print(
        f"scores times {factor:g}: one beta {own.common.value:.4f} nats, a beta each {own.value:.4f} nats"
    )

# %%
# Against the labels themselves, held with certainty or with 95 % confidence.
for confidence in (1.0, 0.95):
    print(label_agreement(first, labels, confidence=confidence))
plt.show()
