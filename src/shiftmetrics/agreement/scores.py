"""Validate and convert paired scores; centred float64 blocks of them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    FloatArray,
    IntArray,
    Workspace,
    as_array,
    as_like,
    float64_rows,
    is_in_chunks,
    is_table,
    namespace,
    take_rows,
    to_float64,
    to_numpy,
)
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.chunk_readers import of_batches, pair_in_chunks
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError, Setting, Wording
from shiftmetrics._core.options import Computing
from shiftmetrics._core.placement import check_rows_fit, placed
from shiftmetrics._core.probabilities import check_probabilities
from shiftmetrics._core.tables import Align, align_tables, match_labels
from shiftmetrics._core.validation import (
    check_choice,
    check_number,
    check_same_library,
    check_same_shape,
    check_weights,
)
from shiftmetrics.agreement.formula import FEW_CLASSES, Buffer
from shiftmetrics.agreement.kinds import (
    KINDS,
    Kind,
    check_scores,
    read_kind,
    refuse_whole_numbers,
)
from shiftmetrics.agreement.priors import check_prior, named_prior

PLANE_BYTES = 1 << 18
"""Float64 bytes of one sample in one block: the six planes of a block (both samples, their sum, and the
exponentials of each) stay in a core's L2 cache."""

DEVICE_PLANE_BYTES = 1 << 27
"""The same for an accelerator, whose kernels want large blocks."""

ROW_BYTES = 8
"""Bytes of what each pair gets back: its own agreement."""

NAMES = "scores", "reference_scores"
WORKSPACE = Workspace()
"""Buffers that each thread keeps from batch to batch."""


@dataclass(frozen=True, eq=False)
class ScorePairs:
    """Paired scores in the caller's array library, which turn a slice of rows into a centred block.

    Attributes
    ----------
    scores, reference_scores : array of shape (n_samples, n_classes) or (n_samples,)
        As given; one-dimensional ones are binary.
    kind : {"scores", "probabilities", "proportions"}
    floor : float or None
        What replaces smaller probabilities.
    weights : ndarray of shape (n_samples,) or None
        Observation weights of mean 1.
    prior : ndarray of shape (n_classes,)
        Class prior, with sum 1; classes of prior 0 drop out.
    scale : float
        A power of two that every score is multiplied by, to stay clear of overflow.
    warnings : tuple of str
        What is odd about the values.
    """

    scores: Array
    reference_scores: Array
    kind: Kind
    floor: float | None
    weights: FloatArray | None
    prior: FloatArray
    scale: float = 1.0
    workspace: Workspace = field(default_factory=Workspace, repr=False)
    warnings: tuple[str, ...] = ()

    @property
    def n_samples(self) -> int:
        """Number of pairs."""
        return int(self.scores.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of classes, those of prior 0 included."""
        return len(self.prior)

    @property
    def classes(self) -> IntArray | None:
        """Positions of the classes of positive prior, or None when that is all of them."""
        return None if (self.prior > 0.0).all() else np.flatnonzero(self.prior)

    def replace(self, **changes: Any) -> ScorePairs:
        """Return the same pairs with other settings, such as a prior or a scale."""
        return dataclasses.replace(self, **changes)

    def every(self, step: int) -> ScorePairs:
        """Return each ``step``-th pair, as views; of batches those that were kept, which cost no reading."""
        # Batches keep some of their rows from the first reading.
        sides = self.scores, self.reference_scores
        sequential = [getattr(side, "sequential", False) for side in sides]
        kept = [side.kept_step for side, is_read in zip(sides, sequential, strict=True) if is_read]
        # Steps of kept rows are powers of two: the wider one of both sides is a multiple of the other.
        step = max(kept, default=step)
        scores, reference_scores = (
            side.kept[:: step // side.kept_step] if is_read else side[::step, ...]
            for side, is_read in zip(sides, sequential, strict=True)
        )
        weights = None if self.weights is None else self.weights[::step]
        return self.replace(scores=scores, reference_scores=reference_scores, weights=weights)

    def take(self, rows: IntArray) -> ScorePairs:
        """Return some of the pairs."""
        scores, reference_scores = (
            take_rows(side, rows) for side in (self.scores, self.reference_scores)
        )
        weights = None if self.weights is None else self.weights[rows]
        return self.replace(scores=scores, reference_scores=reference_scores, weights=weights)

    def swapped(self) -> ScorePairs:
        """Return pairs that contradict: reference rows beside copies in which the two largest scores are swapped."""
        reference = to_float64(self.block(slice(0, self.n_samples)))[1].copy()
        rows = np.arange(self.n_samples)
        # The places of the largest and of the second largest score of each row.
        first, second = np.argsort(-reference, axis=1, kind="stable")[:, :2].T
        scores = reference.copy()
        scores[rows, first] = reference[rows, second]
        scores[rows, second] = reference[rows, first]
        return ScorePairs(
            scores, reference, "scores", None, self.weights, self.prior[self.prior > 0.0]
        )

    def slices(self) -> list[slice]:
        """Cut the rows into slices whose blocks stay small."""
        plane = PLANE_BYTES if on_cpu(self.scores) else DEVICE_PLANE_BYTES
        blocks = row_blocks(self.n_samples, 8 * self.n_classes, block_bytes=plane)
        return placed(blocks, (self.scores, self.reference_scores))

    @property
    def elsewhere(self) -> bool:
        """Whether the pairs are in batches, or in partitions of Dask: rows are not told apart."""
        return any(map(_is_elsewhere, (self.scores, self.reference_scores)))

    def block(self, rows: slice) -> Array:
        """Return float64 ``[a, b, a + b]`` of shape (3, n_rows, n_classes), where max a = max b = 0 in each row.

        A constant added to a row changes no posterior, and without it no exponential overflows. The memory of
        a NumPy block is used again by the same thread.
        """
        sides = [self._side(array, rows) for array in (self.scores, self.reference_scores)]
        xp = namespace(*sides)
        if isinstance(sides[0], np.ndarray):
            block = self.plane_buffer("block", sides[0].shape)
            both = block[:2]
            # Assignment casts to float64.
            both[0] = sides[0]
            both[1] = sides[1]
            if self.scale != 1.0:
                both *= self.scale
            both -= both.max(axis=2, keepdims=True)
            np.add(both[0], both[1], out=block[2])
            return block
        both = xp.astype(xp.stack(sides), xp.float64, copy=False) * self.scale
        both = both - xp.max(both, axis=2, keepdims=True)
        return xp.concat([both, both[:1, ...] + both[1:, ...]])

    def plane_buffer(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        """Return a buffer of shape (3, n_rows, n_classes) that the thread keeps.

        With few classes their axis is the slow one in memory: operations along rows stay long.
        """
        n_rows, n_classes = shape
        if n_classes > FEW_CLASSES:
            return self.workspace.buffer(name, (3, n_rows, n_classes))
        return self.workspace.buffer(name, (3, n_classes, n_rows)).transpose(0, 2, 1)

    def buffer_of(self, block: Array) -> Buffer:
        """Return the buffers of a block by name."""
        return functools.partial(self.plane_buffer, shape=block.shape[1:])

    def row_weights(self, rows: slice, like: Array) -> Array:
        """Return the weights of a slice of rows in the library and on the device of ``like``."""
        weights = np.ones(rows.stop - rows.start) if self.weights is None else self.weights[rows]
        return as_like(weights, like)

    def prior_vector(self, like: Array) -> Array:
        """Return the positive part of the prior in the library and on the device of ``like``."""
        return as_like(self.prior[self.prior > 0.0], like)

    def _side(self, array: Array, rows: slice) -> Array:
        """Return a slice of one sample as scores of shape (n_rows, n_classes), not yet scaled."""
        if on_cpu(array):
            side: Array = to_numpy(array[rows, ...])  # torch on a CPU shares its memory with NumPy
        else:
            side = float64_rows(array, rows)
        xp = namespace(side)
        # Probabilities become scores by their logarithm.
        if self.kind != "scores":
            side = xp.astype(side, xp.float64, copy=False)
            if self.kind == "proportions":
                side = side / xp.sum(side, axis=1, keepdims=True)
            if side.ndim == 1:
                # One column holds the probability of the second class.
                side = xp.stack([1.0 - side, side], axis=1)
            side = xp.log(side if self.floor is None else xp.clip(side, min=self.floor))
        elif side.ndim == 1:  # a margin s is the pair of scores (0, s)
            side = xp.stack([xp.zeros_like(side), side], axis=1)
        if self.classes is not None:
            side = xp.take(side, xp.asarray(self.classes), axis=1)
        return side


def prepare_pairs(
    scores: Any,
    reference_scores: Any,
    *,
    kind: str = "auto",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    pairing: Align = "labels",
    computing: Computing | None = None,
) -> ScorePairs:
    """Validate and align the input of posterior agreement; see `posterior_agreement` for the arguments.

    ``kind="auto"`` is settled here, by both samples together.

    ``prior="predicted"`` cannot be known before a pass over the data: it is uniform here.

    Raises
    ------
    TypeError
        If an input holds no numbers, if 1-D input holds integers, or if array libraries differ.
    ValueError
        If shapes, labels or values are not as described.
    MemoryError
        If rows take more than the limit of ``computing``, before they are read.
    """
    # Options first, then rows in one order, then values.
    kind = check_choice(kind, "kind", KINDS)
    if floor is not None:
        floor = check_number(floor, "floor", low=0.0, high=1.0, open_low=True, open_high=True)
    scores, reference_scores = _in_chunks(scores, reference_scores)
    if computing is not None:
        both = scores, reference_scores
        row_bytes = 0 if any(map(_is_elsewhere, both)) else ROW_BYTES
        check_rows_fit(both, row_bytes, computing, "scores")
    scores, reference_scores = align_tables(
        scores, reference_scores, "scores", "reference_scores", align=pairing, option="pairing"
    )
    sample_weight = align_rows(scores, sample_weight, "sample_weight", pairing)
    prior = named_prior(prior)
    if isinstance(prior, str):
        prior = None
    elif is_table(scores) and hasattr(prior, "index") and pairing == "labels":
        # A series names its classes, which may stand in another order.
        names = list(scores.columns), list(prior.index)
        prior = prior.iloc[match_labels(*names, "scores", "prior", "classes", "pairing")]
    for table, name in zip((scores, reference_scores), NAMES, strict=True):
        refuse_whole_numbers(table, name)
    # Classes of prior 0 drop out, and may hold anything.
    first = as_array(scores, "scores")
    n_classes = int(first.shape[1]) if first.ndim == 2 else 2
    weights = check_prior(prior, max(n_classes, 1))
    first = check_scores(first, "scores", weights)
    second = check_scores(reference_scores, "reference_scores", weights)
    check_same_library(first, second, "scores", "reference_scores")
    remedy = "Rows are pairs: pair the samples first, with shiftmetrics.agreement.pair_samples."
    remedy = remedy if first.shape[0] != second.shape[0] else ""
    check_same_shape(first, second, "scores", "reference_scores", remedy=remedy)
    kind, warnings = read_kind(kind, first, second)
    if floor is not None and kind == "scores":
        raise ArgumentValueError(
            "floor", "None for scores", value=floor, remedy="It is for probabilities."
        )
    if kind != "scores":
        named = (first, "scores"), (second, "reference_scores")
        floor = check_probabilities(*named, floor=floor, divide=kind == "proportions")
    return ScorePairs(
        scores=first,
        reference_scores=second,
        kind=kind,
        floor=floor,
        weights=check_weights(sample_weight, "sample_weight", int(first.shape[0])),
        prior=weights,
        warnings=warnings,
    )


def batch_pairs(
    scores: Any,
    reference_scores: Any,
    *,
    kind: str,
    prior: Any,
    floor: float | None,
    n_classes: int | None,
) -> ScorePairs:
    """Validate one batch as `prepare_pairs` does; nothing in it may depend on the batch alone.

    Raises
    ------
    TypeError, ValueError
        As in `prepare_pairs`; also if the number of classes is another one, or a floor is needed and not given.
    """
    got = getattr(scores, "shape", None)
    if n_classes is not None and got is not None:
        n_columns = got[1] if len(got) == 2 else 2
        if len(got) in (1, 2) and n_columns != n_classes:
            raise ArgumentValueError(
                "scores", f"of {n_classes} classes in every batch", f"{n_columns}"
            )
    pairs = prepare_pairs(scores, reference_scores, kind=kind, prior=prior, floor=floor)
    if pairs.floor is not None and floor is None:
        remedy = Wording(
            "A floor taken from each batch would differ between batches: pass one, such as ",
            Setting("floor", 1e-6),
            ".",
        )
        raise ArgumentValueError("floor", "given where probabilities are 0", "None", remedy)
    return pairs.replace(workspace=WORKSPACE)


def align_rows(
    scores: Any, values: Any, name: str, pairing: Align, scores_name: str = "scores"
) -> Any:
    """Return ``values``, one for each row of ``scores``, in the order of these rows."""
    return align_tables(scores, values, scores_name, name, align=pairing, option="pairing")[1]


def on_cpu(array: Array) -> bool:
    """Return True if NumPy can read ``array`` in place: its own, or torch's on a CPU."""
    if isinstance(array, np.ndarray) or is_in_chunks(array):
        return True
    return hasattr(array, "detach") and array.device.type == "cpu"


def _is_elsewhere(side: Any) -> bool:
    """Return True for batches, and for partitions of Dask."""
    return is_in_chunks(side) and (side.sequential or side.delayed is not None)


def _in_chunks(scores: Any, reference_scores: Any) -> tuple[Any, Any]:
    """Return both samples, of batches of pairs too, as arrays or rows in parts."""
    if reference_scores is not None:
        return pair_in_chunks(scores, reference_scores, *NAMES, paired=True)  # type: ignore[no-any-return]
    if hasattr(scores, "shape") or not hasattr(scores, "__iter__"):
        remedy = "Pass reference_scores, or batches of pairs without it."
        raise ArgumentTypeError(
            "scores", "pairs (scores, reference_scores)", type(scores).__name__, remedy
        )
    pairs = of_batches(scores, "scores", _stacked)
    return pairs.side(0), pairs.side(1)


def _stacked(batch: Any) -> FloatArray:
    """Return a batch of pairs as an array of shape (n_rows, 2, n_classes), or (n_rows, 2) of margins."""
    if not isinstance(batch, Sequence) or len(batch) != 2:
        got = f"{len(batch)} parts" if isinstance(batch, Sequence) else type(batch).__name__
        raise ArgumentTypeError("scores", "batches of (scores, reference_scores)", got)
    first, second = (
        to_numpy(as_array(side, name)) for side, name in zip(batch, NAMES, strict=True)
    )
    check_same_shape(first, second, *NAMES)
    return np.stack([first, second], axis=1)
