"""What changed in a column of text: words and phrases that became more or less frequent, with their rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.result import format_percent

if TYPE_CHECKING:
    import pandas as pd

_MOST_TEXTS = 20_000
"""Texts of each side that are read."""
_MOST_TERMS = 2_000
_LEAST_TEXTS = 5
"""Texts of both sides together that a term must stand in to be compared."""
_NAMED = 3


def text_change(reference: pd.Series, current: pd.Series) -> tuple[float, float, str]:
    """Return effect, p-value and words of a change of a column of text.

    Each of the most frequent terms of both samples together has Fisher's test of how many texts hold it, by
    Bonferroni over all of them: which terms those are does not depend on which text is of which sample.

    Parameters
    ----------
    reference, current : Series
        The cells of both sides; one that is missing has no term.

    Returns
    -------
    effect : float
        Largest difference of the fraction of texts that hold a term.
    p_value : float
        Of "every term is as frequent in both".
    text : str
        The terms that changed most, such as "'wolf' in 56 %, was 0 %".
    """
    sides = [_every(side) for side in (reference, current)]
    counted = _counts(*sides)
    if counted is None:
        return 0.0, 1.0, ""
    terms, counts = counted
    sizes = np.array([len(side) for side in sides])
    p_values = _two_sided(counts, sizes)
    rates = counts / sizes[:, None]
    apart = np.abs(rates[1] - rates[0])
    order = np.lexsort((np.arange(len(terms)), p_values, -apart))
    words = []
    named: list[str] = []
    for place in order:
        term = terms[place]
        # A phrase whose words are named says nothing more, and those that are no news say nothing.
        is_known = any(_share_words(term, other) for other in named)
        if is_known or len(terms) * p_values[place] > 1.0 or len(named) == _NAMED:
            continue
        named.append(term)
        before, now = map(format_percent, rates[:, place].tolist())
        words.append(f"{term!r} in {now}, was {before}")
    p_value = min(1.0, len(terms) * float(p_values.min()))
    return float(apart.max()), p_value, "; ".join(words)


def _every(values: pd.Series) -> list[str]:
    """Return the texts of some rows, evenly spaced where there are many."""
    step = -(-len(values) // _MOST_TEXTS)
    cells = values.iloc[:: max(step, 1)]
    return list(cells.fillna("").astype(str))


def _counts(reference: list[str], current: list[str]) -> tuple[list[str], IntArray] | None:
    """Return terms, and how many texts of each side hold them; None where no term stands in enough texts."""
    from sklearn.feature_extraction.text import CountVectorizer

    least = min(_LEAST_TEXTS, len(reference) + len(current))
    vectorizer = CountVectorizer(
        binary=True, ngram_range=(1, 2), min_df=least, max_features=_MOST_TERMS
    )
    try:
        held = vectorizer.fit_transform(reference + current)
    except ValueError:  # no term stands in so many texts
        return None
    n = len(reference)
    counts = np.vstack([np.asarray(held[:n].sum(axis=0)), np.asarray(held[n:].sum(axis=0))])
    return list(vectorizer.get_feature_names_out()), counts.astype(np.int64)


def _two_sided(counts: IntArray, sizes: IntArray) -> FloatArray:
    """Return Fisher's p-values: twice the smaller tail, which is never too small."""
    from scipy.stats import hypergeom

    total = counts.sum(axis=0)
    law = hypergeom(int(sizes.sum()), total, int(sizes[1]))
    tails = np.minimum(law.cdf(counts[1]), law.sf(counts[1] - 1))
    return np.asarray(np.minimum(1.0, 2.0 * tails))


def _share_words(term: str, other: str) -> bool:
    return bool(set(term.split()) & set(other.split()))
