"""What the predictions of all models together say: which have collapsed, and whether there are two camps of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.comparison.classes import Classes
from shiftmetrics.comparison.criteria import weighted_vote
from shiftmetrics.comparison.deciding import open_ranks, rows_to_label
from shiftmetrics.comparison.ranking import collapsed_models
from shiftmetrics.comparison.result import ComparisonResult
from shiftmetrics.comparison.selection_criteria import VOTE, selection_criterion

RARE = 0.2
"""Fraction of rows up to which the rarer of two classes is a rare event, which a good model may never predict."""


def collapsed_by_classes(classes: Classes, *, probabilities: bool) -> list[bool]:
    """Return which models predict (almost) a single class, by labels or else by the vote of three or more models."""
    n_models = len(classes.shifted)
    # Labels say how often each class occurs; the vote of three models is the next best.
    expected = None
    if classes.labels is not None:
        expected = np.bincount(classes.labels, minlength=classes.n_classes) / len(classes.labels)
    elif n_models > 2:
        vote, _ = weighted_vote(classes.before, classes.n_classes, classes.weights)
        expected = np.bincount(vote, minlength=classes.n_classes) / len(vote)
    class_fractions = []
    for shifted, before in zip(classes.shifted, classes.before, strict=True):
        both = np.concatenate([shifted, before])
        class_fractions.append(np.bincount(both, minlength=classes.n_classes) / len(both))
    collapsed = collapsed_models(class_fractions, expected)
    # Of rare events a good model may predict none: its scores tell rows apart all the same.
    rare = probabilities if expected is None else expected.max() > 1.0 - RARE
    if classes.n_classes == 2 and rare:
        return [has and not varies for has, varies in zip(collapsed, classes.varies, strict=True)]
    return collapsed


def rare_events(names: list[str], classes: Classes) -> Iterator[str]:
    """Warn of models of two classes that never predict one of them, while their scores differ from row to row."""
    for name, shifted, before, varies in zip(
        names, classes.shifted, classes.before, classes.varies, strict=True
    ):
        constant = len(np.unique(np.concatenate([shifted, before]))) == 1
        if classes.n_classes == 2 and constant and varies:
            yield (
                f"{name}: it always predicts one class, by scores that differ, as for rare events. Predictions say "
                'little of it: with labels, compare by criterion="roc_auc", "average_precision" or "neg_log_loss".'
            )


def name_camps(
    ranked: ComparisonResult,
    names: list[str],
    classes: Classes,
    pairs: list[ScorePairs],
    table: Any,
) -> ComparisonResult:
    """Say where the vote from the models' kappas chooses another model: then no model is clearly the best.

    Parameters
    ----------
    ranked : ComparisonResult
        By the vote from equal weights.
    names : list of str
        Of the models.
    classes : Classes
        Their predicted classes.
    pairs : list of ScorePairs
        Their scores.
    table : array or DataFrame
        Scores of one of them, whose index names the rows.
    """
    ones = np.ones(len(classes.weights))
    other = selection_criterion(VOTE, classes, pairs, from_kappas=True)(ones, np.ones(0))
    rival = names[int(other.argmax())]
    best = ranked.best.name
    # A rival that is better by rounding alone is none.
    if rival == best or other.max() - other[names.index(best)] <= 1e-12:
        return ranked
    # A model belongs to the camp whose vote it matches more often.
    votes = []
    for from_kappas in (False, True):
        vote, _ = weighted_vote(
            classes.before, classes.n_classes, classes.weights, from_kappas=from_kappas
        )
        votes.append(vote)
    camps: tuple[list[str], list[str]] = ([], [])
    for name, before in zip(names, classes.before, strict=True):
        matches = [float(np.mean(before == vote)) for vote in votes]
        camps[int(matches[1] > matches[0])].append(name)
    text = (
        f"Two camps of models: by a vote from equal weights {best} is the best ({', '.join(camps[0])}), by one from "
        f"the models' mutual agreement {rival} ({', '.join(camps[1])}). Label rows on which the two votes differ to "
        "decide; `to_label` lists them."
    )
    differ = votes[0] != votes[1]
    return open_ranks(ranked, [rival], text, to_label=rows_to_label(differ, table))
