"""One plain training loop for every objective: seeded, with early stopping and a progress bar."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from shiftmetrics._core.arrays import FloatArray, as_array
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.validation import check_integer, check_number, check_rng
from shiftmetrics_lab.learners.objectives import ERM, Batch, Objective, distinct
from shiftmetrics_lab.learners.selection import EarlyStopping, as_input


@dataclass(eq=False)
class Best:
    """How one validation score went, and the best model by it.

    Attributes
    ----------
    scores : list of float
        Its value after each epoch.
    epoch : int
        The epoch of the best one, counted from 1.
    state : dict
        The model's ``state_dict`` after that epoch, for ``model.load_state_dict``.
    """

    scores: list[float] = field(default_factory=list)
    epoch: int = 0
    state: dict[str, Any] = field(default_factory=dict)

    def add(self, score: float, model: nn.Module, min_gain: float) -> None:
        """Take the score of one more epoch."""
        self.scores.append(float(score))
        if not self.epoch or self.scores[-1] > self.scores[self.epoch - 1] + min_gain:
            self.epoch, self.state = len(self.scores), copy.deepcopy(model.state_dict())


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """A trained model and how it went.

    Attributes
    ----------
    model : torch.nn.Module
        The model that was passed in, in evaluation mode: the best by the first validation score, or as it was after
        the last epoch where there is none.
    losses : ndarray of shape (n_epochs,)
        Mean of the objective in each epoch.
    best : dict
        A `Best` for each validation score by its name; empty without early stopping.
    stopped : bool
        Whether training stopped before its last epoch.
    """

    model: nn.Module
    losses: FloatArray
    best: dict[str, Best]
    stopped: bool


def fit(
    model: nn.Module,
    X: Any,
    y: Any,
    *,
    objective: Objective | None = None,
    transform: Callable[[Batch], Batch] | None = None,
    domain: Any = None,
    epochs: int = 100,
    batch_size: int | None = None,
    optimizer: torch.optim.Optimizer | float = 1e-3,
    stopping: EarlyStopping | None = None,
    rng: Any = None,
    progress: bool = True,
) -> Fit:
    """Train a model, in place.

    Parameters
    ----------
    model : torch.nn.Module
        Maps inputs to scores of shape (n_samples, n_classes), or to what ``objective.loss`` expects. Its initial
        parameters are the caller's; seed torch before making it.
    X : array or Tensor of shape (n_samples, ...)
        Inputs.
    y : array or Tensor of shape (n_samples,)
        Labels.
    objective : callable, default `ERM`
        Maps the model and a `Batch` to the loss to minimise.
    transform : callable, optional
        Changes each batch first, as `LISA` does.
    domain : array of shape (n_samples,), optional
        Integer domains. Every batch gets its part of each.
    epochs : int, default 100
        Passes over the data.
    batch_size : int, optional
        Rows of a batch. Default: all.
    optimizer : torch.optim.Optimizer or float, default 1e-3
        Of the model's parameters; a number is the learning rate of Adam.
    stopping : EarlyStopping, optional
        Stops and keeps the best model by each of its scores.
    rng : int, Generator or None
        Seed of shuffles, transforms, random starts and dropout. The global state of torch is left as it was.
    progress : bool, default True
        Whether to show a progress bar.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        If lengths differ, labels are not integers (for classification), or the loss becomes NaN or infinite.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> X, y = torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1])
    >>> result = fit(torch.nn.Linear(1, 2), X, y, epochs=50, optimizer=0.1, rng=0, progress=False)
    >>> result.model(X).argmax(dim=1).tolist(), bool(result.losses[-1] < result.losses[0])
    ([0, 1], True)
    """
    objective = ERM() if objective is None else objective
    epochs = check_integer(epochs, "epochs", low=1)
    data = _data(model, X, y, domain, batch_size)
    seed = int(check_rng(rng).integers(2**62))
    generator = torch.Generator().manual_seed(seed)
    if not isinstance(optimizer, torch.optim.Optimizer):
        rate = check_number(optimizer, "optimizer", low=0.0, open_low=True)
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    losses: list[float] = []
    best = {} if stopping is None else {name: Best() for name in stopping.scores}
    model.train()
    with torch.random.fork_rng(), progress_bar(progress, "fit", epochs, unit="epoch") as bar:
        torch.manual_seed(seed)
        for epoch in range(epochs):
            total = 0.0
            for rows in _batches(data, batch_size or len(data.x), generator):
                batch = Batch(
                    data.x[rows],
                    data.y[rows],
                    _take(data.domain, rows),
                    epoch=epoch,
                    generator=generator,
                )
                loss = objective(model, batch if transform is None else transform(batch))
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                total += float(loss.detach()) * len(rows)
            losses.append(total / len(data.x))
            if not math.isfinite(losses[-1]):
                raise ValueError(
                    f"The loss must stay finite, got {losses[-1]} in epoch {epoch + 1}. "
                    "Lower the learning rate, or scale the inputs."
                )
            bar.update()
            bar.set_postfix(loss=f"{losses[-1]:.4g}", refresh=False)
            if stopping is None:
                continue
            for name, score in stopping.scores.items():
                best[name].add(score(model), model, stopping.min_gain)
            if epoch + 1 - max(one.epoch for one in best.values()) >= stopping.patience:
                break
    if best:
        model.load_state_dict(next(iter(best.values())).state)
    model.eval()
    return Fit(model=model, losses=np.asarray(losses), best=best, stopped=len(losses) < epochs)


def _data(model: nn.Module, X: Any, y: Any, domain: Any, batch_size: int | None) -> Batch:
    """Check the training set and put it beside the model."""
    x = as_input(X, model)
    if not len(x):
        raise ArgumentValueError("X", "an array of at least 1 row(s)", "0")
    if x.is_floating_point() and not bool(torch.isfinite(x).all()):
        remedy = "Drop or impute these rows first."
        raise ArgumentValueError("X", "finite everywhere", "NaN or infinity", remedy)
    given = as_array(y, "y")
    labels = torch.as_tensor(given if isinstance(given, Tensor) else np.array(given)).to(x.device)
    labels = labels.to(x.dtype) if labels.is_floating_point() else labels.long()
    domains = None if domain is None else torch.as_tensor(np.asarray(domain)).to(x.device)
    if domains is not None and domains.is_floating_point():
        raise ArgumentTypeError("domain", "integers", f"{domains.dtype}")
    for argument, values in (("y", labels), ("domain", domains)):
        if values is not None and len(values) != len(x):
            raise ArgumentValueError(argument, f"of length {len(x)}, as X", f"length {len(values)}")
    if batch_size is not None:
        check_integer(batch_size, "batch_size", low=1)
    return Batch(x, labels, domains)


def _batches(data: Batch, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield the rows of each batch; every domain is spread evenly over the batches."""
    n_samples = len(data.x)
    order = torch.randperm(n_samples, generator=generator)
    if data.domain is not None:
        domain = data.domain.cpu()[order]
        place = torch.empty(n_samples, dtype=torch.float64)
        for value in distinct(domain):
            rows = (domain == value).nonzero().ravel()
            jitter = torch.rand(1, generator=generator, dtype=torch.float64)
            place[rows] = (torch.arange(len(rows), dtype=torch.float64) + jitter) / len(rows)
        order = order[place.argsort()]
    for start in range(0, n_samples, batch_size):
        yield order[start : start + batch_size].to(data.x.device)


def _take(values: Tensor | None, rows: Tensor) -> Tensor | None:
    return None if values is None else values[rows]
