"""Agreement of all pairs of several samples or models on the same rows, as a matrix."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Result, format_number, settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_integer, check_number, describe
from shiftmetrics.agreement.channel import equivalent_error
from shiftmetrics.agreement.models import ModelAgreementStatus, solve_models
from shiftmetrics.agreement.posterior import prior_setting
from shiftmetrics.agreement.scores import ScorePairs, prepare_pairs
from shiftmetrics.agreement.statistic import survey


class MatrixStatus(Status):
    """How the searches of all pairs ended."""

    certified = ("certified", True, "Every pair has one beta, whose maximum is certified.")
    local = (
        "local",
        True,
        "Each side of a pair has its own beta: no change of one alone gains anything, but other maxima cannot be "
        "excluded.",
    )
    max_iter = (
        "max_iter",
        False,
        "Some searches were still gaining when they were stopped. Raise max_iter or atol.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class AgreementMatrixResult(Drawn, Result):
    """Agreement of all pairs.

    Attributes
    ----------
    value : float
        Mean of the normalized agreement over all pairs, in [0, 1]. Higher is better.
    error_bound : float
        Largest numerical error of a pair, normalized.
    status : MatrixStatus
        How the searches ended.
    names : tuple of str
        Of the rows and columns.
    agreement : ndarray of shape (n_names, n_names)
        Nats per sample, symmetric. On the diagonal stands what a sample has with itself: its maximum.
    beta : ndarray of shape (n_names, n_names)
        Inverse temperature of the row's name against the column's; symmetric with one beta for both.
    disagreement : ndarray of shape (n_names, n_names)
        Share of rows that have no predicted class in common.
    n_classes : int
        Number of classes K.
    """

    measure: ClassVar[str] = "agreement_matrix"
    title: ClassVar[str] = "Agreement of all pairs"
    unit: ClassVar[str] = ""
    higher_is_better: ClassVar[bool] = True

    status: MatrixStatus
    names: tuple[str, ...]
    agreement: FloatArray
    beta: FloatArray
    disagreement: FloatArray
    n_classes: int

    @property
    def normalized(self) -> FloatArray:
        """Agreement divided by log K, in [0, 1]."""
        return np.asarray(self.agreement / np.log(self.n_classes))

    @property
    def equivalent_error(self) -> FloatArray:
        """Error rate of the symmetric channel with this agreement. Lower is better."""
        errors = [[equivalent_error(float(value), self.n_classes) for value in row] for row in self.agreement]
        return np.asarray(errors)

    @property
    def means(self) -> FloatArray:
        """Mean normalized agreement of each name with all others: how central it is."""
        n = len(self.names)
        return np.asarray((self.normalized.sum(axis=1) - self.normalized.diagonal()) / max(n - 1, 1))

    def headline(self) -> str:
        """Return one sentence with the closest and the farthest pair."""
        rows, columns = np.triu_indices(len(self.names), 1)
        values = self.normalized[rows, columns]
        near, far = int(values.argmax()), int(values.argmin())

        def pair(place: int) -> str:
            names = f"{self.names[rows[place]]} and {self.names[columns[place]]}"
            return f"{names} ({format_number(float(values[place]))})"

        return (
            f"Normalized agreement of {len(values)} pairs: {format_number(self.value)} on average; closest are "
            f"{pair(near)}, farthest {pair(far)}."
        )

    def to_frame(self) -> Any:
        """Return the normalized agreement as a square pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.normalized, index=list(self.names), columns=list(self.names))


def agreement_matrix(
    scores: Mapping[str, Any],
    *,
    common_beta: bool = True,
    kind: str = "scores",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    align: Align = "labels",
    atol: float = 1e-5,
    max_iter: int = 50,
    executor: Executor | None = None,
    progress: bool = True,
) -> AgreementMatrixResult:
    """Posterior agreement of all pairs: of one model in several environments, or of several models on one sample.

    Parameters
    ----------
    scores : mapping of str to array of shape (n_samples, n_classes)
        At least two sets of scores for the same rows.
    common_beta : bool, default True
        Whether both sides of a pair share one beta. Pass False to compare models whose scores differ in scale; see
        `model_agreement`.
    kind, prior, sample_weight, floor, align, executor
        As in `posterior_agreement`; "predicted" is a prior of its own for each pair.
    atol : float, default 1e-5
        Certified gap (of a search over two betas: least gain) in nats per sample.
    max_iter : int, default 50
        Most turns of a search over two betas.
    progress : bool, default True
        Whether to show a progress bar over pairs.

    Returns
    -------
    AgreementMatrixResult
        Higher is better.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`, or if fewer than two sets are given.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import agreement_matrix
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.normal(size=(400, 3))
    >>> noisy = {f"noise {s}": clean + s * rng.normal(size=(400, 3)) for s in (0.3, 0.6)}
    >>> agreement_matrix({"clean": clean, **noisy}).to_frame().round(3)
               clean  noise 0.3  noise 0.6
    clean      1.000      0.703      0.547
    noise 0.3  0.703      1.000      0.484
    noise 0.6  0.547      0.484      1.000
    """
    from tqdm import tqdm

    atol = check_number(atol, "atol", low=0.0, open_low=True)
    max_iter = check_integer(max_iter, "max_iter", low=1)
    if not isinstance(scores, Mapping) or len(scores) < 2:
        got = f"{len(scores)} of them" if isinstance(scores, Mapping) else type(scores).__name__
        raise ValueError(describe("scores", "a mapping of at least two names to scores", got))
    names = [str(name) for name in scores]
    samples = list(scores.values())
    n = len(names)
    agreement, beta, disagreement, errors = (np.zeros((n, n)) for _ in range(4))
    options: dict[str, Any] = {"kind": kind, "prior": prior, "floor": floor, "sample_weight": sample_weight}
    statuses = set()
    n_samples, n_classes = 0, 0
    places = list(itertools.combinations_with_replacement(range(n), 2))
    for i, j in tqdm(places, desc="pairs", delay=2.0, disable=not progress, leave=False):
        pairs, limits = survey(
            _pair(samples, i, j, align, options), predicted=isinstance(prior, str), executor=executor
        )
        n_samples, n_classes = pairs.n_samples, pairs.n_classes
        if i == j:  # a row with itself only gains from more confidence
            agreement[i, i], beta[i, i] = limits.value, np.inf
            continue
        found = solve_models(
            pairs, limits, common_beta=common_beta, atol=atol, max_iter=max_iter, executor=executor
        )
        statuses.add(found.status)
        agreement[i, j] = agreement[j, i] = found.value
        disagreement[i, j] = disagreement[j, i] = limits.disagreeing / limits.weight
        errors[i, j] = found.error_bound
        beta[i, j], beta[j, i] = found.beta, found.reference_beta
    log_classes = np.log(n_classes)
    return AgreementMatrixResult(
        value=float(agreement[np.triu_indices(n, 1)].mean() / log_classes),
        error_bound=float(errors.max() / log_classes),
        status=_status(statuses),
        n_samples=n_samples,
        names=tuple(names),
        agreement=agreement,
        beta=beta,
        disagreement=disagreement,
        n_classes=n_classes,
        settings=settings_of(
            common_beta=common_beta,
            kind=kind,
            prior=prior_setting(prior),
            sample_weight=sample_weight is not None,
            floor=floor,
            align=align,
            atol=atol,
            max_iter=max_iter,
        ),
    )


def _pair(samples: list[Any], i: int, j: int, align: Align, options: dict[str, Any]) -> ScorePairs:
    return prepare_pairs(samples[i], samples[j], align=align, **options)


def _status(statuses: set[ModelAgreementStatus]) -> MatrixStatus:
    if ModelAgreementStatus.max_iter in statuses:
        return MatrixStatus.max_iter
    return MatrixStatus.local if ModelAgreementStatus.local in statuses else MatrixStatus.certified
