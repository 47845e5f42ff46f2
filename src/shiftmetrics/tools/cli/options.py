"""What only the command line has: options for files, and how lists and limits are typed as text."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

TITLE = "How this model holds under shift"
"""Of pages of several measures."""

Results = Annotated[
    list[str],
    typer.Argument(
        metavar="RESULTS",
        help="JSON files of results, written by other commands with --json, or folders of them.",
        show_default=False,
    ),
]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="Column that names the rows; pairs are matched by it."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="A,B,...", help="Columns to measure. Default: all that are not otherwise named."
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label", metavar="COLUMN|FILE", help="True labels: kept out of the measure, used to explain it."
    ),
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", metavar="COLUMN|FILE", help="Weights of the rows, such as survey weights."),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN|FILE",
        help="Rows that belong together, such as visits of one patient: intervals take them as one.",
    ),
]
AlignOption = Annotated[
    Literal["labels", "position"],
    typer.Option("--align", help="Match rows and columns by their names, or take them as they stand."),
]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE.json", help="Write the result as JSON; arrays go to FILE.npz beside it."
    ),
]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE.html", help="Write a self-contained HTML report.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of everything random; recorded in the result.")
]


@dataclass(frozen=True)
class TextForm:
    """How an argument that is no single number or word is typed.

    Attributes
    ----------
    metavar : str
        The form, for the help.
    convert : callable
        From the text and the option's name to the argument.
    kind : type
        What typer reads: ``list[str]`` for an option that is repeated.
    """

    metavar: str | None
    convert: Callable[[Any, str], Any]
    kind: Any = str


def split_names(text: str, option: str = "") -> list[str]:
    """Split ``a,b,c`` as csv does, so that a quoted name may hold a comma."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def parse_bounds(text: str, option: str = "--bounds") -> Any:
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
                f"{option} must be data, or COLUMN=LOW:HIGH with commas between columns, got {part!r}. "
                f"An example is {option} age=0:120,pulse=30:"
            ) from None
    return bounds


def class_prior(text: str, option: str) -> Any:
    """Read a class prior: a word, numbers with commas between them, or a file."""
    if text == "uniform":
        return None
    if text == "predicted":
        return text
    if "," in text and not Path(text).exists():
        try:
            return [float(part) for part in text.split(",")]
        except ValueError:
            raise ValueError(f"{option} must be numbers with commas between them, got {text!r}.") from None
    from shiftmetrics.tools.cli.samples import read_vector
    from shiftmetrics.tools.cli.sources import looks_like_source

    if not looks_like_source(text):
        raise ValueError(
            f"{option} must be uniform, predicted, numbers such as 0.2,0.8 or a file, got {text!r}."
        )
    return read_vector(text, option)


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
