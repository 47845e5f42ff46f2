"""
Five networks and people, ranked by how they bear noise
=======================================================

1,200 photographs of 16 kinds of things were shown to five networks and to about six people each, at four levels of
phase noise (Steyvers et al., PNAS 2022). Who agrees with itself most when the noise grows? Each photograph appears
at three noise levels, so its three pairs belong together: they are drawn together in the bootstrap. The ranks hold
for all six together at 95 %.

Needs ``imagenet16h_noise/imagenet16h.npz`` (log probabilities of the networks, counts of human answers): set
SHIFTMETRICS_DATA to the folder that holds it. Takes a few seconds.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from shiftmetrics import Resampling
from shiftmetrics.comparison import compare_agreement

folder = os.environ.get("SHIFTMETRICS_DATA")
if not folder:
    sys.exit(
        "Set SHIFTMETRICS_DATA to the folder that holds imagenet16h_noise to run this example."
    )
with np.load(Path(folder) / "imagenet16h_noise" / "imagenet16h.npz") as data:
    log_probs, counts, noise_levels = data["log_probs"], data["human_counts"], data["noise_levels"]
    names = [str(name) for name in data["model_names"]]

# %%
# People give about six answers for each photograph; their shares, with half an answer for each kind, are
# probabilities. A photograph that nobody was shown at some level is left out for everybody.
shown = (counts.sum(axis=2) > 0).all(axis=0)
shares = (counts + 0.5) / (counts + 0.5).sum(axis=2, keepdims=True)
outputs = {name: log_probs[:, i, shown].astype(float) for i, name in enumerate(names)}
outputs["people"] = np.log(shares[:, shown])
n_images = int(shown.sum())
print(f"{n_images} photographs, noise levels {', '.join(map(str, noise_levels))}")

# %%
# Level by level against the least noise: one photograph, one pair.
for level in (1, 2, 3):
    comparison = compare_agreement(
        {name: scores[level] for name, scores in outputs.items()},
        {name: scores[0] for name, scores in outputs.items()},
        criterion="agreement",
        resampling=Resampling(rng=0),
    )
    print(f"\nNoise {noise_levels[level]} against {noise_levels[0]}")
    columns = [
        "model",
        "value",
        "interval_low",
        "interval_high",
        "rank_low",
        "rank_high",
        "equivalent_error",
    ]
    print(comparison.to_frame()[columns].round(3).to_string(index=False))

# %%
# All levels together: three pairs for each photograph. Drawing them one by one would take them for three
# photographs, and the intervals would come out too narrow.
shifted = {name: scores[1:].reshape(-1, 16) for name, scores in outputs.items()}
reference = {name: np.tile(scores[0], (3, 1)) for name, scores in outputs.items()}
groups = np.tile(np.arange(n_images), 3)
together, alone = (
    compare_agreement(shifted, reference, criterion="agreement", resampling=resampling)
    for resampling in (Resampling(groups=groups, rng=0), Resampling(rng=0))
)
print(f"\nAll noise levels together\n{together}")
print(together.differences_frame().round(4).to_string(index=False))
widths = [result.interval.high - result.interval.low for result in (together, alone)]
print(
    f"\nInterval of {together.best.name}: {widths[0]:.3f} nats wide; {widths[1]:.3f} if photographs were ignored."
)

together.plot()
plt.show()
