"""Pairs for samples that have none: by label, or by nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, as_array, take_rows, to_float64
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics._core.neighbours import nearest_neighbours
from shiftmetrics._core.record import Record
from shiftmetrics._core.tables import align_tables, check_labels, label_codes
from shiftmetrics._core.validation import (
    check_choice,
    check_magnitude,
    check_matrix,
    check_rng,
    check_same_library,
)

PairingMethod = Literal["label", "neighbour"]

_WORDS = {
    "label": "random partners of the same label",
    "neighbour": "nearest neighbours",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Pairing(Record):
    """Which row of a sample goes with which row of the reference, and what had to be dropped or used twice.

    Attributes
    ----------
    rows, reference_rows : ndarray of shape (n_pairs,)
        Positions in the sample and in the reference, in the order of the sample.
    method : str
        "label" or "neighbour".
    within_label : bool
        Whether both rows of each pair have one label.
    n_samples, n_reference : int
        Rows of both samples.
    distance : ndarray of shape (n_pairs,) or None
        Distance of each pair in the space of the method; None for pairs by label.
    """

    rows: IntArray
    reference_rows: IntArray
    method: str
    within_label: bool
    n_samples: int
    n_reference: int
    distance: FloatArray | None = None

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.rows)

    @property
    def dropped(self) -> IntArray:
        """Rows of the sample without a partner."""
        return np.setdiff1d(np.arange(self.n_samples), self.rows)

    @property
    def reference_dropped(self) -> IntArray:
        """Rows of the reference that are in no pair."""
        return np.setdiff1d(np.arange(self.n_reference), self.reference_rows)

    @property
    def reused(self) -> IntArray:
        """Rows of the reference that are in several pairs."""
        rows, counts = np.unique(self.reference_rows, return_counts=True)
        return rows[counts > 1]

    def apply(self, sample: Any, reference: Any) -> tuple[Any, Any]:
        """Take the pairs out of anything that has a row for each row of the two samples, such as scores.

        Parameters
        ----------
        sample, reference : array, DataFrame or list
            With ``n_samples`` and ``n_reference`` rows.

        Returns
        -------
        tuple
            Both with ``n_pairs`` rows; tables lose their index, since rows are now pairs by position.

        Raises
        ------
        ValueError
            If the numbers of rows do not match.
        """
        # Anything with a row for each row: arrays, tables, lists.
        taken = []
        sides = (
            (sample, self.rows, self.n_samples),
            (reference, self.reference_rows, self.n_reference),
        )
        for (value, rows, expected), name in zip(sides, ("sample", "reference"), strict=True):
            if len(value) != expected:
                needed = f"of {expected} rows, as the sample that was paired"
                raise ArgumentValueError(name, needed, len(value))
            part = take_rows(value, rows)
            taken.append(part.reset_index(drop=True) if hasattr(part, "reset_index") else part)
        return taken[0], taken[1]

    def __str__(self) -> str:
        within = " within the label" if self.within_label and self.method != "label" else ""
        reuse = "no reference row is used twice"
        if len(self.reused):
            most = int(np.bincount(self.reference_rows).max())
            reuse = (
                f"{len(self.reused)} reference rows are used more than once (at most {most} times)"
            )
        parts = [
            f"{self.n_pairs} pairs by {_WORDS[self.method]}{within}",
            f"{len(self.dropped)} of {self.n_samples} rows and {len(self.reference_dropped)} of "
            f"{self.n_reference} reference rows are left out",
            reuse,
        ]
        return "; ".join(parts) + "."


def pair_samples(
    features: Any,
    reference: Any,
    *,
    method: PairingMethod = "neighbour",
    labels: Any = None,
    reference_labels: Any = None,
    within_label: bool = False,
    rng: Any = None,
) -> Pairing:
    """Pair the rows of two samples whose rows do not belong together, so that their agreement can be measured.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        The sample under test, in the space in which neighbours are searched: features, or scores. A one-dimensional
        array is one column.
    reference : array of shape (n_reference, n_reference_columns)
        The reference, in the same space. Where the two spaces have no axes in common, take their coordinates from
        `shiftmetrics_lab.published.canonical_coordinates`.
    method : {"label", "neighbour"}, default "neighbour"
        "label" chooses a partner of the same label at random. "neighbour" takes the nearest row.
    labels, reference_labels : array of shape (n_rows,), optional
        Labels of the rows, numbers or strings, where the method or ``within_label`` needs them. Rows of a class that
        the other sample lacks are left out, which the pairing says.
    within_label : bool, default False
        Whether partners must have the same label; always so for "label".
    rng : int or Generator, optional
        Seed of the partners of "label".

    Returns
    -------
    Pairing

    Raises
    ------
    ValueError
        If labels are needed and missing, no class is in both samples, or columns differ where they must not.
    TypeError
        If features are not numbers, or come from two array libraries.

    See Also
    --------
    posterior_agreement : Takes the pairs, ``pairing.apply(scores, reference_scores)``. Several seeds show how much
        the choice of partners matters.

    Notes
    -----
    The strategies named in V. Jimenez Rodriguez, master thesis, ETH Zurich 2024 (section 3.7). Each changes what the
    agreement means: partners of one label differ as two samples of a class do, so the agreement measures sampling and
    shift together; nearest neighbours are favourable partners, which agree more than rows of one label do.

    Examples
    --------
    >>> pairing = pair_samples([[0.0], [1.0], [9.0]], [[8.0], [0.2]])
    >>> pairing.reference_rows
    array([1, 1, 0])
    >>> print(pairing)
    3 pairs by nearest neighbours; 0 of 3 rows and 0 of 2 reference rows are left out; 1 reference rows are used more
    than once (at most 2 times).
    """
    # Checked: both samples in one space, and classes where the method needs them.
    method = check_choice(method, "method", ("label", "neighbour"))
    if method == "neighbour":
        features, reference = align_tables(
            features, reference, "features", "reference", rows=False, option=None
        )
    first, second = as_columns(features, "features"), as_columns(reference, "reference")
    check_same_library(first, second, "features", "reference")
    counts = (int(first.shape[0]), int(second.shape[0]))
    if method == "neighbour":
        check_magnitude(first, "features")
        check_magnitude(second, "reference")
        if first.shape[1] != second.shape[1]:
            expected = f"of as many columns as features, {first.shape[1]}"
            remedy = "Compute both by the same features."
            raise ArgumentValueError("reference", expected, f"{second.shape[1]}", remedy)
    within_label = bool(within_label) or method == "label"
    # Rows that may be paired with each other: all, or those of one class.
    groups = [(np.arange(counts[0]), np.arange(counts[1]))]
    if within_label:
        groups = rows_of_classes(labels, reference_labels, counts, method)
    generator = check_rng(rng)
    # Pairs are made group by group, then put in the order of the sample.
    found: list[tuple[IntArray, IntArray]] = []
    for rows, partners in groups:
        if method == "label":
            found.append(draw_partners(rows, partners, generator))
        else:
            nearest = nearest_neighbours(take_rows(first, rows), take_rows(second, partners))[1]
            found.append((rows, partners[nearest[:, 0]]))
    taken, with_rows = (np.concatenate([part[side] for part in found]) for side in (0, 1))
    order = np.argsort(taken, kind="stable")
    taken, with_rows = taken[order], with_rows[order]
    return Pairing(
        rows=taken,
        reference_rows=with_rows,
        method=method,
        within_label=within_label,
        n_samples=counts[0],
        n_reference=counts[1],
        distance=None if method == "label" else pair_distances(first, second, taken, with_rows),
    )


def as_columns(values: Any, argument: str) -> Array:
    """Return a matrix of finite numbers; one dimension is one column."""
    array = as_array(values, argument)
    return check_matrix(array[:, None] if array.ndim == 1 else array, argument)


def rows_of_classes(
    labels: Any, reference_labels: Any, counts: tuple[int, int], method: str
) -> list[tuple[IntArray, IntArray]]:
    """Return the rows of each class in both samples, for the classes that are in both.

    Raises
    ------
    ValueError
        If a label is missing, or no class is in both samples.
    """
    # Labels of both samples in one numbering.
    checked = []
    for value, name, count in zip(
        (labels, reference_labels), ("labels", "reference_labels"), counts, strict=True
    ):
        if value is None:
            within = " within labels" if method == "neighbour" else ""
            expected = Wording("given for ", Setting("method", method), within)
            raise ArgumentValueError(name, expected, "None", "Give a label for each row.")
        checked.append((check_labels(value, name, length=count), name))
    (mine, theirs), _ = label_codes(*checked)
    # A class that only one sample has leaves its rows without a partner.
    shared = np.intersect1d(mine, theirs)
    if not len(shared):
        raise ArgumentValueError(
            "labels and reference_labels", "of the same classes", "no class in common"
        )
    return [(np.flatnonzero(mine == label), np.flatnonzero(theirs == label)) for label in shared]


def draw_partners(
    rows: IntArray, partners: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw partners at random, none of them again before all were used."""
    # Whole rounds of all partners, and a part of one more.
    rounds = -(-len(rows) // len(partners))
    chosen = np.concatenate([rng.permutation(partners) for _ in range(rounds)])
    return rows, rng.permutation(chosen[: len(rows)])


def pair_distances(first: Array, second: Array, rows: IntArray, partners: IntArray) -> FloatArray:
    """Return the distance of each pair."""
    # Block by block: differences are never held for all pairs.
    parts = []
    for pairs in row_blocks(len(rows), 8 * int(first.shape[1])):
        shift = to_float64(take_rows(first, rows[pairs])) - to_float64(
            take_rows(second, partners[pairs])
        )
        parts.append(np.linalg.norm(shift, axis=1))
    return np.concatenate(parts) if parts else np.empty(0)
