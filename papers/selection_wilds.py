"""Early stopping on a folder laid out as waterbirds, where the ground goes with the class (experiments 8 to 10).

The pictures of WILDS (1 to 10 GB) cannot be had here: fours and sevens ("land birds") and threes and eights ("water
birds") stand on green ground and blue, nine of ten in training on their own. The rest is the flow of the thesis:
validation pictures of the two grounds are paired within a class by their nearest features after the first epoch,
three criteria watch each training, and the test accuracy is taken on average and in the worst of the four groups.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from _claims import Claim
from _experiment import run
from _factor_models import DIGITS
from _selection import accuracy, predict_scores, stopped
from PIL import Image

from shiftmetrics.agreement import pair_samples
from shiftmetrics_lab.datasets import load

METHODS = ("ERM", "IRM")
CRITERIA = ("accuracy", "afr_p", "published")
LAND, WATER = (4, 7), (3, 8)
GROUNDS = np.array([[40, 120, 40], [40, 60, 160]])
CLAIMS = {
    "average": Claim(
        "Agreement selects networks at least as good as accuracy does, on average.",
        "mean test accuracy, by agreement minus by accuracy, mean over ERM and IRM, in points",
        ">=",
        -0.5,
    ),
    "worst": Claim(
        "In the worst group as well.",
        "accuracy of the worst group, by agreement minus by accuracy, mean over ERM and IRM, in points",
        ">=",
        -0.5,
    ),
    "over_rates": Claim(
        "Agreement selects better than AFR_P, whose changes from epoch to epoch are noise.",
        "accuracy of the worst group, by agreement minus by AFR_P, mean over ERM and IRM, in points",
        ">",
        0.0,
    ),
    "irm": Claim(
        "IRM is better than ERM in the worst group.",
        "accuracy of the worst group, IRM minus ERM, selected by agreement, in points",
        ">",
        0.0,
    ),
}


def write(folder: Path, seed: int) -> None:
    """Write the digits as pictures of a bird on a ground, with the table of waterbirds beside them."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.flatnonzero(np.isin(DIGITS.y, LAND + WATER)))
    y = np.isin(DIGITS.y[rows], WATER).astype(int)
    split = np.repeat([0, 1, 2], [400, 120, len(rows) - 520])
    place = np.where(rng.random(len(rows)) < np.where(split == 0, 0.9, 0.5), y, 1 - y)
    names = [f"{number:03d}.png" for number in range(len(rows))]
    for name, row, ground in zip(names, rows, place, strict=True):
        bird = np.kron(np.asarray(DIGITS.X[row]), np.ones((2, 2)))[:, :, None]
        speckle = rng.normal(0, 20, size=(16, 16, 3))
        picture = bird * 200 + (1 - bird) * (GROUNDS[ground] + speckle)
        Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(folder / name)
    table = {
        "img_id": range(len(rows)),
        "img_filename": names,
        "y": y,
        "split": split,
        "place": place,
    }
    pd.DataFrame(table).to_csv(folder / "metadata.csv", index=False)


def measure(seed: int, quick: bool) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), seed)
        birds = load("waterbirds", folder)
        x = torch.from_numpy(birds.X.read()).permute(0, 3, 1, 2).float().div(255)

    def part(split: str, ground: int):
        rows = (birds.split == split) & (birds.domain == ground)
        return x[torch.from_numpy(rows)], birds.y[rows]

    sources = [part("train", ground) for ground in (0, 1)]
    land, water = (part("val", ground) for ground in (0, 1))
    tests = [
        (images[torch.from_numpy(y == label)], y[y == label])
        for images, y in (part("test", ground) for ground in (0, 1))
        for label in (0, 1)
    ]
    found = {}
    for method in METHODS:
        model, _ = stopped(sources, {"all": (land, land)}, tests, method, seed, 1)
        features = [predict_scores(model[:-1], images) for images, _ in (water, land)]
        pairs = pair_samples(
            *features, labels=water[1], reference_labels=land[1], within_label=True
        )
        rows, others = np.array(pairs.rows), np.array(pairs.reference_rows)
        paired = (land[0][others], land[1][others]), (water[0][rows], water[1][rows])
        model, best = stopped(sources, {"all": paired}, tests, method, seed, 3 if quick else 20)
        for criterion in CRITERIA:
            model.load_state_dict(best[f"all {criterion}"].state)
            groups = [100 * accuracy(predict_scores(model, images), y) for images, y in tests]
            weights = [len(y) for _, y in tests]
            found[method, criterion] = float(np.average(groups, weights=weights)), min(groups)
    table = np.array([[found[method, criterion] for criterion in CRITERIA] for method in METHODS])
    mean, worst = table[..., 0], table[..., 1]
    return {
        "average": float((mean[:, 2] - mean[:, 0]).mean()),
        "worst": float((worst[:, 2] - worst[:, 0]).mean()),
        "over_rates": float((worst[:, 2] - worst[:, 1]).mean()),
        "irm": float(worst[1, 2] - worst[0, 2]),
        "table": table,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    tables = np.array([one["table"] for one in runs])
    figure, axes = pyplot.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained", sharey=True)
    places = np.arange(len(METHODS))
    for kind, (ax, title) in enumerate(
        zip(axes, ("All test pictures", "Worst group"), strict=True)
    ):
        for position, criterion in enumerate(CRITERIA):
            values = tables[:, :, position, kind]
            label = criterion.replace("afr_p", "AFR_P").replace("published", "agreement")
            options = {"width": 0.26, "yerr": values.std(axis=0), "label": f"by {label}"}
            ax.bar(places + 0.28 * (position - 1), values.mean(axis=0), **options)
        ax.set(title=title, ylabel="accuracy (points)")
        ax.set_xticks(places, METHODS)
    axes[1].legend(fontsize=8)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
