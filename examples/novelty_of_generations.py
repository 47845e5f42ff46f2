"""
Which generation of digits is the richest?
==========================================

A network that draws digits is trained on the output of its predecessor, twenty times over. A table of pairwise
novelty ranks real digits and three generations: what does each show that the others lack, and does the ranking depend
on the bandwidth or on the features?

Needs ``mnist_wgan_generations`` and ``mnist_test``: set SHIFTMETRICS_DATA to the folder that holds them. Takes half a
minute.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.decomposition import PCA

from shiftmetrics.lab.baselines import (
    feature_likelihood_divergence,
    manifold_scores,
    vendi_score,
)
from shiftmetrics.lab.distances import feature_distance, maximum_mean_discrepancy
from shiftmetrics.novelty import kernel_entropic_novelty, novelty_table
from shiftmetrics.views import plot

folder = Path(os.environ.get("SHIFTMETRICS_DATA", ""))
if not (folder / "mnist_wgan_generations").is_dir() or not (folder / "mnist_test").is_dir():
    sys.exit(
        "Set SHIFTMETRICS_DATA to the folder that holds mnist_wgan_generations and mnist_test to run this example."
    )

# %%
# Two feature sets: 16 and 40 principal components of real digits that are not compared.
made = np.load(folder / "mnist_wgan_generations" / "wgan_mnist.npz")
real = np.load(folder / "mnist_test" / "mnist_t10k.npz")["images"].reshape(10_000, -1) / 255
images = {"real": real[:1000]}
for generation in (0, 6, 19):
    place = list(made["generations"]).index(generation)
    images[f"generation {generation}"] = made["images"][place].reshape(1000, -1) / 255
components = {f"{count} components": PCA(count, random_state=0).fit(real[5000:]) for count in (16, 40)}
samples = {
    name: {label: basis.transform(sample) for label, basis in components.items()}
    for name, sample in images.items()
}

# %%
# Each pair compares 500 rows with as many: the share of the row's sample that is new against the column's.
table = novelty_table(samples, n_rows=500)
print(table.summary())
print(table.pairs().round(2).to_string())
plot(table)
plt.show()

# %%
# Rows say what a sample adds, columns what it misses: the last generation misses most. What that is can be seen in
# the first mode of the real digits against it.
first, last = (samples[name]["16 components"] for name in ("real", "generation 19"))
shown = kernel_entropic_novelty(first, last).modes[0].top(8)
figure, axes = plt.subplots(1, len(shown), figsize=(8, 1.4), layout="constrained")
for ax, row in zip(axes, shown, strict=True):
    ax.imshow(images["real"][row].reshape(28, 28), cmap="gray_r")
    ax.set_axis_off()
figure.suptitle("First mode of the real digits against generation 19", fontsize=10)
plt.show()

# %%
# Other scores beside it, all against 1,000 held-out real digits.
pca = components["40 components"]
held_out, training = pca.transform(real[1000:2000]), pca.transform(real[2000:3000])
rows = []
for name, sets in samples.items():
    sample = sets["40 components"]
    balls = manifold_scores(sample, held_out, n_neighbours=5).parts
    rows.append(
        {
            "sample": name,
            "Frechet": feature_distance(sample, held_out).value,
            "KID": maximum_mean_discrepancy(sample, held_out, kernel="polynomial").value,
            **{part: balls[part] for part in ("precision", "recall", "density", "coverage")},
            "rarity": balls["mean_rarity"],
            "Vendi": vendi_score(sample[:500], bandwidth=float(table.bandwidths[1])).value,
            "FLD": feature_likelihood_divergence(sample[:500], held_out, training=training).value,
        }
    )
print(pd.DataFrame(rows).round(2).to_string(index=False))
