"""What was typed, as values: the plain kinds without pydantic, whose import takes a fifth of a small comparison.

Typer converts every value by an adapter of pydantic, also those that are no more than the default. A string is a
string, and a default is what it is; all that is not obvious here is left to typer, with its checks and its messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, get_args, get_origin

from shiftmetrics.cli.forms import Option

_UNKNOWN = object()
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
# no sign: an option may have a least value, which is never above 0
_COUNT = re.compile(r"\d{1,15}", re.ASCII)


def convert_plainly(command: Any, options: Iterable[Option]) -> None:
    """Let the parameters of a command convert plain values themselves."""
    kinds = {option.name: option.kind for option in options}
    for parameter in command.params:
        # what has a callback, or is none of ours, such as --help, stays with typer
        if parameter.name in kinds and parameter.callback is None:
            convert = partial(
                _process, parameter.process_value, kinds[parameter.name], parameter.required
            )
            parameter.process_value = convert


def as_plain_flag(option: Any) -> Any:
    """Return ``--help`` as a flag that is off; typer loads pydantic to convert no value at all."""
    if option is not None:
        option.default = False
    return option


def _process(
    by_typer: Callable[[Any, Any], Any], kind: Any, required: bool, context: Any, value: Any
) -> Any:
    """Return the value of a parameter, from what the parser found."""
    converted = plain_value(kind, value)
    if converted is _UNKNOWN or (required and converted in (None, [], ())):
        return by_typer(context, value)
    return converted


def plain_value(kind: Any, value: Any) -> Any:
    """Return a value as its kind, where that is obvious; a marker where typer must decide."""
    is_list = get_origin(kind) is list
    if value is None:
        return () if is_list else None
    if is_list:
        is_plain = isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value)
        return list(value) if is_plain else _UNKNOWN
    if get_origin(kind) is Literal:
        return value if value in get_args(kind) else _UNKNOWN
    if kind in (str, bool, int, float) and type(value) is kind:
        return value
    if kind is float and isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    if kind is int and isinstance(value, str) and _COUNT.fullmatch(value):
        return int(value)
    return _UNKNOWN
