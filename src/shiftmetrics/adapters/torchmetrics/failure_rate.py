"""Attack failure rates as a torchmetric: predictions that a shift leaves unchanged, or right."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.validation import check_choice
from shiftmetrics.adapters.torchmetrics.states import LabelFreeMetric, check_seen, scalar


class AttackFailureRate(LabelFreeMetric):
    """Fraction of predictions that a shift or an attack leaves unchanged, or right: higher is better.

    Without labels it is AFR_P, the fraction of shifted predictions equal to the original ones; with labels AFR_T, the
    fraction of shifted predictions that are right.

    Parameters
    ----------
    against : {"predictions", "labels"}, optional
        What shifted predictions are compared with. Default: labels if ``update`` gets them, else predictions.
    **kwargs
        Those of every ``torchmetrics.Metric``.

    Raises
    ------
    TypeError, ValueError
        If shapes differ; on ``compute``, if there was no row, or if only some had labels where they are needed.

    Examples
    --------
    >>> import torch
    >>> metric = AttackFailureRate()
    >>> scores = torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.7, 0.3]])
    >>> metric.update(scores, torch.tensor([[0.2, 0.8], [0.6, 0.4], [0.4, 0.6]]))
    >>> round(metric.compute().item(), 3)
    0.667
    >>> metric.reset()
    >>> metric.update(scores, scores, labels=torch.tensor([1, 1, 1]))
    >>> round(metric.compute().item(), 3)
    0.333
    """

    plot_upper_bound = 1.0

    kept: Tensor
    right: Tensor
    labelled: Tensor
    total: Tensor

    def __init__(self, *, against: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if against is not None:
            check_choice(against, "against", ("predictions", "labels"))
        self.against = against
        # counts add up over batches and processes
        for name in ("kept", "right", "labelled", "total"):
            self.add_state(name, default=torch.zeros((), dtype=torch.long), dist_reduce_fx="sum")

    def update(
        self, scores: Tensor, reference_scores: Tensor, labels: Tensor | None = None
    ) -> None:
        """Add a batch.

        Parameters
        ----------
        scores, reference_scores : Tensor of shape (n_rows, num_classes) or (n_rows,)
            Of the shifted and of the original sample: scores, of which the largest counts; or in one dimension
            predicted classes (integers) or binary margins (floats: class 1 where positive).
        labels : Tensor of shape (n_rows,), optional
            True classes.
        """
        shifted = _predicted(scores, "scores")
        reference = _predicted(reference_scores, "reference_scores")
        _check_length(reference, "reference_scores", len(shifted))
        self.kept = self.kept + (shifted == reference).sum()
        self.total = self.total + len(shifted)
        if labels is not None:
            _check_length(labels, "labels", len(shifted))
            self.right = self.right + (shifted == labels).sum()
            self.labelled = self.labelled + len(shifted)

    def compute(self) -> Tensor:
        """Return the rate among all rows so far, over all processes: a float64 scalar."""
        total = int(self.total)
        labelled = int(self.labelled)
        check_seen(total)
        against = self.against
        # labels decide where they are given
        if against is None:
            against = "labels" if labelled else "predictions"
        if against == "predictions":
            return scalar(int(self.kept) / total, self.device)
        # a rate over some of the rows would pass for one over all
        if labelled < total:
            got = f"{labelled} labels for {total} rows"
            remedy = 'Pass labels=..., or choose AttackFailureRate(against="predictions").'
            raise ArgumentValueError("labels", "given in every update or in none", got, remedy)
        return scalar(int(self.right) / total, self.device)


def _predicted(scores: Tensor, argument: str) -> Tensor:
    shape = tuple(getattr(scores, "shape", ()))
    if not isinstance(scores, Tensor) or len(shape) not in (1, 2):
        got = f"{type(scores).__name__} of shape {shape}"
        expected = "a tensor of shape (n_rows, n_classes) or (n_rows,)"
        raise ArgumentTypeError(argument, expected, got)
    if not bool(torch.isfinite(scores).all()):
        raise ArgumentValueError(argument, "finite everywhere", "NaN or infinity")
    if scores.ndim == 2:
        return scores.argmax(dim=1)
    # integers are classes already; a margin above 0 is the second class
    return (scores > 0).long() if scores.is_floating_point() else scores.long()


def _check_length(values: Tensor, argument: str, length: int) -> None:
    if values.ndim != 1 or len(values) != length:
        got = f"shape {tuple(values.shape)}"
        raise ArgumentValueError(
            argument, f"of length {length} like scores", got, "Rows are pairs."
        )
