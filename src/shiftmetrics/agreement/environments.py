"""Several environments: beta is found on one pair of samples, and others are read at it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Result, format_number, settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_choice, check_number, describe
from shiftmetrics.agreement.fixed import agreement_at
from shiftmetrics.agreement.posterior import posterior_agreement, prior_setting


class TransferStatus(Status):
    """What became of the evaluations."""

    evaluated = ("evaluated", True, "Every environment was read at the fitted beta.")
    contradiction = (
        "contradiction",
        False,
        "The fitted beta is infinite, and in some environment a pair has no predicted class in common: its agreement "
        "is minus infinity there. Fit on an environment with some disagreement.",
    )
    no_agreement = (
        "no_agreement",
        True,
        "The fitted beta is 0: nothing agrees where it was fitted, so every agreement is 0.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class AgreementTransferResult(Drawn, Result):
    """Agreement of several environments at the beta of one.

    Attributes
    ----------
    value : float
        Mean agreement over the environments that beta was not fitted on, in nats per sample. Higher is better.
    error_bound : float
        Largest rounding error of an environment.
    status : TransferStatus
        Not ok where some agreement is minus infinity.
    fitted_on : str
        The environment that beta was fitted on.
    beta : float
        Its inverse temperature.
    names : tuple of str
        All environments.
    n_rows : ndarray of shape (n_names,)
        Pairs in each.
    agreement, standard_error : ndarray of shape (n_names,)
        Agreement at the fitted beta, in nats per sample, and its standard error over pairs (with beta as it is).
    own_agreement, own_beta : ndarray of shape (n_names,)
        Each environment's own posterior agreement and its beta.
    n_classes : int
        Number of classes K.
    """

    measure: ClassVar[str] = "agreement_transfer"
    title: ClassVar[str] = "Agreement at the beta of another environment"
    unit: ClassVar[str] = "nats"
    higher_is_better: ClassVar[bool] = True

    status: TransferStatus
    fitted_on: str
    beta: float
    names: tuple[str, ...]
    n_rows: IntArray
    agreement: FloatArray
    standard_error: FloatArray
    own_agreement: FloatArray
    own_beta: FloatArray
    n_classes: int

    @property
    def loss(self) -> FloatArray:
        """What each environment misses at a beta that is not its own, in nats per sample."""
        return self.own_agreement - self.agreement

    def headline(self) -> str:
        """Return one sentence with the mean and the environment that loses most."""
        worst = int(self.loss.argmax())
        return (
            f"At beta = {format_number(self.beta)}, fitted on {self.fitted_on}, the other environments agree with "
            f"{format_number(self.value)} nats on average, of at most {format_number(math.log(self.n_classes))}; "
            f"{self.names[worst]} misses most against its own beta, {format_number(float(self.loss[worst]))} nats."
        )

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row for each environment."""
        import pandas as pd

        return pd.DataFrame(
            {
                "environment": list(self.names),
                "n_samples": self.n_rows,
                "agreement": self.agreement,
                "standard_error": self.standard_error,
                "own_agreement": self.own_agreement,
                "own_beta": self.own_beta,
                "loss": self.loss,
            }
        )


def agreement_transfer(
    scores: Mapping[str, Any],
    reference_scores: Any,
    *,
    fit_on: str,
    kind: str = "scores",
    prior: Any = None,
    floor: float | None = None,
    align: Align = "labels",
    atol: float = 1e-6,
    executor: Executor | None = None,
) -> AgreementTransferResult:
    """Fit beta on one environment and read the agreement of the others at it.

    The thesis's use of several environments [1]_: confidence is set where the shift is known (validation), and judged
    where it is not.

    Parameters
    ----------
    scores : mapping of str to array of shape (n_samples, n_classes)
        Scores in each environment; at least two.
    reference_scores : array, or mapping of str to array
        Scores on the paired original rows: one array for all environments, or one for each.
    fit_on : str
        The environment that beta is fitted on.
    kind, prior, floor, align, atol, executor
        As in `posterior_agreement`; "predicted" takes the predictions of the environment that beta is fitted on.

    Returns
    -------
    AgreementTransferResult
        Higher is better.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`, or if environments do not match, or ``fit_on`` is none of them.

    References
    ----------
    .. [1] V. Jimenez Rodriguez, master thesis, ETH Zurich 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import agreement_transfer
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.normal(size=(400, 3))
    >>> shifted = {f"noise {s}": clean + s * rng.normal(size=(400, 3)) for s in (0.3, 0.6)}
    >>> result = agreement_transfer(shifted, clean, fit_on="noise 0.3")
    >>> result.loss.round(4).tolist()
    [0.0, 0.0501]
    """
    atol = check_number(atol, "atol", low=0.0, open_low=True)
    if not isinstance(scores, Mapping) or len(scores) < 2:
        got = f"{len(scores)} of them" if isinstance(scores, Mapping) else type(scores).__name__
        raise ValueError(describe("scores", "a mapping of at least two environments to scores", got))
    fit_on = check_choice(fit_on, "fit_on", [str(name) for name in scores])
    if isinstance(reference_scores, Mapping):
        if set(reference_scores) != set(scores):
            missing = sorted(map(str, set(scores) ^ set(reference_scores)))
            raise ValueError(
                describe(
                    "reference_scores", "a mapping with the environments of scores", f"others: {missing[0]!r}"
                )
            )
        references = [reference_scores[name] for name in scores]
    else:
        references = [reference_scores] * len(scores)
    options: dict[str, Any] = {"kind": kind, "floor": floor, "align": align, "executor": executor}
    names = [str(name) for name in scores]
    samples = list(zip(scores.values(), references, strict=True))
    fitted = posterior_agreement(
        *samples[names.index(fit_on)], prior=prior, atol=atol, keep_rows=False, **options
    )
    at = [agreement_at(*sample, beta=fitted.beta, prior=fitted.prior, **options) for sample in samples]
    own = [
        posterior_agreement(*sample, prior=fitted.prior, atol=atol, keep_rows=False, **options)
        for sample in samples
    ]
    values = np.asarray([part.value for part in at])
    others = [value for name, value in zip(names, values, strict=True) if name != fit_on]
    status = TransferStatus.evaluated if np.isfinite(values).all() else TransferStatus.contradiction
    return AgreementTransferResult(
        value=float(np.mean(others)),
        error_bound=max(part.error_bound for part in at),
        status=TransferStatus.no_agreement if fitted.beta == 0.0 else status,
        n_samples=sum(part.n_samples for part in at),
        fitted_on=fit_on,
        beta=fitted.beta,
        names=tuple(names),
        n_rows=np.asarray([part.n_samples for part in at]),
        agreement=values,
        standard_error=np.asarray([_standard_error(part.per_sample) for part in at]),
        own_agreement=np.asarray([part.value for part in own]),
        own_beta=np.asarray([part.beta for part in own]),
        n_classes=fitted.n_classes,
        settings=settings_of(
            fit_on=fit_on, kind=kind, prior=prior_setting(prior), floor=floor, align=align, atol=atol
        ),
        warnings=fitted.warnings,
    )


def _standard_error(parts: FloatArray | None) -> float:
    """Return the standard error of a mean; infinite where a part is."""
    assert parts is not None  # rows were kept
    if not np.isfinite(parts).all():
        return math.inf
    return float(parts.std(ddof=1) / math.sqrt(len(parts))) if len(parts) > 1 else math.inf
