"""Modes: patterns that one sample shows more often than the other, row by row and at new points."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import check_choice, check_integer, describe
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.maps import PointFunctions
from shiftmetrics.novelty.null import Null
from shiftmetrics.novelty.rotation import varimax
from shiftmetrics.novelty.solution import MOST_MODES, N_MODES, Problem, Solution

MEMBERSHIP = 0.25
"""Rows whose membership is at least this count as members of a mode."""

N_EXEMPLARS = 25
"""How many exemplars of each sample a mode keeps when it is written to a file."""

Sample = Literal["test", "reference"]

_TYPICAL = 100
"""Rows with the largest membership that stand for a mode when modes are grouped."""

_ROTATION_ROWS = 20_000
"""Rows that decide the rotation, evenly spaced where there are more."""

_READ_BACK = (
    "The mode must come from a computation, got one read from a file. Compute the novelty again to rank rows."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Mode(Record):
    """One mode: a unit function u of a row, an eigenfunction of the excess or a rotation of several.

    The membership of a row in the mode is u^2, from 0 to 1. A group of modes is a mode too: memberships, excess and
    frequencies are the sums of those of its parts.

    Attributes
    ----------
    index : int
        Rank of the mode, from 0.
    eigenvalue : float
        Its excess weight: ``frequency - eta * reference_frequency``, or the other way round for a lost mode. Rotated
        modes are no eigenfunctions, but their excess and their frequencies are exact, and their sum is that of the
        eigenvalues.
    frequency, reference_frequency : float
        Mean membership in the test sample and in the reference.
    n_members, n_reference_members : int
        Rows of each sample with a membership of at least 0.25.
    exemplars, reference_exemplars : ndarray of int
        The rows of the test sample, and of the reference, with the largest membership, largest first (at most 25).
    significant : bool or None
        Whether its eigenvalue, or all of those it was rotated from, lie above relabelled rows; None without a null.
    rotated : bool
        Whether it is a varimax rotation of several eigenfunctions.
    lost : bool
        Whether the reference has it in excess of the sample.
    nearest_reference : int or None
        The reference row most similar to the first exemplar; None for a lost mode.
    nearest_similarity : float or None
        Its similarity, at most 1.
    membership, reference_membership : ndarray of shape (n_rows,) or None
        Membership of each row of the test sample and of the reference. Not written to files: None after reading back.
    parts : tuple of int
        For a group, the positions of its modes in ``result.modes`` or ``result.lost_modes``; empty for one mode.
    """

    index: int
    eigenvalue: float
    frequency: float
    reference_frequency: float
    n_members: int
    n_reference_members: int
    exemplars: IntArray
    reference_exemplars: IntArray
    significant: bool | None = None
    rotated: bool = False
    lost: bool = False
    nearest_reference: int | None = None
    nearest_similarity: float | None = None
    parts: tuple[int, ...] = ()
    membership: FloatArray | None = field(default=None, repr=False)
    reference_membership: FloatArray | None = field(default=None, repr=False)
    functions: PointFunctions | None = field(default=None, repr=False)
    coefficients: FloatArray | None = field(default=None, repr=False)

    def top(self, k: int = 10, *, of: Sample = "test") -> IntArray:
        """Return the ``k`` rows with the largest membership, largest first.

        Parameters
        ----------
        k : int, default 10
            How many; fewer come back when the sample is smaller.
        of : {"test", "reference"}, default "test"
            Rows of which sample.

        Returns
        -------
        ndarray of int
            Positions of rows.

        Raises
        ------
        ValueError
            If the mode was read back from a file and more rows are asked for than it keeps.
        """
        k = check_integer(k, "k", low=0)
        membership, exemplars = self._of(of)
        if membership is not None:
            return largest(membership, k)
        if k > len(exemplars) == N_EXEMPLARS:
            expected = f"at most {N_EXEMPLARS} for a mode that was read from a file"
            raise ValueError(describe("k", expected, k, "Compute the novelty again to rank all rows."))
        return exemplars[:k]

    def members(self, *, of: Sample = "test", threshold: float = MEMBERSHIP) -> IntArray:
        """Return the rows with a membership of at least ``threshold``, largest first.

        Raises
        ------
        ValueError
            If the mode was read back from a file, which keeps exemplars only.
        """
        membership, _ = self._of(of)
        if membership is None:
            raise ValueError(_READ_BACK)
        order = np.argsort(-membership, kind="stable")
        return order[: int((membership >= threshold).sum())]

    def score(self, points: Any) -> FloatArray:
        """Return the membership of new points in the mode: u(t)^2, from 0 to 1.

        Parameters
        ----------
        points : array of shape (n_points, n_columns)
            Features like those of the samples; for a precomputed kernel, similarities to all rows of both.

        Returns
        -------
        ndarray of shape (n_points,)

        Raises
        ------
        ValueError
            If the columns do not match, or the mode was read back from a file, which holds no kernel.
        """
        if self.functions is None or self.coefficients is None:
            raise ValueError(_READ_BACK)
        return self.functions.membership(points, self.coefficients.reshape(len(self.coefficients), -1))

    def __str__(self) -> str:
        name = "group" if self.parts else "mode"
        name = f"Lost {name}" if self.lost else name.capitalize()
        count = f" ({len(self.parts)} mode{'' if len(self.parts) == 1 else 's'})" if self.parts else ""
        return (
            f"{name} {self.index + 1}{count}: {100 * self.frequency:.1f} % of the test sample against "
            f"{100 * self.reference_frequency:.1f} % of the reference, "
            f"{self.n_members} and {self.n_reference_members} members."
        )

    def _of(self, of: Any) -> tuple[FloatArray | None, IntArray]:
        if check_choice(of, "of", ("test", "reference")) == "test":
            return self.membership, self.exemplars
        return self.reference_membership, self.reference_exemplars


def describe_modes(
    problem: Problem, solution: Solution, null: Null | None, *, lost: bool = False
) -> tuple[Mode, ...]:
    """Turn eigenfunctions into modes: the significant ones, rotated by varimax, or the first few.

    Parameters
    ----------
    problem, solution : Problem, Solution
        The samples, and their spectrum.
    null : Null or None
        Tells which eigenvalues are significant.
    lost : bool, default False
        Whether to describe what the reference has in excess, at eta = 1.
    """
    n_test = problem.gram.n_test
    eigenvalues = -solution.eigenvalues[::-1] if lost else solution.eigenvalues
    vectors = solution.lost_vectors if lost else solution.vectors
    n_significant = None if null is None else null.significant(eigenvalues)
    shown = min(vectors.shape[1], max(N_MODES, min(n_significant or 0, MOST_MODES)))
    excess, vectors = eigenvalues[:shown], vectors[:, :shown]
    values = solution.basis.values(vectors, executor=problem.executor)
    weights, other_weights = problem.test_weights, problem.reference_weights
    own, other = slice(0, n_test), slice(n_test, None)
    if lost:
        weights, other_weights, own, other = other_weights, weights, other, own
    turned = min(n_significant or 0, shown)
    if turned > 1:
        step = len(weights) // _ROTATION_ROWS + 1
        few = weights[::step]
        rotation = varimax(values[own, :turned][::step], few / few.sum()) if few.any() else np.eye(turned)
        # The diagonal of R' diag(l) R: what each rotated mode has in excess. Its sum is that of the eigenvalues.
        rotated = excess[:turned] @ (rotation * rotation)
        order = np.argsort(-rotated, kind="stable")
        rotation = rotation[:, order]
        excess = np.concatenate([rotated[order], excess[turned:]])
        values, vectors = (
            np.hstack([part[:, :turned] @ rotation, part[:, turned:]]) for part in (values, vectors)
        )
    functions, coefficients = solution.basis.functions(vectors)
    modes = []
    for index, eigenvalue in enumerate(excess):
        column = values[:, index]
        # The sign of an eigenfunction is free: it points to where most of the mass of its sample is.
        squares = np.minimum(column * column, 1.0)
        sign = 1.0 if float((weights * column[own]) @ squares[own]) >= 0.0 else -1.0
        memberships = squares[own], squares[other]
        frequencies = float(weights @ memberships[0]), float(other_weights @ memberships[1])
        modes.append(
            _mode(
                index,
                float(eigenvalue),
                *(memberships[::-1] if lost else memberships),
                *(frequencies[::-1] if lost else frequencies),
                significant=None if n_significant is None else index < n_significant,
                rotated=turned > 1 and index < turned,
                lost=lost,
                functions=functions,
                coefficients=sign * coefficients[:, index],
            )
        )
    return tuple(modes) if lost else _with_nearest(modes, problem.gram)


def group_modes(
    modes: tuple[Mode, ...], gram: Gram, *, similarity: float, n_groups: int | None
) -> tuple[Mode, ...]:
    """Put modes of one kind of rows together, by average linkage of the similarities of their members.

    Two modes are as similar as the means of their members, weighted by membership, in the feature space of the
    kernel: the cosine of the two means.
    """
    labels = _linked(_similarities(modes, gram), similarity, n_groups)
    groups = [[modes[i] for i in np.flatnonzero(labels == label)] for label in np.unique(labels)]
    groups.sort(key=lambda group: -sum(mode.eigenvalue for mode in group))
    return tuple(_joined(group, index) for index, group in enumerate(groups))


def largest(values: FloatArray, k: int) -> IntArray:
    """Return the positions of the ``k`` largest values, largest first, ties in the order of the rows."""
    return np.argsort(-values, kind="stable")[:k]


def _mode(
    index: int,
    eigenvalue: float,
    test: FloatArray,
    reference: FloatArray,
    frequency: float,
    reference_frequency: float,
    **others: Any,
) -> Mode:
    """Return a mode of these memberships and frequencies."""
    return Mode(
        index=index,
        eigenvalue=eigenvalue,
        frequency=frequency,
        reference_frequency=reference_frequency,
        n_members=int((test >= MEMBERSHIP).sum()),
        n_reference_members=int((reference >= MEMBERSHIP).sum()),
        exemplars=largest(test, N_EXEMPLARS),
        reference_exemplars=largest(reference, N_EXEMPLARS),
        membership=test,
        reference_membership=reference,
        **others,
    )


def _with_nearest(modes: list[Mode], gram: Gram) -> tuple[Mode, ...]:
    """Find the reference row most similar to the first exemplar of each mode."""
    if not modes:
        return ()
    landmarks = gram.take(np.array([mode.exemplars[0] for mode in modes]))
    best, place = np.full(len(modes), -np.inf), np.zeros(len(modes), dtype=np.int64)
    for rows in gram.blocks(8 * landmarks.size):
        if rows.start >= gram.n_test:
            similarities = gram.block(rows, landmarks)
            top = similarities.argmax(axis=0)
            highest = similarities[top, np.arange(len(modes))]
            closer = highest > best
            best = np.where(closer, highest, best)
            place = np.where(closer, rows.start - gram.n_test + top, place)
    return tuple(
        replace(mode, nearest_reference=int(row), nearest_similarity=float(similarity))
        for mode, row, similarity in zip(modes, place, best, strict=True)
    )


def _similarities(modes: tuple[Mode, ...], gram: Gram) -> FloatArray:
    """Return the cosines of the kernel means of the members of each two modes."""
    own: Sample = "reference" if modes[0].lost else "test"
    start = gram.n_test if modes[0].lost else 0
    members = [mode.top(_TYPICAL, of=own) for mode in modes]
    rows = np.unique(np.concatenate(members))
    weights = np.zeros((len(rows), len(modes)))
    for column, (mode, top) in enumerate(zip(modes, members, strict=True)):
        membership = mode.reference_membership if mode.lost else mode.membership
        assert membership is not None
        weights[np.searchsorted(rows, top), column] = membership[top]
    products = weights.T @ gram.among(rows + start) @ weights
    lengths = np.sqrt(np.maximum(np.diagonal(products), np.finfo(np.float64).tiny))
    cosines: FloatArray = products / np.outer(lengths, lengths)
    return np.clip(0.5 * (cosines + cosines.T), 0.0, 1.0)


def _linked(similarities: FloatArray, least: float, n_groups: int | None) -> IntArray:
    """Return a label for each mode, by average linkage."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(similarities) == 1:
        return np.zeros(1, dtype=np.int64)
    distances = 1.0 - similarities
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), method="average")
    if n_groups is None:
        return np.asarray(fcluster(tree, 1.0 - least, criterion="distance"), dtype=np.int64)
    return np.asarray(fcluster(tree, n_groups, criterion="maxclust"), dtype=np.int64)


def _joined(modes: list[Mode], index: int) -> Mode:
    """Add up modes, which are orthogonal functions: their memberships, frequencies and excess."""
    first = modes[0]
    test, reference = (
        np.minimum(np.sum([getattr(mode, name) for mode in modes], axis=0), 1.0)
        for name in ("membership", "reference_membership")
    )
    return _mode(
        index,
        sum(mode.eigenvalue for mode in modes),
        test,
        reference,
        sum(mode.frequency for mode in modes),
        sum(mode.reference_frequency for mode in modes),
        parts=tuple(mode.index for mode in modes),
        significant=first.significant,
        rotated=any(mode.rotated for mode in modes),
        lost=first.lost,
        nearest_reference=first.nearest_reference,
        nearest_similarity=first.nearest_similarity,
        functions=first.functions,
        coefficients=np.column_stack([mode.coefficients for mode in modes if mode.coefficients is not None]),
    )
