"""The file of ``shiftmetrics run``: measurements in TOML, each with the arguments of the command of its name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiftmetrics._core.validation import check_keys, describe
from shiftmetrics.tools.cli.arguments import command_line, parameters_of
from shiftmetrics.tools.cli.options import TITLE

KINDS = ("agreement", "stability", "novelty", "compare")
KEYS = ("title", "output", "seed", "rules", "rule", *KINDS)
OUTPUT = "results"
_NAME = re.compile(r"\w(?:[\w .,%+()-]{0,98}[\w)%])?")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|(?:com|lpt)[0-9])\s*(?:\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices, whatever follows a dot."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One table of the file.

    Attributes
    ----------
    kind : str
        The command.
    name : str
        What its result is called, and the file of it.
    arguments : list of str
        What a user would type after the command.
    """

    kind: str
    name: str
    arguments: list[str]


@dataclass(frozen=True, kw_only=True)
class Config:
    """What the file says.

    Attributes
    ----------
    path : Path
        The file. Paths inside it start at its folder.
    output : Path
        The folder of the results.
    rules : str or None
        A file of rules.
    inline_rules : list of mapping
        Rules in the file itself.
    measurements : tuple of Measurement
        At least one.
    """

    path: Path
    title: str
    output: Path
    seed: int | None
    rules: str | None
    inline_rules: list[Mapping[str, Any]]
    measurements: tuple[Measurement, ...]


def read_config(path: Path, commands: Mapping[str, Any]) -> Config:
    """Read the file and check every key of it.

    Parameters
    ----------
    path : Path
        The TOML file.
    commands : mapping
        The commands of the application by name.

    Raises
    ------
    ValueError, TypeError
        The first thing in it that cannot be meant.
    """
    document = _read_toml(path)
    check_keys(document, path.name, KEYS)
    seed = document.get("seed")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise TypeError(describe(f"{path.name}: seed", "a whole number of at least 0", repr(seed)))
    measurements = tuple(
        _measurement(kind, table, number, commands[kind], seed, path.name)
        for kind in document
        if kind in KINDS
        for number, table in enumerate(_tables(document, kind, path.name), start=1)
    )
    if not measurements:
        listed = ", ".join(f"[[{kind}]]" for kind in KINDS)
        raise ValueError(
            f"{path.name} must hold at least one measurement, got none. Begin one with {listed}."
        )
    _check_distinct(measurements, path.name)
    return Config(
        path=path,
        title=_text(document, "title", path.name) or TITLE,
        output=Path(_text(document, "output", path.name) or OUTPUT),
        seed=seed,
        rules=_text(document, "rules", path.name),
        inline_rules=_tables(document, "rule", path.name) if "rule" in document else [],
        measurements=measurements,
    )


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        what = "the folder" if path.is_dir() else "no such file:"
        raise ValueError(f"CONFIG must be a TOML file, got {what} {str(path)!r}.")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"CONFIG must be a TOML file, got {str(path)!r} ({error}).") from error


def _tables(document: Mapping[str, Any], key: str, file: str) -> list[Mapping[str, Any]]:
    tables = document[key]
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise TypeError(
            f"{file} must have tables of {key} with two brackets, [[{key}]], got {_kind(tables)}."
        )
    return tables


def _kind(value: Any) -> str:
    return "a table with one" if isinstance(value, Mapping) else repr(value)


def _text(document: Mapping[str, Any], key: str, file: str) -> str | None:
    value = document.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise TypeError(describe(f"{file}: {key}", "text", repr(value)))
    return value


def _measurement(
    kind: str, table: Mapping[str, Any], number: int, command: Any, seed: int | None, file: str
) -> Measurement:
    """Turn one table into a command line; a seed of the whole file goes to commands that take one."""
    where = f"{file}, [[{kind}]] {number}"
    name = table.get("name")
    if name is None:
        raise ValueError(f"{where} must have a name, which is also the name of its file, got none.")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"{where} must have a name of letters, digits, spaces and .,%+-() that can name a file, got {name!r}."
        )
    if _DEVICE.fullmatch(name):
        raise ValueError(f"{where} must have a name that can name a file on every system, got {name!r}.")
    options = {key: value for key, value in table.items() if key != "name"}
    if seed is not None and "seed" in parameters_of(command):
        options.setdefault("seed", seed)
    return Measurement(
        kind=kind, name=name, arguments=command_line(command, options, f"{file}, {kind} {name!r}")
    )


def _check_distinct(measurements: tuple[Measurement, ...], file: str) -> None:
    """Refuse two names that would be one file, on systems that take upper case for lower case too."""
    seen: dict[str, str] = {}
    for part in measurements:
        plain = part.name.casefold()
        if plain in seen:
            raise ValueError(f"{file} must have measurements of distinct names, got {part.name!r} twice.")
        seen[plain] = part.name
