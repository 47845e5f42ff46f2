"""Several samples at the door: by name, each in one or more feature sets, and the bandwidths for each set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, take_rows, to_float64
from shiftmetrics._core.tables import align_tables
from shiftmetrics._core.validation import check_matrix, check_number, describe
from shiftmetrics.novelty.bandwidth import variance_bandwidth

FACTORS = (math.sqrt(0.5), 1.0, math.sqrt(2.0))
"""Around the bandwidth of the variance rule, by default."""

ONE_SETTING = "features"
"""Name of the only feature set, where the samples are plain arrays."""


def check_named_samples(samples: Mapping[str, Any]) -> tuple[dict[str, list[Array]], tuple[int, ...]]:
    """Return the arrays of each feature set in the order of the samples, and the rows of each sample."""
    if not isinstance(samples, Mapping) or len(samples) < 2:
        got = f"{len(samples)}" if isinstance(samples, Mapping) else type(samples).__name__
        raise ValueError(describe("samples", "a mapping from names to at least two samples", got))
    nested = [isinstance(sample, Mapping) for sample in samples.values()]
    if any(nested) != all(nested):
        raise ValueError(describe("samples", "all arrays or all mappings of feature sets", "both"))
    by_set = {
        str(name): dict(sample) if all(nested) else {ONE_SETTING: sample} for name, sample in samples.items()
    }
    first_name, first = next(iter(by_set.items()))
    arrays: dict[str, list[Array]] = {name: [] for name in first}
    sizes = []
    for sample_name, sets in by_set.items():
        if set(sets) != set(first):
            raise ValueError(
                describe(
                    f"samples[{sample_name!r}]",
                    f"of the feature sets of {first_name!r}, {sorted(first)}",
                    sorted(sets),
                )
            )
        counts = set()
        for set_name, value in sets.items():
            name = f"samples[{sample_name!r}]" + (f"[{set_name!r}]" if all(nested) else "")
            _, value = align_tables(first[set_name], value, f"samples[{first_name!r}]", name, rows=False)
            array = check_matrix(value, name, min_rows=2)
            known = arrays[set_name]
            if known and known[0].shape[1] != array.shape[1]:
                expected = f"of as many columns as samples[{first_name!r}], {known[0].shape[1]}"
                raise ValueError(describe(name, expected, f"{array.shape[1]}"))
            known.append(array)
            counts.add(int(array.shape[0]))
        if len(counts) > 1:
            raise ValueError(
                describe(f"samples[{sample_name!r}]", "of the same rows in every feature set", sorted(counts))
            )
        sizes.append(counts.pop())
    return arrays, tuple(sizes)


def choose_bandwidths(
    bandwidths: Any, features: dict[str, list[Array]], positions: list[IntArray]
) -> FloatArray:
    """Return the bandwidths of each feature set: (n_sets, n_bandwidths)."""
    if bandwidths is None:
        widths = []
        for arrays in features.values():
            pooled = [
                to_float64(take_rows(array, rows)) for array, rows in zip(arrays, positions, strict=True)
            ]
            best = variance_bandwidth(np.concatenate(pooled)).value
            widths.append([best * factor for factor in FACTORS])
        return np.array(widths)
    given = bandwidths if isinstance(bandwidths, Mapping) else dict.fromkeys(features, bandwidths)
    if set(given) != set(features):
        raise ValueError(
            describe("bandwidths", f"given for {', '.join(features)}", ", ".join(given) or "none")
        )
    rows = [
        [check_number(width, f"bandwidths[{name!r}]", low=0.0, open_low=True) for width in given[name]]
        for name in features
    ]
    if not rows[0] or len({len(row) for row in rows}) > 1:
        raise ValueError(
            describe("bandwidths", "as many, at least one, for each feature set", [len(row) for row in rows])
        )
    return np.array(rows)
