"""Embeddings that are kept: what makes them be found again, how many are, and files that are damaged."""

import os

import numpy as np
import pytest

from items_to_embed import IMAGES, TABLE, TEXTS, Counting
from shiftmetrics.adapters.embeddings import EmbeddingCache, embed, fit_encoder


def n_kept():
    return len(list(EmbeddingCache().path.glob("*.npz")))


def test_the_same_content_and_encoder_are_encoded_once(folder):
    encoder = Counting("counting 1")
    first = embed(folder, encoder=encoder)
    moved = folder.rename(folder.with_name("moved"))
    np.testing.assert_array_equal(embed(moved, encoder=encoder), first)
    assert encoder.calls == 1
    embed(folder.with_name("moved"), encoder=Counting("counting 2"))
    assert n_kept() == 2
    embed(moved, encoder=encoder, size=3)
    assert encoder.calls == 2


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(TEXTS[::-1], id="order"),
        pytest.param(["a good", "film" + TEXTS[1], *TEXTS[2:]], id="ends of texts"),
        pytest.param(TEXTS[:3], id="fewer"),
    ],
)
def test_other_content_is_encoded_anew(changed):
    encoder = Counting("counting")
    embed(TEXTS, encoder=encoder)
    embed(changed, encoder=encoder)
    assert encoder.calls == 2


def test_tables_and_arrays_are_known_by_values_names_and_dtypes():
    encoder = Counting("counting")
    for number, table in enumerate(
        [TABLE, TABLE.rename(columns={"age": "years"}), TABLE.assign(age=[20, 30, 40]), TABLE.iloc[::-1], IMAGES,
         IMAGES.astype(np.int64), IMAGES.swapaxes(1, 2)], start=1,
    ):  # fmt: skip
        embed(table, encoder=encoder)
        embed(table.copy(), encoder=encoder)
        assert encoder.calls == number


def test_what_an_encoder_learned_from_counts():
    first = embed(TEXTS, encoder=fit_encoder("tfidf", TEXTS))
    second = embed(TEXTS, encoder=fit_encoder("tfidf", TEXTS[:2]))
    assert first.shape != second.shape
    embed(TEXTS, encoder=fit_encoder("tfidf", TEXTS))  # the same encoder, fitted again
    assert n_kept() == 2
    embed(TEXTS, encoder=fit_encoder("tfidf", TEXTS, max_features=3))
    assert n_kept() == 3


def test_a_callable_without_identity_is_not_kept():
    encoder = Counting()
    for _ in range(2):
        embed(TEXTS, encoder=encoder)
    assert (encoder.calls, n_kept()) == (2, 0)
    encoder.identity = "mine, version 1"
    for _ in range(2):
        embed(TEXTS, encoder=encoder)
    assert (encoder.calls, n_kept()) == (3, 1)


def test_the_cache_is_switchable(tmp_path, home):
    encoder = Counting("counting")
    for _ in range(2):
        embed(TEXTS, encoder=encoder, cache=False)
    assert encoder.calls == 2
    assert not home.exists()
    for _ in range(2):
        embed(TEXTS, encoder=encoder, cache=tmp_path / "own")
    assert encoder.calls == 3
    assert len(list((tmp_path / "own").glob("*.npz"))) == 1
    assert not home.exists()


def test_the_cache_is_bounded_and_drops_the_oldest(tmp_path):
    cache = EmbeddingCache(folder=tmp_path / "small", max_bytes=2500)
    features = np.ones((100, 1))
    for age, key in ((30, "a"), (20, "b")):
        cache.put(key, features)
        os.utime(cache.path / f"{key}.npz", ns=(age, -age * 10**9))
    assert cache.get("a") is not None  # used again: now the youngest
    cache.put("c", features)
    assert (cache.get("a") is not None, cache.get("b"), cache.get("c") is not None) == (True, None, True)
    cache.put("huge", np.ones((1000, 1)))
    assert cache.get("huge") is None


def test_a_damaged_file_is_computed_again():
    encoder = Counting("counting")
    first = embed(TEXTS, encoder=encoder)
    (file,) = EmbeddingCache().path.glob("*.npz")
    for content in (file.read_bytes()[:50], b"", b"not a zip"):
        file.write_bytes(content)
        np.testing.assert_array_equal(embed(TEXTS, encoder=encoder), first)
    assert encoder.calls == 4
    embed(TEXTS, encoder=encoder)
    assert encoder.calls == 4


def test_a_file_of_another_shape_is_computed_again(tmp_path):
    features = embed(IMAGES, encoder="pixels", cache=tmp_path)
    [file] = tmp_path.glob("*.npz")
    for other in (np.ones(len(IMAGES)), np.ones((2, 3)), np.float64(1.0)):
        np.savez(file, features=other)
        np.testing.assert_array_equal(embed(IMAGES, encoder="pixels", cache=tmp_path), features)
    with pytest.raises(TypeError, match="cache must be True, False, a folder or an EmbeddingCache, got None"):
        embed(IMAGES, encoder="pixels", cache=None)


def test_a_folder_that_cannot_be_used_is_a_warning(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="Embeddings are not kept"):
        features = embed(TEXTS, encoder=fit_encoder("tfidf", TEXTS), cache=tmp_path / "file")
    assert len(features) == 4
