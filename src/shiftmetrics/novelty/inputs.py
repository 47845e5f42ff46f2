"""What comes in: two samples, their weights, a kernel and its bandwidth, checked and made into a kernel matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray
from shiftmetrics._core.tables import Align, align_tables
from shiftmetrics._core.validation import (
    check_choice,
    check_directions,
    check_matrix,
    check_number,
    check_same_library,
    check_weights,
    describe,
)
from shiftmetrics.novelty.bandwidth import Bandwidth, median_bandwidth, variance_bandwidth
from shiftmetrics.novelty.gram import FeatureGram, Gram
from shiftmetrics.novelty.kernels import CallableKernel, CosineKernel, GaussianKernel
from shiftmetrics.novelty.precomputed import PrecomputedGram
from shiftmetrics.novelty.subsample import pairs_of

KernelChoice = Literal["gaussian", "cosine", "precomputed"] | Callable[[Any, Any], Any]

_KERNELS = ("gaussian", "cosine", "precomputed")
MAX_ETA = 1e12
"""Beyond it the reference's rounding errors outweigh the test sample."""


def check_eta(eta: Any) -> float:
    """Return the multiplier of the reference as a float from 1 to `MAX_ETA`."""
    checked = check_number(eta, "eta", low=1.0)
    if checked > MAX_ETA:
        raise ValueError(describe("eta", f"at most {MAX_ETA:g}", f"{checked:g}"))
    return checked


def check_kernel(kernel: Any) -> KernelChoice:
    """Return a kernel's name, or the callable."""
    if callable(kernel):
        return kernel  # type: ignore[no-any-return]
    if isinstance(kernel, str) and kernel in _KERNELS:
        return check_choice(kernel, "kernel", _KERNELS)  # type: ignore[return-value]
    listed = ", ".join(repr(name) for name in _KERNELS)
    raise ValueError(describe("kernel", f"one of {listed}, or a function of two arrays", repr(kernel)))


def check_samples(features: Any, reference: Any, kernel: KernelChoice, align: Align) -> tuple[Array, Array]:
    """Return both samples as finite arrays of one library, with at least two rows each and matching columns.

    Raises
    ------
    ValueError, TypeError
        Naming the argument that is not so.
    """
    features, reference = align_tables(features, reference, "features", "reference", align=align, rows=False)
    test = check_matrix(features, "features", min_rows=2)
    base = check_matrix(reference, "reference", min_rows=2)
    check_same_library(test, base, "features", "reference")
    if test.shape[1] != base.shape[1]:
        raise ValueError(
            describe(
                "reference",
                f"of as many columns as features, {test.shape[1]}",
                f"{base.shape[1]}",
                "Compute both by the same features, and drop columns of labels.",
            )
        )
    if kernel == "cosine":
        for array, name in ((test, "features"), (base, "reference")):
            check_directions(array, name)
    return test, base


def shares(weights: Any, argument: str, array: Array) -> FloatArray:
    """Return the weights of the rows of a sample, scaled to sum 1; equal ones by default."""
    n_rows = int(array.shape[0])
    checked = check_weights(weights, argument, n_rows)
    return np.full(n_rows, 1.0 / n_rows) if checked is None else checked / n_rows


def choose_bandwidth(
    bandwidth: Any, kernel: KernelChoice, test: Array, base: Array, *, rng: Any, **weights: Any
) -> tuple[float | None, Bandwidth | None]:
    """Return the bandwidth, and how it was found when a rule found it; None for kernels without one.

    Raises
    ------
    ValueError
        If it is not positive, not a known rule, or given for another kernel than the Gaussian.
    """
    if isinstance(bandwidth, str):
        rule = check_choice(bandwidth, "bandwidth", ("auto", "median"))
        if kernel != "gaussian" and rule == "auto":
            return None, None
    if kernel != "gaussian":
        name = kernel if isinstance(kernel, str) else "a function"
        raise ValueError(
            describe(
                "bandwidth",
                f"left out with kernel={name!r}"
                if isinstance(kernel, str)
                else "left out when kernel is a function",
                repr(bandwidth),
                "Only the Gaussian kernel has one.",
            )
        )
    if not isinstance(bandwidth, str):
        return check_number(bandwidth, "bandwidth", low=0.0, open_low=True), None
    rule_of = variance_bandwidth if bandwidth == "auto" else median_bandwidth
    choice = rule_of(test, base, rng=rng, **weights)
    return choice.value, choice


def make_gram(test: Array, base: Array, kernel: KernelChoice, bandwidth: float | None) -> Gram:
    """Return the joint kernel matrix of two checked samples, of which nothing is computed yet."""
    if kernel == "precomputed":
        return PrecomputedGram(test, base)
    if kernel == "cosine":
        return FeatureGram(test, base, CosineKernel())
    if bandwidth is not None:
        return FeatureGram(test, base, GaussianKernel(bandwidth))
    return FeatureGram(test, base, CallableKernel(kernel))  # type: ignore[arg-type]


def check_pairs(test_weights: FloatArray, reference_weights: FloatArray) -> None:
    """Raise a ValueError if two samples cannot be paired row by row."""
    sizes = (len(test_weights), len(reference_weights))
    expected, remedy = (
        "False unless both samples have as many rows",
        "Give the partner of each row at its place.",
    )
    if sizes[0] != sizes[1]:
        raise ValueError(describe("paired", expected, f"{sizes[0]} and {sizes[1]} rows", remedy))
    n_pairs = len(pairs_of(test_weights, reference_weights))
    if n_pairs < 2:
        expected = "False unless at least 2 pairs have weight in both samples"
        raise ValueError(describe("paired", expected, f"{n_pairs} of them"))
