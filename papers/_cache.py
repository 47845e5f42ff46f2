"""What several experiments share is computed once: kept beside the scripts, and anew when the library changes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch

import shiftmetrics

FOLDER = Path(__file__).parent
ROOMS = [Path(shiftmetrics.__file__).parent / room for room in ("attacks", "lab")]
"""What decides about trained networks and attacked rows."""


def kept(name: str, make: Callable[[], Any]) -> Any:
    """Return what an earlier experiment kept under a name, or make and keep it."""
    path = FOLDER / ".cache" / _fingerprint() / f"{name}.pt"
    if path.is_file():
        return torch.load(path, weights_only=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    made, new = make(), path.with_suffix(f".{os.getpid()}")  # two experiments may make it at once
    torch.save(made, new)
    new.replace(path)
    return made


@cache
def _fingerprint() -> str:
    sources = [*FOLDER.glob("_*.py"), *(path for room in ROOMS for path in room.rglob("*.py"))]
    digest = hashlib.sha256()
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
