"""Predictions of two classifiers of handwritten digits, as files to try `diff` on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.files import atomic_path
from shiftmetrics.examples import digits

N_OLD = 300
"""Digits that the old classifier learned from; the new one learned from all of the first half."""


def write_predictions(folder: Path, *, seed: int = 0) -> list[Path]:
    """Write ``old.csv`` and ``new.csv``, probabilities of ten digits for the same images, and ``labels.csv``.

    Returns
    -------
    list of Path
        The files.
    """
    import pandas as pd

    data = digits.split_digits(seed)
    old = digits.fit_classifier(data.train_images[:N_OLD], data.train_labels[:N_OLD])
    new = digits.fit_classifier(data.train_images, data.train_labels)
    names = [f"digit-{row:04d}" for row in range(len(data.test_images))]
    pixels = digits.pixels(data.test_images)
    tables: dict[str, Any] = {}
    for name, model in {"old": old, "new": new}.items():
        probabilities = np.round(model.predict_proba(pixels), 4)
        classes = [str(digit) for digit in model.classes_]
        tables[name] = pd.DataFrame(probabilities, columns=classes)
    tables["labels"] = pd.DataFrame({"label": data.test_labels})
    files = []
    for name, table in tables.items():
        table.insert(0, "image_id", names)
        files.append(folder / f"{name}.csv")
        with atomic_path(files[-1]) as temporary:
            table.to_csv(temporary, index=False)
    return files
