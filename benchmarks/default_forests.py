"""Default forests on 300 to 400 rows: CPU seconds of `model_stability`, beside another build if one is named.

`python benchmarks/default_forests.py --against ../other/src` runs each table with both builds, one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _machine import table
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_classification,
    make_hastie_10_2,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

Task = tuple[str, Any, Any, int]


def tasks() -> Iterator[Task]:
    """Yield names, samples, labels, and how many of them are measured; the others fit the forest."""
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", X[:, :25], y, 350
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes", X, y > 140, 340
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 1]
    yield "digits, 900 rows", X[:900, 20:36], y[:900], 300
    yield "digits", X[:, 10:35], y, 400
    X, y = make_hastie_10_2(1000, random_state=0)
    yield "ten Gaussians", X, y, 400
    for n_rows, n_columns, n_informative, n_classes, seed in (
        (900, 8, 5, 2, 0),
        (900, 20, 8, 3, 1),
        (3400, 25, 12, 2, 3),
        (3400, 12, 6, 4, 4),
    ):
        X, y = make_classification(
            n_rows,
            n_columns,
            n_informative=n_informative,
            n_classes=n_classes,
            flip_y=0.05,
            random_state=seed,
        )
        yield f"clusters, {n_classes} classes", X, y, 400
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 30, (3400, 4))
    numbers = rng.normal(size=(3400, 12)).round(2)
    flags = rng.integers(0, 2, (3400, 4))
    score = counts.sum(axis=1) / 30 + numbers[:, :6].sum(axis=1) + 2 * flags[:, 0] * numbers[:, 1]
    noisy = score + rng.normal(scale=0.7, size=3400)
    yield "counts, numbers, flags", np.hstack([counts, numbers, flags]), noisy > 2.5, 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="the sources of another build")
    parser.add_argument("--task", type=int, help="one table, as JSON")
    chosen = parser.parse_args()
    if chosen.task is not None:
        print(json.dumps(measured(list(tasks())[chosen.task])))
        return
    lines = []
    for place, (name, X, _, n_rows) in enumerate(tasks()):
        one = in_a_process(place, None)
        line = [name, f"{n_rows} x {X.shape[1]}", one["leaves"], one["seconds"], one["kind"]]
        line += [one["value"], one["lower"] / one["value"]]
        if chosen.against is not None:
            other = in_a_process(place, chosen.against)
            line += [
                other["seconds"] / one["seconds"],
                other["value"] / one["value"],
                other["lower"] / one["lower"],
            ]
        lines.append(line)
    heads = ["table", "rows", "leaves of a tree", "s", "kind", "R", "certified / R"]
    if chosen.against is not None:
        heads += ["the other: s / s", "R / R", "certified / certified"]
    print(table(heads, lines))


def in_a_process(place: int, sources: Path | None) -> dict[str, Any]:
    """Return what one table takes in a process of its own, with these sources."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if sources is not None:
        environment["PYTHONPATH"] = str(sources)
    command = [sys.executable, __file__, "--task", str(place)]
    answer = subprocess.run(command, env=environment, capture_output=True, check=True)
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def measured(task: Task) -> dict[str, Any]:
    """Fit a default forest and measure its stability 10 points above its error rate."""
    from shiftmetrics import Computing, model_stability

    warnings.simplefilter("ignore")
    _, X, y, n_rows = task
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=n_rows, random_state=0)
    model = RandomForestClassifier(random_state=0).fit(X_train, y_train)
    start = time.process_time()
    found = model_stability(model, X_test, y_test, computing=Computing(progress=False))
    seconds = time.process_time() - start
    lower = found.lower_bound
    if lower is None:
        lower = found.value
    leaves = [tree.get_n_leaves() for tree in model.estimators_]
    return {
        "seconds": seconds,
        "value": found.value,
        "lower": lower,
        "kind": found.kind,
        "leaves": round(float(np.mean(leaves))),
    }


if __name__ == "__main__":
    main()
