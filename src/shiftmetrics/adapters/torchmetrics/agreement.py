"""Posterior agreement as a torchmetric: sums on a grid of betas, or all scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.data import dim_zero_cat
from torchmetrics.utilities.distributed import gather_all_tensors

from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError, Setting, Wording
from shiftmetrics._core.probabilities import look_like_probabilities
from shiftmetrics._core.validation import check_choice, check_integer, check_number
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
from shiftmetrics.agreement.priors import named_prior
from shiftmetrics.agreement.result import PosteriorAgreementResult
from shiftmetrics.agreement.scores import batch_pairs, prepare_pairs


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
        uniform prior, the default of `shiftmetrics.posterior_agreement`, log K, the maximum. Sums cannot have
        "predicted", which is known only when all rows are: name another one for them.
    floor : float, optional
        Smaller probabilities are raised to it.
    beta_range : (float, float), optional
        Ends of the grid of betas of the sums, the same for all that is to be merged; two points for each factor of 2.
        Default: 2**-10 and 2**9.
    exact : bool, default True
        Keep all scores and solve as `shiftmetrics.posterior_agreement` does: about two thirds of the processor's time
        of sums at 1000 classes, and certified.
    **kwargs
        Those of every ``torchmetrics.Metric``, such as ``compute_on_cpu`` or ``process_group``.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range; on ``update``, if scores have another shape or are not finite; on ``compute``,
        if there was no pair; on ``merge_state``, if settings differ.

    Notes
    -----
    Sums are in float64 whatever the scores; where a device has none (Apple's MPS) they stay on the CPU.
    A beta outside the grid gives a warning with the remedy. ``result().effective_classes`` shows whether the
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
        self.exact = bool(exact)
        self.kind = check_choice(kind, "kind", KINDS)
        self.floor = floor
        if floor is not None:
            self.floor = check_number(floor, "floor", low=0.0, high=1.0, open_low=True)
        if self.exact and beta_range is not None:
            remedy = Wording("It is the grid of sums: pass ", Setting("exact", False), ".")
            expected = Wording("None where ", Setting("exact", True))
            raise ArgumentValueError("beta_range", expected, value=beta_range, remedy=remedy)
        self.beta_range = check_range(BETA_RANGE if beta_range is None else beta_range)
        prior = named_prior(prior)
        if isinstance(prior, str) and not exact:
            remedy = Wording(
                "Pass ",
                Setting("exact", True),
                ", or ",
                Setting("prior", "uniform"),
                " and watch result().effective_classes.",
            )
            expected = Wording('an array or "uniform" where ', Setting("exact", False))
            raise ArgumentValueError("prior", expected, value=prior, remedy=remedy)
        if num_classes is not None:
            num_classes = check_integer(num_classes, "num_classes", low=2)
        # a prior for each class says how many there are
        if prior is not None and not isinstance(prior, str):
            num_classes = num_classes or len(prior)
            blank = np.zeros((1, num_classes))
            prior = prepare_pairs(blank, blank, prior=prior).prior
        if num_classes is None and not exact:
            remedy = Wording("Pass num_classes, or ", Setting("exact", True), ".")
            expected = Wording("given where ", Setting("exact", False))
            raise ArgumentTypeError("num_classes", expected, "None", remedy)
        self.num_classes = num_classes
        self.prior = prior
        if self.exact:
            self.add_state("scores", default=[], dist_reduce_fx="cat")
            self.add_state("reference_scores", default=[], dist_reduce_fx="cat")
        else:
            sums = torch.from_numpy(self._empty_statistic().pack())
            self.add_state("sums", default=sums, dist_reduce_fx="sum")

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
        # one warning a metric, not one a batch
        is_first = self._update_count == 1
        if is_first and self.kind == "scores" and look_like_probabilities(pairs.scores):
            remedy = Wording("If they are, pass ", Setting("kind", "probabilities"), ".")
            warnings.warn(f"scores look like probabilities. {remedy}", stacklevel=3)
        if self.exact:
            # copies, because the loop that feeds the metric may reuse its tensors
            self.scores.append(_two_columns(scores, self.kind))
            self.reference_scores.append(_two_columns(reference_scores, self.kind))
        else:
            # the sums of each beta of the grid, in float64 whatever the scores
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
        """Add the pairs of another metric.

        Raises
        ------
        TypeError
            If it is none: the bare states of a metric do not say what they were added up for.
        ValueError
            If its settings differ (num_classes, kind, prior, floor, beta_range, exact).
        """
        if not isinstance(incoming_state, PosteriorAgreement):
            got = type(incoming_state).__name__
            raise ArgumentTypeError("incoming_state", "a PosteriorAgreement", got)
        ours = self._settings()
        theirs = incoming_state._settings()
        if ours != theirs:
            remedy = "Construct metrics that are merged with the same arguments."
            raise ArgumentValueError("incoming_state", f"of {ours}", f"{theirs}", remedy)
        super().merge_state(incoming_state)

    def sync(
        self,
        dist_sync_fn: Callable[..., Any] | None = None,
        process_group: Any = None,
        should_sync: bool = True,
        distributed_available: Callable[[], bool] | None = None,
    ) -> None:
        """Gather the states of all processes; one of them may have no pairs."""
        available = distributed_available or self.distributed_available_fn
        is_due = should_sync and not self._is_synced
        if self.exact and is_due and callable(available) and available():
            # torchmetrics waits for ever for a process without rows: each gets one type and one shape
            gather = dist_sync_fn or gather_all_tensors
            own = torch.tensor([self._n_classes()], device=self.device)
            n_columns = torch.stack(gather(own, group=process_group or self.process_group)).max()
            blank = torch.zeros((0, int(n_columns)), dtype=torch.float64, device=self.device)
            self.scores = [torch.cat([blank, *self.scores])]
            self.reference_scores = [torch.cat([blank, *self.reference_scores])]
        super().sync(dist_sync_fn, process_group, should_sync, distributed_available)

    def _apply(self, fn: Callable[[Tensor], Tensor], exclude_state: Sequence[str] = "") -> Any:
        return super()._apply(device_only(fn), exclude_state)

    def _result(self) -> PosteriorAgreementResult:
        if self.exact:
            check_seen(len(self.scores))
            scores = dim_zero_cat(self.scores)
            check_seen(len(scores))
            reference_scores = dim_zero_cat(self.reference_scores)
            options = {"kind": self.kind, "prior": self.prior, "floor": self.floor}
            return posterior_agreement(scores, reference_scores, **options)
        statistic = self._empty_statistic().unpack(self.sums.cpu().numpy())
        check_seen(statistic.weight)
        is_uniform = self.prior is None
        n_classes = self._n_classes()
        prior = np.full(n_classes, 1.0 / n_classes) if is_uniform else np.asarray(self.prior)
        betas = grid_betas(*self.beta_range)
        return grid_result(
            statistic, betas, prior, kind=self.kind, floor=self.floor, uniform=is_uniform
        )

    def _empty_statistic(self) -> AgreementGridStatistic:
        return AgreementGridStatistic.empty(len(grid_betas(*self.beta_range)), self._n_classes())

    def _n_classes(self) -> int:
        """Return the number of classes, 0 as long as nothing tells."""
        if self.num_classes is not None or not self.exact or not len(self.scores):
            return self.num_classes or 0
        return int(self.scores[0].shape[-1])

    def extra_repr(self) -> str:
        """Return what the value depends on, for ``repr``: the prior first, whose default is not the function's."""
        prior = "given" if isinstance(self.prior, np.ndarray) else repr(self.prior or "uniform")
        return f"prior={prior}, kind={self.kind!r}, exact={self.exact}"

    def _settings(self) -> dict[str, Any]:
        prior = None if self.prior is None else np.asarray(self.prior).tolist()
        return {
            "num_classes": self.num_classes,
            "kind": self.kind,
            "prior": prior,
            "floor": self.floor,
            "beta_range": self.beta_range,
            "exact": self.exact,
        }


def _two_columns(scores: Tensor, kind: str) -> Tensor:
    """Return a copy, of binary margins or probabilities of class 1 with one column for each class."""
    scores = scores.detach().clone()
    if scores.ndim == 2:
        return scores
    # the first class of a margin has score 0; probabilities of both classes sum to 1
    other = torch.zeros_like(scores) if kind == "scores" else 1.0 - scores
    return torch.stack([other, scores], dim=1)
