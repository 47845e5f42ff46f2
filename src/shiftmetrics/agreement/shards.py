"""Pairs in several places: batches, partitions of a Dask array, processes of a training job.

The solver needs sums over all pairs, so whoever adds up the statistics of the shards gets the certified agreement
without gathering scores.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray, float64_rows
from shiftmetrics._core.maximum import Maximum
from shiftmetrics._core.numerics import Workspace
from shiftmetrics._core.options import Computing
from shiftmetrics._core.statistics import Statistic
from shiftmetrics._core.validation import describe
from shiftmetrics.agreement.result import CONTRADICTION, EVALUATED, certified_fields
from shiftmetrics.agreement.scores import ScorePairs, prepare_pairs
from shiftmetrics.agreement.solver import Evaluate, rounding_error, solve_agreement
from shiftmetrics.agreement.statistic import (
    AgreementLimits,
    AgreementStatistic,
    ConfidentChanges,
    confident_changes,
    evaluator,
    limits_of,
    settled_limits,
)

WORKSPACE = Workspace()
"""Buffers that each thread keeps from batch to batch."""


class Shards(NamedTuple):
    """Pairs that are not in one place.

    Attributes
    ----------
    total : callable
        Maps a function from pairs to a statistic to the sum of its values over all shards.
    n_classes : int
        Number of classes.
    """

    total: Callable[[Callable[[ScorePairs], Any]], Any]
    n_classes: int


def shards_of(scores: Any, reference_scores: Any, *, kind: str, floor: float | None) -> Shards | None:
    """Return the shards of batches or of two Dask arrays; None for arrays in memory."""
    if reference_scores is None:
        return _batch_shards(scores, kind, floor)
    if _is_partitioned(scores) or _is_partitioned(reference_scores):
        return _partition_shards(scores, reference_scores, kind, floor)
    return None


def solve_shards(shards: Shards, *, prior: Any, beta: float | None, computing: Computing) -> dict[str, Any]:
    """Return the fields of the result of all shards together."""
    blank = np.zeros((1, shards.n_classes))
    weights = prepare_pairs(blank, blank, prior=prior).prior
    limits, weights, scale = settled_limits(
        lambda prior, scale: shards.total(functools.partial(_limits, prior=prior, scale=scale)),
        weights,
        predicted=isinstance(prior, str),
    )
    best, fields = solve_beta(
        lambda betas: shards.total(functools.partial(_sums, prior=weights, scale=scale, betas=betas)),
        limits,
        weights,
        scale,
        prior=prior,
        beta=beta,
        computing=computing,
    )
    return fields | changed_fields(
        limits, lambda: shards.total(functools.partial(_confident, prior=weights, scale=scale, beta=best.x))
    )


def changed_fields(limits: AgreementLimits, confident: Callable[[], ConfidentChanges]) -> dict[str, Any]:
    """Return what is said of the changed predictions; those that are confident take a pass, if there are any."""
    share = confident().weight / limits.disagreeing if limits.disagreeing > 0.0 else 0.0
    return {"confident_changes": min(1.0, share)}


def solve_beta(
    evaluate: Evaluate,
    limits: AgreementLimits,
    weights: FloatArray,
    scale: float,
    *,
    prior: Any,
    beta: float | None,
    computing: Computing,
    guesses: Sequence[float] = (),
) -> tuple[Maximum, dict[str, Any]]:
    """Find the best beta, or take the given one; return it and the fields of the result.

    Parameters
    ----------
    evaluate, limits
        Sums over all pairs, wherever they are.
    weights : ndarray of shape (n_classes,)
        Numbers of the prior.
    scale : float
        What the scores were multiplied by.
    prior : object
        The prior as the user gave it.
    beta : float or None
        Given beta, in units of the user's scores.
    computing : Computing
        Tolerances.
    guesses : sequence of float
        Betas to try first.
    """
    at = None if beta is None else beta / scale
    best = search_beta(evaluate, limits, weights, at, computing, guesses)
    fields = certified_fields(best, limits, prior=weights, scale=scale)
    if beta is not None:  # no certificate over other betas
        status = EVALUATED if math.isfinite(best.value) else CONTRADICTION
        fields |= {"beta": beta, "status": status, "curve_bound": None}
    fields["warnings"] = ()
    if limits.shares.max() > 1.0 - 1e-9:
        remedy = (
            "With the predicted prior its agreement is 0."
            if isinstance(prior, str)
            else 'Pass prior="predicted" to measure the agreement beyond that.'
        )
        constant = "Every row of both samples is predicted to be the same class: the model is constant."
        fields["warnings"] = (f"{constant} {remedy}",)
    return best, fields


def search_beta(
    evaluate: Evaluate,
    limits: AgreementLimits,
    prior: FloatArray,
    beta: float | None,
    computing: Computing,
    guesses: Sequence[float] = (),
) -> Maximum:
    """Return the certified maximum, or the agreement at a given beta (in the scale of the pairs), as one."""
    if beta is None:
        return solve_agreement(
            evaluate,
            limits,
            prior=prior,
            atol=computing.atol or 0.0,
            max_iter=computing.max_iter or 0,
            guesses=guesses,
        )
    at = np.array([beta])
    value = limits.value if math.isinf(beta) else float(evaluate(at).value[0])
    error = 2.0 * float(rounding_error(np.zeros(1) if math.isinf(beta) else at, limits, prior)[0])
    return Maximum(beta, value, 0.0, error, at, np.array([value]), np.array([value]), 1, 1, converged=True)


def batch_pairs(
    scores: Any, reference_scores: Any, *, kind: str, prior: Any, floor: float | None, n_classes: int | None
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
            raise ValueError(describe("scores", f"of {n_classes} classes in every batch", f"{n_columns}"))
    pairs = prepare_pairs(scores, reference_scores, kind=kind, prior=prior, floor=floor)
    if pairs.floor is not None and floor is None:
        remedy = "A floor taken from each batch would differ between batches: pass one, such as floor=1e-6."
        raise ValueError(describe("floor", "given where probabilities are 0", "None", remedy))
    return pairs.replace(workspace=WORKSPACE)


def _batch_shards(batches: Any, kind: str, floor: float | None) -> Shards:
    iterable = hasattr(batches, "__iter__") and not hasattr(batches, "shape")
    if not iterable or iter(batches) is batches:
        expected = "pairs (scores, reference_scores) that can be read several times, without reference_scores"
        remedy = (
            "Pass reference_scores, or batches in a list or in an object whose __iter__ starts anew; for data that "
            "passes by once there is shiftmetrics.adapters.torchmetrics.PosteriorAgreement."
        )
        raise TypeError(describe("scores", expected, type(batches).__name__, remedy))
    known: list[float] = []

    def read(n_classes: int | None) -> Iterator[ScorePairs]:
        for batch in batches:
            if not isinstance(batch, Sequence) or len(batch) != 2:
                got = f"{len(batch)} parts" if isinstance(batch, Sequence) else type(batch).__name__
                raise TypeError(describe("scores", "batches of (scores, reference_scores)", got))
            yield batch_pairs(*batch, kind=kind, prior=None, floor=floor, n_classes=n_classes)

    first = next(read(None), None)
    if first is None:
        raise ValueError(describe("scores", "batches of at least one pair of arrays", "none"))
    n_classes = first.n_classes

    def total(function: Callable[[ScorePairs], Any]) -> Any:
        parts, mark = None, 0.0
        for pairs in read(n_classes):
            part = function(pairs)
            parts = part if parts is None else parts + part
            mark += _mark(pairs)
        known.append(mark)
        if parts is None or not math.isclose(mark, known[0], rel_tol=1e-6, abs_tol=1e-12):
            remedy = "Shift and shuffle the data before, or keep the batches in a list."
            raise ValueError(describe("scores", "batches of the same pairs each time", "others", remedy))
        return parts

    return Shards(total, n_classes)


def _mark(pairs: ScorePairs) -> float:
    """Return a number that tells pairs from others, whatever their order."""
    first, second = (float64_rows(side, slice(None)) for side in (pairs.scores, pairs.reference_scores))
    return float(abs(first - second).sum())


def _is_partitioned(value: Any) -> bool:
    """Tell whether ``value`` is a Dask array, without an import of Dask."""
    return hasattr(value, "map_blocks") and hasattr(value, "numblocks")


def _partition_shards(scores: Any, reference_scores: Any, kind: str, floor: float | None) -> Shards:
    """Map each pair of partitions to a packed statistic; only these vectors leave the workers."""
    sides = []
    for value, name in ((scores, "scores"), (reference_scores, "reference_scores")):
        if not _is_partitioned(value) or value.ndim not in (1, 2):
            got = f"{value.ndim} dimensions" if _is_partitioned(value) else type(value).__name__
            raise TypeError(describe(name, "a Dask array of one or two dimensions like the other", got))
        sides.append(value.rechunk({1: -1}) if value.ndim == 2 else value[:, None])
    first, second = sides
    n_parts, binary = first.numblocks[0], scores.ndim == 1
    if scores.ndim != reference_scores.ndim or second.numblocks[0] != n_parts:
        got = f"{second.numblocks[0]} (of {reference_scores.ndim} dimensions)"
        expected = f"in {n_parts} partitions of rows like scores"
        raise ValueError(describe("reference_scores", expected, got, "Rechunk one of them."))
    n_classes = 2 if binary else int(scores.shape[1])

    def total(function: Callable[[ScorePairs], Statistic]) -> Any:
        blank = np.zeros((1, max(2, n_classes)))
        empty = function(prepare_pairs(blank, blank)).zeros()

        def kernel(block: Any, reference_block: Any) -> FloatArray:
            if len(block) == 0 and len(reference_block) == 0:
                return empty.pack()[None]
            if binary:
                block, reference_block = block[:, 0], reference_block[:, 0]
            pairs = batch_pairs(
                block, reference_block, kind=kind, prior=None, floor=floor, n_classes=n_classes
            )
            return function(pairs).pack()[None]

        size = empty.pack().size
        packed = first.map_blocks(
            kernel, second, dtype=np.float64, chunks=((1,) * n_parts, (size,)), meta=np.empty((0, 0))
        ).compute()
        found: Any = functools.reduce(operator.add, (empty.unpack(row) for row in packed))
        if not found.weight > 0.0:
            raise ValueError(describe("scores", "an array of at least one row", "none"))
        return found

    return Shards(total, n_classes)


def _limits(pairs: ScorePairs, *, prior: FloatArray, scale: float) -> AgreementLimits:
    return limits_of(pairs.replace(prior=prior, scale=scale))


def _confident(pairs: ScorePairs, *, prior: FloatArray, scale: float, beta: float) -> ConfidentChanges:
    return confident_changes(pairs.replace(prior=prior, scale=scale), beta)


def _sums(pairs: ScorePairs, *, prior: FloatArray, scale: float, betas: FloatArray) -> AgreementStatistic:
    return evaluator(pairs.replace(prior=prior, scale=scale))(betas)
