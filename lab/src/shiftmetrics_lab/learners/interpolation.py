"""Selective interpolation of training rows (LISA): between domains within a label, or between labels in a domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_choice, check_integer, check_number
from shiftmetrics_lab.learners.objectives import Batch, distinct


def mixup(x: Tensor, partner: Tensor, weight: Tensor) -> Tensor:
    """Return ``weight * x + (1 - weight) * partner``, row by row.

    Parameters
    ----------
    x, partner : Tensor of shape (n_samples, ...)
        Rows and their partners.
    weight : Tensor of shape (n_samples,)
        Fraction of ``x`` in each row.

    Examples
    --------
    >>> import torch
    >>> mixup(torch.zeros(2, 1), torch.ones(2, 1), torch.tensor([0.25, 1.0])).ravel()
    tensor([0.7500, 0.0000])
    """
    weight = weight.reshape(-1, *[1] * (x.ndim - 1)).to(x.dtype)
    return weight * x + (1.0 - weight) * partner


def cutmix(
    x: Tensor, partner: Tensor, weight: Tensor, *, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Paste a box of each partner image into its image.

    Parameters
    ----------
    x, partner : Tensor of shape (n_samples, n_channels, height, width)
        Images and their partners.
    weight : Tensor of shape (n_samples,)
        Fraction of the area of ``x`` that should stay.
    generator : torch.Generator, optional
        Places the boxes.

    Returns
    -------
    images : Tensor
        The composed images.
    weight : Tensor of shape (n_samples,)
        The fraction that did stay: boxes consist of whole pixels and may leave the image.

    Raises
    ------
    ValueError
        If the inputs are not images.

    References
    ----------
    Yun et al., "CutMix" (arXiv:1905.04899).

    Examples
    --------
    >>> import torch
    >>> image, weight = cutmix(torch.zeros(1, 1, 8, 8), torch.ones(1, 1, 8, 8), torch.tensor([0.75]))
    >>> float(image.mean()) == 1 - float(weight)
    True
    """
    if x.ndim != 4:
        expected = "images of shape (n_samples, n_channels, height, width) for cutmix"
        remedy = 'Use method="mixup" for other inputs.'
        raise ArgumentValueError("x", expected, f"shape {tuple(x.shape)}", remedy)
    height, width = x.shape[2:]
    inside = torch.ones(len(x), height, width, dtype=torch.bool, device=x.device)
    side = torch.sqrt(1.0 - weight.to(x.device))
    for size, axis in ((height, 1), (width, 2)):
        centre = torch.rand(len(x), generator=generator).to(x.device) * size
        pixels = torch.arange(size, device=x.device) + 0.5
        along = (pixels - centre[:, None]).abs() < (0.5 * side * size)[:, None]
        inside &= along[:, :, None] if axis == 1 else along[:, None, :]
    mixed = torch.where(inside[:, None], partner, x)
    return mixed, 1.0 - inside.to(x.dtype).mean(dim=(1, 2))


@dataclass(frozen=True, kw_only=True)
class LISA:
    """Learning invariant predictors by selective augmentation: a batch transform.

    Each row is mixed with a partner from the batch: with probability ``within_domain`` one of the same domain and
    another label (LISA-L), else one of the same label and another domain (LISA-D). The latter washes out what tells
    the domains apart. A row without such a partner stays as it is.

    Parameters
    ----------
    n_classes : int
        Number of classes: labels become distributions.
    method : {"mixup", "cutmix"}, default "mixup"
        How two inputs are mixed; "cutmix" is for images.
    within_domain : float, default 0.5
        Probability of mixing labels within a domain.
    concentration : float, default 2.0
        The fraction of each row is drawn from Beta(concentration, concentration).

    References
    ----------
    Yao et al., "Improving Out-of-Distribution Robustness via Selective Augmentation" (arXiv:2201.00299).

    Examples
    --------
    >>> import torch
    >>> batch = Batch(torch.tensor([[0.0], [1.0]]), torch.tensor([1, 1]), torch.tensor([0, 1]))
    >>> mixed = LISA(n_classes=2, within_domain=0.0)(batch)
    >>> mixed.y.tolist(), bool(((mixed.x > 0) & (mixed.x < 1)).all())
    ([[0.0, 1.0], [0.0, 1.0]], True)
    """

    n_classes: int
    method: Literal["mixup", "cutmix"] = "mixup"
    within_domain: float = 0.5
    concentration: float = 2.0

    def __post_init__(self) -> None:
        check_integer(self.n_classes, "n_classes", low=2)
        check_choice(self.method, "method", ("mixup", "cutmix"))
        check_number(self.within_domain, "within_domain", low=0.0, high=1.0)
        check_number(self.concentration, "concentration", low=0.0, open_low=True)

    def __call__(self, batch: Batch) -> Batch:
        """Return the mixed batch, whose labels are distributions over the classes."""
        if batch.domain is None:
            raise ValueError(
                "domain must be given for LISA, got None. Pass the domain of each row."
            )
        n_samples, generator = len(batch.x), batch.generator
        within = torch.rand(n_samples, generator=generator).to(batch.y.device) < self.within_domain
        partner = torch.where(
            within,
            _partners(batch.domain, batch.y, generator),
            _partners(batch.y, batch.domain, generator),
        )
        weight = _beta(self.concentration, n_samples, generator).to(batch.x)
        if self.method == "mixup":
            x = mixup(batch.x, batch.x[partner], weight)
        else:
            x, weight = cutmix(batch.x, batch.x[partner], weight, generator=generator)
        y = _one_hot(batch.y, self.n_classes).to(batch.x.dtype)
        return batch._replace(x=x, y=mixup(y, y[partner], weight))


def _one_hot(y: Tensor, n_classes: int) -> Tensor:
    """Return labels as rows of zeros and a one, refusing labels that do not fit."""
    if len(y) and (int(y.min()) < 0 or int(y.max()) >= n_classes):
        raise ArgumentValueError(
            "y", f"labels from 0 to {n_classes - 1}", f"{int(y.min())} to {int(y.max())}"
        )
    return torch.nn.functional.one_hot(y, n_classes)


def _partners(same: Tensor, other: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw for each row one that agrees in ``same`` and differs in ``other``; itself where there is none."""
    partner = torch.arange(len(same), device=same.device)
    for first in distinct(same):
        agrees = same == first
        for second in distinct(other[agrees]):
            rows = (agrees & (other == second)).nonzero().ravel()
            candidates = (agrees & (other != second)).nonzero().ravel()
            if len(candidates):
                draw = torch.randint(len(candidates), (len(rows),), generator=generator)
                partner[rows] = candidates[draw.to(candidates.device)]
    return partner


def _beta(concentration: float, n_samples: int, generator: torch.Generator | None) -> Tensor:
    """Draw from Beta(c, c) as a ratio of gamma variates, with a generator (torch's Beta takes none)."""
    rate = torch.full((2, n_samples), float(concentration), dtype=torch.float64)
    first, second = torch._standard_gamma(rate, generator=generator)
    total = first + second
    return torch.where(total > 0, first / total.clamp_min(torch.finfo(torch.float64).tiny), 0.5)
