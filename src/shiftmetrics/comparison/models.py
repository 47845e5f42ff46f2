"""What all comparisons do with models by name: check the names, the rows, and measure one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError, error_at
from shiftmetrics._core.options import Computing, check_computing, progress_bar


def model_names(mapping: Any, argument: str) -> list[str]:
    """Return the names of at least two models."""
    if not isinstance(mapping, Mapping):
        raise ArgumentTypeError(
            argument, "a mapping from the names of models", type(mapping).__name__
        )
    if len(mapping) < 2:
        raise ArgumentValueError(argument, "of at least two models", len(mapping))
    for name in mapping:
        if not isinstance(name, str):
            raise ArgumentTypeError(argument, "a mapping whose keys are strings", value=name)
    return list(mapping)


def check_sizes(argument: str, sizes: Mapping[str, int]) -> None:
    """Refuse models of different rows."""
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{size} for {name!r}" for name, size in sizes.items())
        raise ArgumentValueError(argument, "the same rows for all models", got, verb="have")


def measure_each(
    names: list[str],
    measure: Callable[[str, Computing], Any],
    computing: Computing | None,
    thing: str = "Model",
) -> dict[str, Any]:
    """Measure each model, with one progress bar for all; an error names its model."""
    computing = check_computing(computing)
    # One bar over models, in place of one for each of them.
    inner = replace(computing, progress=False)
    results = {}
    for name in progress_bar(computing.progress, thing.lower(), over=names):
        try:
            results[name] = measure(name, inner)
        except (TypeError, ValueError) as error:
            raise error_at(error, f"{thing} {name!r}") from error
    return results
