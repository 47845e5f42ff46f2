"""Digits as a folder laid out as waterbirds, where the ground goes with the class; read, paired and watched.

Fours and sevens ("land birds") and threes and eights ("water birds") stand on green ground and blue.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from _factor_models import DIGITS
from _selection import accuracy, predict_scores, stopped
from PIL import Image
from torch import nn

from shiftmetrics.agreement import pair_samples
from shiftmetrics_lab.datasets import load

CRITERIA = ("accuracy", "afr_p", "published")
LAND, WATER = (4, 7), (3, 8)
GROUNDS = np.array([[40, 120, 40], [40, 60, 160]])
Sample = tuple[torch.Tensor, np.ndarray]


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


def made_folder(seed: int) -> Callable[[str, int], Sample]:
    """Write the folder and read it again; return a function from split and ground to pictures and classes."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), seed)
        birds = load("waterbirds", folder)
        x = torch.from_numpy(birds.X.read()).permute(0, 3, 1, 2).float().div(255)

    def part(split: str, ground: int) -> Sample:
        rows = (birds.split == split) & (birds.domain == ground)
        return x[torch.from_numpy(rows)], birds.y[rows]

    return part


def paired(model: nn.Sequential, first: Sample, second: Sample) -> tuple[Sample, Sample]:
    """Return two samples with each row of the first beside the nearest of its class in the second."""
    features = [predict_scores(model[:-1], x) for x, _ in (second, first)]
    pairs = pair_samples(*features, labels=second[1], reference_labels=first[1], within_label=True)
    ahead, behind = np.array(pairs.rows), np.array(pairs.reference_rows)
    return (first[0][behind], first[1][behind]), (second[0][ahead], second[1][ahead])


def accuracies(
    part: Callable[[str, int], Sample], tests: Sequence[Sample], method: str, seed: int, epochs: int
) -> dict[str, list[float]]:
    """Return the accuracy in each test sample, in points, of the network that each criterion selects.

    Validation pictures are paired by the features of a network after its first epoch.
    """
    sources = [part("train", ground) for ground in (0, 1)]
    land, water = (part("val", ground) for ground in (0, 1))
    model, _ = stopped(sources, {"all": (land, land)}, tests, method, seed, 1)
    pairs = paired(model, land, water)
    model, best = stopped(sources, {"all": pairs}, tests, method, seed, epochs)
    found = {}
    for criterion in CRITERIA:
        model.load_state_dict(best[f"all {criterion}"].state)
        found[criterion] = [100 * accuracy(predict_scores(model, x), y) for x, y in tests]
    return found
