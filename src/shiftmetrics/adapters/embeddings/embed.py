"""Images, texts and tables to features, by any encoder, computed once."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, as_array, to_float64
from shiftmetrics._core.validation import check_finite, check_integer, describe
from shiftmetrics.adapters.embeddings.cache import EmbeddingCache
from shiftmetrics.adapters.embeddings.encoders import (
    LearnedEncoder,
    PCAEncoder,
    PixelEncoder,
    TableEncoder,
    TfidfEncoder,
)
from shiftmetrics.adapters.embeddings.items import Items, check_items
from shiftmetrics.adapters.embeddings.networks import PREFIX, SentenceEncoder, TorchEncoder, is_module

NAMES = {"pixels": PixelEncoder, "pca": PCAEncoder, "tfidf": TfidfEncoder, "table": TableEncoder}


def embed(
    items: Any,
    *,
    encoder: Any,
    fit_on: Any = None,
    size: int | None = None,
    identity: str | None = None,
    cache: bool | str | os.PathLike[str] | EmbeddingCache = True,
    batch_size: int = 256,
    progress: bool = True,
) -> FloatArray:
    """Turn images, texts or rows of a table into features for novelty and for distances.

    Parameters
    ----------
    items : images, texts or table
        Images as an array of shape (n, height, width) or (n, height, width, channels), a list of files
        (`pathlib.Path`), an `ImageFiles`, or a folder; texts as a list of str; a table as a DataFrame
        or an array of shape (n, n_columns).
    encoder : str, callable or torch module
        "pixels" takes images as they are; "pca", of images or numbers, "tfidf", of texts, and "table", of numbers and
        words, learn from ``fit_on`` first; "sentence-transformers/NAME" is a sentence transformer. A callable maps a
        block of items to an array of shape (n_items, n_columns); a torch module gets float32 images of shape (n,
        channels, height, width) in 0..1.
    fit_on : images, texts or table, optional
        What an encoder that learns sees first, the same for all samples that are to be compared.
    size : int, optional
        Side in pixels to which image files are resized (bilinear). Needed where they differ in size.
    identity : str, optional
        Name and version of a callable, for the cache. Default: its attribute ``identity``; without one, its
        embeddings are not kept, since nothing tells when it changes. Modules are told apart by their weights.
    cache : bool, path or EmbeddingCache, default True
        Whether to keep the embeddings, found again by the content of the items and the identity of the encoder; a
        folder to keep them in; or a cache with a size of its own.
    batch_size : int, default 256
        Items that the encoder gets at once.
    progress : bool, default True
        Whether to show a progress bar for work of more than two seconds.

    Returns
    -------
    ndarray of float64, shape (n_items, n_columns)
        A row for each item, in their order.

    Raises
    ------
    ValueError
        If there are no items, the encoder is unknown, has nothing to learn from, or returns another number of rows or
        values that are not finite.
    TypeError
        If the items are of a kind that the encoder does not take.
    FileNotFoundError
        If an image file is missing.
    ImportError
        If a sentence transformer is asked for and its package is missing.

    See Also
    --------
    shiftmetrics.novelty.kernel_entropic_novelty : What is new in such features.

    Examples
    --------
    >>> test, reference = ["a dull film", "a bright film"], ["a dull film", "a long film"]
    >>> features = embed(test, encoder="tfidf", fit_on=test + reference, cache=False)
    >>> features.shape
    (2, 4)
    """
    batch_size = check_integer(batch_size, "batch_size", low=1)
    size = None if size is None else check_integer(size, "size", low=1)
    known = check_items(items, "items", size=size)
    encode = _encoder(encoder)
    learned = None
    if isinstance(encode, LearnedEncoder):
        encode.check(known)
        if encode.identity is None:
            if fit_on is None:
                remedy = "Give all samples that are to be compared, and the same ones each time."
                raise ValueError(describe("fit_on", "what the encoder learns from", "None", remedy))
            learned = check_items(fit_on, "fit_on", size=size)
            encode.check(learned)
        elif fit_on is not None:
            raise ValueError(describe("fit_on", "left out", "a sample", "This encoder has learned already."))
    elif fit_on is not None:
        raise ValueError(
            describe("fit_on", "left out", "a sample", "This encoder does not learn from items.")
        )
    store = _store(cache)
    key = None if store is None else _key(known, encode, learned, identity)
    if store is not None and key is not None:
        found = store.get(key)
        if found is not None and found.ndim == 2 and len(found) == len(known):
            return found
    if learned is not None:
        encode = encode.fit(learned)
    features = _encode(known, encode, batch_size, progress)
    if store is not None and key is not None:
        store.put(key, features)
    return features


def _encoder(encoder: Any) -> Any:
    if isinstance(encoder, str):
        if encoder in NAMES:
            return NAMES[encoder]()
        if encoder.startswith(PREFIX):
            return SentenceEncoder(encoder)
        listed = ", ".join(repr(name) for name in NAMES)
        raise ValueError(describe("encoder", f"one of {listed}, or '{PREFIX}NAME'", repr(encoder)))
    if isinstance(encoder, type) or not callable(encoder):
        raise TypeError(describe("encoder", "a name, a callable or a torch module", repr(encoder)))
    return TorchEncoder(encoder) if is_module(encoder) else encoder


def _store(cache: Any) -> EmbeddingCache | None:
    if isinstance(cache, EmbeddingCache):
        return cache
    if isinstance(cache, bool):
        return EmbeddingCache() if cache else None
    if not isinstance(cache, str | os.PathLike):
        raise TypeError(describe("cache", "True, False, a folder or an EmbeddingCache", repr(cache)))
    return EmbeddingCache(folder=cache)


def _key(items: Items, encode: Any, learned: Items | None, identity: str | None) -> str | None:
    if identity is None:
        identity = encode.identity_after(learned.digest()) if learned else getattr(encode, "identity", None)
    elif learned is not None:
        identity = f"{identity} {learned.digest()}"
    if not isinstance(identity, str):
        return None
    return hashlib.sha256(f"1 {items.digest()} {identity}".encode()).hexdigest()


def _encode(items: Items, encode: Any, batch_size: int, progress: bool) -> FloatArray:
    from tqdm import tqdm

    starts = range(0, len(items), batch_size)
    blocks: list[FloatArray] = []
    for start in tqdm(starts, desc="embedding", delay=2.0, disable=not progress, leave=False):
        rows = slice(start, min(start + batch_size, len(items)))
        given = as_array(encode(items.take(rows)), "The encoder's output")
        if given.ndim != 2 or given.shape[0] != rows.stop - rows.start:
            expected = f"an array of shape ({rows.stop - rows.start}, n_columns)"
            raise ValueError(describe("The encoder's output", expected, f"shape {tuple(given.shape)}"))
        check_finite(given, "The encoder's output")
        if blocks and given.shape[1] != blocks[0].shape[1]:
            raise ValueError(
                describe(
                    "The encoder's output", f"of {blocks[0].shape[1]} columns in every block", given.shape[1]
                )
            )
        blocks.append(to_float64(given))
    return np.concatenate(blocks)
