"""Files that each reader of the register writes itself, for the tests that walk through it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.content import Reader
from shiftmetrics.tables.register import READERS

PACKAGES = {"parquet": "pyarrow", "excel": "openpyxl", "stats": "pyreadstat", "": "numpy"}
"""What each optional requirement brings."""


def is_installed(reader: Reader) -> bool:
    """Return True if the package that a reader needs is there."""
    return importlib.util.find_spec(PACKAGES[reader.extra]) is not None


def needs(reader: Reader) -> None:
    """Skip a test if the package that a reader needs is missing."""
    if not is_installed(reader):
        pytest.skip(f"{reader.name} needs {PACKAGES[reader.extra]}")


def example_frame(n_rows: int = 12) -> pd.DataFrame:
    """Return ids, words with a gap-like one among them, and two columns of fractions."""
    random = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "id": np.arange(100, 100 + n_rows),
            "answer": random.choice(["cat", "dog", "None"], n_rows),
            "cat": random.random(n_rows).round(6),
            "dog": random.random(n_rows).round(6),
        }
    )


def write_example(reader: Reader, folder: Path, n_rows: int = 12) -> Path:
    """Write a file of a reader's kind and return where it lies."""
    path = folder / f"example{reader.suffixes[0]}"
    reader.write(example_frame(n_rows), path)
    return path


WRITERS = [reader for reader in READERS if reader.write is not None]
