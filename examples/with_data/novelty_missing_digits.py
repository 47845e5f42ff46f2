"""
What does a generator forget?
=============================

A network that draws digits is trained on the output of its predecessor, twenty times over. Set against real digits,
each generation should show more that is new and lack more that is real. Which digits go missing?

Needs ``mnist_wgan_generations`` and ``mnist_test``: set SHIFTMETRICS_DATA to the folder that holds them. Takes a
minute.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from shiftmetrics import kernel_entropic_novelty
from shiftmetrics.views import plot
from shiftmetrics.views.drawings.style import REFERENCE, TEST, style
from shiftmetrics_lab.novelty_studies import bandwidth_sweep

folder = Path(os.environ.get("SHIFTMETRICS_DATA", ""))
if not (folder / "mnist_wgan_generations").is_dir() or not (folder / "mnist_test").is_dir():
    sys.exit(
        "Set SHIFTMETRICS_DATA to the folder that holds mnist_wgan_generations and mnist_test to run this example."
    )

# %%
# Features are 16 principal components of real digits that are not compared.
made = np.load(folder / "mnist_wgan_generations" / "wgan_mnist.npz")
stored = np.load(folder / "mnist_test" / "mnist_t10k.npz")
images, digits = stored["images"].reshape(10_000, -1) / 255, stored["labels"][:1000]
components = PCA(16, random_state=0).fit(images[5000:])
real = components.transform(images[:1000])
drawn = {
    int(generation): components.transform(made["images"][place].reshape(1000, -1) / 255)
    for place, generation in enumerate(made["generations"])
    if generation in (0, 4, 9, 14, 19)
}

# %%
# How much of each generation is new, and how much of the real digits is missing.
results = {}
for generation, rows in drawn.items():
    results[generation] = kernel_entropic_novelty(rows[:500], real[:500], bandwidth=2.5)
    result = results[generation]
    missing = f"{result.missing_fraction:.0%} of the real digits are missing"
    print(f"generation {generation:2}: {result.fraction:.0%} is new, {missing}")
with style():
    figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
    new, missing = zip(
        *[(found.fraction, found.missing_fraction) for found in results.values()], strict=True
    )
    ax.plot(list(results), new, "o-", color=TEST, label="new")
    ax.plot(list(results), missing, "o-", color=REFERENCE, label="missing")
    ax.set(xlabel="generation", ylabel="fraction", ylim=(0, None), xticks=list(results))
    ax.set_title("What each generation gains and loses")
    ax.legend()
plot(results[19])
plt.show()

# %%
# Which digits go missing: what real digits have and those that a generation draws lack.
missing = {}
for generation, rows in drawn.items():
    found = kernel_entropic_novelty(real, rows)
    missing[generation] = found.new
    print(f"generation {generation:2}: {found.headline()}")
for group in missing[19]:
    shown = digits[group.top(10)]
    digit = int(np.bincount(shown).argmax())
    print(f"{group} {np.mean(shown == digit):.0%} of its 10 most typical rows show a {digit}.")

# %%
# The real digits that show each mode most.
figure, axes = plt.subplots(
    len(missing[19]), 10, figsize=(6, 0.65 * len(missing[19])), layout="constrained"
)
for line, group in zip(np.atleast_2d(axes), missing[19], strict=True):
    for ax, row in zip(line, group.top(10), strict=True):
        ax.imshow(images[row].reshape(28, 28), cmap="gray_r")
        ax.set_axis_off()
figure.suptitle("Real digits that generation 19 no longer draws", fontsize=10)
plt.show()

# %%
# Does it depend on the bandwidth? One matrix of distances serves all of them.
sweep = bandwidth_sweep(drawn[19][:500], real[:500], max_rows=250, n_permutations=10)
print(sweep.to_frame().round(3).to_string(index=False))
plot(sweep)
plt.show()
