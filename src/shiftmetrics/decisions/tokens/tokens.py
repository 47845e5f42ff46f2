"""The public function that compares two language models by the log-probabilities of the same tokens."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError, Setting, Wording
from shiftmetrics._core.result import Interval, settings_of
from shiftmetrics._core.validation import check_number, first_few
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.labelling.paired import FUTURE
from shiftmetrics.decisions.labelling.paired_mean import mean_with_one_more
from shiftmetrics.decisions.tokens.divergence import least_divergence, top_token
from shiftmetrics.decisions.tokens.records import TokenChanges, TokenCounts
from shiftmetrics.decisions.tokens.result import GENERATED, GIVEN, TokenDiffResult
from shiftmetrics.tables.token_logs import Spelling, TokenCells, TokenSequence

LEVEL = 0.95


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequenceChange:
    """What changes in one sequence."""

    n_places: int
    changed: int
    divergence: float
    not_compared: int
    has_parted: bool


def diff_tokens(
    old: Any, new: Any, *, allow: float | None = None, inner: bool = False
) -> TokenDiffResult:
    """Compare two language models by the likeliest tokens of both at the same places.

    Parameters
    ----------
    old, new : log
        Log-probabilities of both models for the same requests, as `read_file` returns them: of given texts
        (teacher-forced), or of answers that the models wrote. Answers are compared up to the first other token:
        what follows stands in another context.
    allow : float, optional
        The fraction of places at which the likeliest token may change.
    inner : bool, default False
        Whether requests that only one log has are left out.

    Returns
    -------
    TokenDiffResult
        The fraction of places with another likeliest token, with its interval by sequences, and what the
        divergence is at least.

    Raises
    ------
    TypeError, ValueError
        If something is no log of log-probabilities, requests differ, a given text differs, or tokens
        have neither ids nor bytes in both.

    See Also
    --------
    diff_scores : Whether the answers are as good.

    Notes
    -----
    Logs hold the k likeliest tokens alone, so that the divergence cannot be computed. The tokens that both logs list
    and one rest are a partition of the vocabulary, on which it is never larger: a lower bound for certain.
    """
    if allow is not None:
        allow = check_number(allow, "allow", low=0.0, high=1.0)
    for value, argument in ((old, "old"), (new, "new")):
        if not isinstance(value, TokenCells):
            raise ArgumentTypeError(argument, "a log of log-probabilities", type(value).__name__)
    spelling = _spelling(old, new)
    notes: list[str] = []
    warnings: list[str] = []
    keys = _matched(old, new, inner, notes)
    first = old.by_name
    second = new.by_name
    _check_prompts([(first[key], second[key]) for key in keys], warnings)
    changes = [sequence_change(first[key], second[key], spelling) for key in keys]
    n_lacking = [sum(_lacks_tokens(logs[key]) for key in keys) for logs in (first, second)]
    if any(n_lacking):
        notes.append(
            f"Tokens are missing in {n_lacking[0]:,} old and {n_lacking[1]:,} new sequences: the server counts more."
        )
    shown = [(key, change) for key, change in zip(keys, changes, strict=True) if change.n_places]
    if not shown:
        raise ArgumentValueError(
            "old and new", "a place with the same context", "none", verb="have"
        )
    n_places = np.array([change.n_places for _, change in shown])
    changed = np.array([change.changed for _, change in shown])
    totals = np.array([change.divergence for _, change in shown])
    # several answers to one request belong together
    _, clusters = np.unique([key[0] for key, _ in shown], return_inverse=True)
    n_total = int(n_places.sum())
    interval = changed_interval(n_places, changed, clusters)
    is_given = all(first[key].is_given for key in keys)
    order = np.argsort(-totals / n_places, kind="stable")
    names = np.array([key[0] for key, _ in shown], dtype=object)
    return TokenDiffResult(
        value=float(changed.sum() / n_total),
        error_bound=0.0,
        interval=interval,
        status=GIVEN if is_given else GENERATED,
        n_samples=n_total,
        settings=settings_of(
            allow=allow,
            inner=inner,
            old_model=old.settings.get("model"),
            new_model=new.settings.get("model"),
            above=tuple(warnings),
            found=tuple(notes),
        ),
        verdict=_verdict(allow, interval, bool(changed.any()) or bool((totals > 0.0).any())),
        allow=allow,
        divergence=float(totals.sum() / n_total),
        divergence_interval=divergence_interval(n_places, totals, clusters),
        counts=TokenCounts(
            n_sequences=len(shown),
            n_clusters=int(clusters.max()) + 1,
            changed=int(changed.sum()),
            not_compared=sum(change.not_compared for change in changes),
            parted=sum(change.has_parted for change in changes),
            is_given=is_given,
            spelling=spelling,
        ),
        changes=TokenChanges(
            id=names[order],
            n_places=n_places[order],
            changed=changed[order],
            divergence=(totals / n_places)[order],
        ),
    )


def _spelling(old: TokenCells, new: TokenCells) -> Spelling:
    if old.has_ids and new.has_ids:
        return "id"
    if old.has_bytes and new.has_bytes:
        return "bytes"
    got = f"{'ids' if old.has_ids else 'bytes'} and {'ids' if new.has_ids else 'bytes'}"
    raise ArgumentValueError(
        "old and new", "ids of tokens in both, or bytes in both", got, verb="have"
    )


def _matched(
    old: TokenCells, new: TokenCells, inner: bool, notes: list[str]
) -> list[tuple[str, int]]:
    """Return the sequences of both logs.

    Raises
    ------
    ValueError
        If one log alone has some, and these are not to be left out.
    """
    first = old.by_name
    second = new.by_name
    both = [key for key in first if key in second]
    only_old = [key[0] for key in first if key not in second]
    only_new = [key[0] for key in second if key not in first]
    if both and not only_old and not only_new:
        return both
    got = f"{len(only_old):,} in old alone and {len(only_new):,} in new alone"
    if both and inner:
        notes.append(f"Left out: sequences {got}.")
        return both
    remedy: Any = Wording("Pass ", Setting("inner", True), " to leave them out.")
    if not both:
        remedy = "Give equal requests equal names."
    got += f" ({first_few([*only_old, *only_new], 2, show=str)})"
    raise ArgumentValueError("old and new", "of the same requests", got, remedy)


def _check_prompts(pairs: list[tuple[TokenSequence, TokenSequence]], warnings: list[str]) -> None:
    """Refuse given texts beside answers; what was asked is not in the log, but its length is."""
    others = [old.name for old, new in pairs if old.is_given != new.is_given]
    if others:
        got = f"given tokens in one and generated ones in the other ({first_few(others, 2, show=str)})"
        raise ArgumentValueError("old and new", "of one kind", got)
    longer = [old.name for old, new in pairs if old.n_prompt != new.n_prompt and not old.is_given]
    if longer:
        names = first_few(longer, 2, show=str)
        warnings.append(
            f"What was asked has another number of tokens in {len(longer):,} sequences ({names})."
        )


def _lacks_tokens(sequence: TokenSequence) -> bool:
    return sequence.n_tokens is not None and sequence.n_tokens > len(sequence.places)


def sequence_change(old: TokenSequence, new: TokenSequence, spelling: Spelling) -> SequenceChange:
    """Compare the places of two sequences up to the first other token.

    Raises
    ------
    ValueError
        If a text that was given differs.
    """
    n_places = 0
    changed = 0
    total = 0.0
    has_parted = False
    for first, second in zip(old.places, new.places, strict=False):
        # a token that the log leaves out is part of the context
        if first.before != second.before:
            has_parted = True
            break
        before = first.distribution(spelling)
        after = second.distribution(spelling)
        n_places += 1
        changed += top_token(before) != top_token(after)
        total += least_divergence(before, after)
        if first.token(spelling) != second.token(spelling):
            has_parted = True
            break
    # Neither what follows the first other token nor what one log has beyond the other is compared.
    n_both = len(old.places) + len(new.places)
    if old.is_given and (has_parted or len(old.places) != len(new.places)):
        remedy = "Give both models the same tokens: tokenizers that differ cannot be compared."
        raise ArgumentValueError(
            "old and new", "of the same given tokens", f"other ones in {old.name!r}", remedy
        )
    return SequenceChange(
        n_places=n_places,
        changed=changed,
        divergence=total,
        not_compared=n_both - 2 * n_places,
        has_parted=has_parted or len(old.places) != len(new.places),
    )


def changed_interval(n_places: IntArray, changed: IntArray, clusters: IntArray) -> Interval:
    """Return the interval of the fraction of changed places, by clusters of sequences.

    Student's interval with one more cluster of which all places change and one of which none does.
    """
    # about one half the range of a place is one half on either side
    places = np.repeat(clusters, n_places)
    values = np.full(len(places), -0.5)
    starts = np.cumsum(n_places) - n_places
    for start, number in zip(starts, changed, strict=True):
        values[start : start + number] = 0.5
    mean = mean_with_one_more(values, 0.5, clusters=places)
    low = 0.0
    high = 1.0
    if mean.freedom > 0.0:
        half = mean.half_width(LEVEL)
        low = max(mean.mean + 0.5 - half, 0.0)
        high = min(mean.mean + 0.5 + half, 1.0)
    return Interval(low=low, high=high, confidence_level=LEVEL, method=FUTURE)


def divergence_interval(
    n_places: IntArray, totals: FloatArray, clusters: IntArray
) -> Interval | None:
    """Return Student's interval of a mean over places by clusters; None of a single one.

    A divergence has no largest value, so that nothing is said of sequences unlike all of these.
    """
    from scipy.special import stdtrit

    sums = np.bincount(clusters, weights=totals)
    sizes = np.bincount(clusters, weights=n_places)
    n_clusters = len(sums)
    if n_clusters < 2:
        return None
    mean = float(sums.sum() / sizes.sum())
    # The mean is a ratio of two sums over clusters: a cluster counts by its total less the mean times its places.
    squares = float(((sums - mean * sizes) ** 2).sum())
    error = np.sqrt(n_clusters / (n_clusters - 1.0) * squares) / sizes.sum()
    half = float(stdtrit(n_clusters - 1.0, 0.5 + 0.5 * LEVEL) * error)
    return Interval(
        low=max(mean - half, 0.0), high=mean + half, confidence_level=LEVEL, method=FUTURE
    )


def _verdict(allow: float | None, interval: Interval, has_change: bool) -> str:
    if allow is None:
        return verdicts.CHANGED if has_change else verdicts.SAME
    if interval.high < allow:
        return verdicts.SAFE
    return verdicts.CHANGED if interval.low > allow else verdicts.CANNOT_TELL
