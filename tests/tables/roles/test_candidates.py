"""Columns that may name the rows of all files."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shiftmetrics.tables.evidence import evidence_of
from shiftmetrics.tables.roles.candidates import are_words, candidate_of, id_candidates
from tables.variants import cells

N = 20
SOME = np.arange(N) * 3 + 5


def _tables(*frames):
    return [evidence_of(cells(frame), frame) for frame in frames]


def test_named_columns_come_first_and_the_index_last():
    frame = pd.DataFrame(
        {
            "": np.arange(N),
            "words": [f"w{place}" for place in range(N)],
            "case": SOME,
            "x": SOME / 7,
        }
    )
    found = id_candidates(_tables(frame, frame.iloc[::-1].reset_index(drop=True)))
    assert [one.name for one in found] == ["case", "words", ""]
    assert [one.is_unnamed for one in found] == [False, False, True]
    assert {one.relation.kind for one in found} == {"permuted"}


def test_numbers_under_any_name_are_ids_only_in_another_order():
    frame = pd.DataFrame({"number": SOME, "prediction": SOME % 2})
    assert id_candidates(_tables(frame, frame)) == []
    (found,) = id_candidates(_tables(frame, frame.iloc[::-1].reset_index(drop=True)))
    assert found.name == "number"
    # Ranks are permutations of a count in each file.
    ranks = pd.DataFrame({"number": np.arange(N), "prediction": SOME % 2})
    assert id_candidates(_tables(ranks, ranks.iloc[::-1].reset_index(drop=True))) == []


def test_a_count_against_other_values_is_a_place():
    tables = _tables(pd.DataFrame({"id": np.arange(N)}), pd.DataFrame({"id": SOME}))
    one = candidate_of([("id",), ("id",)], tables)
    assert one.is_place
    assert not are_words(tables, one)


def test_numbers_of_which_two_files_share_more_than_by_chance_are_ids():
    rng = np.random.default_rng(4)
    numbers = rng.permutation(1_000)[:80]

    def shared(first, second):
        frames = [pd.DataFrame({"ticket": part, "x": 0}) for part in (first, second)]
        return id_candidates(_tables(*frames))

    assert [one.name for one in shared(numbers[:70], numbers[10:][::-1])] == ["ticket"]
    # By chance, 60 of 100 numbers are 36 in common, and 80 of 1,000 are 6.
    assert shared(rng.permutation(100)[:60], rng.permutation(100)[:60]) == []
    assert shared(numbers, rng.permutation(1_000)[:80]) == []
    # A few other cells in rows that are the same are no other rows.
    changed = numbers.copy()
    changed[:9] = np.arange(9) + 5_000
    assert shared(numbers, changed) == []
