"""CPU seconds of four models that were slow once, beside another build if one is named.

`python benchmarks/model_speed.py --against ../other/src` runs each with both builds, one after the other, each in a
process of its own: the features of a linear model with and without intervals, XGBoost of several classes, a forest
behind an encoder, and a default forest with its certified bound.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _machine import header, table
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

Answer = tuple[float, float | None]
_REPEATS = 3


def split(n_rows: int, n_columns: int, **options: Any) -> tuple[Any, Any, Any, Any]:
    """Return rows and labels to train on, and others."""
    X, y = make_classification(2 * n_rows, n_columns, random_state=0, **options)
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def features_of_linear(resampling: Any) -> Callable[[], Answer]:
    from shiftmetrics import Computing, feature_stability

    X, y, rows, labels = split(10_000, 20, n_informative=8)
    model = LogisticRegression().fit(X, y)
    options = {"resampling": resampling, "computing": Computing(progress=False)}

    def measure() -> Answer:
        return feature_stability(model, rows, labels, 0.2, **options).value, None

    return measure


def stability_of(model: Any, rows: Any, labels: Any) -> Callable[[], Answer]:
    from shiftmetrics import Computing, model_stability

    def measure() -> Answer:
        found = model_stability(model, rows, labels, 0.4, computing=Computing(progress=False))
        return found.value, found.lower_bound

    return measure


def boosted_classes() -> Callable[[], Answer]:
    from xgboost import XGBClassifier

    X, y, rows, labels = split(300, 4, n_informative=4, n_redundant=0, n_classes=3)
    return stability_of(XGBClassifier(n_jobs=1).fit(X, y), rows, labels)


def encoded_forest() -> Callable[[], Answer]:
    X, y, rows, labels = split(400, 6, n_informative=5, n_redundant=0)
    frames = []
    for part in (X, rows):
        frame = pd.DataFrame(part[:, :4], columns=list("abcd"))
        frame["e"] = np.array(list("stuv"))[np.digitize(part[:, 4], [-1.0, 0.0, 1.0])]
        frame["f"] = np.array(list("xyz"))[np.digitize(part[:, 5], [-0.5, 0.5])]
        frames.append(frame)
    encode = make_column_transformer((OneHotEncoder(), ["e", "f"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(8, random_state=0)).fit(frames[0], y)
    return stability_of(model, frames[1], labels)


def default_forest() -> Callable[[], Answer]:
    X, y, rows, labels = split(2000, 76, n_informative=20, n_redundant=10, flip_y=0.05)
    return stability_of(RandomForestClassifier(random_state=0).fit(X, y), rows, labels)


TASKS: dict[str, Callable[[], Callable[[], Answer]]] = {
    "linear, features, intervals, 1e4 x 20": lambda: features_of_linear(0.95),
    "linear, features, 1e4 x 20": lambda: features_of_linear(None),
    "XGBoost, three classes, 300 x 4": boosted_classes,
    "forest of 8 behind an encoder, 400 x 6": encoded_forest,
    "default forest, 2,000 x 76": default_forest,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="the sources of another build")
    parser.add_argument("--task", choices=list(TASKS), help="one of them, as JSON")
    chosen = parser.parse_args()
    if chosen.task is not None:
        print(json.dumps(measured(chosen.task)))
        return
    print(header("xgboost-cpu"))
    lines = []
    for name in TASKS:
        one = in_a_process(name, None)
        line = [name, one["seconds"], one["value"]]
        if chosen.against is not None:
            other = in_a_process(name, chosen.against)
            line += [other["seconds"] / one["seconds"], other["value"] / one["value"]]
            bound = ""
            if one["lower"] is not None and other["lower"] is not None:
                bound = other["lower"] / one["lower"]
            line.append(bound)
        lines.append(line)
    heads = ["model", "s", "R"]
    if chosen.against is not None:
        heads += ["the other: s / s", "R / R", "certified / certified"]
    print(table(heads, lines, title="CPU seconds, the least of three runs"))


def in_a_process(name: str, sources: Path | None) -> dict[str, Any]:
    """Return what one task takes in a process of its own, with these sources."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if sources is not None:
        environment["PYTHONPATH"] = str(sources)
    command = [sys.executable, __file__, "--task", name]
    answer = subprocess.run(command, env=environment, capture_output=True, check=True)
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def measured(name: str) -> dict[str, Any]:
    """Return the least CPU seconds of some runs, the stability and its certified bound."""
    warnings.simplefilter("ignore")
    measure = TASKS[name]()
    seconds = []
    for _ in range(_REPEATS):
        start = time.process_time()
        value, lower = measure()
        seconds.append(time.process_time() - start)
    return {"seconds": min(seconds), "value": value, "lower": lower}


if __name__ == "__main__":
    main()
