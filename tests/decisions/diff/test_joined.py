"""Changed rows of parts are those of the whole, and doubts are those of all rows."""

import numpy as np
import pandas as pd

from shiftmetrics.decisions.diff.compared import compared_rows, totals_of_classes
from shiftmetrics.decisions.diff.joined import joined_pairs, with_global_doubts
from shiftmetrics.decisions.predictions.reading import PairArguments, read_pair

N = 60
ROWS = np.arange(N)
LABELS = np.array(["yes", "no"])[ROWS % 2]
OLD = pd.DataFrame({"id": ROWS + 5, "answer": LABELS, "label": LABELS, "note": ROWS})
NEW = OLD[["id"]].assign(answer=np.where(ROWS % 7, LABELS, LABELS[::-1]))


def test_joined_parts_are_the_whole() -> None:
    pair = read_pair(OLD, NEW, PairArguments(groups="note"))
    parts = [pair.taken(ROWS[rows]) for rows in (slice(0, 9), slice(9, 9), slice(9, N))]
    found = joined_pairs(parts)
    for name in ("old_codes", "new_codes", "labels"):
        assert np.array_equal(getattr(found, name), getattr(pair, name))
    assert np.array_equal(found.rows.ids, pair.rows.ids)
    assert np.array_equal(found.rows.group, pair.rows.group)
    assert found.rows.beside[0]["note"].tolist() == ROWS.tolist()
    assert np.array_equal(found.old.codes, pair.old.codes)


def test_what_witnesses_said_gives_way_to_what_all_rows_say() -> None:
    right = read_pair(OLD, NEW, PairArguments())
    wrong = read_pair(OLD.assign(label=LABELS[::-1]), NEW, PairArguments())
    assert wrong.rows.reading.warnings
    none = np.empty(0, dtype=np.int64)
    seen = totals_of_classes(wrong, none, none, ranks=False)
    cleared = with_global_doubts(wrong, (wrong, seen), compared_rows(right).totals, ["a note"])
    assert cleared.rows.reading.warnings == ()
    assert cleared.rows.warnings == ()
    assert cleared.rows.reading.notes[-1] == "a note"
    kept = with_global_doubts(wrong, (wrong, seen), seen, [])
    assert kept.rows.reading.warnings == wrong.rows.reading.warnings
    assert kept.rows.warnings == wrong.rows.warnings
