"""Early stopping on a folder laid out as waterbirds, where the ground goes with the class (experiments 8 to 10).

The pictures of WILDS (1 to 10 GB) cannot be had here: fours and sevens ("land birds") and threes and eights ("water
birds") stand on green ground and blue, nine of ten in training on their own. The rest is the flow of the thesis:
validation pictures of the two grounds are paired within a class by their nearest features after the first epoch,
three criteria watch each training, and the test accuracy is taken on average and in the worst of the four groups.
"""

import numpy as np
import torch
from _claims import Claim
from _experiment import run
from _waterbirds import CRITERIA, accuracies, made_folder

METHODS = ("ERM", "IRM")
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


def measure(seed: int, quick: bool) -> dict:
    part = made_folder(seed)
    tests = [
        (images[torch.from_numpy(y == label)], y[y == label])
        for images, y in (part("test", ground) for ground in (0, 1))
        for label in (0, 1)
    ]
    weights = [len(y) for _, y in tests]
    found = {}
    for method in METHODS:
        by_criterion = accuracies(part, tests, method, seed, 3 if quick else 20)
        for criterion, groups in by_criterion.items():
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
