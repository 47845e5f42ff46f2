"""Does the interval of a metric hold? Real pairs of models, and the rivals that people use in its place.

The rows of each pair stand for a population: samples of 200 and 1,000 rows are drawn from them with replacement, and
each interval is asked whether it holds the difference of the metric in all rows. ``normal`` is 1.96 standard errors
of the jackknife, and ``largest`` adds one row on either side with the largest effect seen. The library's adds a row
that becomes right and one that becomes wrong where that moves the metric most. Samples in which the library says that
there are too few rows count for none of them.

    python benchmarks/metric_intervals.py --draws 300
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

import numpy as np
from _machine import header, table
from _metric_pairs import MetricPair, metric_pairs

from shiftmetrics.decisions.labelling.paired_mean import paired_mean_interval
from shiftmetrics.decisions.metrics.effects import (
    ClassInputs,
    MetricEffects,
    effects_on_answers,
    effects_on_probabilities,
)
from shiftmetrics.decisions.metrics.interval import metric_interval, shortage
from shiftmetrics.decisions.metrics.label_sets import effects_on_sets
from shiftmetrics.decisions.metrics.names import AREAS, OF_OUTPUTS, OF_SETS, named_metric
from shiftmetrics.decisions.metrics.outputs import LOGARITHMIC, OutputInputs, effects_on_outputs

SIZES = (200, 1000)
RIVALS = ("library", "normal", "largest")
RATES = ["f1", "jaccard", "precision", "recall"]
AVERAGES = [f"{rate}_{average}" for rate in RATES for average in ("macro", "micro", "weighted")]
CLASSES = [
    *AVERAGES, "accuracy", "balanced_accuracy", "matthews_corrcoef", *AREAS, "top_k_accuracy", "neg_log_loss",
    "neg_brier_score", "d2_log_loss_score", "d2_brier_score",
]  # fmt: skip
METRICS = {
    "two classes": [
        *RATES, "accuracy", "balanced_accuracy", "matthews_corrcoef", "f1_macro", "jaccard_macro", "roc_auc",
        "average_precision", "neg_log_loss", "neg_brier_score", "d2_log_loss_score", "d2_brier_score",
    ],
    "classes": CLASSES,
    "grades": [*CLASSES, "quadratic_kappa"],
    "values": [*OF_OUTPUTS, "neg_mean_pinball_loss@0.9"],
    "sets": list(OF_SETS),
}  # fmt: skip
POSITIVE = ("neg_mean_poisson_deviance", "neg_mean_gamma_deviance", *LOGARITHMIC)
"""Metrics of positive outputs: smaller ones are raised to the least true value, as who ships by them does."""


def effects(pair: MetricPair, name: str, rows: np.ndarray) -> MetricEffects:
    """Return the effects of some rows of a pair."""
    metric = named_metric(name)
    y, old, new = pair.y[rows], pair.old[rows], pair.new[rows]
    if metric.needs == "sets":
        return effects_on_sets(name, y, old, new)
    if metric.needs == "outputs":
        if name in POSITIVE:
            least = pair.y.min()
            old, new = np.maximum(old, least), np.maximum(new, least)
        return effects_on_outputs(metric, OutputInputs(labels=y, old=old, new=new))
    inputs = ClassInputs(
        labels=y, old=old.argmax(axis=1), new=new.argmax(axis=1), n_classes=old.shape[1],
        old_probabilities=old, new_probabilities=new, positive=1,
    )  # fmt: skip
    if metric.needs == "answers":
        return effects_on_answers(metric, inputs)
    return effects_on_probabilities(metric, inputs)


def intervals(found: MetricEffects) -> dict[str, tuple[float, float]]:
    """Return the limits of each rival."""
    ours = metric_interval(found, None, 0.95)
    values = found.difference + found.moved
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    limits = {
        "library": (ours.low, ours.high),
        "normal": (found.difference - half, found.difference + half),
    }
    largest = paired_mean_interval(values, max(float(np.abs(found.moved).max()), 1e-12))
    limits["largest"] = (largest.low, largest.high)
    return limits


def measured(pair: MetricPair, name: str, n: int, draws: int) -> dict[str, float]:
    """Return coverage and mean width of each rival, and how often there are too few rows."""
    rng = np.random.default_rng(n)
    everyone = np.arange(len(pair.y))
    truth = effects(pair, name, everyone).difference
    held: dict[str, list[bool]] = defaultdict(list)
    width: dict[str, list[float]] = defaultdict(list)
    n_few = 0
    for _ in range(draws):
        rows = rng.choice(everyone, n)
        if (
            pair.kind not in ("values", "sets")
            and np.bincount(pair.y[rows], minlength=pair.old.shape[1]).min() < 2
        ):
            n_few += 1
            continue
        found = effects(pair, name, rows)
        if shortage(found, None) is not None:
            n_few += 1
            continue
        limits = intervals(found)
        for rival, (low, high) in limits.items():
            held[rival].append(low <= truth <= high)
            width[rival].append(high - low)
    row = {"few": n_few / draws}
    for rival in held:
        row[rival] = float(np.mean(held[rival]))
        row[f"{rival} width"] = float(np.mean(width[rival]))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--metrics", nargs="*", help="only these; all by default")
    arguments = parser.parse_args()
    print(header())
    start = time.perf_counter()
    pairs = list(metric_pairs())
    few = [pair for pair in pairs if pair.changed <= 0.05]
    print(f"{len(pairs)} pairs of models, {len(few)} of them with at most 5 % of answers changed\n")
    cells: dict[tuple[str, int], list[dict[str, float]]] = defaultdict(list)
    for pair in pairs:
        for name in METRICS[pair.kind]:
            if arguments.metrics and name not in arguments.metrics:
                continue
            for n in SIZES:
                cells[name, n].append(measured(pair, name, n, arguments.draws))
    lines = []
    for (name, n), rows in sorted(cells.items()):
        told = [row for row in rows if row["few"] < 0.9]
        line = [name, f"{n:,}", f"{len(told)} of {len(rows)}"]
        for rival in RIVALS:
            shares = [row[rival] for row in told if rival in row]
            text = f"{min(shares):.3f} / {np.mean(shares):.3f}" if shares else ""
            line.append(text)
        ratios = [
            row["library width"] / row["normal width"] for row in told if row["normal width"] > 0.0
        ]
        line.append(f"{np.median(ratios):.2f}" if ratios else "")
        lines.append(line)
    columns = [
        "metric",
        "n",
        "pairs told",
        *[f"{rival}: least / mean" for rival in RIVALS],
        "width / normal",
    ]
    print(table(columns, lines))
    print(f"\n{arguments.draws} samples a cell, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
