"""The options that several commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

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
