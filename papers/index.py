"""All numbered figures and tables of the documents (`index.toml`), the errors in them, and remarks on claims."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Entry:
    """One figure or table, or several that one experiment reproduces.

    Attributes
    ----------
    labels : tuple of str
        Such as "thesis figure 4.1"; empty for an experiment of our own.
    title : str
        What it shows.
    script : str
        Name of the experiment; empty where there is none.
    reason : str
        Why there is none.
    size : str
        What a seed counts, such as "500 digits".
    real : str
        The command that runs it with the models and data of the document, where they cannot be had here.
    """

    labels: tuple[str, ...]
    title: str
    script: str = ""
    reason: str = ""
    size: str = ""
    real: str = ""


@dataclass(frozen=True)
class Erratum:
    """An error of a document: where it stands, what is printed, what is right, and what shows it."""

    document: str
    where: str
    printed: str
    right: str
    shown_by: str


def _read(name: str) -> dict:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


DOCUMENTS: dict[str, str] = _read("index.toml")["documents"]
ENTRIES = [Entry(tuple(one.pop("labels")), **one) for one in _read("index.toml")["entry"]]
ERRATA = [Erratum(**one) for one in _read("errata.toml")["erratum"]]
REMARKS: dict[str, dict[str, dict]] = _read("remarks.toml")
