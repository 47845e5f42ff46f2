"""Novel modes: patterns that the test sample shows more often than the reference, row by row and at new points."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks, row_blocks
from shiftmetrics._core.record import Record
from shiftmetrics._core.threads import one_blas_thread
from shiftmetrics._core.validation import check_choice, check_integer
from shiftmetrics.novelty.gram import Gram, Landmarks
from shiftmetrics.novelty.problem import PointFunctions
from shiftmetrics.novelty.rotation import varimax

MEMBERSHIP = 0.25
"""Rows whose membership is at least this count as members of a mode."""

N_EXEMPLARS = 25
"""How many exemplars of each sample a mode keeps when it is written to a file."""

Sample = Literal["test", "reference"]


@dataclass(frozen=True, eq=False)
class KernelFunctions:
    """Functions of a point t: weighted sums of the similarities k(t, z) to some rows z of the data."""

    gram: Gram
    landmarks: Landmarks

    def evaluate(self, points: Any, coefficients: FloatArray) -> FloatArray:
        """Return the value of each function, a column of ``coefficients``, at each point: shape (n_points, k)."""
        array: Array = self.gram.check_points(points)
        n_points = int(array.shape[0])
        blocks = row_blocks(n_points, 8 * (self.landmarks.size + int(array.shape[1])))

        def values(rows: slice) -> FloatArray:
            return np.asarray(self.gram.against(array, rows, self.landmarks) @ coefficients)

        with one_blas_thread():
            return np.concatenate(list(map_blocks(values, blocks)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Mode(Record):
    """One mode: a unit function u of a row, an eigenfunction of the excess or a rotation of several.

    The membership of a row in the mode is u^2, from 0 to 1.

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
            raise ValueError(
                f"k must be at most {N_EXEMPLARS} for a mode that was read from a file, got {k}. "
                "Compute the novelty again to rank all rows."
            )
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
        values = self.functions.evaluate(points, self.coefficients.reshape(len(self.coefficients), -1))
        membership: FloatArray = np.minimum(np.einsum("ij,ij->i", values, values), 1.0)
        return membership

    def __str__(self) -> str:
        return (
            f"{'Lost mode' if self.lost else 'Mode'} {self.index + 1}: "
            f"{100 * self.frequency:.1f} % of the test sample against "
            f"{100 * self.reference_frequency:.1f} % of the reference, "
            f"{self.n_members} and {self.n_reference_members} members."
        )

    def _of(self, of: Any) -> tuple[FloatArray | None, IntArray]:
        if check_choice(of, "of", ("test", "reference")) == "test":
            return self.membership, self.exemplars
        return self.reference_membership, self.reference_exemplars


_READ_BACK = (
    "The mode must come from a computation, got one read from a file. Compute the novelty again to rank rows."
)


def describe_modes(
    eigenvalues: FloatArray,
    values: FloatArray,
    n_test: int,
    test_weights: FloatArray,
    reference_weights: FloatArray,
    functions: PointFunctions,
    coefficients: FloatArray,
    *,
    n_significant: int | None = None,
    rotate: bool = False,
    gram: Gram | None = None,
) -> tuple[Mode, ...]:
    """Turn eigenfunctions into modes.

    Parameters
    ----------
    eigenvalues : ndarray of shape (k,)
        Excess weights, largest first.
    values : ndarray of shape (n_rows, k)
        Values of the eigenfunctions at the rows of both samples.
    n_test : int
        Rows of the test sample.
    test_weights, reference_weights : ndarray
        Weights of the rows of each sample, summing to 1.
    functions : PointFunctions
        What evaluates them elsewhere.
    coefficients : ndarray of shape (rank, k)
        Their coefficients there.
    n_significant : int, optional
        How many of the eigenvalues are significant. Default: not known.
    rotate : bool, default False
        Whether to rotate the significant eigenfunctions by varimax.
    gram : Gram, optional
        Finds the reference row nearest to each mode.
    """
    k = len(eigenvalues)
    turned = min(n_significant or 0, k) if rotate else 0
    if turned > 1:
        rotation = varimax(values[:n_test, :turned], test_weights)
        # The diagonal of R' diag(l) R: what each rotated mode has in excess. Its sum is that of the eigenvalues.
        excess = eigenvalues[:turned] @ (rotation * rotation)
        order = np.argsort(-excess, kind="stable")
        rotation = rotation[:, order]
        eigenvalues = np.concatenate([excess[order], eigenvalues[turned:]])
        values, coefficients = (
            np.hstack([part[:, :turned] @ rotation, part[:, turned:k]]) for part in (values, coefficients)
        )
    modes = []
    for index, eigenvalue in enumerate(eigenvalues):
        column = values[:, index]
        # The sign of an eigenfunction is free: it points to where most of the test sample's mass is.
        squares = column * column
        sign = 1.0 if float((test_weights * column[:n_test]) @ squares[:n_test]) >= 0.0 else -1.0
        membership = np.minimum(squares, 1.0)
        test, reference = membership[:n_test], membership[n_test:]
        modes.append(
            Mode(
                index=index,
                eigenvalue=float(eigenvalue),
                frequency=float(test_weights @ test),
                reference_frequency=float(reference_weights @ reference),
                n_members=int((test >= MEMBERSHIP).sum()),
                n_reference_members=int((reference >= MEMBERSHIP).sum()),
                exemplars=largest(test, N_EXEMPLARS),
                reference_exemplars=largest(reference, N_EXEMPLARS),
                significant=None if n_significant is None else index < n_significant,
                rotated=turned > 1 and index < turned,
                membership=test,
                reference_membership=reference,
                functions=functions,
                coefficients=sign * coefficients[:, index],
            )
        )
    return tuple(modes) if gram is None else _with_nearest(tuple(modes), gram)


def describe_lost_modes(
    eigenvalues: FloatArray,
    values: FloatArray,
    n_test: int,
    test_weights: FloatArray,
    reference_weights: FloatArray,
    functions: PointFunctions,
    coefficients: FloatArray,
    *,
    n_significant: int | None = None,
    rotate: bool = False,
) -> tuple[Mode, ...]:
    """Turn eigenfunctions of C_Y - eta C_X into modes, as `describe_modes` does; ``frequency`` stays the test's."""
    modes = describe_modes(
        eigenvalues,
        np.concatenate([values[n_test:], values[:n_test]]),
        len(values) - n_test,
        reference_weights,
        test_weights,
        functions,
        coefficients,
        n_significant=n_significant,
        rotate=rotate,
    )
    return tuple(
        replace(
            mode,
            lost=True,
            frequency=mode.reference_frequency,
            reference_frequency=mode.frequency,
            n_members=mode.n_reference_members,
            n_reference_members=mode.n_members,
            exemplars=mode.reference_exemplars,
            reference_exemplars=mode.exemplars,
            membership=mode.reference_membership,
            reference_membership=mode.membership,
        )
        for mode in modes
    )


def _with_nearest(modes: tuple[Mode, ...], gram: Gram) -> tuple[Mode, ...]:
    """Find the reference row most similar to the first exemplar of each mode."""
    if not modes:
        return modes
    landmarks = gram.take(np.array([mode.exemplars[0] for mode in modes]))
    blocks = [rows for rows in gram.blocks(8 * landmarks.size) if rows.start >= gram.n_test]
    best, place = np.full(len(modes), -np.inf), np.zeros(len(modes), dtype=np.int64)
    for rows in blocks:
        similarities = gram.block(rows, landmarks)
        top = similarities.argmax(axis=0)
        highest = similarities[top, np.arange(len(modes))]
        closer = highest > best
        best, place = np.where(closer, highest, best), np.where(closer, rows.start - gram.n_test + top, place)
    return tuple(
        replace(mode, nearest_reference=int(row), nearest_similarity=float(similarity))
        for mode, row, similarity in zip(modes, place, best, strict=True)
    )


def largest(values: FloatArray, k: int) -> IntArray:
    """Return the positions of the ``k`` largest values, largest first, ties in the order of the rows."""
    if k < len(values):
        least = np.partition(values, len(values) - k - 1)[len(values) - k - 1] if k else np.inf
        candidates = np.flatnonzero(values > least)
        ties = np.flatnonzero(values == least)[: k - len(candidates)]
        candidates = np.sort(np.concatenate([candidates, ties]))
    else:
        candidates = np.arange(len(values))
    return candidates[np.argsort(-values[candidates], kind="stable")]
