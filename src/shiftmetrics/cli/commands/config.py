"""The file of ``shiftmetrics run``: measurements in TOML, each with the arguments of the command of its name."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiftmetrics._core.exceptions import ArgumentTypeError
from shiftmetrics._core.validation import check_integer, check_keys
from shiftmetrics.cli.commands.agreement import agreement
from shiftmetrics.cli.commands.audit import audit
from shiftmetrics.cli.commands.compare import compare
from shiftmetrics.cli.commands.curves import curves
from shiftmetrics.cli.commands.diff import diff
from shiftmetrics.cli.commands.novelty import novelty
from shiftmetrics.cli.commands.stability import stability
from shiftmetrics.cli.options import TITLE
from shiftmetrics.cli.signature import click_command
from shiftmetrics.rules import Rule, read_rules
from shiftmetrics.rules.rule import check_names, read_toml

KINDS = {
    "diff": diff,
    "audit": audit,
    "agreement": agreement,
    "curves": curves,
    "stability": stability,
    "novelty": novelty,
    "compare": compare,
}
"""Tables of a configuration, with the command that each calls."""

KEYS = ("title", "output", "seed", "trust", "rules", "rule", *KINDS)
OUTPUT = "results"
SET_BY_RUN = ("json", "report", "markdown", "quiet", "verbose", "help")
"""Options of a command that say where its answer goes."""

_NAME = re.compile(r"\w(?:[\w .,%+()-]{0,98}[\w)%])?")


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One table of the file.

    Attributes
    ----------
    kind : str
        The command.
    name : str
        Of its result, and of the file of that.
    values : dict of str to object
        Arguments and options of the command: a string, a list of them where an option is repeated, or true.
    """

    kind: str
    name: str
    values: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Config:
    """The content of the file.

    Attributes
    ----------
    path : Path
        The file. Paths inside it start at its folder.
    title, output : str, Path
        Title of the page, and folder of the results.
    seed : int or None
        For every measurement that takes a seed and has none.
    trust : bool
        Whether Python objects may be opened, which runs their code.
    rules : tuple of Rule
        Of the file that it names, then those in the file itself.
    measurements : tuple of Measurement
        At least one.
    """

    path: Path
    title: str
    output: Path
    seed: int | None
    trust: bool
    rules: tuple[Rule, ...]
    measurements: tuple[Measurement, ...]


def read_config(path: Path) -> Config:
    """Read the file and check every key of it.

    Raises
    ------
    ValueError, TypeError
        The first error in it.
    """
    document = read_toml(path, "CONFIG")
    check_keys(document, path.name, KEYS)
    # settings of the whole file
    title = document.get("title", TITLE)
    output = document.get("output", OUTPUT)
    for key, value in {"title": title, "output": output}.items():
        if not isinstance(value, str) or not value.strip():
            raise ArgumentTypeError(f"{path.name}: {key}", "a string", value=value)
    seed = document.get("seed")
    if seed is not None:
        check_integer(seed, f"{path.name}: seed", low=0)
    trust = document.get("trust", False)
    if not isinstance(trust, bool):
        raise ArgumentTypeError(f"{path.name}: trust", "true or false", value=trust)
    # a table for each measurement, in the order of the file
    measurements = []
    for kind in document:  # in the order in which the file begins them
        if kind in KINDS:
            for number, table in enumerate(_tables(document, kind, path.name), start=1):
                measurements.append(_measurement(kind, table, number, seed, path.name))
    if not measurements:
        listed = ", ".join(f"[[{kind}]]" for kind in KINDS)
        raise ValueError(
            f"{path.name} must hold at least one measurement, got none. Begin one with {listed}."
        )
    # some systems ignore capital letters in names of files
    name, times = Counter(part.name.casefold() for part in measurements).most_common(1)[0]
    if times > 1:
        raise ValueError(
            f"{path.name} must have measurements of distinct names, got {name!r} twice."
        )
    return Config(
        path=path,
        title=title,
        output=Path(output),
        seed=seed,
        trust=trust,
        rules=_rules(document, path),
        measurements=tuple(measurements),
    )


def _rules(document: Mapping[str, Any], path: Path) -> tuple[Rule, ...]:
    """Read the rules that the file names, and those in it."""
    rules: tuple[Rule, ...] = ()
    if "rules" in document:
        rules += read_rules(path.parent / str(document["rules"]))
    if "rule" in document:
        rules += read_rules({"rule": document["rule"]})
        check_names(rules, path.name)
    return rules


def _tables(document: Mapping[str, Any], key: str, file: str) -> list[Mapping[str, Any]]:
    tables = document[key]
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise TypeError(f"{file} must have tables of {key} with two brackets, [[{key}]].")
    return tables


def _measurement(
    kind: str, table: Mapping[str, Any], number: int, seed: int | None, file: str
) -> Measurement:
    """Check one table; the seed of the whole file goes to commands that take one."""
    # the name of a measurement names its file too
    where, name = f"{file}, [[{kind}]] {number}", table.get("name")
    if name is None:
        raise ValueError(f"{where} must have a name, which is also the name of its file, got none.")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"{where} must have a name of letters, digits, spaces and .,%+-() that can name a file, got {name!r}."
        )
    where, known = f"{file}, {kind} {name!r}", _parameters(kind)
    # each key is an argument or an option of the command
    values: dict[str, Any] = {}
    for key, value in table.items():
        plain = key.replace("-", "_")  # an option may be spelt as on the command line
        if plain == "name":
            continue
        if plain in SET_BY_RUN:
            raise ValueError(
                f"{where} must leave out {key!r}: all that is measured goes to the output folder."
            )
        check_keys([plain], where, list(known))
        values[known[plain].name] = _value(known[plain], value, f"{where}: {key}")
    # the seed of the whole file, unless the table has its own
    if seed is not None and "seed" in known:
        values.setdefault("seed", str(seed))
    return Measurement(kind=kind, name=name, values=values)


def _parameters(kind: str) -> dict[str, Any]:
    """Return the parameters of a command by their keys: the long option with underscores, or the argument.

    An option that is spelt as an argument, as --old beside OLD, has the name of its parameter: old_column.
    """
    found = {}
    parts = click_command(KINDS[kind]).params
    arguments = {part.name for part in parts if part.param_type_name == "argument"}
    for part in parts:
        key = max(part.opts, key=len).lstrip("-").replace("-", "_")
        if part.param_type_name != "argument" and key in arguments:
            key = part.name
        if key not in SET_BY_RUN:
            found[key] = part
    return found


def _value(parameter: Any, value: Any, argument: str) -> Any:
    """Return a value as the command line would give it: true or false, a string, or strings of a repeated option."""
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise ArgumentTypeError(argument, "true or false", value=value)
        return value
    if isinstance(value, Mapping):
        value = [f"{name}={_text_of(part, argument)}" for name, part in value.items()]
    if getattr(parameter, "multiple", False) or parameter.nargs != 1:
        several = value if isinstance(value, list) else [value]
        return [_text_of(part, argument) for part in several]
    return _text_of(value, argument)


def _text_of(value: Any, argument: str) -> str:
    """Return a value as a string; of a list, with commas between its parts, and quotes around those that hold one."""
    if isinstance(value, list):
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([_text_of(part, argument) for part in value])
        return line.getvalue()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ArgumentTypeError(argument, "a string or a number, or a list of them", value=value)
    return str(value)


def prepare(measurement: Measurement, *, quiet: bool, trust: bool | None = None) -> Any:
    """Read and check the inputs of a measurement, and return the job of its command.

    ``trust`` is True if Python objects may be opened, unless the measurement says ``trust = false``; None leaves
    that to the measurement.
    """
    command = click_command(KINDS[measurement.kind])
    values = {**measurement.values, "quiet": quiet}
    if trust is not None:
        values.setdefault("trust", trust)
    # the command parses and converts as if it were typed
    with command.make_context(measurement.kind, [], default_map=values) as context:
        return command.invoke(context)
