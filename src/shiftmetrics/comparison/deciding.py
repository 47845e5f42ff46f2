"""What leaves the choice of a model open: ties that could be broken otherwise, and rows whose labels would decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, is_table
from shiftmetrics.comparison.classes import THIRDS, Classes
from shiftmetrics.comparison.result import SEPARATED, TIED, ComparisonResult

LABELS_TO_DECIDE = 50
"""Rows on which two models differ that tell the better one, in eight of ten cases, where it is right on 70 % of them:
the two-sided sign test at the level .05."""

_BREAKINGS = 20
"""Times that ties are broken at random."""

_SEED = 0


def open_ranks(
    ranked: ComparisonResult, rivals: Sequence[str], text: str, **fields: Any
) -> ComparisonResult:
    """Return a comparison in which each rival may be the best as well, with a warning that says why.

    Parameters
    ----------
    ranked : ComparisonResult
        The comparison.
    rivals : sequence of str
        Names of models that may be the best.
    text : str
        The warning.
    **fields : object
        More fields of the result.
    """
    # Either may be the best, and all ranks between theirs are open.
    last = max(model.rank for model in ranked.models if model.name in rivals)
    models = []
    for model in ranked.models:
        if model.rank <= last:
            model = replace(model, rank_low=1, rank_high=max(model.rank_high, last))
        models.append(model)
    status = TIED if ranked.status == SEPARATED else ranked.status
    warnings = (text, *ranked.warnings)
    return replace(ranked, models=tuple(models), status=status, warnings=warnings, **fields)


def name_tied_winners(
    ranked: ComparisonResult,
    names: Sequence[str],
    classes: Classes,
    evaluate_with: Callable[[Classes], FloatArray],
) -> ComparisonResult:
    """Say where another way to break ties, of classes that score the same, makes another model the best.

    Parameters
    ----------
    ranked : ComparisonResult
        The comparison, with ties broken by the first class.
    names : sequence of str
        Of the models.
    classes : Classes
        Their predicted classes.
    evaluate_with : callable
        Maps classes to the values of the models.
    """
    tied = classes.is_tied
    if not tied.any():
        return ranked
    # To the last class for all models, for each model alone, and at random.
    n_models, n_samples = tied.shape
    ways = [np.ones(tied.shape, bool)]
    ways += [
        np.repeat(np.arange(n_models) == m, n_samples).reshape(tied.shape) for m in range(n_models)
    ]
    rng = np.random.default_rng(_SEED)
    ways += [rng.random(tied.shape) < 0.5 for _ in range(_BREAKINGS)]
    winners = {ranked.best.name}
    for take_last in ways:
        values = evaluate_with(_broken(classes, take_last))
        # The model called the best stays it where it is level with others.
        best = names.index(ranked.best.name)
        if values.max() > values[best] + 1e-12:
            winners.add(names[int(values.argmax())])
    rivals = [name for name in names if name in winners and name != ranked.best.name]
    if not rivals:
        return ranked
    n_rows = int(tied.any(axis=0).sum())
    text = (
        f"In {n_rows:,} of {n_samples:,} samples two classes of a model score the same, and the first one counts: "
        f"with such ties broken another way, {' or '.join(rivals)} would be the best. Give scores of more digits, or "
        "label some rows."
    )
    return open_ranks(ranked, rivals, text)


def _broken(classes: Classes, take_last: BoolArray) -> Classes:
    """Return the classes with some ties given to their last class."""
    ties = classes.ties
    assert ties is not None
    shifted = np.where(take_last, ties[0], classes.shifted)
    before = np.where(take_last, ties[1], classes.before)
    labelled = classes.labelled
    if labelled is not None:
        # A state is THIRDS * class + third: the class changes, and the third of confidence stays.
        states = labelled.pair_states + THIRDS * (before - classes.before)
        labelled = replace(labelled, pair_states=states)
    return replace(classes, shifted=shifted, before=before, labelled=labelled)


def rows_to_label(differ: BoolArray, table: Any) -> tuple[str, ...]:
    """Return the names, else the positions, of at most fifty random rows among those that would decide.

    Parameters
    ----------
    differ : ndarray of shape (n_samples,)
        The rows on which two choices differ.
    table : array or DataFrame
        Scores of the first model, whose index names the rows.
    """
    rows = np.flatnonzero(differ)
    if len(rows) > LABELS_TO_DECIDE:
        rows = np.random.default_rng(_SEED).choice(rows, LABELS_TO_DECIDE, replace=False)
    names = table.index if is_table(table) and hasattr(table, "index") else range(len(differ))
    return tuple(str(names[row]) for row in rows)


def beside_source_accuracy(
    ranked: ComparisonResult,
    names: Sequence[str],
    classes: Classes,
    values: tuple[FloatArray, FloatArray],
    table: Any,
) -> ComparisonResult:
    """Name the model that is right most often on the labelled rows, and the rows to label where it is another one.

    Parameters
    ----------
    ranked : ComparisonResult
        By another criterion.
    names : sequence of str
        Of the models.
    classes : Classes
        Their predicted classes.
    values : tuple of ndarray of shape (n_models,)
        Match of each model with the vote, and its accuracy on the labelled rows.
    table : array or DataFrame
        Scores of one of them, whose index names the rows.
    """
    vote, right = values
    best = int(np.argmax(vote))
    source = int(np.argmax(right))
    known = f"{100.0 * right[source]:.0f} %"
    if right[best] >= right[source] - 1e-12 and ranked.best.name == names[best]:
        return replace(ranked, beside=f"It is right most often on the labelled rows, too: {known}.")
    rows = rows_to_label(classes.shifted[best] != classes.shifted[source], table)
    text = f"On the labelled rows {names[source]} is right most often: {known}"
    text += (
        "." if ranked.best.name == names[best] else f"; {names[best]} agrees most with the others."
    )
    if rows:
        text += f" Label {len(rows)} rows to decide: those on which {names[best]} and {names[source]} differ."
    return replace(ranked, beside=text, to_label=rows)
