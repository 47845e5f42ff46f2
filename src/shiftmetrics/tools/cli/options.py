"""What only the command line has: options that several commands share, and how lists and limits are typed."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

TITLE = "How this model holds under shift"
"""Of pages of several measures."""

SHARED = """
results : RESULTS
    JSON files of results, written by other commands with --json, or folders of them.
id_column : COLUMN
    Column that names the rows; pairs are matched by it.
columns : A,B,...
    Columns to measure. Default: all that are not otherwise named.
label : COLUMN|FILE
    True labels: kept out of the measure, used to explain it.
weight : COLUMN|FILE
    Weights of the rows, such as survey weights.
groups : COLUMN|FILE
    Rows that belong together, such as visits of one patient: intervals take them as one.
align
    Match rows and columns by their names, or take them as they stand.
seed
    Seed of everything random; recorded in the result.
json : FILE.json
    Write the result as JSON; arrays go to FILE.npz beside it.
report : FILE.html
    Write a self-contained HTML report.
quiet
    Print nothing but errors.
"""
"""Options that several commands share, each described once."""


@dataclass(frozen=True)
class TextForm:
    """How an argument that is no single number or word is typed.

    Attributes
    ----------
    metavar : str
        The form, for the help.
    convert : callable
        From the text and the option's flag to the argument.
    kind : type
        What typer reads: ``list[str]`` for an option that is repeated.
    """

    metavar: str | None
    convert: Callable[[Any, str], Any]
    kind: Any = str


def split_names(text: str, flag: str = "") -> list[str]:
    """Split ``a,b,c`` as csv does, so that a quoted name may hold a comma."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def parse_bounds(text: str, flag: str = "--bounds") -> Any:
    """Turn ``age=0:120,pulse=30:`` into pairs by column; ``data`` stays as it is.

    Raises
    ------
    ValueError
        If a part is not of that form.
    """
    if text == "data":
        return text
    bounds: dict[str, tuple[float, float]] = {}
    for part in split_names(text):
        name, sign, limits = part.rpartition("=")
        low, colon, high = limits.partition(":")
        try:
            if not (sign and colon):
                raise ValueError
            bounds[name.strip()] = (float(low or -math.inf), float(high or math.inf))
        except ValueError:
            raise ValueError(
                f"{flag} must be data, or COLUMN=LOW:HIGH with commas between columns, got {part!r}. "
                f"An example is {flag} age=0:120,pulse=30:"
            ) from None
    return bounds


def class_prior(text: str, flag: str) -> Any:
    """Read a class prior: a word, numbers with commas between them, or a file."""
    if text in ("uniform", "predicted"):
        return text if text == "predicted" else None
    if "," in text and not Path(text).exists():
        try:
            return [float(part) for part in text.split(",")]
        except ValueError:
            raise ValueError(f"{flag} must be numbers with commas between them, got {text!r}.") from None
    from shiftmetrics.tools.cli.samples import read_vector
    from shiftmetrics.tools.cli.sources import looks_like_source

    if not looks_like_source(text):
        raise ValueError(
            f"{flag} must be uniform, predicted, numbers such as 0.2,0.8 or a file, got {text!r}."
        )
    return read_vector(text, flag)


_NAMES = TextForm("A,B,...", split_names)
TEXT_FORMS = {
    "features": _NAMES,
    "immutable": _NAMES,
    "integer": _NAMES,
    "categorical": _NAMES,
    "one_hot": TextForm("A,B,...", lambda groups, _: [split_names(group) for group in groups], list[str]),
    "bounds": TextForm("A=LOW:HIGH,...|data", parse_bounds),
    "cost": TextForm(None, lambda word, _: word, Literal["std", "iqr", "range", "unit"]),
    "prior": TextForm("uniform|predicted|A,B,...|FILE", class_prior),
}
"""By the name of the argument."""
