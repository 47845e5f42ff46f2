"""
What does a generator forget?
=============================

A network that draws digits is trained on the output of its predecessor, twenty times over. Set against real digits,
each generation should show more that is new and lack more that is real; the lost modes say which digits go missing.

Needs ``mnist_wgan_generations`` and ``mnist_test``: set SHIFTMETRICS_DATA to the folder that holds them. Takes half a
minute.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from shiftmetrics import kernel_entropic_novelty
from shiftmetrics.novelty import bandwidth_sweep
from shiftmetrics.plot import plot_bandwidth_sweep, plot_novelty

folder = Path(os.environ.get("SHIFTMETRICS_DATA", ""))
if not (folder / "mnist_wgan_generations").is_dir() or not (folder / "mnist_test").is_dir():
    sys.exit(
        "Set SHIFTMETRICS_DATA to the folder that holds mnist_wgan_generations and mnist_test to run this example."
    )

# %%
# Features are 16 principal components of real digits that are not compared.
made = np.load(folder / "mnist_wgan_generations" / "wgan_mnist.npz")
stored = np.load(folder / "mnist_test" / "mnist_t10k.npz")
images, digits = stored["images"].reshape(10_000, -1) / 255, stored["labels"][:500]
components = PCA(16, random_state=0).fit(images[5000:])
real = components.transform(images[:500])

# %%
# Gained and lost, each in excess of relabelled rows: both grow from generation to generation.
results = {}
for generation in (0, 4, 9, 14, 19):
    place = list(made["generations"]).index(generation)
    drawn = components.transform(made["images"][place].reshape(1000, -1)[:500] / 255)
    results[generation] = kernel_entropic_novelty(drawn, real, bandwidth=2.5, rng=0, progress=False)
    result = results[generation]
    print(
        f"generation {generation:2}: gained {result.excess:.2f} nats, lost {result.reverse_null.excess:.2f} nats"
    )
figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
ax.plot(list(results), [result.excess for result in results.values()], "o-", label="gained")
ax.plot(list(results), [result.reverse_null.excess for result in results.values()], "o-", label="lost")
ax.set(xlabel="generation", ylabel="excess in nats", ylim=(0, None))
ax.legend(frameon=False)
plt.show()

# %%
# Which digits go missing: the labels of the real digits that show each lost mode that stands out.
for mode in results[19].lost_modes:
    if mode.significant:
        shown = digits[mode.top(12, of="reference")]
        digit = int(np.bincount(shown).argmax())
        print(f"{mode} Of its 12 most typical rows {np.mean(shown == digit):.0%} show a {digit}.")
plot_novelty(results[19])
plt.show()

# %%
# Does it depend on the bandwidth? One matrix of distances serves all of them.
last = components.transform(made["images"][list(made["generations"]).index(19)].reshape(1000, -1)[:500] / 255)
sweep = bandwidth_sweep(last, real, max_rows=250, n_permutations=10, rng=0, progress=False)
print(sweep.to_frame().round(3).to_string(index=False))
plot_bandwidth_sweep(sweep)
plt.show()
