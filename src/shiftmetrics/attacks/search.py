"""How an attack runs: checks, batches, and the final evaluation by the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from shiftmetrics._core.arrays import BoolArray, FloatArray, to_numpy
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number, settings_of
from shiftmetrics._core.validation import check_choice, check_rng
from shiftmetrics.attacks.geometry import NORMS, Norm
from shiftmetrics.attacks.model import (
    check_class_labels,
    check_differentiable,
    check_logits,
    checked,
    evaluation_mode,
    margin_loss,
    parameter_of,
)
from shiftmetrics.attacks.problem import (
    AttackOptions,
    AttackProblem,
    attack_options,
    attack_problem,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class AttackResult(Record):
    """Adversarial inputs, recomputed from the model when the attack has ended.

    Attributes
    ----------
    x_adv : torch.Tensor or ndarray, shape of ``X``
        The perturbed samples; a tensor when ``X`` was one. A sample for which a minimum-norm attack found no error is
        unchanged.
    distance : ndarray of shape (n_samples,)
        Unsquared distance from each sample to ``x_adv`` in the norm of the attack, with its feature costs.
    success : ndarray of bool, shape (n_samples,)
        Whether the model's prediction at ``x_adv`` differs from the label.
    attack : str
        Name of the attack.
    norm : {"l2", "linf"}
        The norm of ``distance``.
    settings : dict
        All arguments, with versions.
    """

    x_adv: Any
    distance: FloatArray
    success: BoolArray
    attack: str = ""
    norm: str = "l2"
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def robust_accuracy(self) -> float:
        """Fraction of the samples that are still predicted as labelled (higher is better)."""
        return float(1.0 - np.mean(self.success))

    @property
    def distance_to_error(self) -> FloatArray:
        """Distance where the attack succeeded, inf elsewhere; 0 where a prediction was wrong already."""
        return np.where(self.success, self.distance, np.inf)

    def summary(self) -> str:
        """Return one sentence: how many samples became errors, and at which distance."""
        reached = self.distance[self.success]
        text = f"{self.attack}: {reached.size} of {self.success.size} samples are errors after the attack"
        if reached.size:
            median = format_number(float(np.median(reached)))
            text += f", at a median {self.norm} distance of {median}"
        return text + "."

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, the inputs as a NumPy array whatever they were."""
        return {**super().to_dict(), "x_adv": to_numpy(self.x_adv)}


Search: TypeAlias = Callable[[AttackProblem, torch.Generator], Tensor]
"""Finds the perturbations (n_samples, n_features) of a batch with a seeded generator."""


def run_search(
    search: Search,
    model: Any,
    X: Any,
    y: Any,
    *,
    name: str,
    norm: Norm,
    options: AttackOptions | None,
    strength: Any = None,
    needs_gradient: bool = True,
    push: bool = False,
    **settings: Any,
) -> AttackResult:
    """Check the arguments, search batch by batch, and recompute distances and errors from the model.

    Parameters
    ----------
    search : callable
        Finds the perturbations of a batch.
    model, X, y, norm, options, strength
        As the user gave them; ``strength`` is None where the length of a perturbation is not limited.
    name : str
        Name of the attack.
    needs_gradient : bool
        Whether the model must be differentiable.
    push : bool
        Whether errors exactly on the boundary are pushed one rounding beyond it.
    **settings
        The attack's other arguments, for the settings of the result.
    """
    norm = check_choice(norm, "norm", NORMS)
    options = attack_options(options)
    logits_of = checked(model)
    rng = check_rng(options.rng)
    perturbed: list[Tensor] = []
    wrong: list[Tensor] = []
    # In evaluation mode; tensors made in torch's inference mode would have no gradient.
    with evaluation_mode(model):
        problem = attack_problem(
            logits_of, X, y, norm=norm, options=options, strength=strength, like=parameter_of(model)
        )
        with progress_bar(options.progress, name, problem.n_samples, unit=" rows") as bar:
            for start in range(0, problem.n_samples, options.batch_size):
                part = problem.take(slice(start, start + options.batch_size))
                # Each batch has its own seed, so that its search repeats whatever the others do.
                generator = torch.Generator(device=part.x.device)
                generator.manual_seed(int(rng.integers(2**62)))
                # The model must answer the rows as they are, and a gradient lead back to them.
                logits = part.logits(part.zeros())
                check_class_labels(part.y, logits.shape[1])
                check_logits(logits)
                if needs_gradient and start == 0:
                    check_differentiable(logits_of, part.x[:8], part.y[:8])
                # Distances and errors are those of the model at the inputs found, not of the search.
                perturbation = search(part, generator)
                x_adv = _pushed(part, perturbation) if push else part.settled(perturbation)
                with torch.no_grad():
                    wrong.append(logits_of(x_adv).argmax(dim=1) != part.y)
                perturbed.append(x_adv)
                bar.update(len(x_adv))
    x_adv = torch.cat(perturbed)
    return AttackResult(
        x_adv=x_adv if isinstance(X, Tensor) else x_adv.cpu().numpy(),
        distance=problem.distance(x_adv),
        success=np.asarray(torch.cat(wrong).cpu(), dtype=bool),
        attack=name,
        norm=norm,
        settings=settings_of(
            norm=norm, strength=strength, torch=torch.__version__, **options.settings(), **settings
        ),
    )


def _pushed(problem: AttackProblem, perturbation: Tensor) -> Tensor:
    """Return the perturbed inputs; errors exactly on the boundary are pushed over it.

    A minimum-norm attack ends a rounding away from the boundary, where the same input in another batch may be
    predicted otherwise. So errors get a margin above the rounding of the logits, at no measurable length.
    """
    x_adv = problem.settled(perturbation)
    is_changed = (perturbation != 0).any(dim=1)
    # Ever longer: by 1e-5, 4e-5, ... of the perturbation, until the margin is above the rounding.
    for attempt in range(6):
        with torch.no_grad():
            logits = problem.model(x_adv)
        margin = margin_loss(logits, problem.y)
        rounding = 16 * torch.finfo(logits.dtype).eps * logits.abs().amax(dim=1)
        close = is_changed & (margin.abs() <= rounding)
        if not bool(close.any()):
            break
        longer = problem.settled(problem.clip(perturbation * (1.0 + 1e-5 * 4.0**attempt)))
        x_adv = torch.where(close.reshape(-1, *[1] * (x_adv.ndim - 1)), longer, x_adv)
    return x_adv
