"""Several samples by name, in one feature set or several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftmetrics._core.arrays import Array
from shiftmetrics._core.tables import align_tables
from shiftmetrics._core.validation import check_matrix, describe

ONE_SET = "features"
"""Name of the only feature set, where the samples are plain arrays."""


def check_named_samples(samples: Mapping[str, Any]) -> tuple[dict[str, list[Array]], tuple[int, ...]]:
    """Return the arrays of each feature set in the order of the samples, and the rows of each sample."""
    if not isinstance(samples, Mapping) or len(samples) < 2:
        got = f"{len(samples)}" if isinstance(samples, Mapping) else type(samples).__name__
        raise ValueError(describe("samples", "a mapping from names to at least two samples", got))
    nested = [isinstance(sample, Mapping) for sample in samples.values()]
    if any(nested) != all(nested):
        raise ValueError(describe("samples", "all arrays or all mappings of feature sets", "both"))
    by_name = {
        str(name): dict(sample) if all(nested) else {ONE_SET: sample} for name, sample in samples.items()
    }
    first_name, first = next(iter(by_name.items()))
    arrays: dict[str, list[Array]] = {name: [] for name in first}
    sizes = []
    for sample_name, sets in by_name.items():
        argument = f"samples[{sample_name!r}]"
        if set(sets) != set(first):
            expected = f"of the feature sets of {first_name!r}, {sorted(first)}"
            raise ValueError(describe(argument, expected, sorted(sets)))
        for set_name, known in arrays.items():
            name = f"{argument}[{set_name!r}]" if all(nested) else argument
            names = f"samples[{first_name!r}]", name
            _, value = align_tables(first[set_name], sets[set_name], *names, rows=False, option=None)
            known.append(check_matrix(value, name, min_rows=2))
            columns = int(known[0].shape[1])
            if known[-1].shape[1] != columns:
                expected = f"of as many columns as {names[0]}, {columns}"
                raise ValueError(describe(name, expected, f"{known[-1].shape[1]}"))
        counts = {int(known[-1].shape[0]) for known in arrays.values()}
        if len(counts) > 1:
            raise ValueError(describe(argument, "of the same rows in every feature set", sorted(counts)))
        sizes.append(counts.pop())
    return arrays, tuple(sizes)
