"""Scores of one class against another, without names: k(k-1)/2 columns for k classes, as of one-vs-one models."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.evidence import Words
from shiftmetrics.tables.opening import FoundRoles
from shiftmetrics.tables.spelling import distinct_words
from shiftmetrics.tables.tasks import refuse_pairs_of_classes

FEWEST_ROWS = 20
"""Labels from which on it counts which reading of three columns is right more often."""


def refuse_pairwise_scores(
    roles: FoundRoles, free: Sequence[Sequence[str]], truth: Words | None
) -> None:
    """Refuse columns that count the pairs of the labels' classes.

    Three classes have three pairs, so that their columns may be either. They are pairs where the class that wins its
    two pairs is right in more rows than the class of the largest score, by two standard errors.

    Parameters
    ----------
    roles : FoundRoles
    free : sequence of sequence of str
        The columns of each file that may hold scores.
    truth : array of str, optional
        The labels of the rows that the files share.

    Raises
    ------
    UnreadableTableError
        If the columns of a file are scores of pairs.
    """
    options = roles.options
    if options.classes is not None:
        return
    for place, table in enumerate(roles.tables):
        # names of pairs say what the columns are, whatever their units
        chosen = roles.scores[place] if roles.scores else free[place]
        names = [name for name in chosen if table.columns[name].is_fractional]
        if roles.answers[place] is None and names:
            refuse_pairs_of_classes(names, table.label)
    if truth is None:
        return
    known = distinct_words(truth)
    n_pairs = len(known) * (len(known) - 1) // 2
    if n_pairs < 3:
        return
    for place, table in enumerate(roles.tables):
        if roles.answers[place] is not None:
            continue
        chosen = roles.scores[place] if roles.scores else free[place]
        names = [name for name in chosen if table.columns[name].is_fractional]
        if len(names) != n_pairs or not _are_counted(names):
            continue
        scores = table.numeric(names)[roles.rows[place]]
        # a score for a pair has the sign of the class that wins; probabilities and their logarithms have one sign
        if not bool(((scores < 0).any(axis=0) & (scores > 0).any(axis=0)).all()):
            continue
        if len(known) == 3 and not _votes_are_right(scores, truth, known):
            continue
        raise UnreadableTableError(
            f"{table.label} must have a column for each of the {len(known)} classes of the labels, got {n_pairs} "
            "columns without names, as many as there are pairs of classes: they may be scores of one class against "
            "another. Write the answers of the model, a class in each row, or one score for each class "
            "(decision_function_shape='ovr' in scikit-learn)."
        )


def _are_counted(names: Sequence[str]) -> bool:
    """Return True if the names end with 0.. or 1.., in order."""
    numbers = []
    for name in names:
        digits = name[len(name.rstrip("0123456789")) :]
        if not digits:
            return False
        numbers.append(int(digits))
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(names)))


def _votes_are_right(scores: FloatArray, truth: Words, known: set[str]) -> bool:
    """Return True if the winners of the pairs are right in more rows than the classes of the largest scores."""
    import pandas as pd

    there = ~np.asarray(pd.isna(truth))
    if int(there.sum()) < FEWEST_ROWS:
        return False
    numeric = all(word.lstrip("-").isdigit() for word in known)
    classes = sorted(known, key=int) if numeric else sorted(known)
    labels = np.array([classes.index(word) for word in truth[there]])
    by_votes = _winners(scores[there], len(classes)) == labels
    by_largest = scores[there].argmax(axis=1) == labels
    # A sign test (McNemar): rows that are right by both readings say nothing.
    n_more = int((by_votes & ~by_largest).sum())
    n_less = int((by_largest & ~by_votes).sum())
    return bool(n_more - n_less > 2 * np.sqrt(n_more + n_less))


def _winners(scores: FloatArray, n_classes: int) -> IntArray:
    """Return the class with the most pairs won; of classes with as many, the one with the larger sum of scores."""
    votes = np.zeros((len(scores), n_classes))
    for place, (first, second) in enumerate(combinations(range(n_classes), 2)):
        score = scores[:, place]
        # a third of a vote is more than any sum of scores brings
        bounded = score / (3 * (np.abs(score) + 1) * n_classes)
        votes[:, first] += (score > 0) + bounded
        votes[:, second] += (score <= 0) - bounded
    winners: IntArray = votes.argmax(axis=1)
    return winners
