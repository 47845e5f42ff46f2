"""What the scripts with the papers' own models and data share: files, their checksums, pictures, rows of the page."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _claims import Claim, judge
from _rows import HEAD, NO_REMARK, row
from index import REMARKS, Entry

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")


def digest(path: Path) -> str:
    """Return name, size and SHA-256 of a file, or of all files of a folder in the order of their names."""
    if not path.exists():
        raise FileNotFoundError(
            f"There is no {str(path)!r}. Check the path; papers/DATA.md says what it holds."
        )
    if path.is_file():
        size = path.stat().st_size
        return f"`{path.name}` ({size:,} bytes, sha256 {_sha256(path).hex()})"
    total, size = hashlib.sha256(), 0
    files = sorted(one for one in path.rglob("*") if one.is_file())
    for file in files:
        total.update(_sha256(file))
        size += file.stat().st_size
    what = f"{len(files)} files, {size:,} bytes, sha256 of their sha256 {total.hexdigest()}"
    return f"`{path.name}` ({what})"


def _sha256(file: Path) -> bytes:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").digest()


class Scripted(torch.nn.Module):
    """A TorchScript module that attacks can freeze: alone it refuses ``requires_grad_``."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(x)


def scripted(path: Path) -> torch.nn.Module:
    """Load a TorchScript module (``torch.jit.save``): it runs without the code that made it."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no TorchScript file {str(path)!r}. Check the path.")
    return Scripted(torch.jit.load(str(path), map_location="cpu")).eval()


def picture_files(folder: Path) -> list[Path]:
    """Return the pictures below a folder, in the order of their names."""
    found = sorted(one for one in folder.rglob("*") if one.suffix.lower() in PICTURES)
    if not found:
        raise FileNotFoundError(
            f"There is no picture below {str(folder)!r} ({', '.join(PICTURES)})."
        )
    return found


def read_pictures(files: Sequence[Path], size: int) -> torch.Tensor:
    """Read pictures as a tensor of shape (n, 3, size, size) in [0, 1]: the middle, the short side as ``size``."""
    from PIL import Image, ImageOps

    arrays = []
    for file in files:
        with Image.open(file) as opened:
            fitted = ImageOps.fit(opened.convert("RGB"), (size, size), Image.Resampling.BICUBIC)
        arrays.append(np.asarray(fitted, dtype=np.float32) / 255)
    return torch.from_numpy(np.stack(arrays)).permute(0, 3, 1, 2)


def in_batches(model: Any, x: torch.Tensor, batch_size: int) -> np.ndarray:
    """Return what a model gives for all rows, as float64."""
    with torch.no_grad():
        parts = [model(part).flatten(1) for part in x.split(batch_size)]
    return torch.cat(parts).double().numpy()


def rows(
    script: str,
    claims: Mapping[str, Claim],
    runs: Sequence[Mapping[str, Any]],
    size: str,
) -> str:
    """Return the rows that the page would show of some claims of an experiment, from what each seed gave."""
    lines = list(HEAD)
    remarks = REMARKS.get(script, {})
    for key, claim in claims.items():
        values = [one[key] for one in runs]
        remark = remarks.get(key, {})
        found = {**NO_REMARK, **asdict(claim), **asdict(judge(claim, values)), "values": values}
        found["printed"] = remark.get("printed", "")
        sentence = remark.get("sentence", claim.sentence)
        lines.append(row(found, Entry((), script, size=size), {"runs": runs}, sentence))
    return "\n".join(lines)


def table(head: Sequence[str], cells: Sequence[Sequence[Any]]) -> str:
    """Return a table in Markdown; numbers get three digits."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for line in cells:
        texts = [one if isinstance(one, str) else f"{one:.3g}" for one in line]
        lines.append(f"| {' | '.join(texts)} |")
    return "\n".join(lines)
