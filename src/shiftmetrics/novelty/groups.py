"""Kinds of rows behind the modes.

At large eta one kind shows as several modes: its centre, and the directions around it. Modes belong together whose
members are alike under the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.validation import check_integer, check_number, describe
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.modes import MEMBERSHIP, N_EXEMPLARS, Mode, Sample, largest
from shiftmetrics.novelty.result import NoveltyResult

SIMILARITY = 0.5

_TYPICAL = 100
"""Rows with the largest membership that stand for a mode."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ModeGroup(Mode):
    """Several modes of one kind of rows, which is read like a mode.

    The membership of a row is the sum of its memberships in the modes, from 0 to 1; so the excess and both
    frequencies are sums too.

    Attributes
    ----------
    parts : tuple of int
        Which modes: positions in ``result.modes``, or in ``result.lost_modes``.
    """

    parts: tuple[int, ...]

    def __str__(self) -> str:
        name = "Lost group" if self.lost else "Group"
        parts = "1 mode" if len(self.parts) == 1 else f"{len(self.parts)} modes"
        return (
            super()
            .__str__()
            .replace("Lost mode" if self.lost else "Mode", name)
            .replace(":", f" ({parts}):", 1)
        )


def group_modes(
    result: NoveltyResult, *, lost: bool = False, similarity: float = SIMILARITY, n_groups: int | None = None
) -> tuple[ModeGroup, ...]:
    """Put modes of one kind of rows together.

    Parameters
    ----------
    result : NoveltyResult
        From `kernel_entropic_novelty`, `missing_modes` or a stream; its significant modes are grouped, or all that
        are described where it has no null.
    lost : bool, default False
        Whether to group ``lost_modes`` instead.
    similarity : float, default 0.5
        Modes go together while the mean similarity of their members is at least this, from 0 (nothing in common under
        the kernel) to 1 (the same).
    n_groups : int, optional
        Number of groups, instead of ``similarity``.

    Returns
    -------
    tuple of ModeGroup
        Largest excess first.

    Raises
    ------
    ValueError
        If an argument is out of range, or the result was read back from a file, which holds no kernel.

    Notes
    -----
    Two modes are as similar as the means of their members, weighted by membership, in the feature space of the
    kernel: the cosine of the two means. Groups are made by average linkage.

    Examples
    --------
    Two kinds that the reference lacks, each of which is several modes at eta = 10:

    >>> import numpy as np
    >>> from shiftmetrics import kernel_entropic_novelty
    >>> rng = np.random.default_rng(0)
    >>> features, reference = rng.normal(size=(2, 300, 2))
    >>> features[:100] += [9.0, 0.0]
    >>> features[100:180] += [0.0, 9.0]
    >>> result = kernel_entropic_novelty(features, reference, eta=10, bandwidth=2.0)
    >>> groups = group_modes(result)
    >>> len(groups), result.n_significant > 4, [group.n_members for group in groups]
    (2, True, [100, 80])
    """
    if not isinstance(result, NoveltyResult):
        raise TypeError(describe("result", "a NoveltyResult", type(result).__name__))
    similarity = check_number(similarity, "similarity", low=0.0, high=1.0)
    n_groups = None if n_groups is None else check_integer(n_groups, "n_groups", low=1)
    found = result.lost_modes if lost else result.modes
    modes = [mode for mode in found if mode.significant is not False]
    if not modes:
        return ()
    gram = None if result.source is None or result.source.problem is None else result.source.problem.gram
    if gram is None or any(mode.membership is None for mode in modes):
        raise ValueError(
            "The result must come from a computation, got one read from a file. Compute the novelty again to group "
            "its modes."
        )
    labels = _linked(_similarities(modes, gram), similarity, n_groups)
    groups = [[modes[i] for i in np.flatnonzero(labels == label)] for label in np.unique(labels)]
    groups.sort(key=lambda group: -sum(mode.eigenvalue for mode in group))
    return tuple(_joined(group, index) for index, group in enumerate(groups))


def _similarities(modes: list[Mode], gram: Gram) -> FloatArray:
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
    products = weights.T @ gram.among(gram.take(rows + start), rows + start) @ weights
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


def _joined(modes: list[Mode], index: int) -> ModeGroup:
    """Add up modes, which are orthogonal functions: their memberships, frequencies and excess."""
    first = modes[0]
    test = _total([mode.membership for mode in modes])
    reference = _total([mode.reference_membership for mode in modes])
    return ModeGroup(
        index=index,
        parts=tuple(mode.index for mode in modes),
        eigenvalue=sum(mode.eigenvalue for mode in modes),
        frequency=sum(mode.frequency for mode in modes),
        reference_frequency=sum(mode.reference_frequency for mode in modes),
        n_members=int((test >= MEMBERSHIP).sum()),
        n_reference_members=int((reference >= MEMBERSHIP).sum()),
        exemplars=largest(test, N_EXEMPLARS),
        reference_exemplars=largest(reference, N_EXEMPLARS),
        significant=first.significant,
        rotated=any(mode.rotated for mode in modes),
        lost=first.lost,
        nearest_reference=first.nearest_reference,
        nearest_similarity=first.nearest_similarity,
        membership=test,
        reference_membership=reference,
        functions=first.functions,
        coefficients=np.column_stack([mode.coefficients for mode in modes if mode.coefficients is not None]),
    )


def _total(memberships: list[FloatArray | None]) -> FloatArray:
    total: FloatArray = np.sum([part for part in memberships if part is not None], axis=0)
    return np.minimum(total, 1.0)
