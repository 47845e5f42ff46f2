"""Early stopping on the pictures of WILDS: waterbirds, celebA, camelyon17 (thesis, tables 5.8 to 5.12).

``--data`` is the folder of a task as its archive unpacks. Validation pictures of two domains are paired within a
class by their nearest features; accuracy, AFR_P and agreement watch each training by ERM, IRM and LISA. ``--network
resnet50`` is the thesis' network and needs the package torchvision, with ``--weights`` a file of its parameters
(``resnet50-11ad3fa6.pth``); by default it is the small network of `selection_wilds.py`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from _real import digest, rows, table
from _selection import ERM, IRM, LISA, PENALTY, EarlyStopping, Watch, accuracy, fit, joined, network
from _waterbirds import CRITERIA, Sample, paired
from selection_wilds import CLAIMS
from torch import nn

from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.datasets.dataset import Dataset
from shiftmetrics_lab.learners.selection import predict_scores

METHODS = ("ERM", "IRM", "LISA")


def make_network(kind: str, weights: Path | None, n_classes: int, seed: int) -> nn.Sequential:
    """Return a network whose last module is the linear layer."""
    if kind == "small":
        return network(seed, n_classes=n_classes)
    from torchvision.models import resnet50

    torch.manual_seed(seed)
    full = resnet50()
    if weights is not None:
        full.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    body = nn.Sequential(*list(full.children())[:-1])
    return nn.Sequential(body, nn.Flatten(), nn.Linear(full.fc.in_features, n_classes))


def part(data: Dataset, split: str, domain: int, size: int, n: int, seed: int) -> Sample:
    """Return some pictures of a split and a domain, in [0, 1], with their classes."""
    places = np.flatnonzero((data.split == split) & (data.domain == domain))
    chosen = np.sort(np.random.default_rng(seed).permutation(places)[:n])
    pictures = data.X.read(chosen, size=size)
    x = torch.from_numpy(pictures).permute(0, 3, 1, 2).float().div(255)
    return x, np.asarray(data.y)[chosen]


def parts_of(data: Dataset, split: str, size: int, n: int, seed: int) -> list[Sample]:
    """Return a split by domain, of those that have rows there."""
    domains = sorted(set(np.asarray(data.domain)[data.split == split].tolist()))
    return [part(data, split, domain, size, n, seed) for domain in domains]


def held_out(sources: list[Sample]) -> tuple[list[Sample], list[Sample]]:
    """Return a fifth of the rows of each domain, and the others; rows of a part come in no order of their classes."""
    first, others = [], []
    for x, y in sources:
        order = torch.from_numpy(np.random.default_rng(len(y)).permutation(len(y)))
        few = len(y) // 5
        first.append((x[order[:few]], y[order[:few]]))
        others.append((x[order[few:]], y[order[few:]]))
    return first, others


def train(
    model: nn.Sequential, sources: list[Sample], pairs: tuple[Sample, Sample], tests: list[Sample],
    method: str, seed: int, epochs: int,
) -> dict:  # fmt: skip
    """Train on the domains; return the best epoch of each criterion."""
    x, y = joined(sources)
    found = fit(
        model, x, torch.from_numpy(y),
        objective=IRM(penalty=PENALTY, warmup=epochs // 3) if method == "IRM" else ERM(),
        transform=LISA(n_classes=model[-1].out_features) if method == "LISA" else None,
        domain=np.repeat(range(len(sources)), [len(labels) for _, labels in sources]),
        stopping=EarlyStopping(score=Watch({"all": pairs}, tests).criteria(), patience=epochs),
        epochs=epochs, batch_size=32, optimizer=3e-3, rng=seed, progress=False,
    )  # fmt: skip
    return found.best


def one_seed(data: Dataset, options: argparse.Namespace, seed: int) -> np.ndarray:
    """Return average and worst accuracy in points, by method, criterion and these two."""
    read = {
        split: parts_of(data, split, options.size, options.n, seed)
        for split in ("train", "val", "test")
    }
    # camelyon17 validates on one hospital of its own, which has no partner: a fifth of the sources does, held out
    if len(read["val"]) < 2:
        read["val"], read["train"] = held_out(read["train"])
    groups = [
        (x[torch.from_numpy(y == label)], y[y == label])
        for x, y in read["test"]
        for label in sorted(set(y.tolist()))
    ]
    table_of_seed = []
    for method in METHODS:
        model = make_network(options.network, options.weights, len(data.class_names), seed)
        same = (read["val"][0],) * 2
        train(model, read["train"], same, groups, method, seed, 1)
        pairs = paired(model, read["val"][0], read["val"][1])
        model = make_network(options.network, options.weights, len(data.class_names), seed)
        best = train(model, read["train"], pairs, groups, method, seed, options.epochs)
        line = []
        for criterion in CRITERIA:
            model.load_state_dict(best[f"all {criterion}"].state)
            right = [100 * accuracy(predict_scores(model, x), y) for x, y in groups]
            line.append((np.average(right, weights=[len(y) for _, y in groups]), min(right)))
        table_of_seed.append(line)
    return np.array(table_of_seed)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", required=True, choices=("waterbirds", "celeba", "camelyon17"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--network", default="small", choices=("small", "resnet50"))
    parser.add_argument("--weights", type=Path)
    parser.add_argument(
        "--size", type=int, default=224, help="side of the pictures (thesis: 224; 96)"
    )
    parser.add_argument(
        "--n", type=int, default=10**9, help="at most so many of a split and domain"
    )
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args(arguments)
    # The groups of celebA are those of hair and gender.
    extra = {"domain": "gender"} if options.task == "celeba" else {}
    data = load(options.task, options.data, progress=False, **extra)
    tables = np.array([one_seed(data, options, seed) for seed in range(options.seeds)])
    runs = []
    for mean, worst in zip(tables[..., 0], tables[..., 1], strict=True):
        runs.append({
            "average": float((mean[:2, 2] - mean[:2, 0]).mean()),
            "worst": float((worst[:2, 2] - worst[:2, 0]).mean()),
            "over_rates": float((worst[:2, 2] - worst[:2, 1]).mean()),
            "irm": float(worst[1, 2] - worst[0, 2]),
        })  # fmt: skip
    claims = {key: CLAIMS[key] for key in runs[0]}
    print(rows("selection_wilds", claims, runs, f"{options.task}, {options.network} network"))
    head = ["", *(f"{what}, by {one}" for what in ("average", "worst group") for one in CRITERIA)]
    lines = [
        [method, *tables[:, place, :, 0].mean(axis=0), *tables[:, place, :, 1].mean(axis=0)]
        for place, method in enumerate(METHODS)
    ]
    print("\n" + table(head, lines) + "\n")
    print(f"Read: {digest(options.data)}")


if __name__ == "__main__":
    main()
