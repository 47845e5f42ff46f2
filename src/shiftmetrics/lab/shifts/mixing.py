"""Partly shifted samples: the shift ratio, and the adversarial ratio by perturbation norm.

Both keep every row in its place, and grow: the rows shifted at a small ratio stay shifted at a larger one.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import array_api_compat
import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, to_float64
from shiftmetrics._core.blocks import map_blocks, row_blocks
from shiftmetrics._core.validation import check_choice, check_number, check_vector, describe
from shiftmetrics.lab.shifts.protocol import ShiftedSample, ShiftStep
from shiftmetrics.lab.shifts.rows import choose_rows, n_rows, rows_differ
from shiftmetrics.lab.shifts.streams import seed_of

Norm = Literal["linf", "l2"]


def mix_by_ratio(shifted: Any, reference: Any = None, *, ratio: float, rng: Any = None) -> ShiftedSample:
    """Shift only a random share of the rows: the shift ratio of Carvalho et al. (arXiv:2503.16271), section 4.2.

    Parameters
    ----------
    shifted : array, DataFrame, list of str or ShiftedSample
        All rows shifted.
    reference : like shifted, optional
        The same rows unshifted, in the same order; not needed for a `ShiftedSample`, which holds it.
    ratio : float
        Share of rows to take from ``shifted``, in [0, 1], rounded to whole rows; 0 returns the reference.
    rng : int, Generator or None
        Which rows. With one seed the rows of a smaller ratio are among those of a larger one.

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
    >>> from shiftmetrics.lab.shifts import mix_by_ratio
    >>> pair = mix_by_ratio(np.ones((10, 2)), np.zeros((10, 2)), ratio=0.3, rng=0)
    >>> int(pair.sample[:, 0].sum())
    3
    """
    shifted, reference, steps = _open(shifted, reference)
    total = _same_rows(shifted, reference)
    count = _row_count(ratio, total)
    seed = seed_of(rng)
    mask = np.zeros(total, dtype=bool)
    mask[np.random.default_rng(seed).permutation(total)[:count]] = True
    step = ShiftStep(what="mix_by_ratio", strength=float(ratio), seed=seed)
    return _mixed(mask, shifted, reference, (*steps, step))


def mix_by_norm(
    adversarial: Any,
    reference: Any = None,
    *,
    ratio: float,
    norm: Norm = "linf",
    norms: Any = None,
) -> ShiftedSample:
    """Attack only the rows that need the least: the adversarial ratio of Carvalho et al., section 4.1.

    A ratio p keeps the attacked rows up to the p-quantile of the perturbation norms, the weakest first, and
    leaves the others as they were. Rows of equal norm are taken in their order.

    Parameters
    ----------
    adversarial : array or ShiftedSample
        All rows attacked.
    reference : array, optional
        The same rows before the attack; not needed for a `ShiftedSample`.
    ratio : float
        Share of rows in [0, 1], rounded to whole rows; 0 returns the reference.
    norm : {"linf", "l2"}, default "linf"
        Norm of a row's perturbation.
    norms : array-like, shape (n_samples,), optional
        The norms themselves, such as the distances an attack returns (infinite where it failed: those come
        last). Replaces ``norm``.

    Returns
    -------
    ShiftedSample

    Raises
    ------
    ValueError
        If the samples do not match, or a positive ratio is too small to attack a single row.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.lab.shifts import mix_by_norm
    >>> pair = mix_by_norm(np.array([[3.0], [1.0], [2.0]]), np.zeros((3, 1)), ratio=1 / 3)
    >>> pair.sample.ravel().tolist()
    [0.0, 1.0, 0.0]
    """
    adversarial, reference, steps = _open(adversarial, reference)
    total = _same_rows(adversarial, reference)
    count = _row_count(ratio, total)
    check_choice(norm, "norm", ("linf", "l2"))
    if norms is None:
        sizes = _row_norms(adversarial, reference, norm)
    else:
        sizes = check_vector(norms, "norms", length=total, low=0.0, allow_inf=True)
    mask = np.zeros(total, dtype=bool)
    mask[np.argsort(sizes, kind="stable")[:count]] = True
    what = f"mix_by_norm({'given norms' if norms is not None else norm})"
    return _mixed(mask, adversarial, reference, (*steps, ShiftStep(what=what, strength=float(ratio))))


def _open(shifted: Any, reference: Any) -> tuple[Any, Any, tuple[ShiftStep, ...]]:
    if isinstance(shifted, ShiftedSample):
        if reference is not None:
            raise TypeError(describe("reference", "left out when shifted is a ShiftedSample", "both"))
        return shifted.sample, shifted.reference, shifted.steps
    if reference is None:
        raise TypeError(describe("reference", "the sample before the shift", "None"))
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
        raise ValueError(describe("shifted", "a sample of at least one row", "0 rows"))
    count = round(share * total)
    if share > 0 and count == 0:
        raise ValueError(
            describe(
                "ratio",
                f"0 or large enough to shift one of {total} rows",
                f"{share:g}",
                f"Use at least {1 / total:g}.",
            )
        )
    return count


def _row_norms(shifted: Any, reference: Any, norm: Norm) -> FloatArray:
    if not (array_api_compat.is_array_api_obj(shifted) or hasattr(shifted, "to_numpy")):
        raise TypeError(describe("adversarial", "an array of numbers", type(shifted).__name__, "Pass norms."))
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


def _mixed(mask: BoolArray, shifted: Any, reference: Any, steps: tuple[ShiftStep, ...]) -> ShiftedSample:
    sample = choose_rows(mask, shifted, reference)
    return ShiftedSample(
        sample=sample,
        reference=reference,
        shifted=rows_differ(sample, reference),
        rows=np.arange(mask.size),
        steps=steps,
    )
