"""Images, texts and tables to features, by any encoder, computed once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, as_array, to_float64
from shiftmetrics._core.files import atomic_path
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.validation import check_finite, check_integer, describe
from shiftmetrics.adapters.embeddings.encoders import (
    LEARNERS,
    LearnedEncoder,
    PixelEncoder,
    TorchEncoder,
    check_kind,
    is_module,
)
from shiftmetrics.adapters.embeddings.items import Items, check_items


def embed(
    items: Any,
    *,
    encoder: Any,
    size: int | None = None,
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
        "pixels" takes images as they are; principal components, TF-IDF and the scales of tables are learned first, by
        `fit_encoder`. A callable, such as the method ``encode`` of a sentence transformer, maps a block of items
        (images as an array, texts as a list of str, tables as they are) to an array of shape (n_items, n_columns); a
        torch module gets float32 images of shape (n, channels, height, width) in 0..1. Embeddings by a callable are
        kept under its attribute ``identity``, its name and version, and not without one: nothing tells when it
        changes.
    size : int, optional
        Side in pixels to which image files are resized (bilinear). Needed where they differ in size.
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
        If there are no items, the encoder is unknown or has to learn first, or returns another number of rows or
        values that are not finite.
    TypeError
        If the items are of a kind that the encoder does not take.
    FileNotFoundError
        If an image file is missing.

    See Also
    --------
    shiftmetrics.novelty.kernel_entropic_novelty : What is new in such features.

    Examples
    --------
    >>> from shiftmetrics.adapters.embeddings import embed, fit_encoder
    >>> test, reference = ["a dull film", "a bright film"], ["a dull film", "a long film"]
    >>> features = embed(test, encoder=fit_encoder("tfidf", test + reference), cache=False)
    >>> features.shape
    (2, 4)
    """
    batch_size = check_integer(batch_size, "batch_size", low=1)
    size = None if size is None else check_integer(size, "size", low=1)
    known = check_items(items, "items", size=size)
    encode = _encoder(encoder, known)
    store, key = _store(cache), None
    identity = None if store is None else getattr(encode, "identity", None)
    if store is not None and isinstance(identity, str):
        key = hashlib.sha256(f"2 {known.digest()} {identity}".encode()).hexdigest()
        found = store.get(key)
        if found is not None and found.ndim == 2 and len(found) == len(known):
            return found
    features = _encode(known, encode, batch_size, progress)
    if store is not None and key is not None:
        store.put(key, features)
    return features


def _encoder(encoder: Any, items: Items) -> Any:
    if isinstance(encoder, str):
        if encoder == "pixels":
            return PixelEncoder()
        remedy = f"Pass fit_encoder({encoder!r}, both samples)." if encoder in LEARNERS else ""
        expected = "'pixels', a callable, or what fit_encoder returns"
        raise ValueError(describe("encoder", expected, repr(encoder), remedy))
    if isinstance(encoder, type) or not callable(encoder):
        raise TypeError(describe("encoder", "a name, a callable or a torch module", repr(encoder)))
    if isinstance(encoder, LearnedEncoder):
        check_kind(encoder.name, items)
    return TorchEncoder(encoder) if is_module(encoder) else encoder


def _store(cache: Any) -> EmbeddingCache | None:
    if isinstance(cache, EmbeddingCache):
        return cache
    if isinstance(cache, bool):
        return EmbeddingCache() if cache else None
    if not isinstance(cache, str | os.PathLike):
        raise TypeError(describe("cache", "True, False, a folder or an EmbeddingCache", repr(cache)))
    return EmbeddingCache(folder=cache)


def _encode(items: Items, encode: Any, batch_size: int, progress: bool) -> FloatArray:
    starts, output = range(0, len(items), batch_size), "The encoder's output"
    blocks: list[FloatArray] = []
    for start in progress_bar(progress, "embedding", over=starts):
        rows = slice(start, min(start + batch_size, len(items)))
        given = as_array(encode(items.take(rows)), output)
        if given.ndim != 2 or given.shape[0] != rows.stop - rows.start:
            expected = f"an array of shape ({rows.stop - rows.start}, n_columns)"
            raise ValueError(describe(output, expected, f"shape {tuple(given.shape)}"))
        check_finite(given, output)
        if blocks and given.shape[1] != blocks[0].shape[1]:
            expected = f"of {blocks[0].shape[1]} columns in every block"
            raise ValueError(describe(output, expected, given.shape[1]))
        blocks.append(to_float64(given))
    return np.concatenate(blocks)


@dataclass(frozen=True, eq=False, kw_only=True)
class EmbeddingCache:
    """A folder of embeddings, bounded in size: the ones not used for longest go first.

    Parameters
    ----------
    folder : path, optional
        Where. Default: ``embeddings`` in ``$SHIFTMETRICS_HOME``, or in the user's cache.
    max_bytes : int, default 2**30
        Most bytes that the folder may hold; 0 keeps nothing.

    Examples
    --------
    >>> import tempfile
    >>> cache = EmbeddingCache(folder=tempfile.mkdtemp())
    >>> cache.put("0a", np.ones((2, 3)))
    >>> cache.get("0a").shape, cache.get("0b") is None
    ((2, 3), True)
    """

    folder: str | os.PathLike[str] | None = None
    max_bytes: int = 2**30

    def __post_init__(self) -> None:
        check_integer(self.max_bytes, "max_bytes", low=0)

    @property
    def path(self) -> Path:
        """The folder; it need not exist yet."""
        if self.folder is not None:
            return Path(self.folder)
        from shiftmetrics.lab.datasets.sources import data_home

        return data_home() / "embeddings"

    def get(self, key: str) -> FloatArray | None:
        """Return the embeddings of this key, or None where there are none that can be read."""
        file = self.path / f"{key}.npz"
        try:
            with np.load(file, allow_pickle=False) as arrays:
                features: FloatArray = np.asarray(arrays["features"], dtype=np.float64)
        except Exception:  # each kind of damage has its own in zipfile, zlib and NumPy
            return None  # absent, or damaged: it is computed again and written over
        with contextlib.suppress(OSError):  # a folder that may be read only still serves
            os.utime(file)  # used just now
        return features

    def put(self, key: str, features: FloatArray) -> None:
        """Keep embeddings, dropping old ones while the folder is too large; warn where it cannot be used."""
        if features.nbytes > self.max_bytes:
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with atomic_path(self.path / f"{key}.npz") as temporary, temporary.open("wb") as file:
                np.savez(file, features=features)
        except (OSError, ValueError) as error:
            warnings.warn(f"Embeddings are not kept: {error} cache=False says so on purpose.", stacklevel=3)
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            self._shrink()

    def _shrink(self) -> None:
        known = [(file.stat(), file) for file in self.path.glob("[!.]*.npz")]
        total = sum(stat.st_size for stat, _ in known)
        for stat, file in sorted(known, key=lambda pair: pair[0].st_mtime_ns):
            if total > self.max_bytes:
                file.unlink(missing_ok=True)
                total -= stat.st_size
