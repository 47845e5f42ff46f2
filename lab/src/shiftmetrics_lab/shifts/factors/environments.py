"""Samples of factor images: disjoint digits for training and testing, and the same digits in several environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray, as_array, to_numpy
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_integer, check_number, seed_of
from shiftmetrics_lab.shifts.factors.render import factor_values, render_factors
from shiftmetrics_lab.shifts.factors.spec import FactorSpec
from shiftmetrics_lab.shifts.streams import child_seed


@dataclass(frozen=True, eq=False, kw_only=True)
class FactorSample:
    """Factor images with what is known about each.

    Attributes
    ----------
    images : ndarray of uint8, shape (n_images, size, size, 3)
    labels : ndarray of int, shape (n_images,)
        The digit: the shape factor.
    instances : ndarray of int, shape (n_images,)
        Which of the given digits each image shows.
    factors : dict
        For each factor the values, shape (n_images,).
    seed : int
        The seed of the drawing.
    """

    images: npt.NDArray[np.uint8]
    labels: IntArray
    instances: IntArray
    factors: Mapping[str, npt.NDArray[Any]]
    seed: int

    def to_frame(self) -> Any:
        """Return a DataFrame with a row for each image: label, instance and factors."""
        import pandas as pd

        return pd.DataFrame({"label": self.labels, "instance": self.instances, **self.factors})


def split_instances(
    labels: Any,
    sizes: Mapping[str, float],
    *,
    shape: Sequence[int] | None = None,
    rng: Any = None,
) -> dict[str, IntArray]:
    """Split digits into disjoint parts of the same class composition, to within two digits of each class.

    Parameters
    ----------
    labels : array-like, shape (n_digits,)
        The digit that each image shows.
    sizes : mapping
        Size of each part by name: integers of digits, or fractions (float) of all that there are.
    shape : sequence of int, optional
        The digits to keep. Default: all.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    dict of ndarray
        For each part the positions of its digits; no position occurs twice.

    Raises
    ------
    ValueError
        If the parts need more digits than there are, or a digit of ``shape`` does not occur.

    Examples
    --------
    >>> from shiftmetrics_lab.shifts.factors.environments import split_instances
    >>> parts = split_instances([4, 9] * 50, {"train": 0.6, "test": 20}, rng=0)
    >>> len(parts["train"]), len(parts["test"]), len(set(parts["train"]) & set(parts["test"]))
    (60, 20, 0)
    """
    known = check_labels(labels)
    kept = np.arange(known.size) if shape is None else np.flatnonzero(np.isin(known, list(shape)))
    missing = [] if shape is None else [digit for digit in shape if digit not in known]
    if missing:
        raise ArgumentValueError("shape", f"among the labels {np.unique(known).tolist()}", missing)
    if not sizes:
        raise ArgumentValueError("sizes", "a mapping of at least one part", "none")
    counts = [_part_size(size, name, kept.size) for name, size in sizes.items()]
    if sum(counts) > kept.size:
        expected = f"at most {kept.size} digits in all"
        raise ArgumentValueError("sizes", expected, sum(counts), "Make the parts smaller.")
    order = kept[_stratified_order(known[kept], np.random.default_rng(seed_of(rng)))]
    ends = np.cumsum(counts)
    return {
        name: order[end - count : end]
        for name, count, end in zip(sizes, counts, ends.tolist(), strict=True)
    }


def factor_environments(
    digits: Any,
    labels: Any,
    environments: Sequence[FactorSpec | Mapping[str, Any]],
    *,
    instances: Any = None,
    same_instances: bool = True,
    size: int = 128,
    jitter: float = 1.0,
    rng: Any = None,
    progress: bool = True,
) -> tuple[FactorSample, ...]:
    """Draw digits in several environments, row by row of the same digit or at least of the same class.

    Parameters
    ----------
    digits : ndarray, shape (n_digits, height, width)
        Bright grey digits on black, uint8 or floating from 0 to 1.
    labels : array-like of int, shape (n_digits,)
        The digit that each image shows.
    environments : sequence of FactorSpec or of mappings
        The environments, such as ``ENVIRONMENTS["discriminability"]``. Only digits in their ``shape`` are drawn. A
        mapping gives for each factor the value of each row (see `uncorrelated_factors`).
    instances : array-like of int, optional
        Positions of the digits to draw, such as a part of `split_instances`. Default: all of the right shape.
    same_instances : bool, default True
        True: row i shows the same digit in every environment, with the same jitter, so that the factors are the
        only difference. False: row i shows the same class but another digit in every environment (the digits are
        split, and those left over are not drawn).
    size, jitter, rng, progress
        As in `render_factors`.

    Returns
    -------
    tuple of FactorSample
        One for each environment.

    Raises
    ------
    ValueError
        If there is no environment, their shapes differ, or there are too few digits.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shiftmetrics_lab.shifts.factors import ENVIRONMENTS, factor_environments
    >>> bunch = load_digits()
    >>> samples = factor_environments(
    ...     bunch.images / 16, bunch.target, ENVIRONMENTS["discriminability"], instances=range(40), rng=0
    ... )
    >>> len(samples), bool((samples[0].instances == samples[5].instances).all())
    (6, True)
    """
    if not len(environments):
        raise ArgumentValueError("environments", "at least one environment", "none")
    known = check_labels(labels)
    if len(digits) != known.size:
        expected = f"of length {len(digits)}, one for each digit"
        raise ArgumentValueError("labels", expected, f"length {known.size}")
    drawn = instances_to_draw(known, environments, instances)
    seed = seed_of(rng)
    if same_instances:
        dealt = [drawn] * len(environments)
        seeds = [seed] * len(environments)
    else:
        dealt = deal_by_class(drawn, known, len(environments), rng=seed)
        seeds = [child_seed(seed, position) for position in range(len(environments))]
    if not dealt[0].size:
        raise ArgumentValueError(
            "instances", "digits enough for every environment", f"{drawn.size}"
        )
    return tuple(
        draw_sample(
            digits, known, rows, environment, size=size, jitter=jitter, seed=own, progress=progress
        )
        for rows, environment, own in zip(dealt, environments, seeds, strict=True)
    )


def draw_sample(
    digits: Any,
    labels: IntArray,
    instances: IntArray,
    factors: FactorSpec | Mapping[str, Any],
    *,
    size: int,
    jitter: float,
    seed: int,
    progress: bool,
) -> FactorSample:
    """Draw the digits at ``instances`` with these factors."""
    images = render_factors(
        np.asarray(digits)[instances],
        factors,
        size=size,
        jitter=jitter,
        rng=seed,
        progress=progress,
    )
    return FactorSample(
        images=images,
        labels=labels[instances],
        instances=instances,
        factors=factor_values(factors, len(images)),
        seed=seed,
    )


def deal_by_class(
    instances: IntArray, labels: IntArray, n_hands: int, *, rng: Any
) -> list[IntArray]:
    """Deal digits out to ``n_hands`` equal hands whose rows i all show one class; digits left over stay out."""
    generator = np.random.default_rng(rng)
    shuffled = generator.permutation(instances)
    by_class = [shuffled[labels[shuffled] == digit] for digit in np.unique(labels[instances])]
    dealt = np.concatenate(
        [rows[: rows.size // n_hands * n_hands].reshape(-1, n_hands) for rows in by_class], axis=0
    )
    return list(generator.permutation(dealt, axis=0).T)


def instances_to_draw(
    labels: IntArray, environments: Sequence[FactorSpec | Mapping[str, Any]], instances: Any
) -> IntArray:
    """Return the positions of the digits to draw."""
    shapes = {spec.shape for spec in environments if isinstance(spec, FactorSpec)}
    if len(shapes) > 1:
        raise ArgumentValueError(
            "environments", "of one shape", " and ".join(map(str, sorted(shapes)))
        )
    if instances is None:
        rows = np.arange(labels.size)
    else:
        rows = to_numpy(
            as_array(list(instances) if isinstance(instances, range) else instances, "instances")
        )
        if (
            rows.ndim != 1
            or rows.dtype.kind not in "iu"
            or not ((rows >= 0) & (rows < labels.size)).all()
        ):
            expected = f"positions from 0 to {labels.size - 1}"
            raise ArgumentValueError("instances", expected, f"{rows.dtype} {rows.shape}")
    shape = shapes.pop() if shapes else ()
    chosen = rows[np.isin(labels[rows], shape)] if shape else rows
    return np.asarray(chosen, dtype=np.int64)


def _stratified_order(labels: IntArray, generator: np.random.Generator) -> IntArray:
    """Return a random order in which every stretch holds the classes in their overall shares."""
    ranks: FloatArray = np.empty(labels.size)
    for digit in np.unique(labels):
        members = generator.permutation(np.flatnonzero(labels == digit))
        # The members of a class stand evenly spaced on [0, 1).
        ranks[members] = (np.arange(members.size) + generator.random()) / members.size
    return np.argsort(ranks, kind="stable")


def _part_size(size: float, name: str, total: int) -> int:
    if isinstance(size, float):
        return round(check_number(size, f"sizes[{name!r}]", low=0.0, high=1.0) * total)
    return check_integer(size, f"sizes[{name!r}]", low=0)


def check_labels(labels: Any) -> IntArray:
    """Return ``labels`` as a list of integers, or raise a ValueError."""
    known = to_numpy(as_array(labels, "labels"))
    if known.ndim != 1 or known.dtype.kind not in "iu" or not known.size:
        got = f"shape {known.shape} of {known.dtype}"
        raise ArgumentValueError("labels", "a list of digits (integers)", got)
    return known.astype(np.int64)
