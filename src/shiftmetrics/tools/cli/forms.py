"""How arguments that are no single number or word are typed: names, bounds, class priors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shiftmetrics.tools.cli.samples import read_vector, split_names
from shiftmetrics.tools.cli.sources import looks_like_source


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
    if not looks_like_source(text):
        raise ValueError(
            f"{flag} must be uniform, predicted, numbers such as 0.2,0.8 or a file, got {text!r}."
        )
    return read_vector(text, flag)


_NAMES = TextForm("A,B,...", lambda text, _: split_names(text))
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
