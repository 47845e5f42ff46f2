"""Lists of the best labels of a row: the first is the answer, and the scores of the other labels are not known.

Tools that are asked for the best 2 of 4 labels name others in each row, so that no label has a score in all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

ROUNDING = 1e-3
"""By how much scores in single precision may add up to more than 1 (fastText: 1.00003)."""

LEFT_OUT = "rows name their best {count} of {labels} labels: the best is the answer"


def best_labels(scores: Mapping[str, Any]) -> tuple[dict[str, Any], str] | None:
    """Return the best label and its score in place of scores that rows do not have for each label.

    Parameters
    ----------
    scores : mapping of str to sequence
        The scores of each label, a gap where a row does not name it.

    Returns
    -------
    columns : dict
        The columns ``label`` and ``score``.
    note : str
        What is said of it. None in place of both for columns that are no lists of the best labels: these hold
        probabilities, of as many labels in each row, and fewer than there are.
    """
    labels = list(scores)
    if len(labels) < 2 or all(label.isdigit() for label in labels):
        return None
    try:
        values = np.column_stack([np.asarray(scores[label], dtype=float) for label in labels])
    except (TypeError, ValueError):
        return None
    given = ~np.isnan(values)
    counts = given.sum(axis=1)
    if not len(counts) or counts.min() != counts.max() or not 0 < counts[0] < len(labels):
        return None
    filled = np.where(given, values, 0.0)
    if filled.min() < 0 or filled.sum(axis=1).max() > 1 + ROUNDING:
        return None
    best = np.where(given, values, -1.0).argmax(axis=1)
    answers = np.array(labels, dtype=object)[best]
    note = LEFT_OUT.format(count=counts[0], labels=len(labels))
    return {"label": answers, "score": filled[np.arange(len(best)), best]}, note
