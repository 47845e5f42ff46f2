"""Strings as pandas stores them are those of a list, and numbered as pandas numbers them."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.stored_words import (
    SEEN,
    StoredIds,
    StoredWords,
    factorized_strings,
    places_among,
)

RNG = np.random.default_rng(0)
MANY = [f"row {place:05d}" for place in range(3 * SEEN + 7)]


def _stored(words, storage):
    if storage == "pyarrow":
        pytest.importorskip("pyarrow")
    try:
        kind = pd.StringDtype(storage, na_value=np.nan)
    except TypeError:  # an older pandas, whose gaps are NA
        kind = pd.StringDtype(storage)
    return pd.Series(words, dtype=kind)


COLUMNS = {
    "none": [],
    "one": ["a"],
    "increasing": MANY,
    "decreasing": MANY[::-1],
    "shuffled": RNG.permutation(MANY).tolist(),
    "one repeats late": [*MANY, MANY[-1]],
    "one falls late": [*MANY, "a"],
    "gaps": ["a", None, "b", "a", None],
    "a gap at the end": [*MANY, None],
    "letters beyond ASCII": ["Z", "a", "é", "ü", "漢", "\U0001f600"],
}


@pytest.mark.parametrize("storage", ["python", "pyarrow"])
@pytest.mark.parametrize("name", COLUMNS)
def test_codes_are_those_of_the_order_of_appearance(name, storage):
    column = _stored(COLUMNS[name], storage)
    codes, distinct = factorized_strings(column)
    words = list(dict.fromkeys(word for word in COLUMNS[name] if word is not None))
    places = {word: place for place, word in enumerate(words)}
    assert list(distinct) == words
    assert codes.dtype == np.int64
    assert codes.tolist() == [places.get(word, -1) for word in COLUMNS[name]]


@pytest.mark.parametrize("storage", ["python", "pyarrow"])
def test_stored_words_are_a_list(storage):
    words = StoredWords(_stored(MANY, storage).array)
    assert len(words) == len(MANY)
    assert list(words) == MANY
    assert words[SEEN] == MANY[SEEN]
    assert words[:7] == MANY[:7]
    assert words[-3:] == MANY[-3:]
    assert MANY[-1] in words
    assert "another" not in words


@pytest.mark.parametrize("first", ["python", "pyarrow"])
@pytest.mark.parametrize("second", ["python", "pyarrow"])
def test_places_among_known_ones(first, second):
    known = RNG.permutation(MANY).tolist()
    asked = [*RNG.permutation(MANY)[:50].tolist(), "another", ""]
    found = places_among(_stored(asked, first).array, _stored(known, second).array)
    assert found.tolist() == [known.index(word) if word in known else -1 for word in asked]


@pytest.mark.parametrize("storage", ["python", "pyarrow"])
def test_stored_ids_are_an_array_of_strings(storage):
    words = ["b", "aaa", "", "漢字"]
    stored = StoredIds(_stored(words, storage).array)
    expected = np.array(words)
    assert len(stored) == 4
    assert list(stored) == words
    assert stored[1] == "aaa"
    for rows in (slice(None), np.array([3, 0]), expected == "b", np.array([], dtype=np.int64)):
        taken = stored[rows]
        assert taken.dtype == expected.dtype
        assert taken.tolist() == expected[rows].tolist()
    whole = np.asarray(stored)
    assert whole.dtype == expected.dtype
    assert whole.tolist() == words
