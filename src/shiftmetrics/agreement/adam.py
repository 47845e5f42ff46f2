"""The papers' solver, to compare with printed numbers: stochastic gradient steps on beta, with their traces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shiftmetrics._core.adam import Adam
from shiftmetrics._core.arrays import FloatArray, IntArray, take_rows
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Result, format_number, settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_choice, check_integer, check_number, seed_of
from shiftmetrics.agreement.posterior import input_warnings, posterior_agreement, prior_setting
from shiftmetrics.agreement.scores import ScorePairs, prepare_pairs
from shiftmetrics.agreement.statistic import AgreementStatistic, evaluator, survey

Reduction = Literal["mean", "sum"]


class AdamStatus(Status):
    """How the steps ended."""

    finished = ("finished", True, "All steps were taken; nothing certifies that beta is the best one.")
    trapped = (
        "trapped",
        False,
        "A step reached beta = 0, where the gradient vanishes whatever the data, and stayed there. "
        "The certified maximum of posterior_agreement has no such trap.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class AdamAgreementResult(Drawn, Result):
    """Where gradient steps on beta ended.

    Attributes
    ----------
    value : float
        Agreement at the last beta, on all pairs, in nats per sample. Higher is better.
    error_bound : float
        How far the value lies below the certified maximum, that one's error included.
    status : AdamStatus
        Not ok where the steps ended in the trap at beta = 0.
    beta : float
        The last inverse temperature.
    log_pa : float
        ``n_samples * (value - log K)``, as the papers print it.
    best_value, best_beta : float
        The certified maximum and its beta, which no number of steps exceeds.
    n_classes : int
        Number of classes K.
    trace_beta, trace_value : ndarray of shape (n_steps,)
        Beta before each step, and the agreement of its batch there.
    """

    measure: ClassVar[str] = "posterior_agreement_adam"
    title: ClassVar[str] = "Posterior agreement by gradient steps"
    unit: ClassVar[str] = "nats"
    higher_is_better: ClassVar[bool] = True

    status: AdamStatus
    beta: float
    log_pa: float
    best_value: float
    best_beta: float
    n_classes: int
    trace_beta: FloatArray
    trace_value: FloatArray

    def headline(self) -> str:
        """Return one sentence with where the steps ended and what they missed."""
        return (
            f"{len(self.trace_beta)} Adam steps end at beta = {format_number(self.beta)} with "
            f"{format_number(self.value)} nats (log PA = {format_number(self.log_pa)}); the certified maximum is "
            f"{format_number(self.best_value)} at beta = {format_number(self.best_beta)}."
        )


def posterior_agreement_adam(
    scores: Any,
    reference_scores: Any,
    *,
    step: float = 0.1,
    beta0: float = 1.0,
    epochs: int = 500,
    batch_size: int | None = None,
    reduction: Reduction = "mean",
    rng: Any = None,
    kind: str = "scores",
    prior: Any = None,
    floor: float | None = None,
    align: Align = "labels",
    executor: Executor | None = None,
    progress: bool = True,
) -> AdamAgreementResult:
    """Posterior agreement as the papers compute it: Adam on beta, cut off at 0 after each step [1]_.

    For comparison with printed numbers only. It stops after a given number of steps, wherever it is, and beta = 0 is
    a trap; `posterior_agreement` returns the certified maximum.

    Parameters
    ----------
    scores, reference_scores, kind, prior, floor, align, executor
        As in `posterior_agreement`.
    step : float, default 0.1
        Step size.
    beta0 : float, default 1
        Where to start.
    epochs : int, default 500
        Passes over the pairs.
    batch_size : int, optional
        Pairs in each step, shuffled anew in each epoch; the last batch may be smaller. Default: all pairs.
    reduction : {"mean", "sum"}, default "mean"
        How the losses of a batch are joined. It matters only while gradients are as small as Adam's epsilon, 1e-8.
    rng : int, Generator or None
        Of the shuffles; recorded in the settings.
    progress : bool, default True
        Whether to show a progress bar over epochs.

    Returns
    -------
    AdamAgreementResult
        With beta and the value at each step. Higher is better.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`, or if an option is out of its range.

    References
    ----------
    .. [1] Carvalho et al., arXiv:2503.16271, section 3; V. Jimenez Rodriguez, master thesis, ETH Zurich 2024, section
       3.6 and table 4.1, whose beta = 12.33 takes batches of 16, summed losses, 100 epochs and beta0 = 0.1.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import posterior_agreement_adam
    >>> margins = np.repeat([100.0, 1.0, 10.0], [100, 60, 4])
    >>> shifted = np.where(margins == 10.0, -margins, margins)  # the last four change sign
    >>> found = posterior_agreement_adam(shifted, margins)
    >>> found.beta, round(found.value, 6), round(found.best_value, 5), round(found.best_beta, 4)
    (0.0, 0.0, 0.41914, 0.0742)
    """
    step = check_number(step, "step", low=0.0, open_low=True)
    beta0 = check_number(beta0, "beta0", low=0.0)
    epochs = check_integer(epochs, "epochs", low=1)
    reduction = check_choice(reduction, "reduction", ("mean", "sum"))
    seed = seed_of(rng)
    pairs = prepare_pairs(scores, reference_scores, kind=kind, prior=prior, floor=floor, align=align)
    pairs, limits = survey(pairs, predicted=isinstance(prior, str), executor=executor)
    size = pairs.n_samples if batch_size is None else check_integer(batch_size, "batch_size", low=1)
    betas, values = _descend(
        pairs, step, beta0, epochs, min(size, pairs.n_samples), reduction, seed, executor, progress=progress
    )
    beta = betas[-1]
    value = float(evaluator(pairs, executor=executor)([beta / pairs.scale]).value[0])
    best = posterior_agreement(
        scores, reference_scores, kind=kind, prior=prior, floor=floor, align=align, keep_rows=False, executor=executor
    )  # fmt: skip
    return AdamAgreementResult(
        value=value,
        error_bound=max(0.0, best.value - value) + best.error_bound,
        status=AdamStatus.trapped if beta == 0.0 and best.beta > 0.0 else AdamStatus.finished,
        n_samples=pairs.n_samples,
        beta=beta,
        log_pa=pairs.n_samples * (value - math.log(pairs.n_classes)),
        best_value=best.value,
        best_beta=best.beta,
        n_classes=pairs.n_classes,
        trace_beta=np.asarray(betas[:-1]),
        trace_value=np.asarray(values),
        settings=settings_of(
            step=step,
            beta0=beta0,
            epochs=epochs,
            batch_size=batch_size,
            reduction=reduction,
            rng=seed,
            kind=pairs.kind,
            prior=prior_setting(prior),
            floor=pairs.floor,
            align=align,
        ),
        warnings=tuple(input_warnings(pairs, limits)),
    )


def _descend(
    pairs: ScorePairs,
    step: float,
    beta0: float,
    epochs: int,
    batch_size: int,
    reduction: Reduction,
    seed: int,
    executor: Executor | None,
    *,
    progress: bool,
) -> tuple[list[float], list[float]]:
    """Return beta before each step and after the last, and the agreement of each batch."""
    from tqdm import tqdm

    rng = np.random.default_rng(seed)
    beta, adam = beta0, Adam((1,), step)
    betas, values = [beta], []
    for _ in tqdm(range(epochs), desc="epochs", delay=2.0, disable=not progress, leave=False):
        for batch in _batches(pairs, batch_size, rng):
            statistic: AgreementStatistic = evaluator(batch, executor=executor)([beta / pairs.scale])
            values.append(float(statistic.value[0]))
            slope = float(statistic.slope[0]) / pairs.scale  # that of the solve, in its scale
            slope *= batch.n_samples if reduction == "sum" else 1.0
            beta = max(0.0, beta + adam.step_of_number(slope))
            betas.append(beta)
    return betas, values


def _batches(pairs: ScorePairs, batch_size: int, rng: np.random.Generator) -> Iterator[ScorePairs]:
    if batch_size == pairs.n_samples:
        yield pairs
        return
    order: IntArray = rng.permutation(pairs.n_samples)
    for start in range(0, pairs.n_samples, batch_size):
        rows = order[start : start + batch_size]
        yield pairs.replace(
            scores=take_rows(pairs.scores, rows), reference_scores=take_rows(pairs.reference_scores, rows)
        )
