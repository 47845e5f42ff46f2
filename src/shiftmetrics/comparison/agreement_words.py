"""What criteria are called, and what a ranking by them rests on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiftmetrics._core.result import format_percent
from shiftmetrics.comparison.classes import Classes
from shiftmetrics.comparison.selection_criteria import (
    AGREEMENT,
    OVER_CEILING,
    SOURCE_ACCURACY,
    VOTE,
    VOTE_AND_SOURCE,
)

SCORE_NAMES = {
    "accuracy_and_f1": "Mean of accuracy and macro F1",
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "f1_macro": "Macro F1",
}
ROBUST = "No labels: this says how far predictions stay as they were, not whether they are right."
WORDS = {
    AGREEMENT: ("Posterior agreement", ROBUST),
    OVER_CEILING: ("Agreement over its ceiling", ROBUST),
    VOTE: (
        "Match with the models' weighted vote",
        "No labels: each model is set against the vote of all before the shift, in which those who agree with the "
        "others count most; a majority that is wrong together would mislead it.",
    ),
    VOTE_AND_SOURCE: (
        "Match with the vote and accuracy on the labelled rows",
        "Without scores of the same rows before the shift, what it changes cannot be seen: the mean of two figures "
        "of the table, each over its spread among the models. It is no accuracy of these rows.",
    ),
    SOURCE_ACCURACY: (
        "Accuracy on the labelled rows",
        "Without scores of the same rows before the shift, what it changes cannot be seen: this is how often models "
        "are right where rows have labels.",
    ),
}

SHARED = (
    "The range of the accuracy comes from how often a model agrees with the vote of the others, and allows for as "
    "many shared mistakes as were seen on other tasks; where it would be too wide to say anything, it is left out."
)

MOST_UNKNOWN = 0.05
"""Fraction of pairs whose prediction may be unknown among the labelled rows before the estimate is called a guess."""


def unknown_predictions(names: list[str], classes: Classes) -> Iterator[str]:
    """Warn of models that often predict, on the pairs, what they never predict on the labelled rows."""
    if classes.labelled is None:
        return
    known_classes = classes.labelled.predictions
    for name, known, before in zip(names, known_classes, classes.before, strict=True):
        unknown = float(np.mean(~np.isin(before, known)))
        if unknown > MOST_UNKNOWN:
            yield (
                f"{name}: {format_percent(unknown)} of the pairs are predicted to be of classes that it predicts for "
                "no labelled row, so that the estimate is a guess. Label rows from the same population."
            )


def criterion_in_words(criterion: str, classes: Classes, *, paired: bool) -> tuple[str, str]:
    """Return what a criterion is called, and a sentence on what it rests on."""
    if criterion == VOTE and not paired:
        return WORDS[VOTE][0], (
            "Without labels of these samples, and without their scores before the shift, each model is set against "
            "the vote of all, in which those who agree with the others count most; a majority that is wrong together "
            "would mislead it."
        )
    if criterion in WORDS:
        return WORDS[criterion]
    title = f"{SCORE_NAMES.get(criterion, criterion)} after the shift"
    if classes.labelled is None:
        return title, "Evaluated with labels of the shifted rows."
    return f"{title}, estimated", (
        f"Estimated from {len(classes.labels)} labelled rows that were not shifted, as if predictions changed "
        "independently of whether they were right; intervals of differences hold for sampling only."
    )
