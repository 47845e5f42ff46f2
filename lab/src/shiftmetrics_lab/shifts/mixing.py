"""Partly shifted samples: by a random fraction of the rows, or by the norm of their perturbation."""

from __future__ import annotations

import math
from typing import Any

import array_api_compat
import numpy as np

from shiftmetrics._core.arrays import FloatArray, to_float64
from shiftmetrics._core.blocks import map_blocks, row_blocks
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.validation import (
    check_choice,
    check_number,
    check_vector,
    seed_of,
)
from shiftmetrics_lab.shifts.protocol import ShiftedSample, ShiftStep
from shiftmetrics_lab.shifts.rows import choose_rows, n_rows, rows_differ


def mix(
    shifted: Any, reference: Any = None, *, ratio: float, by: Any = "random", rng: Any = None
) -> ShiftedSample:
    """Shift only a fraction of the rows, drawn at random or those that need the least.

    Every row keeps its place, and the rows of a smaller ratio are among those of a larger one.

    Parameters
    ----------
    shifted : array, DataFrame, list of str or ShiftedSample
        All rows shifted.
    reference : like shifted, optional
        The same rows unshifted, in the same order; not needed for a `ShiftedSample`, which holds it.
    ratio : float
        Fraction of rows to take from ``shifted``, in [0, 1], rounded to whole rows; 0 returns the reference.
    by : {"random", "linf", "l2"} or array of shape (n_samples,), default "random"
        Which rows. "random" is the shift ratio of Carvalho et al. (arXiv:2503.16271), section 4.2. "linf" and "l2"
        take the rows of the smallest perturbation in that norm first, their adversarial ratio, section 4.1; an
        array gives the norms themselves, such as the distances that an attack returns (infinite where it failed:
        those come last). Rows of equal norm are taken in their order.
    rng : int, Generator or None
        Seed of the random rows.

    Returns
    -------
    ShiftedSample

    Raises
    ------
    ValueError
        If the samples do not match, or a positive ratio is too small to shift a single row.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.shifts import mix
    >>> int(mix(np.ones((10, 2)), np.zeros((10, 2)), ratio=0.3, rng=0).sample[:, 0].sum())
    3
    >>> mix(np.array([[3.0], [1.0], [2.0]]), np.zeros((3, 1)), ratio=1 / 3, by="linf").sample.ravel().tolist()
    [0.0, 1.0, 0.0]
    """
    shifted, reference, steps = _open(shifted, reference)
    total = _same_rows(shifted, reference)
    count = _row_count(ratio, total)
    mask = np.zeros(total, dtype=bool)
    seed = None
    if isinstance(by, str) and by == "random":
        seed = seed_of(rng)
        mask[np.random.default_rng(seed).permutation(total)[:count]] = True
    else:
        if isinstance(by, str):
            norms = _row_norms(shifted, reference, check_choice(by, "by", ("random", "linf", "l2")))
        else:
            norms = check_vector(by, "by", length=total, low=0.0, allow_inf=True)
        mask[np.argsort(norms, kind="stable")[:count]] = True
    what = f"mix(by={by if isinstance(by, str) else 'given norms'})"
    sample = choose_rows(mask, shifted, reference)
    return ShiftedSample(
        sample=sample,
        reference=reference,
        shifted=rows_differ(sample, reference),
        rows=np.arange(total),
        steps=(*steps, ShiftStep(what=what, strength=float(ratio), seed=seed)),
    )


def _open(shifted: Any, reference: Any) -> tuple[Any, Any, tuple[ShiftStep, ...]]:
    if isinstance(shifted, ShiftedSample):
        if reference is not None:
            raise ArgumentTypeError("reference", "left out when shifted is a ShiftedSample", "both")
        return shifted.sample, shifted.reference, shifted.steps
    if reference is None:
        raise ArgumentTypeError("reference", "the sample before the shift", "None")
    return shifted, reference, ()


def _same_rows(shifted: Any, reference: Any) -> int:
    if n_rows(shifted) != n_rows(reference):
        raise ValueError(
            "shifted and reference must have the same number of rows, "
            f"got {n_rows(shifted)} and {n_rows(reference)}."
        )
    return n_rows(shifted)


def _row_count(ratio: float, total: int) -> int:
    share = check_number(ratio, "ratio", low=0.0, high=1.0)
    if total == 0:
        raise ArgumentValueError("shifted", "a sample of at least one row", "0 rows")
    count = round(share * total)
    if share > 0 and count == 0:
        expected = f"0 or large enough to shift one of {total} rows"
        raise ArgumentValueError("ratio", expected, f"{share:g}", f"Use at least {1 / total:g}.")
    return count


def _row_norms(shifted: Any, reference: Any, norm: str) -> FloatArray:
    if not (array_api_compat.is_array_api_obj(shifted) or hasattr(shifted, "to_numpy")):
        raise ArgumentTypeError(
            "shifted", "an array of numbers", type(shifted).__name__, "Pass the norms."
        )
    if hasattr(shifted, "to_numpy"):
        shifted, reference = shifted.to_numpy(), reference.to_numpy()
    row_bytes = 8 * math.prod(shifted.shape[1:])

    def row_norms(rows: slice) -> FloatArray:
        difference = to_float64(shifted[rows]) - to_float64(reference[rows])
        flat = difference.reshape(len(difference), -1)
        if norm == "linf":
            return np.asarray(np.abs(flat).max(axis=1, initial=0.0))
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", flat, flat)))

    return np.concatenate(list(map_blocks(row_norms, row_blocks(shifted.shape[0], row_bytes))))
