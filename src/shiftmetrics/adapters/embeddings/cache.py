"""Embeddings that are computed once: files named by what was encoded and by what encoded it."""

from __future__ import annotations

import contextlib
import os
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.files import atomic_path
from shiftmetrics._core.validation import check_integer
from shiftmetrics.lab.datasets.sources import data_home

DEFAULT_BYTES = 2**30


@dataclass(frozen=True, eq=False, kw_only=True)
class EmbeddingCache:
    """A folder of embeddings, bounded in size: the ones not used for longest go first.

    Parameters
    ----------
    folder : path, optional
        Where. Default: ``embeddings`` in `shiftmetrics.lab.datasets.data_home`, which is in the user's cache.
    max_bytes : int, default 2**30
        Most bytes that the folder may hold; 0 keeps nothing.

    Examples
    --------
    >>> import tempfile
    >>> cache = EmbeddingCache(folder=tempfile.mkdtemp())
    >>> cache.put("0a", np.ones((2, 3)))
    >>> cache.get("0a").shape, cache.get("0b") is None, len(cache)
    ((2, 3), True, 1)
    """

    folder: str | os.PathLike[str] | None = None
    max_bytes: int = DEFAULT_BYTES

    def __post_init__(self) -> None:
        check_integer(self.max_bytes, "max_bytes", low=0)

    @property
    def path(self) -> Path:
        """The folder; it need not exist yet."""
        return data_home() / "embeddings" if self.folder is None else Path(self.folder)

    def __len__(self) -> int:
        return len(self._files())

    def get(self, key: str) -> FloatArray | None:
        """Return the embeddings of this key, or None where there are none that can be read."""
        file = self._file(key)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                features: FloatArray = np.asarray(arrays["features"], dtype=np.float64)
        except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error):
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
            with atomic_path(self._file(key)) as temporary, temporary.open("wb") as file:
                np.savez(file, features=features)
            self._shrink(keep=self._file(key))
        except (OSError, ValueError) as error:
            warnings.warn(f"Embeddings are not kept: {error} cache=False says so on purpose.", stacklevel=3)

    def clear(self) -> None:
        """Delete all embeddings."""
        for file in self._files():
            file.unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        return self.path / f"{key}.npz"

    def _files(self) -> list[Path]:
        return [file for file in self.path.glob("*.npz") if not file.name.startswith(".")]

    def _shrink(self, *, keep: Path) -> None:
        known = []
        for file in self._files():
            try:
                known.append((file.stat().st_mtime_ns, file.stat().st_size, file))
            except FileNotFoundError:
                continue  # another process was faster
        total = sum(size for _, size, _ in known)
        for _, size, file in sorted(known):
            if total <= self.max_bytes:
                break
            if file != keep:
                file.unlink(missing_ok=True)
                total -= size
