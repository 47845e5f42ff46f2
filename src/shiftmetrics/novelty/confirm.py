"""Test modes on rows that they were not found on: whether they are more than eta times as frequent.

A relabelling of rows tells whether two samples are of one distribution, and nothing about eta. So the modes are found
on one part of the rows, and counted on the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics._core.confidence import rate_ratio_low, rate_ratio_p_value
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import describe
from shiftmetrics.novelty.gram import rows_at
from shiftmetrics.novelty.modes import MEMBERSHIP, N_EXEMPLARS, Mode, largest

LEAST_ROWS = 4
"""Two to find modes on, and two to count them on."""

_TYPICAL = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class ModeTest(Record):
    """One group of modes, counted on held-out rows.

    Attributes
    ----------
    index : int
        Rank of the group where it was found, from 0.
    parts : tuple of int
        The modes that the group holds.
    threshold : float
        Membership from which a row counts as a member: a quarter of that of the most typical rows it was found on.
    n_members, n_reference_members : int
        Members among the held-out rows of each sample.
    member_share, reference_member_share : float
        Share of the held-out rows of each sample that are members.
    frequency, reference_frequency : float
        Mean membership of the held-out rows of each sample.
    ratio : float
        How many times as frequent members are, infinite where the reference has none.
    ratio_low : float
        Lower bound of the ratio; those of all modes hold together at the confidence level.
    p_value, p_adjusted : float
        Of a share of members of at most eta times that of the reference; adjusted for the number of modes
        (Bonferroni).
    confirmed : bool
        Whether it is more than eta times as frequent, at the confidence level of all modes together.
    exemplars, reference_exemplars : ndarray of int
        The held-out rows with the largest membership, as positions in each whole sample, largest first.
    """

    index: int
    parts: tuple[int, ...]
    threshold: float
    n_members: int
    n_reference_members: int
    member_share: float
    reference_member_share: float
    frequency: float
    reference_frequency: float
    ratio: float
    ratio_low: float
    p_value: float
    p_adjusted: float
    confirmed: bool
    exemplars: IntArray
    reference_exemplars: IntArray

    def __str__(self) -> str:
        ratio = "only in the test sample" if math.isinf(self.ratio) else f"{self.ratio:.3g} times"
        return (
            f"Mode {self.index + 1}: {100 * self.member_share:.1f} % of the held-out test rows against "
            f"{100 * self.reference_member_share:.1f} % of those of the reference ({ratio}, at least "
            f"{self.ratio_low:.3g} times, p = {self.p_adjusted:.2g})."
        )


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of both samples that modes are found on, or tested on."""

    rows: tuple[IntArray, IntArray]
    samples: tuple[Array, Array]
    weights: tuple[FloatArray, FloatArray]


def split(
    samples: tuple[Array, Array],
    weights: tuple[FloatArray, FloatArray],
    held_out: float,
    rng: np.random.Generator,
    *,
    paired: bool,
    precomputed: bool,
) -> tuple[Part, Part]:
    """Part both samples at random into rows to find modes on and rows to test them on.

    Parameters
    ----------
    samples, weights : tuple
        Rows of both samples, and their weights.
    held_out : float
        Share of the rows of positive weight that modes are tested on.
    rng : Generator
        Draws the rows.
    paired : bool
        Whether row i of both samples stay together.
    precomputed : bool
        Whether rows hold similarities to all rows; those to rows that modes are found on are kept.

    Raises
    ------
    ValueError
        If a sample has fewer than four rows of positive weight.
    """
    having = [np.flatnonzero(side) for side in weights]
    if paired:
        having = [np.intersect1d(having[0], having[1])]
    named = zip(having, ("features", "reference"), strict=False)
    drawn = [_drawn(rows, held_out, name, rng) for rows, name in named]
    rows = [drawn[0], drawn[-1]]
    columns = np.concatenate([rows[0][0], rows[1][0] + samples[0].shape[0]])
    parts = []
    for place in (0, 1):
        chosen = (rows[0][place], rows[1][place])
        taken = [rows_at(sample, own) for sample, own in zip(samples, chosen, strict=True)]
        if precomputed:
            taken = [rows_at(sample.T, columns).T for sample in taken]
        shares = [side[own] / side[own].sum() for side, own in zip(weights, chosen, strict=True)]
        parts.append(Part(chosen, (taken[0], taken[1]), (shares[0], shares[1])))
    return parts[0], parts[1]


def tested_modes(modes: tuple[Mode, ...], part: Part, eta: float, level: float) -> tuple[ModeTest, ...]:
    """Count modes on held-out rows.

    A row counts as a member from a quarter of the membership of the ten most typical rows that the mode was found on.
    Among n and m held-out rows A and B are members; given A + B, A is at most binomial with probability
    ``eta n / (eta n + m)`` (J. Przyborowski and H. Wilenski, Biometrika 31, 1940, doi:10.1093/biomet/31.3-4.313):
    exact for rare members, and cautious for frequent ones.

    Parameters
    ----------
    modes : tuple of Mode
        Found on other rows.
    part : Part
        The held-out rows.
    eta : float
        Multiplier of the reference.
    level : float
        Confidence level of all statements together.
    """
    return tuple(_tested(mode, part, eta, (1.0 - level) / len(modes), len(modes)) for mode in modes)


def _drawn(rows: IntArray, held_out: float, name: str, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Part rows at random, at least two in each part."""
    if len(rows) < LEAST_ROWS:
        expected = f"of at least {LEAST_ROWS} rows, to find modes on some and test them on others"
        raise ValueError(describe(name, expected, len(rows)))
    rows = rng.permutation(rows)
    size = min(max(2, round((1.0 - held_out) * len(rows))), len(rows) - 2)
    return np.sort(rows[:size]), np.sort(rows[size:])


def _tested(mode: Mode, part: Part, eta: float, alpha: float, n_modes: int) -> ModeTest:
    """Count one of ``n_modes`` modes, with the error ``alpha`` allowed for it."""
    assert mode.membership is not None
    threshold = MEMBERSHIP * float(np.mean(mode.membership[mode.top(_TYPICAL)]))
    memberships = [mode.score(points) for points in part.samples]
    members = [membership >= threshold for membership in memberships]
    share, reference_share = (
        float(weights @ side) for weights, side in zip(part.weights, members, strict=True)
    )
    frequency, reference_frequency = (
        float(weights @ side) for weights, side in zip(part.weights, memberships, strict=True)
    )
    # Weighted rows count as those that would be as uncertain.
    n, m = (1.0 / float(weights @ weights) for weights in part.weights)
    counts = share * n, reference_share * m, n, m
    p_value = rate_ratio_p_value(*counts, eta)
    exemplars = [
        rows[largest(membership, N_EXEMPLARS)]
        for rows, membership in zip(part.rows, memberships, strict=True)
    ]
    return ModeTest(
        index=mode.index,
        parts=mode.parts,
        threshold=threshold,
        n_members=int(members[0].sum()),
        n_reference_members=int(members[1].sum()),
        member_share=share,
        reference_member_share=reference_share,
        frequency=frequency,
        reference_frequency=reference_frequency,
        ratio=0.0 if not share else share / reference_share if reference_share else math.inf,
        ratio_low=rate_ratio_low(*counts, 1.0 - alpha),
        p_value=p_value,
        p_adjusted=min(1.0, p_value * n_modes),
        confirmed=p_value <= alpha,
        exemplars=exemplars[0],
        reference_exemplars=exemplars[1],
    )
