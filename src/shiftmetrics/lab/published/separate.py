"""An inverse temperature for each side, so that the scales of two models do not matter.

While the posteriors q of one side are fixed, o = log(q / pi), the contribution of a row is
log sum_k pi_k exp(beta s_k + o_k) - log sum_k pi_k exp(beta s_k): again a difference of two convex functions of
beta, so the solver of posterior agreement certifies the best beta of the other side. There is no certificate over
both betas together: turns are taken from several starts until neither gains; the best end is a local maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray, to_float64
from shiftmetrics._core.blocks import map_blocks, map_reduce
from shiftmetrics._core.branching import Samples, Tail
from shiftmetrics._core.maximum import Maximum, maximize_difference
from shiftmetrics._core.numerics import UNIT_ROUNDOFF, log_partition
from shiftmetrics._core.options import Computing, computing_of
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number
from shiftmetrics._core.statistics import Statistic
from shiftmetrics._core.status import Status
from shiftmetrics.agreement.posterior import posterior_agreement
from shiftmetrics.agreement.result import BOUNDARY, MAX_ITER, NO_AGREEMENT, PosteriorAgreementResult
from shiftmetrics.agreement.scores import ScorePairs, prepare_pairs
from shiftmetrics.agreement.statistic import AgreementLimits, AgreementStatistic, survey

LOCAL = Status(
    "local",
    "Each side has its own beta: changing one of them alone gains nothing, but other maxima cannot be excluded.",
)

STARTS = (0.5, 2.0, 8.0, math.inf)
"""Where the reference's beta starts, in units of one over its mean margin; the common beta is one more start."""

PILOT_ROWS = 2000
"""Rows on which the starts of a large sample are tried; the best end is then followed on all rows."""

Offset = Callable[[slice, FloatArray], FloatArray]
"""Maps a slice of rows and its centred block [a, b] to log(q / pi) of the fixed side: (n_rows, n_classes)."""


class SeparateBetas(NamedTuple):
    """The end of the turns: betas in the scale of the pairs, the agreement there, and what one change could gain."""

    beta: float
    reference_beta: float
    value: float
    error: float
    settled: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelAgreement(Record):
    """Agreement of two models on one sample, each at its own inverse temperature.

    Attributes
    ----------
    value : float
        Nats per sample, from 0 (chance) to log K. Higher is better.
    error_bound : float
        How much a change of either beta alone could still gain.
    status : Status
        How the search ended.
    beta, reference_beta : float
        Inverse temperature of either model.
    common : PosteriorAgreementResult
        The certified maximum with one beta for both, which is never larger than ``value``.
    """

    value: float
    error_bound: float
    status: Status
    beta: float
    reference_beta: float
    common: PosteriorAgreementResult

    @property
    def normalized(self) -> float:
        """Agreement divided by log K."""
        return self.value / math.log(self.common.n_classes)

    def __str__(self) -> str:
        return (
            f"Agreement of two models: {format_number(self.value)} nats (normalized "
            f"{format_number(self.normalized)}) at beta = {format_number(self.beta)} and "
            f"{format_number(self.reference_beta)}; {format_number(self.common.value)} nats with one beta for both."
        )


def model_agreement(
    scores: Any,
    reference_scores: Any,
    *,
    kind: str = "scores",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    computing: Computing | None = None,
) -> ModelAgreement:
    """Agreement of two models on one sample, each at its own inverse temperature.

    With one beta for both, as in `posterior_agreement`, the value depends on the ratio of the scales of their scores.
    Here each side has its own; certified searches over one of them take turns from several starts.

    Parameters
    ----------
    scores, reference_scores, kind, prior, sample_weight, floor
        As in `posterior_agreement`: the scores of two models for the same rows.
    computing : Computing, optional
        ``executor``; ``atol``: the search ends when a turn gains less, in nats per sample (default 1e-5);
        ``max_iter``: most turns of each start (default 50).

    Returns
    -------
    ModelAgreement
        Value in nats per sample; higher is better.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.lab.published import model_agreement
    >>> rng = np.random.default_rng(0)
    >>> first = rng.normal(size=(300, 3))
    >>> second = first + 0.5 * rng.normal(size=(300, 3))
    >>> [round(model_agreement(c * first, second).value, 3) for c in (0.1, 1.0, 10.0)]
    [0.612, 0.612, 0.612]
    """
    computing = computing_of(computing, atol=1e-5, max_iter=50)
    executor, atol = computing.executor, computing.atol or 0.0
    options: dict[str, Any] = {
        "kind": kind, "prior": prior, "sample_weight": sample_weight, "floor": floor
    }  # fmt: skip
    result = posterior_agreement(
        scores, reference_scores, computing=Computing(executor=executor, atol=atol), **options
    )
    if math.isinf(result.beta):  # no pair disagrees: nothing agrees more than the limit
        ends = SeparateBetas(result.beta, result.beta, result.value, result.error_bound, settled=True)
        return _model_agreement(ends, BOUNDARY, result)
    pairs = prepare_pairs(scores, reference_scores, **{**options, "prior": result.prior})
    pairs, limits = survey(pairs, executor=executor)
    start, max_turns = result.beta / pairs.scale, computing.max_iter or 0
    ends = solve_two_betas(
        pairs, limits, start, result.value, atol=atol, max_turns=max_turns, executor=executor
    )
    status = MAX_ITER if not ends.settled else NO_AGREEMENT if ends.value <= 0.0 else LOCAL
    ends = ends._replace(beta=ends.beta * pairs.scale, reference_beta=ends.reference_beta * pairs.scale)
    return _model_agreement(ends, status, result)


def _model_agreement(ends: SeparateBetas, status: Status, common: PosteriorAgreementResult) -> ModelAgreement:
    return ModelAgreement(
        value=ends.value,
        error_bound=ends.error,
        status=status,
        beta=ends.beta,
        reference_beta=ends.reference_beta,
        common=common,
    )


def solve_two_betas(
    pairs: ScorePairs,
    limits: AgreementLimits,
    common_beta: float,
    common_value: float,
    *,
    atol: float,
    max_turns: int,
    executor: Executor | None = None,
) -> SeparateBetas:
    """Take turns from several starts, one of them the certified common beta: the end is never below it.

    Parameters
    ----------
    pairs, limits : ScorePairs, AgreementLimits
        As `survey` returns them.
    common_beta, common_value : float
        Their certified maximum over one beta for both sides.
    atol : float
        Turns end when one gains less, in nats per sample.
    max_turns : int
        Most turns of each start.
    executor : concurrent.futures.Executor, optional
        Threads that work on blocks.
    """
    step = max(1, pairs.n_samples // PILOT_ROWS)
    pilot = pairs.every(step) if step > 1 else pairs
    if pilot.weights is not None and not pilot.weights.any():
        pilot = pairs
    margin = _mean_margin(pairs, executor)
    starts = [common_beta] if common_beta > 0.0 else []
    starts += [factor / margin for factor in STARTS] if margin > 0.0 else []
    ends: list[SeparateBetas] = []
    for start in starts:
        ends.append(_take_turns(pilot, limits, start, max(atol, 1e-5), max_turns, executor))
        if ends[-1].value >= most_agreement(pairs) - atol:
            break  # nothing agrees more
    if not ends:
        return SeparateBetas(0.0, 0.0, 0.0, 0.0, settled=True)
    place = int(np.argmax([end.value for end in ends]))
    start = ends[place].reference_beta or starts[place]  # a flat side is no start
    full = _take_turns(pairs, limits, start, atol, max_turns, executor)
    if full.value < common_value:  # the pilot misled: start from the certified one
        full = _take_turns(pairs, limits, common_beta, atol, max_turns, executor)
    return full


def most_agreement(pairs: ScorePairs) -> float:
    """Return the most that any two posteriors can agree: both on the rarest class."""
    return -math.log(float(pairs.prior[pairs.prior > 0.0].min()))


def _take_turns(
    pairs: ScorePairs,
    limits: AgreementLimits,
    reference_beta: float,
    atol: float,
    max_turns: int,
    executor: Executor | None,
) -> SeparateBetas:
    betas, value, gain = [0.0, reference_beta], -math.inf, math.inf
    error = math.inf
    for turn in range(2 * max_turns):
        side = turn % 2
        best = solve_one_side(
            pairs,
            side,
            fixed_at(pairs, 1 - side, betas[1 - side]),
            spread=limits.single_spread,
            atol=atol / 2.0,
            guesses=[betas[side]] if turn > 1 else [],
            executor=executor,
        )
        if best.value >= value:
            betas[side] = best.x
        if best.x == 0.0:  # a flat side agrees with anything alike: not at all
            return SeparateBetas(0.0, 0.0, 0.0, best.error_bound, settled=best.converged)
        gain, error = best.value - value, best.error_bound
        value = max(value, best.value)
        if turn > 0 and gain < atol:
            break
    return SeparateBetas(betas[0], betas[1], value, error + max(gain, 0.0), settled=gain < atol)


def _mean_margin(pairs: ScorePairs, executor: Executor | None) -> float:
    """Return how far the reference scores of a row lie below its largest one, on average."""

    def kernel(rows: slice) -> FloatArray:
        reference = to_float64(pairs.block(rows)[1, ...])
        return np.asarray([-reference.mean(axis=1).sum(), len(reference)])

    total, count = map_reduce(kernel, pairs.slices(), executor=executor)
    return float(total / count)


@dataclass(frozen=True, eq=False)
class OneSidedLimits(Statistic):
    """Sums towards infinite beta of one side.

    Attributes
    ----------
    weight : float
        Sum of the weights.
    fall : float
        Sum of the largest score to which the fixed side gives any probability: 0 unless some row contradicts.
    single_limit, pair_limit : float
        Limits of the two convex parts; that of the pair over the rows that do not contradict.
    contradicting : float
        Weight of the rows whose predicted classes have no probability on the fixed side.
    size : float
        Sum of the magnitudes of the fixed side's logarithms, for the rounding error.
    """

    weight: float
    fall: float
    single_limit: float
    pair_limit: float
    contradicting: float
    size: float

    @property
    def value(self) -> float:
        """Agreement towards infinite beta."""
        return -math.inf if self.contradicting > 0.0 else (self.pair_limit - self.single_limit) / self.weight


def fixed_at(pairs: ScorePairs, side: int, beta: float) -> Offset:
    """Return log(q / pi) of one side (0: scores, 1: reference scores) at a beta of its own, infinity included."""
    prior = pairs.prior[pairs.prior > 0.0]

    def offset(rows: slice, block: FloatArray) -> FloatArray:
        scores = block[side]
        if math.isinf(beta):
            best = scores == 0.0
            with np.errstate(divide="ignore"):
                return np.where(best, -np.log(best @ prior)[:, None], -math.inf)
        value, _ = log_partition(scores, prior, beta)
        return np.asarray(beta * scores - value[:, None])

    return offset


def solve_one_side(
    pairs: ScorePairs,
    side: int,
    offset: Offset,
    *,
    spread: float,
    atol: float,
    max_iter: int = 200,
    guesses: Sequence[float] = (),
    executor: Executor | None = None,
) -> Maximum:
    """Maximise the agreement over the beta of one side.

    Parameters
    ----------
    pairs : ScorePairs
        As `survey` returns them.
    side : int
        Whose beta: 0 for scores, 1 for reference scores.
    offset : callable
        The other side; see `fixed_at`.
    spread : float
        At least the largest max - min of a row of this side.
    atol, max_iter, guesses, executor
        As in `solve_agreement`.
    """
    prior = pairs.prior[pairs.prior > 0.0]
    slices = pairs.slices()

    def planes(rows: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
        block = to_float64(pairs.block(rows))
        weights = np.ones(block.shape[1]) if pairs.weights is None else pairs.weights[rows]
        return block[side], offset(rows, block[:2]), weights

    def evaluate(betas: FloatArray) -> Samples:
        def kernel(rows: slice) -> AgreementStatistic:
            return _sums(*planes(rows), prior, betas)

        sums = map_reduce(kernel, slices, executor=executor)
        parts = (sums.pair, sums.pair_slope, sums.single, sums.single_slope)
        return Samples(*(part / sums.weight for part in parts))

    limits = map_reduce(lambda rows: _limits(*planes(rows), prior), slices, executor=executor)
    n_rows, size = pairs.n_samples, limits.size / limits.weight
    fall = -limits.fall / limits.weight

    def rounding(betas: FloatArray) -> FloatArray:
        return np.asarray(UNIT_ROUNDOFF * (len(prior) + 16.0 + (8.0 + n_rows) * (betas * fall + size)))

    return maximize_difference(
        evaluate,
        evaluate(np.zeros(1)),
        Tail(min(0.0, limits.fall / limits.weight), limits.single_limit / limits.weight, limits.value),
        atol=atol,
        max_evaluations=max_iter,
        guesses=guesses,
        rates=(spread, spread),
        rounding=rounding,
    )


def one_sided_rows(
    pairs: ScorePairs, side: int, offset: Offset, beta: float, *, executor: Executor | None = None
) -> FloatArray:
    """Return each row's contribution at a beta of one side, infinity included."""
    prior = pairs.prior[pairs.prior > 0.0]

    def kernel(rows: slice) -> FloatArray:
        block = to_float64(pairs.block(rows))
        both = np.exp(offset(rows, block[:2])) * prior  # q
        if math.isinf(beta):
            best = block[side] == 0.0
            with np.errstate(divide="ignore"):
                return np.asarray(np.log((both * best).sum(axis=1)) - np.log(best @ prior))
        value, _ = log_partition(block[side], prior, beta)
        return np.asarray(_shifted_partition(block[side], offset(rows, block[:2]), prior, beta)[0] - value)

    return np.concatenate(list(map_blocks(kernel, pairs.slices(), executor=executor)))


def _sums(
    scores: FloatArray, offset: FloatArray, weights: FloatArray, prior: FloatArray, betas: FloatArray
) -> AgreementStatistic:
    pair = [_shifted_partition(scores, offset, prior, float(beta)) for beta in betas]
    single = [log_partition(scores, prior, float(beta)) for beta in betas]
    columns = [np.asarray([part[k] @ weights for part in parts]) for parts in (pair, single) for k in (0, 1)]
    return AgreementStatistic(float(weights.sum()), *columns)


def _shifted_partition(
    scores: FloatArray, offset: FloatArray, prior: FloatArray, beta: float
) -> tuple[FloatArray, FloatArray]:
    """Return log sum_k pi_k exp(beta s_k + o_k) of each row and its slope; offsets may be minus infinity."""
    exponents = beta * scores + offset
    top = exponents.max(axis=1, keepdims=True)
    with np.errstate(under="ignore"):
        terms = np.exp(exponents - top) * prior
    total = terms.sum(axis=1)
    return top[:, 0] + np.log(total), (terms * scores).sum(axis=1) / total


def _limits(scores: FloatArray, offset: FloatArray, weights: FloatArray, prior: FloatArray) -> OneSidedLimits:
    possible = np.isfinite(offset)
    best = scores == 0.0
    shared = np.where(best & possible, np.exp(offset), 0.0) @ prior
    contradicts = shared == 0.0
    mass = best @ prior
    highest = np.where(possible, scores, -math.inf).max(axis=1)
    nearest = np.abs(np.where(possible, offset, 0.0)).max(axis=1)
    return OneSidedLimits(
        weight=float(weights.sum()),
        fall=float(highest @ weights),
        single_limit=float(np.log(mass) @ weights),
        pair_limit=float(np.log(np.where(contradicts, 1.0, shared)) @ weights),
        contradicting=float(contradicts @ weights),
        size=float(nearest @ weights) - math.log(float(prior.min())) * float(weights.sum()),
    )
