"""The search for new and missing modes of a table, on a part of its rows, with members among all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics._core.options import check_memory_limit
from shiftmetrics._core.result import Interval
from shiftmetrics.decisions.audit.column_changes import CHANGED_LEVEL
from shiftmetrics.decisions.audit.conditions import ModeRows, condition_modes, joined_modes
from shiftmetrics.decisions.audit.copies import copies_of_rows
from shiftmetrics.decisions.audit.dated_scan import gram_of
from shiftmetrics.decisions.audit.members import (
    SearchedSide,
    distinct_modes,
    excess_of_unsearched,
    members_of_mode,
)
from shiftmetrics.decisions.audit.new_modes import (
    MOST_CONTRASTS,
    TableMode,
    contrasts_of,
    nearest_rows,
)
from shiftmetrics.novelty import NoveltyResampling
from shiftmetrics.novelty.detection import Detection, detect
from shiftmetrics.novelty.score.solution import NoveltyProblem
from shiftmetrics.tables.encoder import TableEncoder

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05
UNNAMED_LEVEL = 0.01
"""Level of a change that has no mode and no column to look at: nobody can do anything about it but look again."""
SEARCH, CONDITIONS, COLUMNS = 0.6, 0.1, CHANGED_LEVEL / LEVEL
"""Parts of the level of an audit: of the search for both sides, of the conditions of each side, of the columns.

Conditions and columns that changed have p-values far below any level; the search has some hundred permutations.
"""
SEARCHED = 5_000
"""Samples of each side in which modes are looked for; members are then found among all of them."""
_LEAST = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class FoundModes:
    """What a search found.

    Attributes
    ----------
    p_value : float
        Of "nothing is new or missing", where conditions and the search take their parts of the level.
    new_p_value, missing_p_value : float
        Of "nothing is new" and of "nothing is missing", by the same parts of the level.
    fraction : float
        About how much of the current sample is new.
    interval : Interval
        A lower limit of it.
    new, missing : tuple of TableMode
        The modes, the largest first; their names are not set yet.
    newest : array of int
        Current samples of new modes; those that look newest, where something is new and no mode stands out.
    likely : array of int
        Current samples from a date on that are new more likely than not, where no mode stands out.
    since : str
        The period from which on something is new, where a search of late parts shows it.
    gradual : str
        How columns, or correlations of two, changed gradually, where the search shows nothing else; else empty.
    warnings : tuple of str
        Of the search.
    """

    p_value: float
    new_p_value: float
    missing_p_value: float
    fraction: float
    interval: Interval
    new: tuple[TableMode, ...]
    missing: tuple[TableMode, ...]
    newest: IntArray
    likely: IntArray
    since: str = ""
    gradual: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Shown:
    """What conditions, or the search, show: modes, the p-value of all of them, and how much is new, at least."""

    new: Sequence[ModeRows] = ()
    missing: Sequence[ModeRows] = ()
    p_value: float = 1.0
    fraction: float = 0.0
    lower_limit: float = 0.0
    # Of the search alone.
    novelty_p_value: float = 1.0
    missing_p_value: float = 1.0
    newest: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    likely: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    since: str = ""
    gradual: str = ""
    warnings: tuple[str, ...] = ()


def find_changed_modes(
    encoder: TableEncoder,
    reference: pd.DataFrame,
    current: pd.DataFrame,
    rng: np.random.Generator,
    look: Callable[..., Shown] | None = None,
) -> FoundModes:
    """Look for modes, describe them, and find their members among all samples.

    First come conditions on single columns, on all samples: what they show needs no search. Their samples are set
    aside on both sides, and kernels search among the rest, in a part of it where it is large.

    Parameters
    ----------
    encoder : TableEncoder
        Turns tables into features.
    reference, current : DataFrame
        The two samples.
    rng : Generator
        Draws the part that is searched, and the order in which members are labelled.
    look : callable, optional
        Searches the rest, as `by_search` does, which is the default.
    """
    look = look or by_search
    # 1. What conditions show.
    conditions = _by_conditions(encoder, reference, current)
    # 2. What the search shows among the rest.
    left = _without(np.arange(len(current)), [mode.own for mode in conditions.new])
    base_left = _without(np.arange(len(reference)), [mode.other for mode in conditions.new])
    rows = at_most_rows(_without(left, [mode.other for mode in conditions.missing]), SEARCHED, rng)
    base_rows = at_most_rows(
        _without(base_left, [mode.own for mode in conditions.missing]), SEARCHED, rng
    )
    searched = Shown()
    if min(len(rows), len(base_rows)) >= _LEAST:
        searched = look(
            encoder,
            SearchedSide(reference, base_rows, "reference"),
            SearchedSide(current, rows, "test"),
            rng,
            left=(left, base_left),
            has_modes=bool(conditions.new),
        )
    elif min(len(current), len(reference)) < _LEAST:
        warning = "A search for modes needs at least two samples on both sides."
        searched = Shown(warnings=(warning,))
    # The members that the search finds among all samples may hold those that conditions have set aside.
    new = joined_modes([*conditions.new, *searched.new])
    missing = joined_modes([*conditions.missing, *searched.missing])
    newest = np.concatenate([left[:0], *(mode.own for mode in new), searched.newest])
    # 3. The modes in the words of the columns.
    described = [_described(mode, current, reference, encoder, rng) for mode in new]
    lacking = [
        replace(_described(mode, reference, current, encoder, rng), missing=True)
        for mode in missing
    ]
    # Of the 5 % by which a limit may be too high, the search has three and the conditions two. The search is about
    # the samples that the conditions left.
    part = len(left) / len(current)
    interval = Interval(
        low=max(conditions.lower_limit, part * searched.lower_limit),
        high=1.0,
        confidence_level=1.0 - LEVEL,
        method="largest lower limit",
    )
    names = [column.name for column in encoder.columns if column.role not in ("id", "left out")]
    return FoundModes(
        p_value=min(1.0, conditions.p_value / CONDITIONS, searched.p_value / SEARCH),
        new_p_value=_shown_at(conditions.new, searched.new, searched.novelty_p_value),
        missing_p_value=_shown_at(conditions.missing, searched.missing, searched.missing_p_value),
        fraction=min(conditions.fraction + part * searched.fraction, 1.0),
        interval=interval,
        new=tuple(sorted(described, key=lambda mode: -mode.fraction)),
        missing=tuple(sorted(lacking, key=lambda mode: -mode.fraction)),
        newest=newest,
        likely=searched.likely,
        since=searched.since,
        gradual=searched.gradual,
        # Copies count among all samples: of a part that is searched most twins stand outside.
        warnings=tuple(map(_of_samples, copies_of_rows(current, reference, names)))
        or searched.warnings,
    )


def _shown_at(
    conditions: Sequence[ModeRows], searched: Sequence[ModeRows], p_value: float
) -> float:
    """Return the level at which an audit shows one side: by its conditions, the gate of the search, or its modes."""
    by_conditions = min([1.0, *(mode.p_value for mode in conditions)])
    by_search = min([p_value, *(mode.p_value for mode in searched)])
    return min(1.0, by_conditions / CONDITIONS, by_search / SEARCH)


def _by_conditions(encoder: TableEncoder, reference: pd.DataFrame, current: pd.DataFrame) -> Shown:
    """Return what single columns show: first what is new, then, without its samples, what is missing."""
    alpha = LEVEL * CONDITIONS
    new = condition_modes(encoder.columns, current, reference, alpha=alpha)
    left = _without(np.arange(len(current)), [mode.own for mode in new])
    base_left = _without(np.arange(len(reference)), [mode.other for mode in new])
    missing = []
    if len(left) and len(base_left):
        gone = condition_modes(
            encoder.columns, reference, current, alpha=alpha, rows=(base_left, left)
        )
        missing = [
            # Back to rows of the whole tables.
            replace(mode, own=base_left[mode.own], other=left[mode.other])
            for mode in gone
        ]
    level = 1.0 - (1.0 - SEARCH) * LEVEL / max(len(new), 1)
    limits = [_least_excess(mode, current, reference, level) for mode in new]
    return Shown(
        new=new,
        missing=missing,
        p_value=min([1.0, *(mode.p_value for mode in (*new, *missing))]),
        # By how much all of them together are more frequent than in the reference.
        fraction=max(0.0, len(base_left) / len(reference) - len(left) / len(current)),
        lower_limit=max(limits, default=0.0),
    )


def by_search(
    encoder: TableEncoder,
    reference: SearchedSide,
    current: SearchedSide,
    rng: np.random.Generator,
    *,
    left: tuple[IntArray, IntArray],
    has_modes: bool,
) -> Shown:
    """Return what kernels show among some rows of both tables, with the members of modes among all rows."""
    rows = current.rows
    result = detected(
        encoder.encoded(current.frame.iloc[rows]),
        encoder.encoded(reference.frame.iloc[reference.rows]),
        encoder.names,
        np.random.default_rng(int(rng.integers(2**31))),
    )
    new = [members_of_mode(mode, current, reference, encoder) for mode in result.new]
    missing = [members_of_mode(mode, reference, current, encoder) for mode in result.missing]
    sizes = len(current.frame), len(reference.frame)
    new = distinct_modes(new, *sizes)
    # The search counts rows that it fitted. Those that were not searched, or meet a rule, tell more.
    fraction = result.fraction
    if new and (len(rows) < len(left[0]) or any(mode.has_rule for mode in new)):
        fraction = excess_of_unsearched(new, current, reference, left)
    test = result.test
    newest = rows[:0]
    # Scores of rows cost a fifth of an audit: they are asked for where no mode says which rows are new.
    if not (new or has_modes) and test.p_value <= SEARCH * LEVEL:
        newest = rows[np.argsort(-result.scorer.rows[: len(rows)], kind="stable")]
    return Shown(
        new=new,
        missing=distinct_modes(missing, *sizes[::-1]),
        # Both sides are tested against one null.
        p_value=min(test.p_value, test.missing_p_value),
        fraction=fraction,
        lower_limit=min(result.fraction_interval.low, fraction),
        novelty_p_value=test.p_value,
        missing_p_value=test.missing_p_value,
        newest=newest,
        gradual=result.changes.in_words() if result.changes.are_gradual else "",
        warnings=tuple(map(_of_samples, test.dependence)),
    )


def detected(
    features: FloatArray,
    reference: FloatArray,
    names: tuple[str, ...],
    generator: np.random.Generator,
) -> Detection:
    """Look for modes as `kernel_entropic_novelty` does, without the score of the paper, which no audit shows.

    On 1,500 samples of six columns a side the score took half of the time.

    Parameters
    ----------
    features, reference : arrays of shape (n, n_features)
        Features of an encoder, which has given all columns one unit.
    names : tuple of str
        Of the features.
    generator : Generator
        Draws the permutations.
    """
    problem = NoveltyProblem(
        gram=gram_of(features, reference, generator),
        test_weights=np.full(len(features), 1.0 / len(features)),
        reference_weights=np.full(len(reference), 1.0 / len(reference)),
        eta=1.0,
        rtol=1e-12,
        memory_limit=check_memory_limit(None),
        seed=int(generator.integers(2**63)),
    )
    options = NoveltyResampling(confidence_level=1.0 - SEARCH * LEVEL)
    return detect(
        problem, options, together=None, columns=names, rng=generator, report=lambda: None
    )


def _of_samples(warning: str) -> str:
    """Say a warning of the search in the words of an audit, which takes no groups of samples."""
    warning = re.sub(r"(: then|, or) say which samples.*", ".", warning)
    warning = warning.replace("of features", "of the current sample")
    return warning.replace("of reference", "of the reference")


def _without(rows: IntArray, taken: Iterable[IntArray]) -> IntArray:
    """Return rows in order, without some of them."""
    out = np.concatenate([rows[:0], *taken])
    is_out = np.zeros(max(rows.max(initial=-1), out.max(initial=-1)) + 1, dtype=bool)
    is_out[out] = True
    return rows[~is_out[rows]]


def at_most_rows(rows: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """Return rows, or a random part of them, in their order, where there are more than n."""
    if len(rows) <= n:
        return rows
    return np.sort(rng.choice(rows, n, replace=False))


def _least_excess(
    mode: ModeRows, own: pd.DataFrame, other: pd.DataFrame, confidence_level: float
) -> float:
    """Return a lower limit of the fraction of a side that is new, from the limits of both rates."""
    low = binomial_interval(len(mode.own) / len(own), len(own), confidence_level)[0]
    high = binomial_interval(len(mode.other) / len(other), len(other), confidence_level)[1]
    if high >= 1.0:
        return 0.0
    # A part w of the side is new, and the rest of it meets the conditions as often as the other side does.
    return max(0.0, (low - high) / (1.0 - high))


def _described(
    mode: ModeRows,
    own: pd.DataFrame,
    other: pd.DataFrame,
    encoder: TableEncoder,
    rng: np.random.Generator,
) -> TableMode:
    """Return a mode with the columns in which it differs from the nearest samples of the other side."""
    # The nearest samples of the other side have what is usual for such members; what differs from them is new.
    others = at_most_rows(_without(np.arange(len(other)), [mode.other]), SEARCHED, rng)
    inside = at_most_rows(mode.own, SEARCHED, rng)
    contrasts = list(mode.contrasts)
    if len(others):
        features = encoder.encoded(own.iloc[inside]), encoder.encoded(other.iloc[others])
        nearest = others[nearest_rows(*features, rng)]
        named = {contrast.column for contrast in contrasts}
        columns = list(encoder.columns)
        # A rule has compared all columns but those of text.
        if mode.has_rule:
            columns = [column for column in columns if column.role == "text"]
        found = contrasts_of(columns, own, other, inside, nearest)
        contrasts += [contrast for contrast in found if contrast.column not in named]
    order = rng.permutation(mode.own)
    return TableMode(
        missing=False,
        fraction=len(mode.own) / len(own),
        other_fraction=len(mode.other) / len(other),
        rows=mode.own,
        order=order,
        names=order.astype(str),
        p_value=mode.p_value,
        contrasts=tuple(contrasts[:MOST_CONTRASTS]),
        # Other samples of the kind may lie within the range of the other side.
        early_rows=mode.early,
        looked_at=mode.looked_at,
        is_part=bool(mode.contrasts) and all(each.is_beyond for each in mode.contrasts),
        defined_by=tuple(each.column for each in mode.contrasts),
    )
