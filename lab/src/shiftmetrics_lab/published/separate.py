"""Two models on one sample, each at its own inverse temperature, so that the scales of their scores do not matter.

There is no certificate over both betas together, but a certified maximum in each while the other is fixed. Turns are
taken from several starts until neither gains; the best end is a local maximum.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray, to_float64
from shiftmetrics._core.blocks import map_reduce
from shiftmetrics._core.options import Computing, computing_of
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Status, format_number
from shiftmetrics.agreement.posterior import posterior_agreement
from shiftmetrics.agreement.result import BOUNDARY, MAX_ITER, NO_AGREEMENT, PosteriorAgreementResult
from shiftmetrics.agreement.scores import ScorePairs, prepare_pairs
from shiftmetrics.agreement.statistic import survey
from shiftmetrics_lab.published.one_sided import fixed_at, solve_one_side

LOCAL = Status(
    "local",
    "Each side has its own beta: changing one of them alone gains nothing, but other maxima cannot be excluded.",
)

STARTS = (0.5, 2.0, 8.0, math.inf)
"""Where the reference's beta starts, in units of one over its mean margin; the common beta is one more start."""

PILOT_ROWS = 2000
"""Rows on which the starts of a large sample are tried; the best end is then followed on all rows."""


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
    >>> from shiftmetrics_lab.published import model_agreement
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
        ends = SeparateBetas(
            result.beta, result.beta, result.value, result.error_bound, settled=True
        )
        return _model_agreement(ends, BOUNDARY, result)
    pairs = prepare_pairs(scores, reference_scores, **{**options, "prior": result.prior})
    pairs, _ = survey(pairs, executor=executor)
    start, max_turns = result.beta / pairs.scale, computing.max_iter or 0
    ends = solve_two_betas(
        pairs, start, result.value, atol=atol, max_turns=max_turns, executor=executor
    )
    status = MAX_ITER if not ends.settled else NO_AGREEMENT if ends.value <= 0.0 else LOCAL
    ends = ends._replace(
        beta=ends.beta * pairs.scale, reference_beta=ends.reference_beta * pairs.scale
    )
    return _model_agreement(ends, status, result)


def _model_agreement(
    ends: SeparateBetas, status: Status, common: PosteriorAgreementResult
) -> ModelAgreement:
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
    pairs : ScorePairs
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
        ends.append(_take_turns(pilot, start, max(atol, 1e-5), max_turns, executor))
        if ends[-1].value >= most_agreement(pairs) - atol:
            break  # nothing agrees more
    if not ends:
        return SeparateBetas(0.0, 0.0, 0.0, 0.0, settled=True)
    place = int(np.argmax([end.value for end in ends]))
    start = ends[place].reference_beta or starts[place]  # a flat side is no start
    full = _take_turns(pairs, start, atol, max_turns, executor)
    if full.value < common_value:  # the pilot misled: start from the certified one
        full = _take_turns(pairs, common_beta, atol, max_turns, executor)
    return full


def most_agreement(pairs: ScorePairs) -> float:
    """Return the most that any two posteriors can agree: both on the rarest class."""
    return -math.log(float(pairs.prior[pairs.prior > 0.0].min()))


def _take_turns(
    pairs: ScorePairs,
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
