"""Attacks on the papers' own networks: CIFAR-10 (figures 3 to 6, 9 and 14 to 16) and ImageNet (figures 17 and 18).

``--model NAME=WHERE``, once for each model: WHERE is a TorchScript file (``torch.jit.save``) that maps pictures in
[0, 1] to logits, or ``robustbench:ID``, which needs the package robustbench and its hub. JPEG with a reverse sigmoid
is put before ``--weak NAME`` of them, as the papers' weak defence. ``--data`` is a folder of CIFAR-10 (binary, Python
or PNG version), or with ``--size`` a folder of class folders, such as the validation pictures of ImageNet.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _real import digest, in_batches, picture_files, read_pictures, rows, scripted, table
from attacks_pgd import CLAIMS

from shiftmetrics import posterior_agreement
from shiftmetrics.attacks import AttackOptions
from shiftmetrics.attacks.nearest import fmn, search_nearest
from shiftmetrics.attacks.search import run_search
from shiftmetrics_lab.attacks import apgd, pgd
from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.shifts.defences import JPEGDefence, ReverseSigmoid

OPTIONS = AttackOptions(bounds=(0, 1))


def read_model(where: str) -> torch.nn.Module:
    """Return a network from a TorchScript file, or from RobustBench."""
    if where.startswith("robustbench:"):
        from robustbench.utils import load_model

        name = where.removeprefix("robustbench:")
        return load_model(model_name=name, dataset="cifar10", threat_model="Linf").eval()
    return scripted(Path(where))


def read_data(folder: Path, n: int, size: int | None, seed: int) -> tuple[torch.Tensor, np.ndarray]:
    """Return some pictures in [0, 1] with their classes: of CIFAR-10, or of the class folders below a folder."""
    rng = np.random.default_rng(seed)
    if size is None:
        data = load("cifar10", folder, split="test")
        chosen = rng.permutation(len(data.y))[:n]
        pictures = np.asarray(data.X)[chosen]
        scale = 255.0 if pictures.dtype == np.uint8 else 1.0
        x = torch.from_numpy(pictures.astype(np.float32) / scale).permute(0, 3, 1, 2)
        return x.contiguous(), np.asarray(data.y)[chosen]
    files = picture_files(folder)
    classes = sorted({file.parent.name for file in files})
    chosen = [files[place] for place in rng.permutation(len(files))[:n]]
    labels = np.array([classes.index(file.parent.name) for file in chosen])
    return read_pictures(chosen, size), labels


def attack(
    kind: str, model: Any, x: torch.Tensor, labels: np.ndarray, power: float, n_steps: int
) -> torch.Tensor:
    """Return the attacked pictures."""
    y = torch.from_numpy(labels)
    if kind == "fmn":
        search = search_nearest(fmn, n_steps=n_steps)
        found = run_search(search, model, x, y, name="fmn", norm="linf", options=OPTIONS, push=True)
        return found.x_adv
    within = {"strength": power / 255, "n_steps": n_steps, "options": OPTIONS}
    if kind == "pgd":
        return pgd(model, x, y, **within).x_adv
    return apgd(model, x, y, loss=kind.removeprefix("apgd-"), **within).x_adv


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", action="append", required=True, metavar="NAME=WHERE")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--undefended", required=True, help="NAME of the undefended network")
    parser.add_argument("--robust", required=True, help="NAME of the robust network")
    parser.add_argument("--weak", help="NAME before which JPEG and a reverse sigmoid are put")
    parser.add_argument("--attack", default="pgd", choices=("pgd", "apgd-ce", "apgd-dlr", "fmn"))
    parser.add_argument("--powers", type=float, nargs="+", default=[2, 4, 8, 16, 32], help="/255")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--size", type=int, help="side of the pictures of class folders")
    parser.add_argument("--batch-size", type=int, default=250)
    parser.add_argument("--seeds", type=int, default=1, help="samples of pictures")
    options = parser.parse_args(arguments)
    named = dict(one.split("=", 1) for one in options.model)
    for name in filter(None, (options.undefended, options.robust, options.weak)):
        if name not in named:
            parser.error(f"there is no --model {name}=..., but of {', '.join(named)}")
    networks = {name: read_model(where) for name, where in named.items()}
    if options.weak:
        networks["weak"] = ReverseSigmoid(JPEGDefence(networks[options.weak]))
    powers = options.powers if options.attack != "fmn" else [0.0]
    runs, lines = [], []
    for seed in range(options.seeds):
        x, labels = read_data(options.data, options.n, options.size, seed)
        agreement: dict[str, list[float]] = {name: [] for name in networks}
        for name, model in networks.items():
            before = in_batches(model, x, options.batch_size)
            for power in powers:
                parts = zip(
                    x.split(options.batch_size),
                    np.split(labels, range(options.batch_size, len(labels), options.batch_size)),
                    strict=True,
                )
                moved = [
                    attack(options.attack, model, *part, power, options.steps) for part in parts
                ]
                after = in_batches(model, torch.cat(moved), options.batch_size)
                found = posterior_agreement(after, before)
                agreement[name].append(found.value)
                same = float((after.argmax(axis=1) == before.argmax(axis=1)).mean())
                right = float((after.argmax(axis=1) == labels).mean())
                shown = name, f"{power:g}/255", found.value, found.value * len(x), found.beta
                lines.append((f"{seed}", *shown, same, right))
        values = {name: np.array(one) for name, one in agreement.items()}
        least = values[options.robust] - values[options.undefended]
        run = {"separates": float(least.min())}
        if len(powers) > 1:
            run["power"] = float(np.diff(values[options.undefended]).mean())
        if options.weak:
            run["weak"] = float((values[options.robust] - values["weak"]).min())
        runs.append(run)
    claims = {key: CLAIMS[key] for key in runs[0]}
    size = f"{len(labels):,} pictures of {options.data.name}, {options.attack}"
    print(rows("attacks_pgd", claims, runs, size))
    head = ("seed", "model", "power", "PA, nats a row", "PA, nats", "beta*", "AFR_P", "AFR_T")
    print("\n" + table(head, lines) + "\n")
    for where in (*named.values(), str(options.data)):
        print(f"Read: {where if where.startswith('robustbench:') else digest(Path(where))}")


if __name__ == "__main__":
    main()
