"""The check at the end, whatever the reading: numbers that speak against it are warnings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics.tables.evidence import Words
from shiftmetrics.tables.prediction_tables import CodedWords, PredictionTable, coded_words
from shiftmetrics.tables.roles.ranked import never_increase, numbered_groups
from shiftmetrics.tables.spelling import distinct_words

FEWEST = 10
"""Labels from which on a fraction of right answers says something."""

OFTEN = 0.05
"""Fraction of the rows from which a class that no label has is answered often."""

_MARKS = " \t\r\n.,;:!\"'`*"


def doubts_of_classes(
    names: Sequence[str], answers: Sequence[CodedWords], truth: Words | None
) -> list[str]:
    """Return what speaks against a reading of classes: models worse than chance, classes that no label has."""
    if truth is None:
        return []
    codes, classes = coded_words(truth)
    known = codes >= 0
    if int(known.sum()) < FEWEST:
        return []
    everywhere = bool(known.all())
    labels = codes if everywhere else codes[known]
    # All words in the numbering of the labels; gaps come last.
    every = list(dict.fromkeys((*classes, *(word for _, words in answers for word in words))))
    joint = {word: place for place, word in enumerate(every)}
    n_words = len(every) + 1
    counts = np.zeros((3, len(answers), n_words), dtype=np.int64)
    for place, (own, words) in enumerate(answers):
        # The last entry stands for rows without an answer, whose code is -1.
        lookup = np.array([*(joint[word] for word in words), len(every)], dtype=np.int64)
        given = lookup[own]
        labelled = given if everywhere else given[known]
        counts[0, place] = np.bincount(given, minlength=n_words)
        counts[1, place] = np.bincount(labelled, minlength=n_words)
        counts[2, place] = np.bincount(labelled[labelled == labels], minlength=n_words)
    label_counts = np.bincount(labels, minlength=n_words)
    return doubts_of_counts(names, every, counts[0], counts[1], label_counts, counts[2])


def doubts_of_counts(
    names: Sequence[str],
    words: Sequence[str],
    answers: IntArray,
    labelled_answers: IntArray,
    labels: IntArray,
    right: IntArray,
) -> list[str]:
    """Return the doubts of `doubts_of_classes` by counts of words.

    Parameters
    ----------
    names : sequence of str
        What sentences call the models.
    words : sequence of str
        Answers and labels; what is counted behind them is a gap.
    answers, labelled_answers, right : ndarray of shape (n_models, n_words or more)
        Rows in which a model gives an answer, those of them with a label, and those where it is this answer.
    labels : ndarray of shape (n_words or more,)
        Rows with each label.
    """
    n_labels = int(labels.sum())
    if n_labels < FEWEST:
        return []
    n_rows = int(answers[0].sum())
    doubts = []
    for place, name in enumerate(names):
        is_right = int(right[place].sum()) / n_labels
        # How often answers in a random order would be right: sum_k P(answer = k) P(label = k).
        chance = float((labelled_answers[place] / n_labels) @ (labels / n_labels))
        # One standard error below chance, so that a model that knows nothing is no misreading.
        error = np.sqrt(chance * (1.0 - chance) / n_labels)
        if is_right < chance - error:
            doubts.append(
                f"{name} is right in {is_right:.0%} of the labelled rows, fewer than the {chance:.0%} of answers at "
                "random: the classes or the rows may be misread"
            )
    if n_labels < 0.5 * n_rows:
        return doubts
    often = answers.max(axis=0) / n_rows
    unknown = [place for place in range(len(words)) if often[place] > OFTEN and not labels[place]]
    doubts += [
        f"no label is {words[place]}, which is the answer in {often[place]:.0%} of the rows"
        for place in sorted(unknown, key=lambda place: words[place])
    ]
    return doubts


def doubts_of_spelling(answers: Sequence[Words], truth: Words | None) -> tuple[list[str], bool]:
    """Return what is said of changed answers that are one word but for capitals, blanks and marks at their ends.

    They count as changed, since nothing says that they mean one class. Whether that is a doubt, too: it is none where
    all files, or the labels, have both words, which are two classes then.
    """
    if len(answers) < 2:
        return [], False
    sets = [distinct_words(part) for part in answers]
    plain = {word: _plain(word) for word in set().union(*sets)}
    # Without two spellings of one word no row need be compared.
    if len(set(plain.values())) == len(plain):
        return [], False
    labels = set() if truth is None else distinct_words(truth)
    first, second = answers[0], answers[-1]
    pairs = [
        (old, new)
        for old, new in zip(first, second, strict=True)
        if old != new and plain.get(old) == plain.get(new) and not {old, new} <= labels
    ]
    if not pairs:
        return [], False
    old, new = pairs[0]
    are_classes = all(set(pair) <= own for pair in pairs for own in sets)
    rows = "row" if len(pairs) == 1 else "rows"
    text = (
        f"the answers of {len(pairs):,} {rows} differ in capital letters or in marks at their ends alone, such as "
        f"{old!r} and {new!r}, and count as changed; write them alike where they mean one class"
    )
    return [text], not are_classes


def _plain(word: str) -> str:
    """Return a word in small letters, without blanks and marks at its ends; one of marks alone stays."""
    return word.casefold().strip(_MARKS) or word


def doubts_of_ranks(files: Sequence[PredictionTable]) -> list[str]:
    """Return what speaks against scores of fixed classes: places of lists that fall in every row of every file.

    A list of the best answers' scores looks like this, and its first place is another class in every row. Constant
    predictions fall in all rows too, and so do those that nearly always say the most frequent of two classes.
    """
    for file in files:
        names, scores = file.columns, file.scores
        are_places = numbered_groups(names) == [list(names)] and not names[0][:1].isdigit()
        if scores is None or len(names) < 3 or not are_places or not never_increase(scores):
            return []
        if bool((scores == scores[0]).all()):
            return []
    if not files:
        return []
    first, last = files[0].columns[0], files[0].columns[-1]
    return [
        f"in every row the scores fall from {first} to {last}, as those of the best answers do, whatever the answers "
        "are; write one column for each class, named after it"
    ]


def doubts_of_labels(n_found: int, n_labels: int, source: str) -> list[str]:
    """Return what speaks against a pairing of labels: fewer than half belong to a row of the files."""
    if n_labels and n_found < 0.5 * n_labels:
        return [f"{n_found} of the {n_labels} labels of {source} belong to a row of the files"]
    return []
