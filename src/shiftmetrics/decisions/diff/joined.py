"""Put the changed rows of several parts together, and say of the whole what speaks against its reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics.decisions.diff.compared import PairTotals
from shiftmetrics.decisions.predictions.pairs import ClassPair
from shiftmetrics.decisions.predictions.predictions import ServedPredictions
from shiftmetrics.tables.reading import as_sentence
from shiftmetrics.tables.sanity import doubts_of_counts, doubts_of_spelling


def joined_pairs(pairs: Sequence[ClassPair]) -> ClassPair:
    """Return the rows of several pairs that were read alike as one, one pair after the other."""
    import pandas as pd

    first = pairs[0]
    # A part without rows may have another type.
    filled = [pair for pair in pairs if len(pair.labels)] or [first]
    beside = []
    for place in range(2):
        columns = {}
        for name in first.rows.beside[place]:
            columns[name] = pd.concat([pair.rows.beside[place][name] for pair in filled])
        beside.append(columns)
    group = None
    if first.rows.group is not None:
        group = np.concatenate([_present(pair.rows.group) for pair in filled])
    rows = replace(
        first.rows,
        ids=np.concatenate([np.asarray(pair.rows.ids) for pair in filled]),
        known=np.concatenate([pair.rows.known for pair in pairs]),
        group=group,
        beside=tuple(beside),
    )
    return replace(
        first,
        rows=rows,
        old=_joined_sides([pair.old for pair in pairs]),
        new=_joined_sides([pair.new for pair in pairs]),
        old_codes=np.concatenate([pair.old_codes for pair in pairs]),
        new_codes=np.concatenate([pair.new_codes for pair in pairs]),
        labels=np.concatenate([pair.labels for pair in pairs]),
    )


def _joined_sides(sides: Sequence[ServedPredictions]) -> ServedPredictions:
    """Return the answers of one model in all parts."""
    first = sides[0]
    confidence = None
    if first.confidence is not None:
        confidence = np.concatenate([_present(side.confidence) for side in sides])
    return replace(
        first,
        codes=np.concatenate([side.codes for side in sides]),
        confidence=confidence,
        n_tied=sum(side.n_tied for side in sides),
    )


def _present(values: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    assert values is not None
    return values


def with_global_doubts(
    pair: ClassPair,
    witnesses: tuple[ClassPair, PairTotals],
    totals: PairTotals,
    notes: Sequence[str],
) -> ClassPair:
    """Return the changed rows with what all rows say against the reading, in place of what the witnesses said."""
    own_doubts, own_notes = _said(*witnesses)
    doubts, more = _said(pair, totals)
    reading = pair.rows.reading
    kept = [text for text in reading.warnings if text not in own_doubts]
    warnings = (*kept, *doubts)
    written = [text for text in reading.notes if text not in own_notes]
    reading = replace(
        reading, warnings=warnings, notes=tuple(dict.fromkeys([*written, *notes, *more]))
    )
    own = {as_sentence(text) for text in own_doubts}
    others = [text for text in pair.rows.warnings if text not in own]
    n_kept = len(kept)
    sentences = [*others[:n_kept], *map(as_sentence, doubts), *others[n_kept:]]
    return replace(pair, rows=replace(pair.rows, reading=reading, warnings=tuple(sentences)))


def _said(pair: ClassPair, totals: PairTotals) -> tuple[list[str], list[str]]:
    """Return what speaks against the reading of some rows, and what is merely said of them."""
    doubts: list[str] = []
    classes = pair.classes.tolist()
    if totals.n_known:
        names = [file.name for file in pair.rows.reading.files[:2]]
        doubts += doubts_of_counts(
            names, classes, totals.answers, totals.labelled_answers, totals.labels, totals.right
        )
    notes: list[str] = []
    files = pair.rows.reading.files[:2]
    if any(file.answer is not None and not file.between for file in files):
        texts, is_doubt = doubts_of_spelling(
            _answers(pair, totals), pair.classes[totals.labels > 0] if totals.n_known else None
        )
        doubts += texts if is_doubt else []
        notes += [] if is_doubt else texts
    return doubts, notes


def _answers(pair: ClassPair, totals: PairTotals) -> list[npt.NDArray[Any]]:
    """Return the answers of both models in the changed rows, then each class that both answer somewhere."""
    changed = pair.changed
    both = np.flatnonzero((totals.answers > 0).all(axis=0))
    found = []
    for codes in (pair.old_codes, pair.new_codes):
        words = pair.classes[np.concatenate([codes[changed], both])]
        found.append(words.astype(object))
    return found
