"""Modes on rows that had no say in finding them: whether they are more than eta times as frequent.

A relabelling of rows tells whether two samples are of one distribution, and nothing about eta. So the modes are found
on one part of the rows, and counted on the other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics._core.confidence import rate_ratio_low, rate_ratio_p_value
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_number, check_rng, describe
from shiftmetrics.novelty.confirmed import ConfirmedModes, ConfirmedModesStatus, ModeTest
from shiftmetrics.novelty.entropic import kernel_entropic_novelty
from shiftmetrics.novelty.gram import rows_at
from shiftmetrics.novelty.groups import ModeGroup, group_modes
from shiftmetrics.novelty.inputs import (
    KernelChoice,
    check_eta,
    check_kernel,
    check_pairs,
    check_samples,
    shares,
)
from shiftmetrics.novelty.modes import MEMBERSHIP, N_EXEMPLARS, Mode
from shiftmetrics.novelty.subsample import pairs_of

LEAST_ROWS = 4
"""Two to find modes on, and two to count them on."""

_TYPICAL = 10


def confirm_modes(
    features: Any,
    reference: Any,
    *,
    eta: float = 1.0,
    kernel: KernelChoice = "gaussian",
    found_on: float = 0.5,
    grouped: bool = True,
    confidence_level: float = 0.95,
    sample_weight: Any = None,
    reference_weight: Any = None,
    paired: bool = False,
    align: Align = "labels",
    rng: Any = None,
    **options: Any,
) -> ConfirmedModes:
    """Find modes on one part of the rows, and test on the others whether they are more than eta times as frequent.

    Parameters
    ----------
    features : array or DataFrame of shape (n_samples, n_columns)
        The sample under test.
    reference : array or DataFrame of shape (n_reference, n_columns)
        The reference.
    eta : float, default 1.0
        How many times as frequent as in the reference counts as new; at least 1.
    kernel : {"gaussian", "cosine", "precomputed"} or callable, default "gaussian"
        As for `kernel_entropic_novelty`.
    found_on : float, default 0.5
        Share of the rows of each sample that modes are looked for in.
    grouped : bool, default True
        Whether to put modes of one kind together, as `group_modes` does, before they are tested.
    confidence_level : float, default 0.95
        Of all statements together.
    sample_weight, reference_weight : array of shape (n_rows,), optional
        Non-negative weights of the rows of each sample.
    paired : bool, default False
        Whether row i of both samples belong together: pairs are parted as pairs. Members of both kinds in one pair
        make the test more cautious.
    align : {"labels", "position"}, default "labels"
        Whether the columns of two tables match by name or by position.
    rng : int or Generator, optional
        Parts the rows, and draws whatever `kernel_entropic_novelty` does. Default: a fixed seed.
    **options
        As for `kernel_entropic_novelty`, such as ``bandwidth``, ``n_modes`` and ``n_permutations``. Modes that stand
        out from relabelled rows are tested; with ``n_permutations=0``, all that are described.

    Returns
    -------
    ConfirmedModes

    Raises
    ------
    ValueError
        If a sample has fewer than four rows, or an argument is out of range.
    TypeError
        If the data are not numbers.

    See Also
    --------
    missing_modes : What a generator draws less than a tenth as often; its modes can be tested with ``eta=10``.

    Notes
    -----
    A row counts as a member from a quarter of the membership of the ten most typical rows that the mode was found on.
    Among n and m held-out rows A and B are members; given A + B, A is at most binomial with probability
    ``eta n / (eta n + m)`` (J. Przyborowski and H. Wilenski, Biometrika 31, 1940, doi:10.1093/biomet/31.3-4.313):
    exact for rare members, and cautious for frequent ones. With as many rows of each, and no member in the reference,
    a mode needs 5 held-out members at eta = 1, 17 at eta = 5 and 32 at eta = 10, and more beside other modes.

    Examples
    --------
    A kind of rows that is three times as frequent, where twice was asked for, and where five times was:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> features, reference = rng.normal(scale=0.3, size=(2, 1200, 2))
    >>> features[:600] += 5.0
    >>> reference[:200] += 5.0
    >>> [int(confirm_modes(features, reference, eta=eta, bandwidth=1.0).value) for eta in (1, 2, 5)]
    [1, 1, 0]
    """
    eta = check_eta(eta)
    kernel = check_kernel(kernel)
    share = check_number(found_on, "found_on", low=0.0, high=1.0, open_low=True, open_high=True)
    level = check_number(
        confidence_level, "confidence_level", low=0.0, high=1.0, open_low=True, open_high=True
    )
    generator = check_rng(0 if rng is None else rng)
    test, base = check_samples(features, reference, kernel, align)
    weights = (
        shares(sample_weight, "sample_weight", test),
        shares(reference_weight, "reference_weight", base),
    )
    if paired:
        check_pairs(*weights)
        pairs = np.zeros(len(weights[0]))
        pairs[pairs_of(*weights)] = 1.0
        found_rows, held_out = ((rows, rows) for rows in _parted(pairs, share, "features", generator))
    else:
        found_rows, held_out = zip(
            _parted(weights[0], share, "features", generator),
            _parted(weights[1], share, "reference", generator),
            strict=True,
        )
    landmarks = np.concatenate([found_rows[0], found_rows[1] + test.shape[0]])
    precomputed = kernel == "precomputed"

    def part(array: Array, rows: IntArray) -> Array:
        taken = rows_at(array, rows)
        return rows_at(taken.T, landmarks).T if precomputed else taken

    found = kernel_entropic_novelty(
        part(test, found_rows[0]),
        part(base, found_rows[1]),
        eta=eta,
        kernel=kernel,
        sample_weight=weights[0][found_rows[0]],
        reference_weight=weights[1][found_rows[1]],
        paired=paired,
        rng=generator,
        **options,
    )
    modes: tuple[Mode, ...] = group_modes(found)
    if not grouped:
        modes = tuple(mode for mode in found.modes if mode.significant is not False)
    points = (part(test, held_out[0]), part(base, held_out[1]))
    held_weights = tuple(side[rows] for side, rows in zip(weights, held_out, strict=True))
    tests = tuple(
        _tested(mode, points, held_out, held_weights, eta, 1.0 - level, len(modes)) for mode in modes
    )
    return ConfirmedModes(
        value=float(sum(mode.confirmed for mode in tests)),
        error_bound=0.0,
        status=ConfirmedModesStatus.tested if tests else ConfirmedModesStatus.nothing_found,
        n_samples=int(test.shape[0]),
        settings=settings_of(
            eta=eta,
            kernel=found.kernel,
            found_on=share,
            grouped=grouped,
            confidence_level=level,
            paired=paired,
            weighted=(sample_weight is not None, reference_weight is not None),
            rng=0 if rng is None else rng,
            **options,
        ),
        modes=tests,
        eta=eta,
        confidence_level=level,
        kernel=found.kernel,
        bandwidth=found.bandwidth,
        n_reference=int(base.shape[0]),
        n_held_out=len(held_out[0]),
        n_reference_held_out=len(held_out[1]),
        found=found,
    )


def _parted(
    weights: FloatArray, share: float, name: str, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Part the rows of positive weight at random, at least two in each part."""
    rows = np.flatnonzero(weights)
    if len(rows) < LEAST_ROWS:
        raise ValueError(
            describe(name, f"of at least {LEAST_ROWS} rows, to find modes on some and test on others", len(rows))
        )  # fmt: skip
    rows = rng.permutation(rows)
    size = min(max(2, round(share * len(rows))), len(rows) - 2)
    return np.sort(rows[:size]), np.sort(rows[size:])


def _tested(
    mode: Mode,
    points: tuple[Array, Array],
    rows: tuple[IntArray, ...],
    weights: tuple[FloatArray, ...],
    eta: float,
    alpha: float,
    n_modes: int,
) -> ModeTest:
    """Count one of ``n_modes`` modes on held-out rows; ``alpha`` is the error that is allowed for all of them."""
    threshold = _threshold(mode)
    memberships = [mode.score(part) for part in points]
    members = [part >= threshold for part in memberships]
    frequencies, shares = (
        [
            float(side @ np.asarray(part, dtype=np.float64) / side.sum())
            for side, part in zip(weights, values, strict=True)
        ]
        for values in (memberships, members)
    )
    counts = _counts(members, weights)
    p_value = rate_ratio_p_value(*counts, eta)
    order = [np.argsort(-part, kind="stable")[:N_EXEMPLARS] for part in memberships]
    return ModeTest(
        index=mode.index,
        parts=mode.parts if isinstance(mode, ModeGroup) else (mode.index,),
        threshold=threshold,
        n_members=int(members[0].sum()),
        n_reference_members=int(members[1].sum()),
        member_share=shares[0],
        reference_member_share=shares[1],
        frequency=frequencies[0],
        reference_frequency=frequencies[1],
        ratio=0.0 if not shares[0] else shares[0] / shares[1] if shares[1] else math.inf,
        ratio_low=rate_ratio_low(*counts, 1.0 - alpha / n_modes),
        p_value=p_value,
        p_adjusted=min(1.0, p_value * n_modes),
        confirmed=p_value <= alpha / n_modes,
        exemplars=rows[0][order[0]],
        reference_exemplars=rows[1][order[1]],
    )


def _threshold(mode: Mode) -> float:
    """Return the membership from which rows count: a quarter of that of the most typical rows it was found on."""
    assert mode.membership is not None
    return MEMBERSHIP * float(np.mean(mode.membership[mode.top(_TYPICAL)]))


def _counts(members: list[Any], weights: tuple[FloatArray, ...]) -> tuple[float, float, float, float]:
    """Return the members of both samples, and the rows; weighted ones count as those that would be as uncertain."""
    sizes = [float(side.sum() ** 2 / (side @ side)) for side in weights]
    having = [
        float(side @ part / side.sum()) * size
        for side, part, size in zip(weights, members, sizes, strict=True)
    ]
    return having[0], having[1], sizes[0], sizes[1]
