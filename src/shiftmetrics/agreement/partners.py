"""Partners for the rows of a sample: among which rows they are searched, and how one is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, take_rows, to_float64
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.memory import check_memory
from shiftmetrics._core.neighbours import pairwise_distances
from shiftmetrics._core.tables import check_labels, label_codes
from shiftmetrics._core.validation import describe, first_few


def shared_classes(
    labels: Any, reference_labels: Any, counts: tuple[int, int], method: str, unmatched: str
) -> tuple[IntArray, IntArray]:
    """Return the classes of both samples as numbers, -1 for rows that are left out.

    Raises
    ------
    ValueError
        If a label is missing, or a class is in one sample only and ``unmatched`` is "raise".
    """
    named = ((labels, "labels"), (reference_labels, "reference_labels"))
    for value, name in named:
        if value is None:
            expected = f"given for method={method!r}" + (" within labels" if method == "neighbour" else "")
            raise ValueError(describe(name, expected, "None", "Give a label for each row."))
    checked = [
        (check_labels(value, name, length=count), name)
        for (value, name), count in zip(named, counts, strict=True)
    ]
    (mine, theirs), classes = label_codes(*checked)
    for codes, others, name in ((mine, theirs, "labels"), (theirs, mine, "reference_labels")):
        alone = ~np.isin(codes, others)
        if alone.any() and unmatched == "raise":
            got = f"{first_few(classes[code].item() for code in np.unique(codes[alone]))} in {name} only"
            remedy = 'Drop these rows, or pass unmatched="drop".'
            raise ValueError(describe("labels and reference_labels", "of the same classes", got, remedy))
    shared = np.intersect1d(mine, theirs)
    if not len(shared):
        raise ValueError(describe("labels and reference_labels", "of the same classes", "no class in common"))
    if unmatched == "drop":
        place = np.full(len(classes), -1)
        place[shared] = np.arange(len(shared))
        mine, theirs = place[mine], place[theirs]
    return mine, theirs


def groups_of(
    codes: tuple[IntArray, IntArray] | None, counts: tuple[int, int]
) -> list[tuple[IntArray, IntArray]]:
    """Return the rows of both samples among which partners are searched: all, or those of each class."""
    if codes is None:
        return [(np.arange(counts[0]), np.arange(counts[1]))]
    classes = np.intersect1d(codes[0][codes[0] >= 0], codes[1])
    return [(np.flatnonzero(codes[0] == label), np.flatnonzero(codes[1] == label)) for label in classes]


def draw_partners(
    rows: IntArray, partners: IntArray, one_to_one: bool, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw partners at random, none of them again before all were used."""
    if one_to_one:
        size = min(len(rows), len(partners))
        return rng.permutation(rows)[:size], rng.permutation(partners)[:size]
    rounds = -(-len(rows) // len(partners))
    drawn = np.concatenate([rng.permutation(partners) for _ in range(rounds)])
    return rows, rng.permutation(drawn[: len(rows)])


def assign_partners(
    first: Array, second: Array, rows: IntArray, partners: IntArray, limit: int
) -> tuple[IntArray, IntArray]:
    """Return the one-to-one pairs of least total squared distance."""
    from scipy.optimize import linear_sum_assignment

    check_memory(
        24 * len(rows) * len(partners),
        limit,
        f"one_to_one=True with {len(rows)} and {len(partners)} rows",
        "Pair within labels, take fewer rows, or pass one_to_one=False.",
    )
    sides = take_rows(first, rows), take_rows(second, partners)
    distances = pairwise_distances(*map(to_float64, sides))
    largest = float(distances.max())
    mine, theirs = linear_sum_assignment((distances / largest) ** 2 if largest > 0.0 else distances)
    return rows[mine], partners[theirs]


def pair_distances(first: Array, second: Array, rows: IntArray, partners: IntArray) -> FloatArray:
    """Return the distance of each pair."""
    parts = []
    for pairs in row_blocks(len(rows), 8 * int(first.shape[1])):
        shift = to_float64(take_rows(first, rows[pairs])) - to_float64(take_rows(second, partners[pairs]))
        parts.append(np.linalg.norm(shift, axis=1))
    return np.concatenate(parts) if parts else np.empty(0)
