"""Posterior agreement as a torchmetric: sums on a grid of betas, or all scores."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.data import dim_zero_cat
from torchmetrics.utilities.distributed import gather_all_tensors

from shiftmetrics._core.probabilities import look_like_probabilities
from shiftmetrics._core.validation import check_choice, check_integer, check_number, describe
from shiftmetrics.adapters.torchmetrics.states import (
    LabelFreeMetric,
    check_seen,
    device_only,
    scalar,
)
from shiftmetrics.agreement.grid import (
    BETA_RANGE,
    AgreementGridStatistic,
    check_range,
    grid_betas,
    grid_result,
    grid_statistic,
)
from shiftmetrics.agreement.kinds import KINDS
from shiftmetrics.agreement.posterior import posterior_agreement
from shiftmetrics.agreement.result import PosteriorAgreementResult
from shiftmetrics.agreement.scores import batch_pairs, named_prior, prepare_pairs


class PosteriorAgreement(LabelFreeMetric):
    """Posterior agreement of paired scores as a metric: higher is better, in nats, without labels.

    As fed by ``update(scores, reference_scores)``. It keeps the scores and solves with a certificate; or, with
    ``exact=False``, sums on a fixed grid of betas, so that its memory does not grow and processes exchange one short
    vector.

    Parameters
    ----------
    num_classes : int, optional
        Number of classes, at least 2. Needed for sums without a prior for each class.
    kind : {"scores", "probabilities", "proportions"}, default "scores"
        Probabilities become scores by their logarithm.
    prior : array of shape (num_classes,), "uniform" or "predicted", default "predicted"
        Class prior. By the fractions of predictions a network that has collapsed to one class scores 0, by the
        uniform prior log K, the maximum. Sums cannot have "predicted", which is known only when all rows are: name
        another one for them.
    floor : float, optional
        Smaller probabilities are raised to it.
    beta_range : (float, float), optional
        Ends of the grid of betas of the sums, the same for all that is to be merged; two points for each factor of 2.
        Default: 2**-17 and 2**17.
    exact : bool, default True
        Keep all scores and solve as `shiftmetrics.posterior_agreement` does: about two thirds of the processor's time
        of sums at 1000 classes, and certified.
    **kwargs
        Those of every ``torchmetrics.Metric``, such as ``compute_on_cpu`` or ``process_group``.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range; on ``update``, if scores have another shape or are not finite; on ``compute``,
        if there was no pair; on ``merge_state`` and between processes, if settings differ.

    Notes
    -----
    Sums are in float64 whatever the scores; where a device has none (Apple's MPS) they stay on the CPU.
    A beta outside the grid gives a warning with the remedy. ``result().effective_classes`` tells whether the
    model has collapsed.

    Examples
    --------
    >>> import torch
    >>> metric = PosteriorAgreement(prior="uniform")
    >>> for part in range(10):  # 300 of 1000 binary margins change sign
    ...     metric.update(torch.tensor([-1.0] * 30 + [1.0] * 70), torch.ones(100))
    >>> round(metric.compute().item(), 6), round(metric.result().equivalent_error, 4)
    (0.082283, 0.3)
    """

    signature: Tensor
    sums: Tensor
    scores: list[Tensor]
    reference_scores: list[Tensor]

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        kind: str = "scores",
        prior: Any = "predicted",
        floor: float | None = None,
        beta_range: tuple[float, float] | None = None,
        exact: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        prior = named_prior(prior)
        given = prior is not None and not isinstance(prior, str)
        if num_classes is None and given:
            num_classes = len(prior)
        if num_classes is None and not exact:
            raise TypeError(
                describe(
                    "num_classes",
                    "given where exact=False",
                    "None",
                    "Pass num_classes, or exact=True.",
                )
            )
        self.num_classes = (
            None if num_classes is None else check_integer(num_classes, "num_classes", low=2)
        )
        self.kind = check_choice(kind, "kind", KINDS)
        self.floor = (
            None
            if floor is None
            else check_number(floor, "floor", low=0.0, high=1.0, open_low=True)
        )
        self.exact = bool(exact)
        if self.exact and beta_range is not None:
            remedy = "It is the grid of sums: pass exact=False."
            raise ValueError(
                describe("beta_range", "None where exact=True", value=beta_range, remedy=remedy)
            )
        self.beta_range = check_range(BETA_RANGE if beta_range is None else beta_range)
        if isinstance(prior, str) and not exact:
            raise ValueError(
                describe(
                    "prior",
                    'an array or "uniform" where exact=False',
                    value=prior,
                    remedy='Pass exact=True, or prior="uniform" and watch result().effective_classes.',
                )
            )
        if given:
            blank = np.zeros((1, self.num_classes or 0))
            prior = prepare_pairs(blank, blank, prior=prior).prior
        self.prior = prior
        self.add_state("signature", default=self._signature(), dist_reduce_fx=_one_signature)
        if self.exact:
            self.add_state("scores", default=[], dist_reduce_fx="cat")
            self.add_state("reference_scores", default=[], dist_reduce_fx="cat")
        else:
            size = self._empty_statistic().pack().size
            self.add_state(
                "sums", default=torch.zeros(size, dtype=torch.float64), dist_reduce_fx="sum"
            )

    def update(self, scores: Tensor, reference_scores: Tensor) -> None:
        """Add a batch of pairs.

        Parameters
        ----------
        scores : Tensor of shape (n_rows, num_classes) or (n_rows,)
            Scores on the shifted sample; one-dimensional ones are binary margins.
        reference_scores : Tensor of the same shape
            Scores of the same observations on the original sample.
        """
        if len(scores) == 0 and len(reference_scores) == 0:
            return
        pairs = batch_pairs(
            scores,
            reference_scores,
            kind=self.kind,
            prior=None if isinstance(self.prior, str) else self.prior,
            floor=self.floor,
            n_classes=self._n_classes() or None,
        )
        if (
            self._update_count == 1
            and self.kind == "scores"
            and look_like_probabilities(pairs.scores)
        ):
            warnings.warn(
                'scores look like probabilities. If they are, pass kind="probabilities".',
                stacklevel=3,
            )
        if self.exact:
            self.scores.append(_two_columns(scores, self.kind))
            self.reference_scores.append(_two_columns(reference_scores, self.kind))
        else:
            added = torch.from_numpy(grid_statistic(pairs, grid_betas(*self.beta_range)).pack())
            self.sums = self.sums + added.to(self.sums.device)

    def compute(self) -> Tensor:
        """Return the posterior agreement of all pairs so far, over all processes, in nats: a float64 scalar."""
        result = self._result()
        if not result.status.ok:
            warnings.warn(f"{type(self).__name__}: {result.status.text}", stacklevel=3)
        return scalar(result.value, self.device)

    def result(self) -> PosteriorAgreementResult:
        """Return the whole result: beta, error bound, equivalent error, effective classes, status, summary."""
        with self.sync_context(
            dist_sync_fn=self.dist_sync_fn,
            should_sync=self._to_sync,
            should_unsync=self._should_unsync,
        ):
            return self._result()

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:
        """Add the pairs of another metric, or of its ``metric_state``.

        Raises
        ------
        ValueError
            If its settings differ (beta_range, classes, prior, kind, floor, exact or not).
        """
        theirs: Any = (
            incoming_state.metric_state if isinstance(incoming_state, Metric) else incoming_state
        )
        if isinstance(theirs, dict) and "signature" in theirs:
            _one_signature(
                torch.stack([self.signature, theirs["signature"].to(self.signature.device)])
            )
        super().merge_state(incoming_state)

    def sync(
        self,
        dist_sync_fn: Callable[..., Any] | None = None,
        process_group: Any = None,
        should_sync: bool = True,
        distributed_available: Callable[[], bool] | None = None,
    ) -> None:
        """Gather the states of all processes; settings are compared first, and a process may have no pairs."""
        available = distributed_available or self.distributed_available_fn
        if should_sync and not self._is_synced and callable(available) and available():
            gather = dist_sync_fn or gather_all_tensors
            _one_signature(
                torch.stack(gather(self.signature, group=process_group or self.process_group))
            )
            if self.exact:  # one type and one shape everywhere, also where there are no rows
                own = torch.tensor([self._n_classes()], device=self.device)
                n_columns = int(
                    torch.stack(gather(own, group=process_group or self.process_group)).max()
                )
                blank = torch.zeros((0, n_columns), dtype=torch.float64, device=self.device)
                self.scores = [torch.cat([blank, *(part.double() for part in self.scores)])]
                self.reference_scores = [
                    torch.cat([blank, *(part.double() for part in self.reference_scores)])
                ]
        super().sync(dist_sync_fn, process_group, should_sync, distributed_available)

    def _apply(self, fn: Callable[[Tensor], Tensor], exclude_state: Sequence[str] = "") -> Any:
        return super()._apply(device_only(fn), exclude_state)

    def _result(self) -> PosteriorAgreementResult:
        if self.exact:
            scores, reference_scores = (
                dim_zero_cat(part) if len(part) else torch.zeros(0)
                for part in (self.scores, self.reference_scores)
            )
            check_seen(len(scores))
            return posterior_agreement(
                scores, reference_scores, kind=self.kind, prior=self.prior, floor=self.floor
            )
        statistic = self._empty_statistic().unpack(self.sums.cpu().numpy())
        check_seen(statistic.weight)
        uniform = self.prior is None
        n_classes = self._n_classes()
        prior = np.full(n_classes, 1.0 / n_classes) if uniform else np.asarray(self.prior)
        betas = grid_betas(*self.beta_range)
        return grid_result(
            statistic, betas, prior, kind=self.kind, floor=self.floor, uniform=uniform
        )

    def _empty_statistic(self) -> AgreementGridStatistic:
        return AgreementGridStatistic.empty(len(grid_betas(*self.beta_range)), self._n_classes())

    def _n_classes(self) -> int:
        """Return the number of classes, 0 as long as nothing tells."""
        if self.num_classes is not None or not self.exact or not len(self.scores):
            return self.num_classes or 0
        return int(self.scores[0].shape[-1])

    def _signature(self) -> Tensor:
        """Return numbers that stand for the settings."""
        code = zlib.crc32(
            repr(None if self.prior is None else np.asarray(self.prior).tolist()).encode()
        )
        floor = -1.0 if self.floor is None else self.floor
        settings = (
            self.exact,
            self.num_classes or 0,
            KINDS.index(self.kind),
            floor,
            code,
            *self.beta_range,
        )
        return torch.tensor([float(part) for part in settings], dtype=torch.float64)


def _one_signature(stacked: Tensor) -> Tensor:
    """Return the one signature that all share."""
    if not bool((stacked == stacked[0]).all()):
        raise ValueError(
            "PosteriorAgreement metrics that are merged must share num_classes, kind, prior, floor, beta_range and "
            "exact, got different ones. Construct them with the same arguments."
        )
    return stacked[0]


def _two_columns(scores: Tensor, kind: str) -> Tensor:
    """Return a copy, of binary margins or probabilities of class 1 with one column for each class."""
    scores = scores.detach().clone()
    if scores.ndim == 2:
        return scores
    other = torch.zeros_like(scores) if kind == "scores" else 1.0 - scores
    return torch.stack([other, scores], dim=1)
