"""Novelty of real pictures and generators: AFHQ, FFHQ, ImageNet, CIFAR-10 (figures 3 to 12 and all tables).

Each sample is ``NAME=WHERE``: a folder of pictures, or a ``.npy`` file of features of shape (n, d). Pictures need
``--features FILE``, a TorchScript module (``torch.jit.save``) that maps pictures in [0, 1] to features: Inception-v3,
DINOv2 or CLIP with their normalisation inside. Printed are the rows of table 1 (or 3 to 5, at another bandwidth) and
of table 2, where ``--reference`` is the training set, and the files that lead the novel modes of each pair.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from _real import digest, in_batches, picture_files, read_pictures, scripted, table

from shiftmetrics import kernel_entropic_novelty
from shiftmetrics_lab.distances import feature_distance


def read_sample(
    where: Path, network: torch.nn.Module | None, size: int, n: int, seed: int
) -> tuple[np.ndarray, list[str]]:
    """Return features, and the names of their files or rows."""
    rng = np.random.default_rng(seed)
    if where.suffix == ".npy":
        features = np.load(where, allow_pickle=False)
        if features.ndim != 2:
            raise ValueError(f"{where} must hold an array of shape (n, d), got {features.shape}.")
        chosen = np.sort(rng.permutation(len(features))[:n])
        return np.asarray(features[chosen], dtype=np.float64), [f"row {row}" for row in chosen]
    if network is None:
        raise ValueError(f"{where} holds pictures: give --features, a TorchScript file.")
    files = picture_files(where)
    chosen = [files[place] for place in np.sort(rng.permutation(len(files))[:n])]
    parts = [
        in_batches(network, read_pictures(chosen[start : start + 100], size), 100)
        for start in range(0, len(chosen), 100)
    ]
    return np.concatenate(parts), [str(file.relative_to(where)) for file in chosen]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", action="append", required=True, metavar="NAME=WHERE")
    parser.add_argument("--reference", metavar="NAME=WHERE", help="the training set, for table 2")
    parser.add_argument("--features", type=Path, help="a TorchScript file")
    parser.add_argument("--bandwidth", type=float, required=True, help="10 to 15 for Inception")
    parser.add_argument("--eta", type=float, default=1.0)
    parser.add_argument("--size", type=int, default=299, help="side of the pictures")
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--top", type=int, default=5, help="pictures to name of each first mode")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    network = scripted(options.features) if options.features else None
    places = dict(
        one.split("=", 1) for one in (*options.sample, *filter(None, [options.reference]))
    )
    found = {
        name: read_sample(Path(where), network, options.size, options.n, options.seed)
        for name, where in places.items()
    }
    samples = [one.split("=", 1)[0] for one in options.sample]
    lines, led = [], []
    for one in samples:
        line: list[str | float] = [one]
        for other in samples:
            if one == other:
                line.append("-")
                continue
            novel = kernel_entropic_novelty(
                found[one][0], found[other][0], bandwidth=options.bandwidth, eta=options.eta
            )
            line.append(novel.value)
            if novel.new:
                rows = novel.new[0].top(options.top)
                led.append((one, other, ", ".join(found[one][1][row] for row in rows)))
        numbers = [value for value in line[1:] if not isinstance(value, str)]
        lines.append([*line, float(np.mean(numbers)) if numbers else "-"])
    print(table(("KEN of, against", *samples, "average"), lines))
    if led:
        print("\n" + table(("sample", "against", "lead the first novel mode"), led))
    if options.reference:
        known = found[options.reference.split("=", 1)[0]][0]
        lines = []
        for name in samples:
            own = found[name][0]
            novel = kernel_entropic_novelty(
                own, known, bandwidth=options.bandwidth, eta=options.eta
            )
            lines.append([name, feature_distance(own, known).value, novel.value])
        print("\n" + table(("generator", "FID", "KEN to the training set"), lines))
    print()
    for where in (*places.values(), *([str(options.features)] if options.features else [])):
        print(f"Read: {digest(Path(where))}")


if __name__ == "__main__":
    main()
