"""Posterior agreement of samples whose rows are not pairs: pair them, measure, and say what the pairing adds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray, as_array
from shiftmetrics._core.result import Result, format_number, settings_of
from shiftmetrics._core.tables import align_tables
from shiftmetrics._core.validation import check_integer, check_rng, describe
from shiftmetrics.agreement.pairing import Pairing, PairingMethod, Unmatched, pair_samples
from shiftmetrics.agreement.posterior import posterior_agreement
from shiftmetrics.agreement.result import AgreementStatus, PosteriorAgreementResult


@dataclass(frozen=True, eq=False, kw_only=True)
class UnpairedAgreementResult(Result):
    """Posterior agreement over pairs that had to be made.

    Attributes
    ----------
    value : float
        Agreement in nats per pair; the mean over the random pairings where partners were drawn by label.
    values : ndarray of shape (n_pairings,)
        The agreement of each pairing.
    spread : float
        Standard deviation of ``values``: what the draw of partners decides. 0 for a pairing without chance.
    pairing : Pairing
        The first pairing.
    agreement : PosteriorAgreementResult
        The agreement of the first pairing, with all its parts.
    """

    measure: ClassVar[str] = "unpaired_agreement"
    title: ClassVar[str] = "Posterior agreement of unpaired samples"
    unit: ClassVar[str] = "nats"
    higher_is_better: ClassVar[bool] = True

    status: AgreementStatus
    values: FloatArray
    spread: float
    pairing: Pairing
    agreement: PosteriorAgreementResult

    def headline(self) -> str:
        """Return one sentence with the value, and its spread over the pairings."""
        most = format_number(math.log(self.agreement.n_classes))
        text = f"{self.title}: {format_number(self.value)} nats of at most {most}"
        if len(self.values) == 1:
            return text + "."
        low, high = format_number(float(self.values.min())), format_number(float(self.values.max()))
        return (
            f"{text}, with spread {format_number(self.spread)} over {len(self.values)} random pairings "
            f"(from {low} to {high})."
        )

    def notes(self) -> list[str]:
        """Return what was paired, and the sentences of every result."""
        return [str(self.pairing), *super().notes()]


def unpaired_agreement(
    scores: Any,
    reference_scores: Any,
    *,
    method: PairingMethod = "label",
    features: Any = None,
    reference_features: Any = None,
    labels: Any = None,
    reference_labels: Any = None,
    within_label: bool = False,
    one_to_one: bool = False,
    seeds: Any = None,
    ridge: float = 1e-3,
    unmatched: Unmatched = "raise",
    kind: str = "scores",
    prior: Any = None,
    atol: float = 1e-6,
    n_pairings: int = 20,
    rng: Any = None,
    progress: bool = True,
) -> UnpairedAgreementResult:
    """Posterior agreement of two samples of different observations, after pairing their rows.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes)
        Scores (logits) on the sample under test.
    reference_scores : array of shape (n_reference, n_classes)
        Scores on the reference.
    method : {"label", "neighbour", "correlation"}, default "label"
        How rows are paired; see `pair_samples`.
    features, reference_features : array of shape (n_rows, n_columns), optional
        The space in which neighbours are looked for. Default: the scores themselves, whose nearest neighbours agree
        by construction.
    labels, reference_labels, within_label, one_to_one, seeds, ridge, unmatched
        As for `pair_samples`.
    kind, prior, atol
        As for `posterior_agreement`.
    n_pairings : int, default 20
        Random pairings by label; other methods have one.
    rng : int or Generator, optional
        Draws the partners.
    progress : bool, default True
        Whether to show a progress bar for work of more than two seconds.

    Returns
    -------
    UnpairedAgreementResult

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `pair_samples` and `posterior_agreement`.

    Examples
    --------
    >>> import numpy as np
    >>> labels, reference_labels = np.arange(60) % 3, np.arange(90) % 3
    >>> result = unpaired_agreement(
    ...     2.0 * np.eye(3)[labels], 3.0 * np.eye(3)[reference_labels],
    ...     labels=labels, reference_labels=reference_labels, rng=0,
    ... )
    >>> round(result.agreement.normalized, 6), round(result.spread, 6)
    (1.0, 0.0)
    """
    from tqdm import tqdm

    n_pairings = check_integer(n_pairings, "n_pairings", low=1)
    generator = check_rng(rng)
    scores, reference_scores = align_tables(
        scores, reference_scores, "scores", "reference_scores", rows=False
    )
    if (features is None) != (reference_features is None):
        given, missing = ("features", "reference_features")[:: 1 if reference_features is None else -1]
        raise ValueError(describe(missing, f"given with {given}", "None"))
    space = _as_columns(scores, "scores") if features is None else features
    reference_space = (
        _as_columns(reference_scores, "reference_scores") if features is None else reference_features
    )
    count = n_pairings if method == "label" else 1
    first: tuple[Pairing, PosteriorAgreementResult] | None = None
    results = []
    for _ in tqdm(range(count), desc="pairings", delay=2.0, disable=not progress, leave=False):
        pairing = pair_samples(
            space,
            reference_space,
            method=method,
            labels=labels,
            reference_labels=reference_labels,
            within_label=within_label,
            one_to_one=one_to_one,
            seeds=seeds,
            ridge=ridge,
            unmatched=unmatched,
            rng=generator,
        )
        pairs = pairing.apply(scores, reference_scores)
        agreement = posterior_agreement(
            *pairs, kind=kind, prior=prior, atol=atol, align="position", keep_rows=first is None
        )
        first = first or (pairing, agreement)
        results.append(agreement)
    assert first is not None
    values = np.array([result.value for result in results])
    worst = next((result for result in results if not result.status.ok), first[1])
    warnings = list(first[1].warnings)
    if features is None and method != "label":
        warnings.append(
            "Neighbours were looked for among the scores that are compared, so they agree by construction. "
            "Pass features of an earlier layer."
        )
    if first[0].identical:
        warnings.append(
            "All pairs are identical: the two samples are one. Check that the shifted sample was given."
        )
    return UnpairedAgreementResult(
        value=float(values.mean()),
        error_bound=max(result.error_bound for result in results),
        status=worst.status,
        n_samples=first[0].n_pairs,
        values=values,
        spread=float(values.std(ddof=1)) if count > 1 else 0.0,
        pairing=first[0],
        agreement=first[1],
        settings=settings_of(
            method=method,
            within_label=within_label,
            one_to_one=one_to_one,
            seeds=seeds is not None,
            ridge=ridge,
            unmatched=unmatched,
            kind=kind,
            prior=first[1].settings["prior"],
            atol=atol,
            n_pairings=count,
            rng=rng,
        ),
        warnings=tuple(warnings),
    )


def _as_columns(scores: Any, argument: str) -> Any:
    """Return scores as a matrix: a binary margin is one column."""
    array = as_array(scores, argument)
    return array[:, None] if array.ndim == 1 else array
