"""Arrays of results: beside their JSON in an ``.npz`` file, which the JSON names by its digest, or inside it."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.files import is_ours, is_stream
from shiftmetrics._core.options import check_memory, check_memory_limit
from shiftmetrics._core.record import encode

KeepArray: TypeAlias = Callable[[str, npt.NDArray[Any]], Any]


def keep_arrays(
    arrays: dict[str, npt.NDArray[Any]], path: str | os.PathLike[str] | None
) -> KeepArray:
    """Return what stands for an array in the JSON: itself, or its name, where a file beside ``path`` can hold it.

    Arrays for that file are added to ``arrays``.
    """
    if path is None or is_stream(path):
        return _inline

    def keep(name: str, array: npt.NDArray[Any]) -> Any:
        arrays[name] = array
        return {"array": name, "dtype": str(array.dtype), "shape": list(array.shape)}

    return keep


def has_foreign_archive(path: Path) -> bool:
    """Return True if the ``.npz`` beside a JSON file is someone else's: it exists, and the JSON names no arrays."""
    return path.with_suffix(".npz").exists() and not names_arrays(path)


def names_arrays(path: Path) -> bool:
    """Return True if a JSON file of ours says that its arrays are in the ``.npz`` beside it."""
    return is_ours(path, "json") and b'"arrays_sha256"' in path.read_bytes()


def load_arrays(npz: Path, digest: str | None) -> dict[str, npt.NDArray[Any]]:
    """Load the arrays beside a JSON file, if there are any; ``digest`` is what the JSON says about them."""
    if not npz.is_file():
        return {}
    content = npz.read_bytes()
    if digest is not None and hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(
            f"The arrays in {str(npz)!r} must be those that were written with the JSON, got a damaged file or "
            "one of another result. Write the result again."
        )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = sum(part.file_size for part in archive.infolist())
    check_memory(size, check_memory_limit(None), f"The file {str(npz)!r}", "Do not read it.")
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _inline(name: str, array: npt.NDArray[Any]) -> dict[str, Any]:
    flat = encode(array.ravel().tolist(), lambda _path, part: part)
    return {"array": flat, "dtype": str(array.dtype), "shape": list(array.shape)}
