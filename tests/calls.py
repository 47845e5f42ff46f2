"""Calls with all options as plain keywords, for tests that vary many of them."""

from dataclasses import replace
from typing import Any

from shiftmetrics import Computing
from shiftmetrics.novelty import (
    FourierMap,
    LandmarkMap,
    NoveltyResampling,
    NoveltyResult,
    kernel_entropic_novelty,
)

RESAMPLING = ("n_permutations", "max_rows", "paired", "level", "n_draws", "held_out", "rng")
COMPUTING = ("rtol", "memory_limit", "executor")
MAPS = {
    "fourier": (FourierMap, ("n_frequencies", "score_rows")),
    "landmarks": (LandmarkMap, ("n_landmarks",)),
}


def novelty(features: Any, reference: Any, **options: Any) -> NoveltyResult:
    """Return `kernel_entropic_novelty`, without progress bars; sizes of a map go to the route that has one."""
    resampling, computing = (
        {name: options.pop(name) for name in names if name in options} for names in (RESAMPLING, COMPUTING)
    )
    sizes = {name: options.pop(name) for _, names in MAPS.values() for name in names if name in options}
    if options.get("method") in MAPS:
        kind, names = MAPS[options["method"]]
        chosen = {name: sizes[name] for name in names if name in sizes}
        options["method"] = kind(**chosen) if chosen else options["method"]
    return kernel_entropic_novelty(
        features,
        reference,
        resampling=NoveltyResampling(**resampling),
        computing=Computing(progress=False, **computing),
        **options,
    )


def both_ways(features: Any, reference: Any, **options: Any) -> NoveltyResult:
    """Return the novelty, with that of the reference against the sample beside it at any eta."""
    swapped = dict(options)
    names = ("sample_weight", "reference_weight")
    weights = [swapped.pop(name, None) for name in names]
    swapped.update(zip(names, weights[::-1], strict=True))
    result, other = novelty(features, reference, **options), novelty(reference, features, **swapped)
    return replace(
        result,
        reverse=other.value,
        reverse_error_bound=other.error_bound,
        reverse_eigenvalues=other.eigenvalues,
        reverse_null=other.null,
    )
