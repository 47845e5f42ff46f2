"""
A kind of picture that the reference lacks
==========================================

A reference of CIFAR-10 pictures without ships, and a new sample in which one picture in ten is a ship. Are they
found, and does it depend on the features? The outputs of a network that was trained on all ten classes tell ships
from everything else. Pixels do not, and novelty says so.

Needs ``cifar10_jpeg`` (``test_10000.npz``: JPEG bytes and labels) and ``cifar10_logit_zoo`` (``logits.npz``: outputs
of public networks on the same pictures): set SHIFTMETRICS_DATA to the folder that holds them. Takes half a minute.
"""

import io
import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.decomposition import PCA

from shiftmetrics import kernel_entropic_novelty, write_report
from shiftmetrics.views import Context, Rows, plot

folder = Path(os.environ.get("SHIFTMETRICS_DATA", ""))
pictures, outputs = (
    folder / "cifar10_jpeg" / "test_10000.npz",
    folder / "cifar10_logit_zoo" / "logits.npz",
)
if not pictures.is_file() or not outputs.is_file():
    sys.exit(
        "Set SHIFTMETRICS_DATA to the folder with cifar10_jpeg and cifar10_logit_zoo to run this example."
    )
with np.load(pictures) as arrays:
    jpeg, offsets, labels = arrays["jpeg"], arrays["offsets"], arrays["labels"]
    names = np.array([str(name) for name in arrays["class_names"]])
with np.load(outputs) as arrays:
    logits = arrays["logits"][list(arrays["model_names"]).index("resnet20")].astype(np.float64)


def picture(row):
    """Decode one picture."""
    return np.asarray(Image.open(io.BytesIO(jpeg[offsets[row] : offsets[row + 1]].tobytes())))


# %%
# The samples: ships are taken out of the reference.
withheld = "ship"
order = np.random.default_rng(0).permutation(len(labels))
test, others = order[:1000], order[1000:]
reference = others[names[labels[others]] != withheld][:1000]
images = {row: picture(row) for row in (*test, *reference)}


# %%
# Features of a network, and of no network.
def found(features, label):
    """Print the kinds of pictures that are new under some features."""
    result = kernel_entropic_novelty(features[: len(test)], features[len(test) :])
    print(f"{label}\n  {result.headline()}")
    for group in result.new:
        members = names[labels[test[group.members()]]]
        if not len(members):
            continue
        purity = np.mean(members == withheld)
        recall = np.sum(members == withheld) / np.sum(names[labels[test]] == withheld)
        print(
            f"  {group} {purity:.0%} of the members are {withheld}s, {recall:.0%} of all {withheld}s are members"
        )
    return result


both = np.concatenate([test, reference])
centred = logits - logits.mean(axis=1, keepdims=True)
result = found(centred[both], "outputs of a ResNet-20")
pixels = np.stack([images[row].ravel() / 255.0 for row in both])
found(PCA(50, random_state=0).fit_transform(pixels), "50 principal components of the pixels")

# %%
# Whether they are more than five times as frequent is tested on rows that had no say in finding the modes.
more = others[: 4000 - len(test)]
larger = np.concatenate([test, more[: len(more) // 2]])
rest = more[len(more) // 2 :]
rest = rest[names[labels[rest]] != withheld]
tested = kernel_entropic_novelty(
    centred[larger],
    centred[rest],
    eta=5,
    bandwidth=result.score.bandwidth,
)
print(tested.summary())
plot(result)
for mode in tested.new:
    print(
        f"mode {mode.index + 1}: {mode.fraction:.0%}, in the reference {mode.reference_fraction:.0%}"
    )

# %%
# The pictures that show the new kind most, and what comes nearest to it in the reference.
group = result.new[0]
figure, axes = plt.subplots(2, 10, figsize=(9, 2.2), layout="constrained")
rows = (test[group.top(10)], reference[group.top(10, of="reference")])
for line, title, shown in zip(axes, ("new", "nearest in the reference"), rows, strict=True):
    for ax, row in zip(line, shown, strict=True):
        ax.imshow(images[row])
        ax.set_axis_off()
    line[0].set_title(title, fontsize=9, loc="left")
plt.show()

# %%
# The report.
shown = Rows(
    images=np.stack([images[row] for row in test]), reference_images=np.stack([images[row] for row in reference]),
    labels=names[labels[test]], reference_labels=names[labels[reference]],
)  # fmt: skip
context = Context(
    description=f"CIFAR-10 against a reference without {withheld}s.", rows={"pictures": shown}
)
path = write_report(
    {"pictures": result, "tested": tested},
    "pictures_report.html",
    title="New pictures",
    context=context,
)
print(f"{path}: {Path(path).stat().st_size / 1e3:.0f} kB")
