"""
How agreement falls as noise grows, for networks and for people
===============================================================

1,200 photographs of 16 kinds of things, seen by five networks and by about six people each at four levels of phase
noise (Steyvers et al., PNAS 2022). One call for each gives agreement, unchanged predictions and right predictions,
against the level of noise and against the fraction of noisy photographs.

Needs ``imagenet16h_noise/imagenet16h.npz`` (log probabilities of the networks, counts of human answers): set
SHIFTMETRICS_DATA to the folder that holds it. Takes a few seconds.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from shiftmetrics import Resampling, diff_models
from shiftmetrics.agreement import (
    agreement_contributions,
    agreement_curves,
    posterior_agreement,
)
from shiftmetrics.views import plot

folder = os.environ.get("SHIFTMETRICS_DATA")
if not folder:
    sys.exit(
        "Set SHIFTMETRICS_DATA to the folder that holds imagenet16h_noise to run this example."
    )
with np.load(Path(folder) / "imagenet16h_noise" / "imagenet16h.npz") as data:
    log_probs, counts, labels = data["log_probs"], data["human_counts"], data["labels"]
    levels = [int(level) for level in data["noise_levels"]]
    kinds = data["class_names"][labels]
    names = [str(name) for name in data["model_names"]]

# %%
# People give about six answers for each photograph: their shares, with half an answer for each kind, are
# probabilities. A photograph that nobody was shown at some level is left out for everybody.
shown = (counts.sum(axis=2) > 0).all(axis=0)
shares = (counts + 0.5) / (counts + 0.5).sum(axis=2, keepdims=True)
outputs = {name: log_probs[:, m, shown].astype(float) for m, name in enumerate(names)}
outputs["people"] = np.log(shares[:, shown])
labels, kinds = labels[shown], kinds[shown]

# %%
# The least noise is the reference; the shift ratio says how many of the photographs are noisy.
curves = {}
for name, scores in outputs.items():
    curves[name] = agreement_curves(
        dict(zip(levels[1:], scores[1:], strict=True)),
        scores[0],
        labels=labels,
        resampling=Resampling(rng=0),
    )
    print(name, curves[name].headline())
frame = pd.concat({name: one.to_frame() for name, one in curves.items()}, names=["model"])
columns = ["power", "normalized", "equivalent_error", "afr_p", "afr_t"]
print(frame.query("ratio == 1")[columns].round(3).droplevel(1).to_string())

# %%
# People stay right longer than most networks, and yet agree least with themselves: when the noise takes hold, their
# answers scatter.
figure, axes = plt.subplots(2, 2, figsize=(12, 7.5), layout="constrained")
for name, one in curves.items():
    plot(one, axes[0, 0], label=name)
    plot(one, axes[0, 1], y="afr_t", label=name)
    plot(one, axes[1, 0], x="ratio", label=name)
    plot(one, axes[1, 1], x="ratio", y="afr_p", label=name)

# %%
# Where does disagreement come from? Pairs that were right and are misled cost most, and the confidence of the
# network in them was lower from the start.
split = agreement_contributions(outputs["alexnet"][3], outputs["alexnet"][0], labels)
print(split.summary())
print(
    split.contributions.to_frame()[["group", "n_samples", "log_pa", "confidence"]]
    .round(2)
    .to_string(index=False)
)
plot(split)

# %%
# Some kinds of things are lost in the noise; the intervals are exact.
lost = diff_models(outputs["alexnet"][0], outputs["alexnet"][3], labels=labels, groups=kinds)
print(lost.summary())
lost.plot()

# %%
# A confidence that fits mild noise is too much for strong noise: beta from level 95 loses nats at 125.
clean, mild, *stronger = outputs["alexnet"]
found = posterior_agreement(mild, clean)
for level, scores in zip(levels[2:], stronger, strict=True):
    there, best = (
        posterior_agreement(scores, clean, beta=found.beta),
        posterior_agreement(scores, clean),
    )
    print(
        f"noise {level}: {there.value:.3f} nats with the beta of noise {levels[1]}, {best.value:.3f} with its own"
    )
plt.show()
