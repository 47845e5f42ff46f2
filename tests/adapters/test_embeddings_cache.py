"""Embeddings that are kept: what makes them be found again, how many are, and files that are damaged."""

from pathlib import Path

import numpy as np
import pytest

from items_to_embed import IMAGES, TABLE, TEXTS, Counting
from shiftmetrics.adapters.embeddings import embed, fit_encoder


@pytest.fixture
def cache(tmp_path) -> Path:
    """Return a cache in a folder that does not exist yet."""
    return tmp_path / "kept"


def n_kept(cache) -> int:
    return len(list(cache.glob("*.npz")))


def test_the_same_content_and_encoder_are_encoded_once(cache):
    encoder = Counting("counting 1")
    first = embed(IMAGES, encoder=encoder, cache=cache)
    np.testing.assert_array_equal(embed(IMAGES.copy(), encoder=encoder, cache=cache), first)
    assert encoder.calls == 1
    embed(IMAGES, encoder=Counting("counting 2"), cache=cache)
    assert n_kept(cache) == 2


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(TEXTS[::-1], id="order"),
        pytest.param(["a good", "film" + TEXTS[1], *TEXTS[2:]], id="ends of texts"),
        pytest.param(TEXTS[:3], id="fewer"),
    ],
)
def test_other_content_is_encoded_again(changed, cache):
    encoder = Counting("counting")
    embed(TEXTS, encoder=encoder, cache=cache)
    embed(changed, encoder=encoder, cache=cache)
    assert encoder.calls == 2


def test_tables_and_arrays_are_known_by_values_names_and_dtypes(cache):
    encoder = Counting("counting")
    for number, table in enumerate(
        [TABLE, TABLE.rename(columns={"age": "years"}), TABLE.assign(age=[20, 30, 40]), TABLE.iloc[::-1], IMAGES,
         IMAGES.astype(np.int64), IMAGES.swapaxes(1, 2)], start=1,
    ):  # fmt: skip
        embed(table, encoder=encoder, cache=cache)
        embed(table.copy(), encoder=encoder, cache=cache)
        assert encoder.calls == number


def test_what_an_encoder_learned_from_counts(cache):
    first = embed(TEXTS, encoder=fit_encoder("tfidf", TEXTS), cache=cache)
    second = embed(TEXTS, encoder=fit_encoder("tfidf", TEXTS[:2]), cache=cache)
    assert first.shape != second.shape
    embed(TEXTS, encoder=fit_encoder("tfidf", TEXTS), cache=cache)  # the same encoder, fitted again
    assert n_kept(cache) == 2
    embed(TEXTS, encoder=fit_encoder("tfidf", TEXTS, n_components=3), cache=cache)
    assert n_kept(cache) == 3


def test_an_encoder_without_identity_is_not_cached(cache):
    with pytest.raises(ValueError, match=r"encoder\.identity"):
        embed(TEXTS, encoder=Counting(), cache=cache)


def test_a_damaged_file_is_computed_again(cache):
    encoder = Counting("counting")
    first = embed(TEXTS, encoder=encoder, cache=cache)
    (file,) = cache.glob("*.npz")
    for content in (file.read_bytes()[:50], b"", b"not a zip"):
        file.write_bytes(content)
        np.testing.assert_array_equal(embed(TEXTS, encoder=encoder, cache=cache), first)
    assert encoder.calls == 4
    for other in (np.ones(len(TEXTS)), np.ones((2, 3)), np.float64(1.0)):
        np.savez(file, features=other)
        np.testing.assert_array_equal(embed(TEXTS, encoder=encoder, cache=cache), first)
    assert encoder.calls == 7
    embed(TEXTS, encoder=encoder, cache=cache)
    assert encoder.calls == 7


def test_a_folder_that_cannot_be_used_is_an_error_before_the_work(tmp_path):
    (tmp_path / "file").write_text("in the way")
    encoder = Counting("counting")
    with pytest.raises(FileExistsError):
        embed(TEXTS, encoder=encoder, cache=tmp_path / "file")
    assert encoder.calls == 0
