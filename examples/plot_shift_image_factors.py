"""
How many image factors may change at once?
==========================================

Handwritten digits are drawn as colour images whose hue, lightness, position, scale and texture are under control. A
small network learns from two environments that differ in hue; then one factor after the other shifts, on a growing
share of the images. This is the experiment of Carvalho et al. (arXiv:2503.16271), figure 7, in small.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from shiftmetrics import posterior_agreement
from shiftmetrics.lab.datasets import load
from shiftmetrics.lab.shifts import mix
from shiftmetrics.lab.shifts.factors import ENVIRONMENTS, factor_environments
from shiftmetrics.lab.shifts.factors.environments import split_instances
from shiftmetrics.lab.shifts.factors.spec import FACTORS

# %%
# Six environments: each shifts one factor more than the one before it. The first two are those of training. We take
# all ten digits instead of the paper's fours and nines, and images of 48 instead of 128 pixels.
environments = [spec.replace(shape=tuple(range(10))) for spec in ENVIRONMENTS["discriminability"]]
digits = load("digits")
parts = split_instances(digits.y, {"train 0": 700, "train 1": 700, "test": 390}, rng=0)
tests = factor_environments(digits.X, digits.y, environments, instances=parts["test"], size=48, rng=0)

figure, axes = plt.subplots(4, 6, figsize=(8, 5.6), layout="constrained")
for count, (column, sample) in enumerate(zip(axes.T, tests, strict=True)):
    for ax, image in zip(column, sample.images, strict=False):
        ax.imshow(image)
        ax.set_axis_off()
    changed = environments[count].differences(environments[count - 1]) if count else ("as trained",)
    column[0].set_title(changed[0], fontsize=10)
figure.suptitle("The same digits, one factor more from column to column")
plt.show()


# %%
# A convolutional network, trained on both sources, whose digits are not those of the test.
def tensor(images: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(images).permute(0, 3, 1, 2).float().div(255)


torch.manual_seed(0)
network = nn.Sequential(
    nn.Conv2d(3, 16, 5, stride=2), nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
    nn.Conv2d(32, 64, 3), nn.ReLU(),
    nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(64, 10),
)  # fmt: skip
sources = [
    factor_environments(digits.X, digits.y, [environment], instances=parts[name], size=48, rng=seed)[0]
    for seed, (environment, name) in enumerate(
        zip(environments, ("train 0", "train 1"), strict=False), start=1
    )
]
X = torch.cat([tensor(source.images) for source in sources])
y = torch.cat([torch.from_numpy(source.labels) for source in sources])
optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
for _ in range(15):
    for rows in torch.randperm(len(X)).split(64):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(X[rows]), y[rows]).backward()
        optimizer.step()
with torch.no_grad():
    scores = [network(tensor(sample.images)).numpy() for sample in tests]

# %%
# Agreement with the unshifted environment by the number of shifted factors, when a share of the images is shifted.
ratios = (0.2, 0.4, 0.6, 0.8, 1.0)
agreement = np.array(
    [
        [
            posterior_agreement(mix(shifted, scores[0], ratio=ratio, rng=0).sample, scores[0]).normalized
            for shifted in scores[1:]
        ]
        for ratio in ratios
    ]
)
accuracy = [float((shifted.argmax(axis=1) == tests[0].labels).mean()) for shifted in scores]
print("accuracy with 0 to 5 factors shifted:", np.round(accuracy, 2))
print("normalized agreement, shift ratio by rows, 1 to 5 factors by columns:")
print(np.round(agreement, 2))

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for ratio, line in zip(ratios, agreement, strict=True):
    ax.plot(range(1, 6), line, marker="o", color=plt.cm.viridis(1 - ratio), label=f"shift ratio {ratio:g}")
ax.plot(range(1, 6), accuracy[1:], color="0.5", linestyle="--", label="accuracy, all shifted")
ax.set(xlabel="shifted factors", ylabel="normalized agreement", xticks=range(1, 6))
ax.set_title(f"Shifted in this order: {', '.join(FACTORS)}")
ax.legend(frameon=False)
plt.show()
