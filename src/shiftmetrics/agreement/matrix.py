"""Agreement of several samples or models with each other, as a matrix."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.options import Computing, computing_of
from shiftmetrics._core.result import Result, format_number
from shiftmetrics._core.status import Status
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.agreement.posterior import posterior_agreement, prior_setting
from shiftmetrics.agreement.result import MAX_ITER, NO_AGREEMENT
from shiftmetrics.agreement.scores import named_prior

ENTRIES = {
    "agreement": "value",
    **{name: name for name in ("normalized", "equivalent_error", "beta", "disagreement")},
}
"""Tables of the result, and the figure of each pair that stands in them."""

CERTIFIED = Status("certified", "Every pair has one beta, whose maximum is certified.")
TRANSFERRED = Status("evaluated", "Every environment was measured at the beta of each one.")
CONTRADICTION = Status(
    "contradiction",
    "A fitted beta is infinite, and in another environment a pair has no predicted class in common: its agreement "
    "is minus infinity there.",
    "Fit on an environment with some disagreement.",
    ok=False,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class AgreementMatrixResult(Drawn, Result):
    """Agreement of all pairs of names.

    Of `agreement_matrix` each entry is the agreement of two sets of scores. Of `agreement_transfer` it is the
    agreement of the row's environment with its reference, at the beta of the column's environment.

    Attributes
    ----------
    value : float
        Mean of the normalized agreement over all pairs, at most 1; of a transfer with ``fit_on``, over the other
        environments at its beta. Higher is better.
    error_bound : float
        Largest numerical error of a pair, normalized.
    status : Status
        How the searches ended.
    names : tuple of str
        Of the rows and columns.
    agreement, normalized, equivalent_error : ndarray of shape (n_names, n_names)
        Nats per sample, the same over its ceiling, and as the share of predictions that a channel flips. On the
        diagonal stands what a sample has with itself, its maximum, or what an environment has at its own beta.
    beta : ndarray of shape (n_names, n_names)
        Inverse temperature of each pair; of a transfer, that of the column's environment.
    disagreement : ndarray of shape (n_names, n_names)
        Share of rows that have no predicted class in common.
    n_rows : ndarray of shape (n_names,)
        Rows of each name.
    n_classes : int
        Number of classes K.
    standard_error : ndarray of shape (n_names, n_names) or None
        Of the agreement over pairs, with beta as it is; of a transfer only.
    fitted_on : str or None
        The environment whose column ``value`` is about.
    """

    measure: ClassVar[str] = "agreement_matrix"
    title: ClassVar[str] = "Agreement of all pairs"
    unit: ClassVar[str] = ""
    higher_is_better: ClassVar[bool] = True

    names: tuple[str, ...]
    agreement: FloatArray
    normalized: FloatArray
    equivalent_error: FloatArray
    beta: FloatArray
    disagreement: FloatArray
    n_rows: IntArray
    n_classes: int
    standard_error: FloatArray | None = None
    fitted_on: str | None = None

    @property
    def means(self) -> FloatArray:
        """Mean normalized agreement of each name with all others: how central it is."""
        n = len(self.names)
        return np.asarray((self.normalized.sum(axis=1) - self.normalized.diagonal()) / max(n - 1, 1))

    @property
    def loss(self) -> FloatArray:
        """What each row misses against its diagonal entry, in nats per sample."""
        return np.asarray(self.agreement.diagonal()[:, None] - self.agreement)

    def headline(self) -> str:
        """Return one sentence with the extreme pairs, or with the environment that loses most."""
        if self.fitted_on is not None:
            place = self.names.index(self.fitted_on)
            lost = self.loss[:, place]
            worst = int(lost.argmax())
            return (
                f"With the beta that suits {self.fitted_on} ({format_number(float(self.beta[place, place]))}), the "
                f"other environments keep {100.0 * self.value:.3g} % of the agreement that is possible, on average; "
                f"{self.names[worst]} misses most against its own beta, {format_number(float(lost[worst]))} nats."
            )
        rows, columns = np.nonzero(~np.eye(len(self.names), dtype=bool))
        values = self.normalized[rows, columns]
        near, far = int(values.argmax()), int(values.argmin())

        def pair(place: int) -> str:
            names = f"{self.names[rows[place]]} and {self.names[columns[place]]}"
            return f"{names} ({100.0 * float(values[place]):.3g} %)"

        return (
            f"Predictions agree most between {pair(near)}, least between {pair(far)}; of the agreement that is "
            f"possible, the {len(self.names)} keep {100.0 * self.value:.3g} % on average."
        )

    def to_frame(self) -> Any:
        """Return the normalized agreement as a square pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.normalized, index=list(self.names), columns=list(self.names))


def agreement_matrix(
    scores: Mapping[str, Any],
    *,
    kind: str = "auto",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    pairing: Align = "labels",
    computing: Computing | None = None,
) -> AgreementMatrixResult:
    """Posterior agreement of all pairs: of one model in several environments, or of several models on one sample.

    Parameters
    ----------
    scores : mapping of str to array of shape (n_samples, n_classes)
        At least two sets of scores for the same rows.
    kind, prior, sample_weight, floor
        As in `posterior_agreement`; "predicted" is a prior of its own for each pair.
    pairing : {"labels", "position"}, default "labels"
        Whether DataFrames are matched by row and column labels or as they stand.
    computing : Computing, optional
        ``executor``, ``progress``; ``atol``: certified gap in nats per sample (default 1e-5); ``max_iter``: most
        betas of a pair (default 200).

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

    prior, computing = named_prior(prior), computing_of(computing, atol=1e-5, max_iter=200)
    _check_several(scores, "names")
    names, samples = [str(name) for name in scores], list(scores.values())
    n = len(names)
    table = np.empty((len(ENTRIES), n, n))
    options: dict[str, Any] = {
        "kind": kind, "prior": prior, "floor": floor, "sample_weight": sample_weight, "pairing": pairing
    }  # fmt: skip
    results = []
    places = list(itertools.combinations_with_replacement(range(n), 2))
    for i, j in tqdm(places, desc="pairs", delay=2.0, disable=not computing.progress or None, leave=False):
        beta = math.inf if i == j else None  # a row with itself only gains from more confidence
        result = posterior_agreement(samples[i], samples[j], beta=beta, computing=computing, **options)
        table[:, i, j] = table[:, j, i] = [getattr(result, name) for name in ENTRIES.values()]
        if i != j:
            results.append(result)
    first = results[0]
    entries: dict[str, Any] = dict(zip(ENTRIES, table, strict=True))
    return AgreementMatrixResult(
        value=float(entries["normalized"][np.triu_indices(n, 1)].mean()),
        error_bound=max(result.normalized_error_bound for result in results),
        status=CERTIFIED if all(result.status.ok for result in results) else MAX_ITER,
        n_samples=first.n_samples,
        names=tuple(names),
        n_rows=np.full(n, first.n_samples),
        n_classes=first.n_classes,
        settings=first.settings,
        **entries,
    )


def agreement_transfer(
    scores: Mapping[str, Any],
    reference_scores: Any,
    *,
    fit_on: str | None = None,
    kind: str = "auto",
    prior: Any = None,
    floor: float | None = None,
    pairing: Align = "labels",
    computing: Computing | None = None,
) -> AgreementMatrixResult:
    """Fit beta on each environment and measure the agreement of all others at it.

    The thesis's use of several environments [1]_: confidence is set where the shift is known (validation), and judged
    where it is not.

    Parameters
    ----------
    scores : mapping of str to array of shape (n_samples, n_classes)
        Scores in each environment; at least two.
    reference_scores : array, or mapping of str to array
        Scores on the paired original rows: one array for all environments, or one for each.
    fit_on : str, optional
        The environment whose beta ``value`` is about. Default: the mean over all.
    kind, prior, floor, computing
        As in `posterior_agreement`; "predicted" is one prior for all, the mean over environments.
    pairing : {"labels", "position"}, default "labels"
        Whether DataFrames are matched by row and column labels or as they stand.

    Returns
    -------
    AgreementMatrixResult
        ``agreement[i, j]`` is that of environment i at the beta of environment j. Higher is better.

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
    >>> agreement_transfer(shifted, clean).loss.round(4).tolist()
    [[0.0, 0.0342], [0.0501, 0.0]]
    """
    _check_several(scores, "environments")
    prior, computing = named_prior(prior), computing_of(computing, atol=1e-6, max_iter=200)
    names = [str(name) for name in scores]
    if fit_on is not None:
        fit_on = check_choice(fit_on, "fit_on", names)
    references = dict.fromkeys(scores, reference_scores)
    if isinstance(reference_scores, Mapping):
        if set(reference_scores) != set(scores):
            other = sorted(map(str, set(scores) ^ set(reference_scores)))[0]
            expected = "a mapping with the environments of scores"
            raise ValueError(describe("reference_scores", expected, f"others: {other!r}"))
        references = dict(reference_scores)
    options: dict[str, Any] = {"kind": kind, "floor": floor, "pairing": pairing}
    samples = [(scores[name], references[name]) for name in scores]
    if isinstance(prior, str):  # one for all
        flat = [posterior_agreement(*sample, prior=prior, beta=0.0, **options) for sample in samples]
        options["prior"] = np.mean([result.shares for result in flat], axis=0)
    else:
        options["prior"] = prior
    options["computing"] = computing
    fitted = [posterior_agreement(*sample, **options) for sample in samples]
    betas = np.array([result.beta for result in fitted])
    n = len(names)
    table, standard_error = np.empty((len(ENTRIES), n, n)), np.empty((n, n))
    for i, j in itertools.product(range(n), repeat=2):
        result = fitted[i] if i == j else posterior_agreement(*samples[i], beta=float(betas[j]), **options)
        table[:, i, j] = [getattr(result, name) for name in ENTRIES.values()]
        standard_error[i, j] = _standard_error(result.per_sample)
    entries: dict[str, Any] = dict(zip(ENTRIES, table, strict=True))
    apart = ~np.eye(len(names), dtype=bool)
    if fit_on is not None:
        apart[:, [name != fit_on for name in names]] = False
    judged = entries["normalized"][apart]
    status = TRANSFERRED if np.isfinite(judged).all() else CONTRADICTION
    if fit_on is not None and betas[names.index(fit_on)] == 0.0:
        status = NO_AGREEMENT
    first = fitted[0]
    return AgreementMatrixResult(
        value=float(judged.mean()),
        error_bound=max(result.normalized_error_bound for result in fitted),
        status=status,
        n_samples=sum(result.n_samples for result in fitted),
        names=tuple(names),
        n_rows=np.array([result.n_samples for result in fitted]),
        n_classes=first.n_classes,
        standard_error=standard_error,
        fitted_on=fit_on,
        settings={**first.settings, "fit_on": fit_on, "prior": prior_setting(prior)},
        warnings=tuple(dict.fromkeys(warning for result in fitted for warning in result.warnings)),
        **entries,
    )


def _check_several(scores: Any, what: str) -> None:
    if not isinstance(scores, Mapping) or len(scores) < 2:
        got = f"{len(scores)} of them" if isinstance(scores, Mapping) else type(scores).__name__
        raise ValueError(describe("scores", f"a mapping of at least two {what} to scores", got))


def _standard_error(parts: FloatArray | None) -> float:
    """Return the standard error of a mean; infinite where a part is."""
    if parts is None or len(parts) < 2 or not np.isfinite(parts).all():
        return math.inf
    return float(parts.std(ddof=1) / math.sqrt(len(parts)))
