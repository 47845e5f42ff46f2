"""Tables of options as command lines: what a command takes is asked of the command itself and said nowhere else."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shiftmetrics._core.validation import check_keys, describe

WRITTEN_BY_RUN = ("json", "report", "quiet", "help")
"""Options of a command that say where its answer goes."""


@dataclass(frozen=True)
class Parameter:
    """One argument or option of a command.

    Attributes
    ----------
    key : str
        Its name in a table: the long option with underscores, or the argument in lower case.
    option : str
        What is typed before its value; empty for an argument.
    is_flag : bool
        Whether it has no value.
    is_repeated : bool
        Whether it may be given several times.
    """

    key: str
    option: str
    is_flag: bool
    is_repeated: bool


def parameters_of(command: Any) -> dict[str, Parameter]:
    """Return the parameters of a command of the application by their keys, arguments first."""
    found = {}
    for part in command.params:
        option = "" if part.param_type_name == "argument" else max(part.opts, key=len)
        key = (option.lstrip("-") or part.name).replace("-", "_")
        if key not in WRITTEN_BY_RUN:
            found[key] = Parameter(
                key=key,
                option=option,
                is_flag=bool(getattr(part, "is_flag", False)),
                is_repeated=bool(getattr(part, "multiple", False)) or part.nargs != 1,
            )
    return found


def command_line(command: Any, table: Mapping[str, Any], where: str) -> list[str]:
    """Return what a user would type for ``table``: its arguments, then its options.

    Parameters
    ----------
    command : click.Command
        The command of the application.
    table : mapping
        Keys are arguments and long options, with underscores or dashes. A list stands for an option that is repeated,
        or for names with commas between them; a table for ``NAME=VALUE``; true for an option without a value.
    where : str
        What messages call the table.

    Raises
    ------
    ValueError
        If a key is unknown, or stands there in two spellings.
    TypeError
        If a value is of a kind that no option takes.
    """
    known = parameters_of(command)
    plain = {key: key.replace("-", "_") for key in table}
    owned = [key for key, name in plain.items() if name in WRITTEN_BY_RUN]
    if owned:
        raise ValueError(
            f"{where} must leave out {owned[0]!r}: all that is measured goes to the output folder."
        )
    check_keys(plain.values(), where, list(known))
    twice = [key for key, name in plain.items() if key != name and name in table]
    if twice:
        raise ValueError(f"{where} must name each option once, got {twice[0]!r} in two spellings.")
    values = {plain[key]: value for key, value in table.items()}
    positional: list[str] = []
    options: list[str] = []
    for key, parameter in known.items():
        if key not in values:
            continue
        for text in _texts(parameter, values[key], f"{where}: {key}"):
            if not parameter.option:
                positional.append(text)
            elif parameter.is_flag:
                options.append(parameter.option)
            elif text.startswith("-") or not text:  # else it would be read as an option
                options.append(f"{parameter.option}={text}")
            else:
                options += [parameter.option, text]
    if any(text.startswith("-") for text in positional):
        return [*options, "--", *positional]
    return [*positional, *options]


def _texts(parameter: Parameter, value: Any, argument: str) -> Iterator[str]:
    """Yield the texts that are typed for a value, one for each time that the option is repeated."""
    if parameter.is_flag:
        if not isinstance(value, bool):
            raise TypeError(describe(argument, "true or false", repr(value)))
        if value:
            yield ""
        return
    if isinstance(value, Mapping):
        value = [f"{name}={_text(part, argument)}" for name, part in value.items()]
    if not isinstance(value, list):
        yield _text(value, argument)
    elif parameter.is_repeated:
        for part in value:
            yield _joined(part, argument) if isinstance(part, list) else _text(part, argument)
    else:
        yield _joined(value, argument)


def _text(value: Any, argument: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(describe(argument, "text or a number, or a list of them", repr(value)))
    return str(value)


def _joined(parts: Sequence[Any], argument: str) -> str:
    """Put commas between texts, and quotes around those that hold one."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([_text(part, argument) for part in parts])
    return line.getvalue()
