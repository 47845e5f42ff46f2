"""The papers' own search for beta, to compare with printed numbers: gradient steps, with their trace."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, take_rows
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.options import Computing, computing_of, progress_bar
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Status, format_number
from shiftmetrics._core.validation import check_choice, check_integer, check_number, seed_of
from shiftmetrics.agreement.posterior import posterior_agreement
from shiftmetrics.agreement.priors import named_prior
from shiftmetrics.agreement.result import PosteriorAgreementResult
from shiftmetrics.agreement.scores import ScorePairs, prepare_pairs
from shiftmetrics.agreement.statistic import AgreementStatistic, evaluator, survey
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import REFERENCE, TEST, line_at, new_axes
from shiftmetrics_lab.published.steps import Adam

Reduction = Literal["mean", "sum"]

FINISHED = Status("finished", "All steps were taken; nothing certifies that beta is the best one.")
TRAPPED = Status(
    "trapped",
    "A step reached beta = 0, where the gradient vanishes whatever the data, and stayed there.",
    "Use posterior_agreement, whose certified maximum has no such trap.",
    ok=False,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class AdamRun(Drawn, Record):
    """Where gradient steps on beta ended.

    Attributes
    ----------
    value : float
        Agreement at the last beta, on all pairs, in nats per sample. Higher is better.
    beta : float
        The last inverse temperature.
    log_pa : float
        ``n_samples * (value - log K)``, as the papers print it.
    status : Status
        Not ok where the steps ended in the trap at beta = 0.
    best : PosteriorAgreementResult
        The certified maximum, which no number of steps exceeds.
    trace_beta, trace_value : ndarray of shape (n_steps,)
        Beta before each step, and the agreement of its batch there.
    """

    value: float
    beta: float
    log_pa: float
    status: Status
    best: PosteriorAgreementResult
    trace_beta: FloatArray
    trace_value: FloatArray

    def __str__(self) -> str:
        return (
            f"{len(self.trace_beta)} Adam steps end at beta = {format_number(self.beta)} with "
            f"{format_number(self.value)} nats (log PA = {format_number(self.log_pa)}); the certified maximum is "
            f"{format_number(self.best.value)} at beta = {format_number(self.best.beta)}."
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
    computing: Computing | None = None,
) -> AdamRun:
    """Posterior agreement as the papers compute it: Adam on beta, cut off at 0 after each step [1]_.

    For comparison with printed numbers only. It stops after a given number of steps, wherever it is, and beta = 0 is
    a trap; `posterior_agreement` returns the certified maximum.

    Parameters
    ----------
    scores, reference_scores, kind, prior, floor
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
        Seed of the shuffles.
    computing : Computing, optional
        ``executor`` and ``progress``.

    Returns
    -------
    AdamRun
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
    >>> from shiftmetrics_lab.published import posterior_agreement_adam
    >>> margins = np.repeat([100.0, 1.0, 10.0], [100, 60, 4])
    >>> shifted = np.where(margins == 10.0, -margins, margins)  # the last four change sign
    >>> found = posterior_agreement_adam(shifted, margins)
    >>> found.beta, round(found.value, 6), round(found.best.value, 5), round(found.best.beta, 4)
    (0.0, 0.0, 0.41914, 0.0742)
    """
    step = check_number(step, "step", low=0.0, open_low=True)
    beta0 = check_number(beta0, "beta0", low=0.0)
    epochs = check_integer(epochs, "epochs", low=1)
    reduction = check_choice(reduction, "reduction", ("mean", "sum"))
    seed = seed_of(rng)
    computing = computing_of(computing)
    options: dict[str, Any] = {"kind": kind, "prior": prior, "floor": floor}
    pairs = prepare_pairs(scores, reference_scores, **options)
    pairs, _ = survey(
        pairs, predicted=isinstance(named_prior(prior), str), executor=computing.executor
    )
    size = pairs.n_samples if batch_size is None else check_integer(batch_size, "batch_size", low=1)
    betas, values = _descend(
        pairs, step, beta0, epochs, min(size, pairs.n_samples), reduction, seed, computing
    )
    beta = betas[-1]
    value = float(evaluator(pairs, executor=computing.executor)([beta / pairs.scale]).value[0])
    best = posterior_agreement(
        scores, reference_scores, computing=Computing(executor=computing.executor), **options
    )
    return AdamRun(
        value=value,
        beta=beta,
        log_pa=pairs.n_samples * (value - math.log(pairs.n_classes)),
        status=TRAPPED if beta == 0.0 and best.beta > 0.0 else FINISHED,
        best=best,
        trace_beta=np.asarray(betas[:-1]),
        trace_value=np.asarray(values),
    )


@drawing(AdamRun, kind="steps")
def draw_steps(run: Any, ax: Any = None) -> Any:
    """Draw beta over the gradient steps, with the beta of the certified maximum."""
    ax = new_axes(ax)
    ax.plot(np.append(run.trace_beta, run.beta), color=TEST)
    if math.isfinite(run.best.beta):
        line_at(
            ax, "y", run.best.beta, f"certified maximum at {run.best.beta:.3g}", color=REFERENCE
        )
    ax.set(xlabel="step", ylabel="inverse temperature beta")
    ax.set_title("Where gradient steps take beta")
    return ax


def _descend(
    pairs: ScorePairs,
    step: float,
    beta0: float,
    epochs: int,
    batch_size: int,
    reduction: Reduction,
    seed: int,
    computing: Computing,
) -> tuple[list[float], list[float]]:
    """Return beta before each step and after the last, and the agreement of each batch."""
    rng = np.random.default_rng(seed)
    beta, adam = beta0, Adam((1,), step)
    betas, values = [beta], []
    for _ in progress_bar(computing.progress, "epochs", over=range(epochs)):
        for batch in _batches(pairs, batch_size, rng):
            statistic: AgreementStatistic = evaluator(batch, executor=computing.executor)(
                [beta / pairs.scale]
            )
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
            scores=take_rows(pairs.scores, rows),
            reference_scores=take_rows(pairs.reference_scores, rows),
        )
