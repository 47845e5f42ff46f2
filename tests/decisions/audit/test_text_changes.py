"""Words and phrases of a text that became more or less frequent."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from shiftmetrics.decisions.audit.column_changes import compared_columns
from shiftmetrics.decisions.audit.text_changes import text_change
from shiftmetrics.tables.encoder.roles import Column

WORDS = np.array(
    [
        "red",
        "blue",
        "green",
        "house",
        "tree",
        "car",
        "dog",
        "cat",
        "sun",
        "sea",
        "road",
        "door",
        "milk",
        "bread",
    ]
)


def remarks(n, rng, words=WORDS):
    return pd.Series([" ".join(rng.choice(words, 6)) for _ in range(n)])


def test_a_new_and_a_vanished_word_are_named_with_their_rates():
    rng = np.random.default_rng(0)
    reference, current = remarks(300, rng), remarks(200, rng).str.replace("dog", "wolf")
    effect, p_value, text = text_change(reference, current)
    n_new = int(current.str.contains("wolf").sum())
    n_gone = int(reference.str.contains("dog").sum())
    assert f"'wolf' in {100 * n_new / 200:.0f} %, was 0 %" in text
    assert f"'dog' in 0 %, was {100 * n_gone / 300:.0f} %" in text
    assert effect == pytest.approx(max(n_new / 200, n_gone / 300))
    exact = fisher_exact([[n_new, 200 - n_new], [0, 300]]).pvalue
    assert exact <= p_value < 1e-6
    # The same as a column of a table, beside others.
    frames = [side.to_frame("remark").assign(x=1.0) for side in (reference, current)]
    columns = [Column("remark", "text"), Column("x", "number")]
    change = compared_columns(*frames, columns)[0]
    assert (change.column, change.effect, change.text) == ("remark", effect, text)
    assert change.p_value == pytest.approx(2 * p_value)


def test_a_phrase_of_known_words_is_named():
    rng = np.random.default_rng(1)
    reference, current = remarks(300, rng), remarks(300, rng)
    split = current.str.split()
    # Every text keeps its words; two of them now stand together.
    current = split.map(lambda words: " ".join([*words, "sea", "door"]))
    reference = reference.map(lambda text: f"sea {text} door")
    _, p_value, text = text_change(reference, current)
    assert p_value < 1e-6
    assert "'sea door'" in text


def test_halves_of_one_text_hardly_differ():
    rng = np.random.default_rng(2)
    p_values = []
    for _ in range(40):
        texts = remarks(120, rng)
        p_values.append(text_change(texts[:60], texts[60:])[1])
    assert sum(p <= 0.05 for p in p_values) <= 5


def test_texts_without_words_have_no_change():
    empty = pd.Series([None, "", "!", None] * 5)
    assert text_change(empty, empty) == (0.0, 1.0, "")
