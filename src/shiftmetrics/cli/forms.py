"""Options of commands, and how values that are no single number or word are typed: names, bounds, class priors."""

from __future__ import annotations

import csv
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

KEYS = {"id_column": "id", "page": "output", "old_column": "old", "new_column": "new"}
"""Options named differently from the parameter. A leading ``n_`` is left out: ``n_resamples`` is ``--resamples``."""

ALIASES = {
    "threshold": ["-r"],
    "output": ["-o"],
    "page": ["-o", "--report"],
    "groups": ["--group"],
    "quiet": ["-q"],
    "verbose": ["-v"],
}


@dataclass(frozen=True)
class Option:
    """One option, or argument, of a command.

    Attributes
    ----------
    name : str
        Of the parameter or field; ``key`` and ``flag`` are what the command calls it.
    kind : type
        What typer reads: ``list[str]`` for an option that is repeated.
    default : object
        ``inspect.Parameter.empty`` where it must be given.
    help, metavar, panel : str
        Its description, the form of its value, and its heading in the help.
    convert : callable or None
        From what typer read, and the flag, to the argument.
    is_argument : bool
        Whether it has no flag.
    """

    name: str
    kind: Any = str
    default: Any = None
    help: str = ""
    metavar: str | None = None
    panel: str | None = None
    convert: Callable[[Any, str], Any] | None = None
    is_argument: bool = False

    @property
    def key(self) -> str:
        """The name of the option in configurations."""
        return KEYS.get(self.name, self.name.removeprefix("n_"))

    @property
    def flag(self) -> str:
        """The name of the option on the command line."""
        return "--" + self.key.replace("_", "-")

    def parameter(self) -> inspect.Parameter:
        """Return the option as typer reads it from a signature."""
        # what the help prints
        about: dict[str, Any] = {"metavar": self.metavar, "help": self.help}
        if self.is_argument:
            declared = typer.Argument(**about, show_default=False)
        else:
            flags = [self.flag, *ALIASES.get(self.name, [])]
            # seeds are counted from 0
            least = 0 if self.name == "seed" else None
            declared = typer.Option(*flags, **about, rich_help_panel=self.panel, min=least)
        kind: Any = self.kind
        # an option without a default may be left out
        if self.default is None:
            kind |= None
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[kind, declared],
            default=self.default,
        )


def split_names(text: str) -> list[str]:
    """Split ``a,b,c`` as csv does, so that a quoted name may hold a comma."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def parse_bounds(text: str, flag: str = "--bounds") -> Any:
    """Turn ``age=0:120,pulse=30:`` into pairs by column; ``data`` stays as it is, and ``none`` is no bound.

    Raises
    ------
    ValueError
        If a part is not of that form.
    """
    if text in ("data", "none"):
        return text if text == "data" else None
    bounds: dict[str, tuple[float, float]] = {}
    for part in split_names(text):
        # the last equals sign: names of columns may hold one
        name, _, limits = part.rpartition("=")
        low, colon, high = limits.partition(":")
        try:
            bounds[name] = (float(low or -math.inf), float(high or math.inf))
        except ValueError:
            colon = ""
        if not (name and colon):
            raise ValueError(
                f"{flag} must be data, none, or COLUMN=LOW:HIGH with commas between columns, got {part!r}. "
                f"An example is {flag} age=0:120,pulse=30:"
            )
    return bounds


def label_plan_of(plan: int | None, *, peek: bool) -> int | str | None:
    """Return the plan of labels that ``--plan`` and ``--peek`` ask for.

    Raises
    ------
    ValueError
        If both are given.
    """
    if not peek:
        return plan
    if plan is not None:
        raise ValueError("--plan NUMBER must not be given beside --peek, which needs no number.")
    return "anytime"


def parse_cost(text: str, flag: str = "--cost") -> Any:
    """Turn ``sex=0.1,age=inf`` into a cost by column; one word, the name of a scale, stays as it is.

    Raises
    ------
    ValueError
        If a part is not of that form.
    """
    if "=" not in text:
        return text
    return parse_pairs(text, flag, "a scale, or COLUMN=COST", "sex=0.1,age=inf")


def parse_pairs(text: str, flag: str, expected: str, example: str) -> dict[str, float]:
    """Turn ``a=1,b=2`` into numbers by name."""
    # names may hold an equals sign, numbers do not
    pairs = [part.rpartition("=") for part in split_names(text)]
    try:
        found = {name: float(number) for name, _, number in pairs}
    except ValueError:
        raise ValueError(
            f"{flag} must be {expected} with commas between them, got {text!r}. An example is {flag} {example}"
        ) from None
    if len(found) < len(pairs):
        raise ValueError(f"{flag} must be {expected}, each name once, got {text!r}.")
    return found


def class_prior(text: str, flag: str) -> Any:
    """Read a class prior: a word, numbers with commas between them, or a file."""
    if text in ("uniform", "predicted"):
        return text if text == "predicted" else None
    # here, so that the help of a command need not wait for it
    from shiftmetrics.cli.inputs.prediction_files import names_file

    if names_file(text):
        from shiftmetrics.cli.inputs.row_values import values_of_rows

        return values_of_rows(text, flag)
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"{flag} must be uniform, predicted, numbers such as 0.2,0.8 or a file, got {text!r}."
        ) from None


def _names(text: str, _flag: str) -> Any:
    """Split names of columns; ``auto`` stays as it is."""
    return text if text == "auto" else split_names(text)


_NAMES = ("features", "immutable", "integer", "categorical")
TEXT_FORMS = {
    option.name: option
    for option in (
        *(Option(name, metavar="A,B,...", convert=_names) for name in _NAMES),
        Option(
            "one_hot",
            list[str],
            metavar="A,B,...",
            convert=lambda groups, _: list(map(split_names, groups)),
        ),
        Option("bounds", metavar="data|none|A=LOW:HIGH,...", convert=parse_bounds),
        Option("cost", metavar="std|range|unit|A=COST,...", convert=parse_cost),
        Option(
            "prior",
            default="uniform",
            metavar="uniform|predicted|A,B,...|FILE",
            convert=class_prior,
        ),
    )
}
"""Options whose value is no single number or word, by their names; defaults and help are those of the function."""
