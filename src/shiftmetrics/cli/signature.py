"""Options of commands from signatures and docstrings: each is declared once, by the library or by a command.

A parameter becomes an option with its name, type and default, and its description in the docstring becomes the help.
Parameters that take option objects (`Resampling`, `Computing`, `Perturbation`) become one option for each field.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from shiftmetrics._core.exceptions import ArgumentError
from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics.cli.forms import TEXT_FORMS, Option
from shiftmetrics.cli.options import (
    GROUPS,
    OPENING,
    SETTINGS,
    Opening,
    of_every_command,
    with_groups,
)
from shiftmetrics.cli.outputs import Job, check_outputs
from shiftmetrics.cli.paths import DefaultPaths, check_paths
from shiftmetrics.cli.values import as_plain_flag, convert_plainly

NEVER = {"executor", "rng", "progress", "align", "pairing", "keep_rows"}
"""Parameters of the library that are no options: set by --seed, --quiet and --align, or of no use to a command."""

WORDS = {"sample_weight": "--weight", "groups": "--groups", "pairing": "--align"}
"""What messages call arguments of every command that are no options of functions."""

PLAIN = (str, int, float, bool, Path, list[str])
PANELS = {
    "Perturbation": "What may change", "NoveltyResampling": "Chance",
    "Resampling": "Intervals", "Computing": "Computation", "Search": "Computation",
}  # fmt: skip
"""Headings in the help, by the class of the option object."""


def options_of(function: Callable[..., Any], panel: str | None = None) -> Iterator[Option]:
    """Yield the options that a function of the library declares, with those of its option objects."""
    for name, parameter in inspect.signature(function).parameters.items():
        part = part_of(function, name)
        if part is None:
            yield from _of_the_library(function, name, parameter.default, panel)
            continue
        for field, declared in inspect.signature(part).parameters.items():
            default = declared.default
            is_level = part is Resampling and field == "confidence_level"
            if is_level and not isinstance(parameter.default, Resampling):
                default = parameter.default  # a level stands for the object; None: no interval
            yield from _of_the_library(part, field, default, PANELS.get(part.__name__))


def _of_the_library(owner: Any, name: str, default: Any, panel: str | None) -> Iterator[Option]:
    """Yield a parameter of the library as an option, with the first sentence of its description."""
    option = _option(owner, name, default)
    if option is not None and name not in NEVER:
        sentence = re.split(r"(?<=[.;:])\s(?=[A-Z]|- )", option.help)[0]
        yield dataclasses.replace(option, help=sentence, panel=panel)


def own_options(
    command: Callable[..., Any], panels: Mapping[str, str] | None = None
) -> Iterator[Option]:
    """Yield the arguments of a command, and its options: the parameters that are passed by keyword only."""
    for name, parameter in inspect.signature(command).parameters.items():
        if name in GROUPS:
            yield from own_options(GROUPS[name])
            continue
        option = _option(command, name, parameter.default)
        if option is not None:
            yield dataclasses.replace(
                option,
                metavar=option.metavar or _entry(command, name)[0] or None,
                is_argument=parameter.kind is not parameter.KEYWORD_ONLY,
                panel=(panels or {}).get(name),
            )


def _option(owner: Any, name: str, default: Any) -> Option | None:
    """Return a parameter as an option; None where it cannot be typed as a string."""
    members = _members(_kind_of(owner, name))
    words = [part for part in members if isinstance(part, str)]
    plain = [part for part in members if part in PLAIN]
    help_text = _entry(owner, name)[1]
    if name in TEXT_FORMS and not plain:
        form = TEXT_FORMS[name]
        default = form.default if default is None else default
        return dataclasses.replace(form, default=default, help=help_text)
    if len(plain) > 1 or not members:
        return None
    if words and plain:
        # a word or a number, such as "median" and 2.5
        metavar = "|".join([*words, "NUMBER"])
        convert = functools.partial(_word_or_number, words=words)
        if isinstance(default, float):
            default = str(default)
        return Option(name, str, default, help_text, metavar, convert=convert)
    if words:
        return Option(name, Literal[tuple(words)], default, help_text)
    return Option(name, plain[0], default, help_text) if plain else None


def _word_or_number(text: str, flag: str, *, words: list[str]) -> Any:
    if text in words:
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{flag} must be {', '.join(words)} or a number, got {text!r}.") from None


def part_of(function: Callable[..., Any], name: str) -> type | None:
    """Return the class of the option object that a parameter takes; None where words stand for it."""
    parameter = inspect.signature(function).parameters[name]
    members = _members(_kind_of(function, name))
    if parameter.kind is not parameter.KEYWORD_ONLY or any(isinstance(m, str) for m in members):
        return None
    classes = [part for part in members if isinstance(part, type)]
    return next((part for part in classes if dataclasses.is_dataclass(part)), None)


@functools.cache
def _kind_of(owner: Any, name: str) -> Any:
    """Return the type of a parameter or field; that of its default where the annotation has no runtime value."""
    parameter = inspect.signature(owner).parameters[name]
    if not isinstance(parameter.annotation, str):
        return parameter.annotation
    # some modules import these for type checks only
    objects = {"Computing": Computing, "Resampling": Resampling}
    module = sys.modules[inspect.unwrap(owner).__module__]
    # one at a time: a name that is known to type checkers alone hides no other parameter
    alone = types.SimpleNamespace(__annotations__={name: parameter.annotation})
    try:
        return get_type_hints(alone, vars(module), objects)[name]
    except NameError:
        return type(parameter.default)


def _members(kind: Any) -> list[Any]:
    """Return the types and words of a union."""
    if get_origin(kind) in (Union, types.UnionType, Literal):
        return [member for part in get_args(kind) for member in _members(part)]
    return [kind]


def _entry(owner: Any, name: str) -> tuple[str, str]:
    """Return the type and the description of a parameter in a numpydoc docstring, or among shared options."""
    # one entry may describe several parameters
    pattern = rf"^(?:\w+, )*{name}(?:, \w+)*(?: : (.*))?\n((?: +.*\n?|\n)+)"
    for source in (owner, Opening, of_every_command):
        found = re.search(pattern, inspect.getdoc(source) or "", flags=re.MULTILINE)
        if found:
            return found[1] or "", " ".join(found[2].split()).replace("``", "")
    return "", ""


@dataclass(frozen=True)
class Call:
    """The options of one command as typed, ready to be passed to functions.

    Attributes
    ----------
    declared : dict of str to Option
        By key.
    values : dict of str to object
        What typer read, by key.
    seed : int
        Of everything random.
    progress : bool
        Whether progress bars are shown.
    words : mapping of str to str
        What messages call the other arguments of functions: ``scores`` is ``SHIFTED``.
    """

    declared: Mapping[str, Option]
    values: Mapping[str, Any]
    seed: int
    progress: bool
    words: Mapping[str, str]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def refuse_all_but(self, function: Callable[..., Any], rule: str) -> None:
        """Raise a ValueError for the first given option that the function does not take."""
        # an option that has its default was not typed
        taken = {option.key for option in options_of(function)}
        for key, option in self.declared.items():
            if key not in taken and self.values[key] not in (None, [], option.default):
                raise ValueError(f"{option.flag} must {rule}.")

    def __call__(self, function: Callable[..., Any], *args: Any, **known: Any) -> Any:
        """Call a function with the options that it takes; messages name options as they are typed.

        Parameters
        ----------
        function : callable
            Of the library.
        *args
            Its first arguments.
        **known
            Its other arguments, or fields of its option objects, that do not come from options.
        """
        flags = {option.name: option.flag for option in self.declared.values()}
        # arguments are called in messages what they are called on the command line
        names = {**WORDS, **flags, **self.words}
        known = {"rng": self.seed, "progress": self.progress, **known}
        arguments: dict[str, Any] = {}
        with _named_arguments(names):
            for name in list(inspect.signature(function).parameters)[len(args) :]:
                part = part_of(function, name)
                if part is None:
                    arguments |= self._taken([name], known)
                    continue
                # options that are fields of one object are passed in it
                fields = self._taken([field.name for field in dataclasses.fields(part)], known)
                if part is Resampling and not fields.keys() & {"confidence_level", "groups"}:
                    continue  # without a level or groups, no interval is made
                arguments[name] = part(**fields)
            return function(*args, **arguments)

    def _taken(self, names: list[str], known: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of these arguments that are known or were typed."""
        taken = {name: known[name] for name in names if known.get(name) is not None}
        for option in self.declared.values():
            value = self.values[option.key]
            if value is None or option.name in known or option.name not in names:
                continue
            if option.convert is not None:
                value = option.convert(value, option.flag)
            taken[option.name] = value
        return taken


@contextmanager
def _named_arguments(names: Mapping[str, str]) -> Iterator[None]:
    """Name arguments in errors as they are typed: ``scores must be ...`` becomes ``SHIFTED must be ...``."""
    try:
        yield
    except ArgumentError as error:
        raise error.with_names(names) from error


def command(function: Callable[..., None]) -> Any:
    """Let typer read the arguments and options of a command from its signature and docstring."""

    def callback(**values: Any) -> None:
        function(**with_groups(function, values))

    return _readable(callback, function, own_options(function))


def measuring(
    functions: Mapping[Callable[..., Any], str | None],
    *,
    words: Mapping[str, str],
    leave_out: Iterable[str] = (),
    panels: Mapping[str, str] | None = None,
    default_paths: DefaultPaths | None = None,
) -> Callable[[Callable[..., Job]], Any]:
    """Give a command the options of functions, a seed, and the options of its output.

    Parameters
    ----------
    functions : mapping of callable to str or None
        The functions that the command calls, with a heading for their options in the help. Where two declare an
        option, the first counts.
    words : mapping of str to str
        What messages call the arguments that do not come from options.
    leave_out : iterable of str
        Parameters that are no options of this command.
    panels : mapping of str to str, optional
        Headings for options of the command.
    default_paths : mapping of str to callable, optional
        Files that the command writes where an option is not typed, from all that is typed.

    Returns
    -------
    callable
        A decorator. The command must take a `Call` as ``call``, and return a `Job`.
    """
    opening = {option.name: option for option in own_options(Opening)}
    declared: dict[str, Option] = {}
    for function, panel in functions.items():
        for option in options_of(function, panel):
            if option.name not in leave_out:
                declared.setdefault(option.key, option)  # where two declare it, the first counts

    def decorate(command: Callable[..., Job]) -> Any:
        flags = {
            option.name: option.flag for option in own_options(command) if not option.is_argument
        }
        called = {**flags, **words}

        def callback(
            *,
            seed: int,
            json: Path | None,
            report: Path | None,
            quiet: bool,
            verbose: bool,
            **values: Any,
        ) -> Job:
            outputs = {"--json": json, "--report": report, "--markdown": values.get("markdown")}
            check_outputs(outputs, ())  # before inputs are read
            chosen = {name: values.pop(name) for name in opening}
            # an input of more than the memory limit would break that limit
            memory_limit = values.get("memory_limit") or math.inf
            chosen["max_gib"] = min(chosen["max_gib"], memory_limit / 2**30)
            OPENING.set(Opening(**chosen))
            # what is left are the command's own arguments
            typed = {key: values.pop(option.name) for key, option in declared.items()}
            call = Call(declared, typed, seed, not quiet and sys.stderr.isatty(), called)
            job = command(call=call, **with_groups(command, values))
            return dataclasses.replace(job, json=json, report=report, quiet=quiet, verbose=verbose)

        own = list(own_options(command, panels))
        output = own_options(of_every_command)
        options = [*declared.values(), *own, *opening.values(), *output]
        return _readable(callback, command, options, default_paths or {})

    return decorate


def _readable(
    callback: Any,
    command: Callable[..., Any],
    options: Iterable[Option],
    default_paths: DefaultPaths | None = None,
) -> Any:
    """Give a callback the signature and the help that typer reads, and a door that all its paths go through."""
    declared = tuple(options)

    def checked(**values: Any) -> Any:
        check_paths(declared, values, default_paths or {})
        return callback(**values)

    parameters = [option.parameter() for option in declared]
    checked.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    checked.__annotations__ = {part.name: part.annotation for part in parameters}
    checked.__name__ = command.__name__
    checked.__doc__ = (inspect.getdoc(command) or "").partition("\n\nParameters\n---")[0]
    checked.options = declared  # type: ignore[attr-defined]
    return checked


class SectionedCommand(TyperCommand):
    """A command whose help has a section for each heading of its options.

    Typer has sections where rich prints the help, which takes three times as long as all else that the help needs.
    """

    def get_help_option(self, ctx: Any) -> Any:
        """Return ``--help``, which needs no conversion."""
        return as_plain_flag(super().get_help_option(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options without a heading, then those of each heading."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            heading = getattr(parameter, "rich_help_panel", None) or "Options"
            if parameter.param_type_name == "argument":
                heading = "Arguments"
            if record is not None:
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


@functools.cache
def click_command(function: Callable[..., Any]) -> Any:
    """Return a command that parses its arguments and options and calls the function."""
    # typer makes commands for applications only
    single = typer.Typer(**SETTINGS)
    single.command(function.__name__, cls=SectionedCommand)(function)
    command = typer.main.get_command(single)
    convert_plainly(command, function.options)  # type: ignore[attr-defined]
    return command
