"""Table 1 of the paper beside ours: what each criterion gains over validation accuracy on test set 1, by design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

PRINTED = {
    "ERM": {
        "ZGO": ("53.2", "±0.01"),
        "1-CGO": ("62.9", "+9.5"),
        "2-CGO": ("69.1", "+9.4"),
        "3-CGO": ("73.1", "+16.6"),
        "ZSO": ("99.6", "±0.01"),
    },
    "IRM": {
        "ZGO": ("50.1", "+5.9"),
        "1-CGO": ("63.0", "+7.0"),
        "2-CGO": ("69.0", "+10.6"),
        "3-CGO": ("79.5", "+11.6"),
        "ZSO": ("99.4", "+0.1"),
    },
}
"""Accuracy by validation accuracy and what agreement gains, by method and design: tied hue, test set 1."""

CRITERIA = {
    "published": "agreement, as published",
    "agreement": "exact, uniform prior",
    "predicted": "exact, predicted prior",
    "afr_p": "AFR_P",
    "last": "last epoch",
    "oracle": "best by the test set",
}


def above_printed(gain: Sequence[float], designs: Sequence[str]) -> dict[str, float]:
    """Return what ERM gains at each design with some overlap, minus the printed gain, in points."""
    return {
        design: float(value) - float(PRINTED["ERM"][design][1])
        for design, value in zip(designs, gain, strict=True)
        if design.endswith("CGO")
    }


def table(record: Mapping[str, Any]) -> str:
    """Return a table in Markdown of the kept runs of `selection_overlap`, tied hue."""
    runs = record["runs"]
    head = ["", "printed: accuracy", "gain", "ours: accuracy", *CRITERIA.values()]
    lines = [
        f"Table 1, printed and ours ({len(runs)} seeds): tied hue, test set 1, in points. The columns after our "
        "accuracy are what a criterion gains over it, with 95 % intervals. Where the hue alone gives the digit (ZGO) "
        "our networks read the hue alone, which test set 1 turns against them; the printed ones read some shape.\n",
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
    ]
    for row, (method, printed) in enumerate(PRINTED.items()):
        for column, design in enumerate(runs[0]["designs"]):
            accuracy = np.mean([one["accuracy"][0][row][column][1] for one in runs])
            gains = [
                _interval([one["criteria"][name][0][row][column] for one in runs])
                for name in CRITERIA
            ]
            cells = [f"{method}, {design}", *printed[design], f"{accuracy:.1f}", *gains]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _interval(values: list[float]) -> str:
    mean = np.mean(values)
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return f"{mean:+.1f} [{mean - half:.1f}, {mean + half:.1f}]"
