"""Posterior agreement over the processes of torch.distributed: certified, while every score stays where it is."""

from __future__ import annotations

import functools
import operator
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftmetrics._core.options import Computing, computing_of
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.statistics import Statistic
from shiftmetrics._core.validation import check_integer, describe, needs
from shiftmetrics.agreement import PosteriorAgreementResult
from shiftmetrics.agreement.posterior import prior_setting
from shiftmetrics.agreement.scores import ScorePairs, batch_pairs, named_prior, prepare_pairs
from shiftmetrics.agreement.solver import changed_fields, solve_beta
from shiftmetrics.agreement.statistic import confident_changes, evaluator, limits_of, settled_limits

with needs("shiftmetrics.adapters.distributed", "torch", "'shiftmetrics[torch]'"):
    import torch
    import torch.distributed as dist


def distributed_agreement(
    scores: Any,
    reference_scores: Any,
    num_classes: int,
    *,
    kind: str = "scores",
    prior: Any = None,
    floor: float | None = None,
    beta: float | None = None,
    computing: Computing | None = None,
    group: Any = None,
) -> PosteriorAgreementResult:
    """Posterior agreement of the pairs of all processes; each calls this with its own, and gets the same result.

    What travels is one short vector for each pass, of about ten. A process may have no pairs.

    Parameters
    ----------
    scores, reference_scores : array of shape (n_rows, num_classes) or (n_rows,)
        The pairs of this process, of any array library.
    num_classes : int
        Number of classes, at least 2, which a process without pairs could not know.
    kind : {"scores", "probabilities"}, default "scores"
        Probabilities become scores by their logarithm.
    prior : array of shape (num_classes,), "uniform" or "predicted", optional
        Class prior, as in `shiftmetrics.posterior_agreement`.
    floor : float, optional
        Smaller probabilities are raised to it; needed where probabilities are 0.
    beta : float, optional
        A given inverse temperature instead of the best one.
    computing : Computing, optional
        ``executor``; ``atol``, the certified gap in nats per sample (default 1e-6); ``max_iter``, the most betas to
        evaluate (default 200).
    group : torch.distributed.ProcessGroup, optional
        Default: all processes.

    Returns
    -------
    PosteriorAgreementResult
        Of all pairs, without ``per_sample``; higher is better.

    Raises
    ------
    RuntimeError
        If torch.distributed is not initialised, or a process ends or does not answer within the group's time-out.
    TypeError, ValueError
        As in `shiftmetrics.posterior_agreement`, in every process: where the input of another one is bad, or its
        settings differ, the message says so.

    Examples
    --------
    One process alone, without a launcher:

    >>> import tempfile
    >>> import torch, torch.distributed as dist
    >>> store = f"file://{tempfile.mkdtemp()}/store"
    >>> dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    >>> shifted = torch.where(torch.arange(1000) < 300, -1.0, 1.0)
    >>> round(distributed_agreement(shifted, torch.ones(1000), 2).value, 6)
    0.082283
    >>> dist.destroy_process_group()
    """
    if not (dist.is_available() and dist.is_initialized()):
        raise RuntimeError(
            "torch.distributed must be initialised, got no process group. Call "
            "torch.distributed.init_process_group first, or use shiftmetrics.posterior_agreement in one process."
        )
    if dist.get_rank(group) < 0:
        remedy = "Call it in the processes of the group alone."
        raise ValueError(describe("group", "a group that this process belongs to", "another one", remedy))
    num_classes = check_integer(num_classes, "num_classes", low=2)
    computing = computing_of(computing, atol=1e-6, max_iter=200)
    blank = np.zeros((1, num_classes))
    pairs: ScorePairs | None = None
    failure: Exception | None = None
    try:
        prior = named_prior(prior)
        prepare_pairs(blank, blank, prior=prior)
        if len(scores) or len(reference_scores):
            pairs = batch_pairs(
                scores, reference_scores, kind=kind, prior=None, floor=floor, n_classes=num_classes
            )
    except (TypeError, ValueError) as error:
        failure = error
    settings = repr((num_classes, kind, np.asarray(prior).tolist(), floor, beta, computing.settings()))
    rows = 0 if pairs is None else pairs.n_samples
    states = _gather(np.array([failure is not None, zlib.crc32(settings.encode()), rows]), group)
    if failure is not None:
        raise failure
    _check_others(np.stack(states))

    def total(function: Callable[[ScorePairs], Statistic]) -> Any:
        mine = function(prepare_pairs(blank, blank)).zeros() if pairs is None else function(pairs)
        return functools.reduce(operator.add, (mine.unpack(part) for part in _gather(mine.pack(), group)))

    limits, weights, scale = settled_limits(
        lambda prior, scale: total(lambda pairs: limits_of(pairs.replace(prior=prior, scale=scale))),
        prepare_pairs(blank, blank, prior=prior).prior,
        predicted=isinstance(prior, str),
    )
    change = {"prior": weights, "scale": scale}
    best, fields = solve_beta(
        lambda betas: total(lambda pairs: evaluator(pairs.replace(**change))(betas)),
        limits,
        weights,
        scale,
        prior=prior,
        beta=beta,
        computing=computing,
    )
    fields |= changed_fields(
        limits, lambda: total(lambda pairs: confident_changes(pairs.replace(**change), best.x))
    )
    return PosteriorAgreementResult(
        **fields,
        settings=settings_of(
            kind=kind, prior=prior_setting(prior), floor=floor, beta=beta, computing=computing.settings()
        ),
    )


def _check_others(states: Any) -> None:
    failed, settings, rows = states.T
    if failed.any():
        raise ValueError(
            f"scores must be valid in every process, got bad input in process {int(failed.argmax())}. "
            "Its own message says what is wrong."
        )
    if (settings != settings[0]).any():
        raise ValueError(
            "num_classes, kind, prior, floor, beta and computing must be the same in every process, got others in "
            f"process {int((settings != settings[0]).argmax())}. Call with the same arguments."
        )
    if not rows.any():
        raise ValueError("scores must have at least one row in some process, got none.")


def _gather(vector: Any, group: Any) -> list[Any]:
    """Return the vectors of all processes, in their order."""
    device = "cuda" if dist.get_backend(group) == "nccl" else "cpu"
    mine = torch.tensor(vector, dtype=torch.float64, device=device)
    parts = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
    try:
        dist.all_gather(parts, mine, group=group)
    except RuntimeError as error:
        raise RuntimeError(
            f"Every process of the group must take part, but one ended, or did not answer in time ({error}). Start "
            "all again; init_process_group(timeout=...) says how long they wait."
        ) from error
    return [part.cpu().numpy() for part in parts]
