"""Early stopping of LISA, which table 5.12 alone has (camelyon17), on the made folder of the experiment before.

LISA mixes pictures of one class from the two grounds. Validation pictures are paired as there, the three criteria
watch twenty epochs, and the test accuracy is the mean over all pictures.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from _claims import Claim
from _experiment import run
from _selection import accuracy, predict_scores, stopped
from selection_wilds import CRITERIA, write

from shiftmetrics.agreement import pair_samples
from shiftmetrics_lab.datasets import load

CLAIMS = {
    "accuracy": Claim(
        "For LISA agreement selects a better network than accuracy.",
        "mean test accuracy, by agreement minus by accuracy, in points",
        ">",
        0.0,
    ),
    "rates": Claim(
        "For LISA AFR_P selects as agreement does.",
        "mean test accuracy, by agreement minus by AFR_P, in points; margin 0.5",
        "within",
        0.5,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), seed)
        birds = load("waterbirds", folder)
        x = torch.from_numpy(birds.X.read()).permute(0, 3, 1, 2).float().div(255)

    def part(split: str, ground: int):
        rows = (birds.split == split) & (birds.domain == ground)
        return x[torch.from_numpy(rows)], birds.y[rows]

    sources, (land, water), tests = (
        [part(split, ground) for ground in (0, 1)] for split in ("train", "val", "test")
    )
    model, _ = stopped(sources, {"all": (land, land)}, tests, "LISA", seed, 1)
    features = [predict_scores(model[:-1], images) for images, _ in (water, land)]
    pairs = pair_samples(*features, labels=water[1], reference_labels=land[1], within_label=True)
    rows, others = np.array(pairs.rows), np.array(pairs.reference_rows)
    paired = (land[0][others], land[1][others]), (water[0][rows], water[1][rows])
    model, best = stopped(sources, {"all": paired}, tests, "LISA", seed, 3 if quick else 20)
    found = []
    for criterion in CRITERIA:
        model.load_state_dict(best[f"all {criterion}"].state)
        right = [100 * accuracy(predict_scores(model, images), y) for images, y in tests]
        found.append(float(np.average(right, weights=[len(y) for _, y in tests])))
    return {"accuracy": found[2] - found[0], "rates": found[2] - found[1], "found": found}


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, seeds=10)
