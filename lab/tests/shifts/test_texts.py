import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from shiftmetrics_lab.shifts import CharacterEdits, SentimentWords, apply_shift
from shiftmetrics_lab.shifts.texts import NEGATIVE_WORDS, POSITIVE_WORDS

REVIEWS = ["A fine film,  with a slow start.", "I did not like it\nat all.", ""]
LABELS = [1, 0, 1]


@given(st.text(max_size=30), st.integers(0, 6), st.integers(0, 50))
def test_edits_are_at_most_as_many_as_asked_for(text, power, seed):
    edited = CharacterEdits()([text], strength=2**power, rng=seed)[0]
    assert oracles.levenshtein(text, edited) <= 2**power


def test_few_of_the_edits_of_a_long_text_cancel():
    texts = ["The quick brown fox jumps over the lazy dog near the river bank."] * 50
    for power in (0, 1, 2, 3):
        edited = CharacterEdits()(texts, strength=2**power, rng=0)
        distances = [oracles.levenshtein(a, b) for a, b in zip(texts, edited, strict=True)]
        assert np.mean(distances) > 0.9 * 2**power
        assert len(set(edited)) > 40  # every row is edited differently


def test_all_three_kinds_of_edits_occur():
    lengths = {len(CharacterEdits()(["abcdefgh"], strength=1, rng=seed)[0]) for seed in range(20)}
    assert lengths == {7, 8, 9}


def test_stronger_edits_continue_weaker_ones():
    texts = ["the same text"]
    one, two = (CharacterEdits()(texts, strength=s, rng=3)[0] for s in (1, 2))
    assert oracles.levenshtein(one, two) <= 1


@pytest.mark.parametrize(
    "shift",
    [CharacterEdits(), SentimentWords(LABELS), SentimentWords(LABELS, agree=False)],
    ids=repr,
)
def test_texts_come_back_as_they_came(shift):
    series = pd.Series(REVIEWS, index=[5, 3, 1], name="review")
    shifted = shift(series, strength=4, rng=0)
    assert shifted.index.equals(series.index)
    assert shifted.name == "review"
    assert shifted.tolist() == shift(REVIEWS, strength=4, rng=0)
    assert shift(REVIEWS, strength=0, rng=0) == REVIEWS
    assert apply_shift(shift, REVIEWS, strength=4, rng=0).shifted.all()
    batches = shift(
        REVIEWS[:2] if isinstance(shift, CharacterEdits) else REVIEWS, strength=4, rng=0
    )
    assert batches[:2] == shift(REVIEWS, strength=4, rng=0)[:2]
    if isinstance(shift, CharacterEdits):
        assert shift(REVIEWS[2:], strength=4, rng=0, first_row=2) == shifted.tolist()[2:]


def count(text, words):
    return sum(piece.strip(".,") in words for piece in text.split())


def test_amplification_sides_with_the_label_and_contradiction_does_not():
    for shift, own, other in (
        (SentimentWords(LABELS), POSITIVE_WORDS, NEGATIVE_WORDS),
        (SentimentWords(LABELS, agree=False), NEGATIVE_WORDS, POSITIVE_WORDS),
    ):
        positive, negative, empty = shift(REVIEWS, strength=8, rng=0)
        assert count(positive, own) == count(empty, own) == count(negative, other) == 8
        assert count(positive, other) == count(empty, other) == count(negative, own) == 0


def test_added_words_leave_the_text_in_place():
    added = SentimentWords([1], positive=["superb"])(REVIEWS[:1], strength=3, rng=0)[0]
    assert added.replace("superb ", "") == REVIEWS[0]


def test_replaced_words_keep_the_number_of_words_and_the_spaces():
    shift = SentimentWords([1], agree=False, mode="replace", negative=["awful"])
    replaced = shift(REVIEWS[:1], strength=2, rng=0)[0]
    assert len(replaced.split()) == len(REVIEWS[0].split())
    assert count(replaced, ["awful"]) == 2
    assert "  " in replaced
    assert set(shift(REVIEWS[:1], strength=100, rng=0)[0].split()) == {"awful"}


@pytest.mark.parametrize(
    ("shift", "texts", "error", "message"),
    [
        (CharacterEdits(), "one text", TypeError, "a list or pandas Series of strings"),
        (CharacterEdits(), [], ValueError, "at least one text"),
        (CharacterEdits(), ["a", None], TypeError, "got None at row 1"),
        (CharacterEdits(), pd.DataFrame({"a": ["b"]}), TypeError, "Pass one column"),
        (CharacterEdits(alphabet="aa"), ["a"], ValueError, "at least two distinct characters"),
        (SentimentWords([1]), ["a", "b"], ValueError, "labels must be of length 2"),
        (SentimentWords([2]), ["a"], ValueError, "one of 0 and 1"),
        (SentimentWords([1], mode="prepend"), ["a"], ValueError, "mode must be one of"),
        (
            SentimentWords([1], positive=[]),
            ["a"],
            ValueError,
            "positive must be a list of at least one word",
        ),
    ],
)
def test_bad_input_is_named(shift, texts, error, message):
    with pytest.raises(error, match=message):
        shift(texts, strength=1, rng=0)


def test_too_many_edits_are_refused():
    with pytest.raises(ValueError, match="between 0 and 65536"):
        CharacterEdits()(["a"], strength=2**17)


@pytest.mark.realdata
def test_reviews_under_the_three_attacks(data_folder):
    """Figure 10 of the paper in small: a bag of words loses accuracy under edits and contradiction, not under
    amplification.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    pairs = pd.read_parquet(
        data_folder / "imdb_counterfactual" / "imdb_counterfactual_pairs.parquet"
    )
    train, test = pairs[pairs["split"] == "train"], pairs[pairs["split"] == "test"]
    texts, labels = test["text_original"], test["label_original"].to_numpy()
    model = make_pipeline(TfidfVectorizer(min_df=3), LogisticRegression())
    model.fit(train["text_original"], train["label_original"])
    clean = model.score(texts, labels)
    edits, with_label, against = (
        model.score(shift(texts, strength=2**power, rng=0), labels)
        for shift, power in (
            (CharacterEdits(), 8),
            (SentimentWords(labels), 4),
            (SentimentWords(labels, agree=False), 4),
        )
    )
    assert clean > 0.8
    assert edits < clean - 0.03
    assert against < clean - 0.1
    assert with_label > clean
