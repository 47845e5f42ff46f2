"""Options common to all commands, beside those of the functions, and settings of typer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_number

SETTINGS: dict[str, Any] = {
    "rich_markup_mode": None,  # help without rich, which is slow to import
    "add_completion": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
    "pretty_exceptions_enable": False,
}
"""Of the application and of each command, for typer."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """How inputs are opened.

    Attributes
    ----------
    trust
        Open Python objects, such as joblib files and module:attribute, which runs the code inside them.
    sep : MARK
        What stands between the cells of csv files. Default: a tab, ; | or , as the first line has it.
    decimal
        Decimal mark of csv files. Default: by evidence.
    max_gib : NUMBER
        Most GiB that an input may unpack to; parquet files of a folder or a pattern are read in chunks.
    """

    trust: bool = False
    sep: str | None = None
    decimal: Literal[".", ","] | None = None
    max_gib: float = 4.0

    def __post_init__(self) -> None:
        # 0 would refuse every file, infinity refuses none
        check_number(self.max_gib, "--max-gib", low=0.0, open_low=True, allow_inf=True)
        if self.sep is not None and (len(self.sep) != 1 or self.sep == self.decimal):
            raise ArgumentValueError(
                "--sep", "one character, other than the decimal mark", value=self.sep
            )


OPENING = ContextVar("OPENING", default=Opening())  # noqa: B039 - frozen
"""Set by each command that reads data, from its options."""


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """What the columns of files of predictions are, as typed; what is not typed is found by evidence.

    Attributes
    ----------
    label : COLUMN
        Column of true labels, in any of the files; empty where a row has none.
    labels : FILE[:COLUMN]
        True labels of some rows: a file of ids and labels, or of one label a row.
    id_column : COLUMN
        Column that names the rows in all files; OLD=NEW where it has two names, none for rows by their place.
        Default: found by what all hold.
    prediction : COLUMN
        Column of the answers; OLD=NEW where it has two names.
    columns : A,B,...
        Columns of the scores.
    exclude : A,B,...
        Columns that are no scores, such as a latency.
    classes : A,B,...
        Classes of the columns of scores, in their order.
    header
        Whether first lines hold names, where that cannot be told.
    reading : READING.toml
        What the columns are, as `shiftmetrics read --save` wrote it: nothing is guessed.
    inner
        Leave out rows that are not in all files.
    """

    label: str | None = None
    labels: str | None = None
    id_column: str | None = None
    prediction: str | None = None
    columns: str | None = None
    exclude: str | None = None
    classes: str | None = None
    header: Literal["names", "none"] | None = None
    reading: Path | None = None
    inner: bool = False


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """Which rows are written to be labelled, and where to.

    Attributes
    ----------
    plan : NUMBER
        Draw so many rows to label, for an exact interval of the accuracy.
    peek
        Draw an order of all rows to label, so that one may look after each label and stop at any time.
    to_label : FILE.csv
        Write the rows of --plan or --peek, in the order in which to label them, with a column label to fill in.
        Default: beside the file of --rows, with _plan behind its name.
    rows : FILE.csv
        Write the rows of the new modes, with a column label to fill in. Mode 0 are rows from a date on that are
        likely to be new, where no mode is clear.
    as_is
        Write and read cells as they are. Default: in these files an apostrophe stands before cells that a spreadsheet
        would run, such as =1+1, and --labels is read without it.
    """

    plan: int | None = None
    peek: bool = False
    to_label: Path | None = None
    rows: Path | None = None
    as_is: bool = False


def default_plan(values: Mapping[str, Any]) -> Path | None:
    """Return the file of a plan where none is typed: beside that of the rows of modes."""
    rows = values["rows"]
    if rows is None or not (values["peek"] or values["plan"] is not None):
        return None
    return Path(rows).with_name(f"{Path(rows).stem}_plan.csv")


GROUPS: dict[str, type[Any]] = {"roles": ColumnOptions, "labelling": LabelOptions}
"""Parameters of commands that take several options as one object."""


def with_groups(command: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return what was typed as a command takes it: options that belong together as one object."""
    found = dict(values)
    for parameter in inspect.signature(command).parameters:
        group = GROUPS.get(parameter)
        if group is not None:
            typed = {field.name: found.pop(field.name) for field in fields(group)}
            found[parameter] = group(**typed)
    return found


TITLE = "How this model holds under shift"
"""Of pages of several measures."""


def of_every_command(
    *,
    seed: int = 0,
    json: Path | None = None,
    report: Path | None = None,
    quiet: bool = False,
    verbose: bool = False,
) -> None:
    """Declare the options of every command that measures, and describe those common to several commands.

    Parameters
    ----------
    results : RESULTS
        JSON files of results, written by other commands with --json, or folders of them.
    id_column : COLUMN
        Column that names the rows; pairs are matched by it.
    columns : A,B,...
        Columns to measure. Default: all that are not otherwise named.
    label : COLUMN|FILE
        True labels: kept out of the measure, used to explain it. A file holds one a row, or ids and labels.
    weight : COLUMN|FILE
        Weights of the rows, such as survey weights.
    groups : COLUMN|FILE
        Rows that belong together, such as visits of one patient: intervals take them as one.
    align
        Match rows and columns by their names, or take them as they stand.
    seed
        Seed of everything random; recorded in the result.
    json : FILE.json
        Write the result as JSON; arrays go to FILE.npz beside it. A dash writes all to the standard output.
    report : FILE.html
        Write a self-contained HTML report.
    quiet
        Print nothing but errors.
    verbose
        Print the figures behind the answer too: the measure's own value, its interval, prices, bounds.
    """
