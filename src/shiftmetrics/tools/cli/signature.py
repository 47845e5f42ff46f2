"""Options of commands from the signatures of functions: each is declared once, where the function declares it.

A parameter becomes an option with its name, type, default, and the first sentence of its description. Parameters that
hold option objects (`Resampling`, `Computing`, `Moves`) become one option for each field.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer

from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics.tools.cli import options
from shiftmetrics.tools.cli.options import TEXT_FORMS
from shiftmetrics.tools.cli.outputs import Job, Output

NAMES = {
    "level": "confidence", "confidence_level": "confidence", "n_draws": "draws", "n_resamples": "draws",
    "n_queries": "queries",
}  # fmt: skip
"""Options that are called otherwise than the parameter."""

SHORT = {"threshold": "-r"}
NEVER = {"executor", "rng", "progress", "align", "keep_rows"}
"""Parameters that are no options: set by --seed, --quiet and --align, or without effect on a command."""


@dataclass(frozen=True)
class Option:
    """One option of a command.

    Attributes
    ----------
    name : str
        Of the parameter or field; ``key`` and ``flag`` are what the command calls it.
    kind : type
        What typer reads.
    default : object
        ``inspect.Parameter.empty`` where it must be given.
    help : str
        One sentence.
    metavar : str or None
        The form of the text.
    convert : callable or None
        From what typer read, and the flag, to the argument.
    panel : str or None
        Heading in the help.
    """

    name: str
    kind: Any
    default: Any
    help: str
    metavar: str | None = None
    convert: Callable[[Any, str], Any] | None = None
    panel: str | None = None

    @property
    def key(self) -> str:
        """The name of the option in Python and in configurations."""
        return NAMES.get(self.name, self.name)

    @property
    def flag(self) -> str:
        """The name of the option on the command line."""
        return "--" + self.key.replace("_", "-")

    def parameter(self) -> inspect.Parameter:
        """Return the option as typer reads it from a signature."""
        flags = [self.flag, *([SHORT[self.name]] if self.name in SHORT else [])]
        declared = typer.Option(*flags, metavar=self.metavar, help=self.help, rich_help_panel=self.panel)
        kind = self.kind if self.default is not None else self.kind | None
        return _keyword(self.key, Annotated[kind, declared], self.default)


PANELS = {
    "Moves": "Where rows may move", "Resampling": "Intervals", "Computing": "Computation", "Search": "Computation",
}  # fmt: skip
"""Headings in the help, by the class of the option object."""


def options_of(function: Callable[..., Any], panel: str | None = None) -> Iterator[Option]:
    """Yield the options that a function declares, with those of its option objects."""
    for name, parameter in inspect.signature(function).parameters.items():
        part = part_of(function, name)
        if part is None:
            option = _option(name, _kind_of(function, name), parameter.default, function.__doc__, panel)
            if option is not None:
                yield option
            continue
        for field in dataclasses.fields(part):
            default = field.default
            if part is Resampling and field.name == "level" and not isinstance(parameter.default, Resampling):
                default = parameter.default  # a level stands for the object; None: no interval
            option = _option(
                field.name, _kind_of(part, field.name), default, part.__doc__, PANELS[part.__name__]
            )
            if option is not None:
                yield option


def _option(name: str, kind: Any, default: Any, doc: str | None, panel: str | None) -> Option | None:
    """Return a parameter as an option; None where it cannot be typed as text."""
    if name in NEVER:
        return None
    text = _description(doc or "", name)
    if name in TEXT_FORMS:
        form = TEXT_FORMS[name]
        default = "uniform" if name == "prior" and default is None else default
        return Option(name, form.kind, default, text, form.metavar, form.convert, panel)
    words = [part for part in _members(kind) if isinstance(part, str)]
    plain = [part for part in _members(kind) if part in (str, int, float, bool)]
    if len(plain) > 1 or not (words or plain):
        return None
    if not (words and plain):
        return Option(name, plain[0] if plain else Literal[tuple(words)], default, text, panel=panel)
    default = default if default is inspect.Parameter.empty or default is None else str(default)
    convert = functools.partial(_word_or_number, words=words)
    return Option(name, str, default, text, "|".join([*words, "NUMBER"]), convert, panel)


def _word_or_number(text: str, flag: str, *, words: list[str]) -> Any:
    if text in words:
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{flag} must be {', '.join(words)} or a number, got {text!r}.") from None


def part_of(function: Callable[..., Any], name: str) -> type | None:
    """Return the class of the option object that a parameter takes, if it takes one."""
    classes = [part for part in _members(_kind_of(function, name)) if isinstance(part, type)]
    return next(
        (part for part in classes if part.__name__ in PANELS and dataclasses.is_dataclass(part)), None
    )


@functools.cache
def _kind_of(owner: Any, name: str) -> Any:
    """Return the type of a parameter or field; that of its default where the annotation has no runtime value."""
    parameter = inspect.signature(owner).parameters[name]
    if not isinstance(parameter.annotation, str):
        return parameter.annotation
    objects = {
        "Computing": Computing,
        "Resampling": Resampling,
    }  # some modules import them for type checks only
    try:
        return eval(parameter.annotation, vars(sys.modules[inspect.unwrap(owner).__module__]), objects)
    except NameError:
        return type(parameter.default)


def _members(kind: Any) -> list[Any]:
    """Return the types and words of a union."""
    if get_origin(kind) in (Union, types.UnionType, Literal):
        return [member for part in get_args(kind) for member in _members(part)]
    return [kind]


def _description(doc: str, name: str) -> str:
    """Return the first sentence on a parameter in a numpydoc docstring."""
    entry = rf"^(?:\w+, )*{name}(?:, \w+)*(?: : .*)?\n((?: +.*\n?|\n)+)"
    found = re.search(entry, inspect.cleandoc(doc), flags=re.MULTILINE)
    text = " ".join(found[1].split()).replace("``", "") if found else ""
    return re.split(r"(?<=[.;:])\s(?=[A-Z])", text)[0]


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

    def given(self) -> list[Option]:
        """Return the options that differ from their defaults."""
        return [
            option
            for key, option in self.declared.items()
            if self.values[key] != option.default and self.values[key] not in (None, [])
        ]

    def refuse_all_but(self, *functions: Callable[..., Any], rule: str) -> None:
        """Raise a ValueError for the first given option that none of the functions takes."""
        taken = {option.key for function in functions for option in options_of(function)}
        for option in self.given():
            if option.key not in taken:
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
        names = {option.name: option.flag for option in self.declared.values()} | dict(self.words)
        known = {"rng": self.seed, "progress": self.progress, **known}
        parameters = list(inspect.signature(function).parameters)[len(args) :]
        arguments: dict[str, Any] = {}
        with _named_arguments(names):
            for name in parameters:
                part = part_of(function, name)
                if part is None:
                    arguments |= self._taken([name], known)
                    continue
                fields = self._taken([field.name for field in dataclasses.fields(part)], known)
                if part is not Resampling or fields.keys() - {"rng"}:  # without options, no interval is made
                    arguments[name] = part(**fields)
            return function(*args, **arguments)

    def _taken(self, names: list[str], known: Mapping[str, Any]) -> dict[str, Any]:
        taken = {name: known[name] for name in names if known.get(name) is not None}
        for option in self.declared.values():
            value = self.values[option.key]
            if option.name in names and option.name not in known and value is not None:
                taken[option.name] = value if option.convert is None else option.convert(value, option.flag)
        return taken


@contextmanager
def _named_arguments(names: Mapping[str, str]) -> Iterator[None]:
    """Name arguments in messages as they are typed: ``scores must be ...`` becomes ``SHIFTED must be ...``."""
    try:
        yield
    except (ValueError, TypeError) as error:
        # Longer names first, so that `reference_scores` is not taken for `scores`.
        known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
        message = re.sub(rf"(?<!-)\b({known})\b(?=[^.]* must )", lambda match: names[match[1]], str(error))
        message = re.sub(r'\b(\w+)="(\w+)"', r"--\1 \2", message)
        raise type(error)(message) from error


def measuring(
    functions: Mapping[Callable[..., Any], str | None],
    *,
    words: Mapping[str, str],
    leave_out: Iterable[str] = (),
) -> Callable[[Callable[..., Job]], Callable[..., Job]]:
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

    Returns
    -------
    callable
        A decorator. The command must have a parameter ``call: Call``, in whose place the options stand, and return a
        `Job`.
    """
    declared: dict[str, Option] = {}
    for function, panel in functions.items():
        for option in options_of(function, panel):
            if option.name not in leave_out:
                declared.setdefault(option.key, option)

    def decorate(command: Callable[..., Job]) -> Callable[..., Job]:
        @functools.wraps(command)
        def callback(**values: Any) -> Job:
            output = Output(json=values.pop("json"), report=values.pop("report"), quiet=values.pop("quiet"))
            output.check_folders()
            typed = {key: values.pop(key) for key in declared}
            call = Call(declared, typed, values.pop("seed"), output.progress, words)
            return dataclasses.replace(command(call=call, **values), output=output)

        parameters: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
            if name == "call":
                parameters += [option.parameter() for option in declared.values()]
                parameters.append(_keyword("seed", options.Seed, 0))
            else:
                parameters.append(_keyword(name, parameter.annotation, parameter.default))
        parameters += [
            _keyword("json", options.Json, None),
            _keyword("report", options.Report, None),
            _keyword("quiet", options.Quiet, False),
        ]
        callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        callback.__annotations__ = {part.name: part.annotation for part in parameters}
        del callback.__wrapped__  # type: ignore[attr-defined] - typer must not look behind the new signature
        return callback

    return decorate


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
