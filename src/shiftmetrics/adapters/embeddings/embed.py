"""Items to features, by any encoder, block by block; and a folder that keeps them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, as_array, is_table, to_float64
from shiftmetrics._core.files import atomic_path
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.validation import check_finite, check_integer, describe
from shiftmetrics.adapters.embeddings.encoders import LEARNERS, check_items, digest


def embed(
    items: Any,
    *,
    encoder: Any,
    cache: EmbeddingCache | None = None,
    batch_size: int = 256,
    progress: bool = True,
) -> FloatArray:
    """Turn images, texts or rows of a table into features for novelty and for distances.

    Parameters
    ----------
    items : images, texts or table
        Images as an array of shape (n, height, width) or (n, height, width, channels); texts as a list of str; a
        table as a DataFrame or an array of shape (n, n_columns).
    encoder : callable
        What `fit_encoder` returns, or a function such as the method ``encode`` of a sentence transformer: it maps a
        block of items to an array of shape (n_items, n_columns).
    cache : EmbeddingCache, optional
        Keeps the embeddings, found again by the content of the items and the attribute ``identity`` of the encoder,
        a string that you change with your function.
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
        If there are no items, or the encoder returns another number of rows or values that are not finite, or has no
        ``identity`` for the cache.
    TypeError
        If the encoder cannot be called, or the items are not of one kind.

    See Also
    --------
    shiftmetrics.novelty.kernel_entropic_novelty : What is new in such features.

    Examples
    --------
    >>> from shiftmetrics.adapters.embeddings import embed, fit_encoder
    >>> test, reference = ["a dull film", "a bright film"], ["a dull film", "a long film"]
    >>> features = embed(test, encoder=fit_encoder("tfidf", test + reference))
    >>> features.shape
    (2, 4)
    """
    batch_size = check_integer(batch_size, "batch_size", low=1)
    if isinstance(encoder, type) or not callable(encoder):
        remedy = (
            f"Pass fit_encoder({encoder!r}, both samples)." if encoder in list(LEARNERS) else ""
        )
        raise TypeError(
            describe(
                "encoder", "a callable, or what fit_encoder returns", value=encoder, remedy=remedy
            )
        )
    known = check_items(items)
    if cache is None:
        return _encode(known, encoder, batch_size, progress)
    if not isinstance(cache, EmbeddingCache):
        raise TypeError(describe("cache", "an EmbeddingCache or None", value=cache))
    identity = getattr(encoder, "identity", None)
    if not isinstance(identity, str):
        remedy = "Set it to a name and version, or pass no cache."
        raise ValueError(
            describe(
                "encoder.identity", "a string that names the encoder", value=identity, remedy=remedy
            )
        )
    key = hashlib.sha256(f"{digest(known)} {identity}".encode()).hexdigest()
    features = cache.get(key)
    if features is None or features.ndim != 2 or len(features) != len(known):
        features = _encode(known, encoder, batch_size, progress)
        cache.put(key, features)
    return features


def _encode(items: Any, encoder: Any, batch_size: int, progress: bool) -> FloatArray:
    output = "The encoder's output"
    blocks: list[FloatArray] = []
    for start in progress_bar(progress, "embedding", over=range(0, len(items), batch_size)):
        rows = slice(start, start + batch_size)
        block = items.iloc[rows] if is_table(items) else items[rows]
        features = as_array(encoder(block), output)
        if features.ndim != 2 or features.shape[0] != len(block):
            expected = f"an array of shape ({len(block)}, n_columns)"
            raise ValueError(describe(output, expected, f"shape {tuple(features.shape)}"))
        check_finite(features, output)
        if blocks and features.shape[1] != blocks[0].shape[1]:
            expected = f"of {blocks[0].shape[1]} columns in every block"
            raise ValueError(describe(output, expected, features.shape[1]))
        blocks.append(to_float64(features))
    return np.concatenate(blocks)


@dataclass(frozen=True, eq=False, kw_only=True)
class EmbeddingCache:
    """A folder of embeddings, bounded in size: those used longest ago are removed first.

    Parameters
    ----------
    folder : path
        Where; it need not exist yet.
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

    folder: str | os.PathLike[str]
    max_bytes: int = 2**30

    def __post_init__(self) -> None:
        check_integer(self.max_bytes, "max_bytes", low=0)

    def get(self, key: str) -> FloatArray | None:
        """Return the embeddings of this key, or None where there are none that can be read."""
        file = Path(self.folder) / f"{key}.npz"
        try:
            with np.load(file, allow_pickle=False) as arrays:
                features: FloatArray = np.asarray(arrays["features"], dtype=np.float64)
        except Exception:  # each kind of damage has its own in zipfile, zlib and NumPy
            return None  # absent, or damaged: it is computed again and replaced
        # the time of the last use decides what is removed; a read-only folder still serves
        with contextlib.suppress(OSError):
            os.utime(file)
        return features

    def put(self, key: str, features: FloatArray) -> None:
        """Keep embeddings, and remove old ones while the folder is too large; warn where it cannot be used."""
        if features.nbytes > self.max_bytes:
            return
        folder = Path(self.folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with atomic_path(folder / f"{key}.npz") as temporary, temporary.open("wb") as file:
                np.savez(file, features=features)
        except (OSError, ValueError) as error:
            warnings.warn(f"Embeddings are not kept: {error}", stacklevel=3)
        with contextlib.suppress(FileNotFoundError):  # another process removed a file first
            self._shrink(folder)

    def _shrink(self, folder: Path) -> None:
        known = [(file.stat(), file) for file in folder.glob("[!.]*.npz")]
        total = sum(stat.st_size for stat, _ in known)
        for stat, file in sorted(known, key=lambda pair: pair[0].st_mtime_ns):
            if total > self.max_bytes:
                file.unlink(missing_ok=True)
                total -= stat.st_size
