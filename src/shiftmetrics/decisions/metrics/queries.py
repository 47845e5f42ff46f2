"""NDCG of each query: how high the relevant documents stand, as scikit-learn counts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.decisions.metrics.effects import MetricEffects, effects_on_mean
from shiftmetrics.decisions.metrics.records import MovingRows
from shiftmetrics.decisions.predictions.pairs import ClassPair, OutputPair
from shiftmetrics.tables.options import RoleOptions

ROUNDING = 1e-12
"""Difference of an NDCG that is taken for rounding."""


@dataclass(frozen=True, eq=False, kw_only=True)
class QueryScores:
    """The NDCG of each query.

    Attributes
    ----------
    names : ndarray of shape (n_queries,)
    old, new, best : ndarray of shape (n_queries,)
        Of both models, and of the best order: 0 for a query without a relevant document, else 1.
    notes : tuple of str
        What is counted in another way than one may think.
    """

    names: npt.NDArray[Any]
    old: FloatArray
    new: FloatArray
    best: FloatArray
    notes: tuple[str, ...]


def query_scores(pair: ClassPair | OutputPair, n_top: int) -> QueryScores:
    """Return the NDCG of each query of both models.

    Raises
    ------
    ValueError
        If the files hold no scores, nothing says which rows belong to a query, or a relevance is negative.
    """
    if not isinstance(pair, OutputPair):
        raise ArgumentValueError("old", "scores of documents", "classes", verb="hold")
    if pair.rows.group is None:
        remedy = "Name the column of the queries."
        raise ArgumentValueError("groups", "the queries, as ndcg needs", "none", remedy)
    # With negative gains a score could leave the range from 0 to 1, on which the interval rests.
    if pair.labels.min(initial=0.0) < 0.0:
        row = int(np.argmin(pair.labels))
        got = f"{pair.labels[row]:g} for {pair.rows.ids[row]!s}"
        raise ArgumentValueError("labels", "relevances of at least 0", got)
    names, codes = np.unique(pair.rows.group, return_inverse=True)
    codes = np.asarray(codes.ravel(), dtype=np.int64)
    # Ranked by their own relevances, queries reach 1, or 0 where nothing is relevant.
    best = (ndcg_by_query(pair.labels, pair.labels, codes, n_top) > 0.0).astype(np.float64)
    notes = []
    n_empty = int((best == 0.0).sum())
    if n_empty:
        notes.append(f"Queries without a relevant document, which count as 0 for both: {n_empty:,}")
    # They are equal under both models, and draw the difference of the means towards 0.
    n_alone = int((np.bincount(codes) == 1).sum())
    if n_alone:
        notes.append(f"Queries with a single document, which no model can misplace: {n_alone:,}")
    return QueryScores(
        names=names,
        old=ndcg_by_query(pair.labels, pair.old_outputs, codes, n_top),
        new=ndcg_by_query(pair.labels, pair.new_outputs, codes, n_top),
        best=best,
        notes=tuple(notes),
    )


def check_whole_rankings(options: Any) -> None:
    """Check that no documents are left out, without which the order of a query is another one.

    Raises
    ------
    ValueError
        If those of one model alone are to be.
    """
    if isinstance(options, RoleOptions) and options.inner:
        got = "inner, which leaves out documents that one model alone ranks"
        remedy = (
            "Where models rank other documents, compute the NDCG of each query, and compare the table of queries and "
            "scores."
        )
        raise ArgumentValueError("ids", "the same documents of both models", got, remedy)


def ndcg_by_query(
    relevance: FloatArray, scores: FloatArray, queries: IntArray, n_top: int
) -> FloatArray:
    """Return the normalized discounted cumulative gain of each query, as scikit-learn's `ndcg_score` does.

    A document gains its relevance over the binary logarithm of its place plus 1, and none behind the first ``n_top``
    places; 0 counts all. Documents of one score get the mean over the orders that they may stand in (McSherry and
    Najork, ECIR 2008).

    Parameters
    ----------
    relevance, scores : ndarray of shape (n_samples,)
    queries : ndarray of shape (n_samples,)
        Numbers from 0.
    n_top : int
    """
    n_queries = int(queries.max()) + 1
    gain = _gain(relevance, scores, queries, n_top)
    most = _gain(relevance, relevance, queries, n_top)
    found = np.zeros(n_queries)
    np.divide(gain, most, out=found, where=most > 0.0)
    return found


def _gain(relevance: FloatArray, scores: FloatArray, queries: IntArray, n_top: int) -> FloatArray:
    """Return the discounted gain of each query."""
    n = len(scores)
    order = np.lexsort((-scores, queries))
    query = queries[order]
    score = scores[order]
    starts = np.ones(n, dtype=bool)
    starts[1:] = query[1:] != query[:-1]
    # places from 0 within each query
    first = np.flatnonzero(starts)
    place = np.arange(n) - np.repeat(first, np.diff(np.append(first, n)))
    discount = 1.0 / np.log2(place + 2.0)
    if n_top:
        discount[place >= n_top] = 0.0
    # documents of one score share the mean discount of their places
    new_score = starts.copy()
    new_score[1:] |= score[1:] != score[:-1]
    tie = np.cumsum(new_score) - 1
    shared = np.bincount(tie, weights=discount) / np.bincount(tie)
    gains = np.bincount(query, weights=relevance[order] * shared[tie], minlength=len(first))
    return np.asarray(gains, dtype=np.float64)


def effects_on_queries(queries: QueryScores) -> MetricEffects:
    """Return the effects on the mean over queries: one more query may gain or lose all of it."""
    return MetricEffects(
        old=effects_on_mean(queries.old),
        new=effects_on_mean(queries.new),
        reach=1.0,
        rarest=len(queries.names),
        unit="query",
    )


def moving_queries(queries: QueryScores, effects: MetricEffects) -> MovingRows:
    """Return the queries whose NDCG changes, those that cost most first."""
    changed = np.flatnonzero(np.abs(queries.old - queries.new) > ROUNDING)
    moved = effects.moved[changed] / max(len(queries.names) - 1, 1)
    order = np.argsort(moved, kind="stable")
    changed = changed[order]
    return MovingRows(
        position=changed,
        id=queries.names[changed],
        label=queries.best[changed],
        old=queries.old[changed],
        new=queries.new[changed],
        effect=moved[order],
    )
