"""
Two samples whose rows do not match
===================================

Posterior agreement compares pairs. Here the pairs are lost: one network has seen 1,500 photographs in one order,
another network in another order that nobody wrote down. Which strategy finds the pairs again, and what does the
agreement say when they stay lost?

Needs the scores of CIFAR-10 networks in ``cifar10_logit_zoo/logits.npz``: set SHIFTMETRICS_DATA to the folder that
holds them. Takes some seconds.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from shiftmetrics.agreement import pair_samples, posterior_agreement
from shiftmetrics_lab.published import canonical_coordinates

path = Path(os.environ.get("SHIFTMETRICS_DATA", "")) / "cifar10_logit_zoo" / "logits.npz"
if not path.is_file():
    sys.exit(
        "Set SHIFTMETRICS_DATA to the folder that holds cifar10_logit_zoo to run this example."
    )

# %%
# Scores of two residual networks, the second in a hidden order. For the column "turned" of the table below, the
# second network's scores are turned and stretched too: features of two networks never share their axes.
zoo = np.load(path)
names = list(zoo["model_names"])
rng = np.random.default_rng(0)
n_rows = 1500
hidden = rng.permutation(n_rows)
scores = zoo["logits"][names.index("resnet32"), :n_rows]
reference = zoo["logits"][names.index("resnet44"), hidden]
labels = zoo["labels"][:n_rows]
reference_labels = labels[hidden]
turned = reference @ (np.linalg.qr(rng.normal(size=(10, 10)))[0] * rng.uniform(0.3, 3.0, size=10))

# %%
# The share of rows whose partner is found. Chance finds 1 in 1,500, and 1 in 150 within a class.
by_label = {"labels": labels, "reference_labels": reference_labels}
known = np.c_[hidden[:50], np.arange(50)]  # 50 pairs that somebody did write down
strategies = {
    "same label, at random": {"method": "label", "rng": 0, **by_label},
    "nearest neighbour": {"method": "neighbour"},
    "nearest within the label": {"method": "neighbour", "within_label": True, **by_label},
    "canonical, from class means": by_label,
    "canonical, from 50 known pairs": {"seeds": known},
}
rows = []
for name, options in strategies.items():
    row = {"pairing": name}
    for column, sample in (("turned", turned), ("recovered", reference)):
        if name.startswith("canonical"):
            space = canonical_coordinates(scores, sample, **options)
            pairing = pair_samples(space.features, space.reference)
        else:
            pairing = pair_samples(scores, sample, **options)
        found = hidden[pairing.reference_rows] == pairing.rows
        if "seeds" in options:
            found = found[~np.isin(pairing.rows, known[:, 0])]
        row[column] = found.mean()
    row["agreement"] = posterior_agreement(*pairing.apply(scores, reference)).value
    row["reused"] = len(pairing.reused)
    rows.append(row)
print(pd.DataFrame(rows).round(3).to_string(index=False))
print(
    f"agreement of the true pairs: {posterior_agreement(scores[hidden], reference).value:.3f} nats"
)

# %%
# When pairs stay lost, partners of one label tell how far two samples of a class agree. The draw of partners decides
# little, as the spread over draws shows.
values = []
for seed in range(20):
    pairing = pair_samples(scores, reference, method="label", rng=seed, **by_label)
    values.append(posterior_agreement(*pairing.apply(scores, reference)).value)
print(
    f"random partners: {np.mean(values):.3f} nats, spread {np.std(values, ddof=1):.4f} over {len(values)} draws"
)
