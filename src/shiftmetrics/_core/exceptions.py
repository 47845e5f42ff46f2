"""What is wrong with an argument: errors that carry its name, what it must be, what came, and the remedy."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Self

_NO_VALUE = object()

REPR_LENGTH = 60
"""How much of the ``repr`` of a value a message shows."""


class Setting(str):
    """An argument named in a message, as Python writes it: ``ids=``, or ``method="dense"`` where a value is given.

    Parameters
    ----------
    name : str
        Of the argument.
    value : object, optional
        That it is set to.
    """

    name: str
    value: Any

    def __new__(cls, name: str, value: Any = _NO_VALUE) -> Setting:
        """Return the argument as a string."""
        text = f"{name}="
        if isinstance(value, str):
            text += f'"{value}"'
        elif value is not _NO_VALUE:
            text += repr(value)
        setting = super().__new__(cls, text)
        setting.name = name
        setting.value = value
        return setting

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.name,) if self.value is _NO_VALUE else (self.name, self.value)

    def typed(self, names: Mapping[str, str]) -> str:
        """Return the argument as it is typed where it has another name, such as ``--method dense``."""
        name = names.get(self.name)
        if name is None:
            return str(self)
        if self.value is _NO_VALUE or self.value is True:
            return name
        return f"{name} {self.value}"


class Wording(str):
    """A message, or a part of one, that names arguments in places that are known.

    Parameters
    ----------
    *parts : str or Setting
        Joined as they stand.

    Examples
    --------
    >>> remedy = Wording("Pass ", Setting("inner", True), " or ", Setting("ids"), ".")
    >>> print(remedy)
    Pass inner=True or ids=.
    >>> with_options(remedy, {"inner": "--inner", "ids": "--id"})
    'Pass --inner or --id.'
    """

    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> Wording:
        """Return the parts as one string."""
        wording = super().__new__(cls, "".join(parts))
        wording.parts = parts
        return wording

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.parts


def with_options(text: str, names: Mapping[str, str]) -> str:
    """Return a part of a message with other names for the arguments that it names, such as those of options."""
    parts = text.parts if isinstance(text, Wording) else (text,)
    written = []
    for part in parts:
        if isinstance(part, Setting):
            written.append(part.typed(names))
        elif isinstance(part, Wording):
            written.append(with_options(part, names))
        else:
            written.append(part)
    return "".join(written)


def _called(argument: str, names: Mapping[str, str]) -> str:
    """Return an argument, or ``"first and second"``, by other names.

    What follows a bracket or a comma is of the user, as the class in ``costs['new']``, and stays.
    """
    places = [argument.find(sign) for sign in "[,(" if sign in argument]
    end = min(places, default=len(argument))
    words = [names.get(word, word) for word in argument[:end].split(" ")]
    return " ".join(words) + argument[end:]


class ArgumentError(Exception):
    """Base of the errors on an argument; raised as `ArgumentValueError` or `ArgumentTypeError`.

    Parameters
    ----------
    argument, expected : str
        Name of the argument, and what it must be.
    got : object, optional
        What was received, in words.
    remedy : str, default ""
        A sentence that says what to do. It names other arguments by a `Wording`.
    value : object, optional
        What was received, in place of ``got``: the first `REPR_LENGTH` characters of its ``repr`` are shown.
    verb : str, default "be"
        What it must do, such as "hold" or "have".
    place : str, default ""
        What stands before the message: where it happened.

    Examples
    --------
    >>> error = ArgumentValueError("beta", "positive", value=-1.0, remedy="Leave it out.")
    >>> str(error)
    'beta must be positive, got -1.0. Leave it out.'
    >>> error.argument
    'beta'
    """

    def __init__(
        self,
        argument: str,
        expected: str,
        got: object = None,
        remedy: str = "",
        *,
        value: Any = _NO_VALUE,
        verb: str = "be",
        place: str = "",
    ) -> None:
        if value is not _NO_VALUE:
            got = shortened(value)
        self.argument = argument
        self.expected = expected
        self.got = got if isinstance(got, str) else str(got)
        self.remedy = remedy
        self.verb = verb
        self.place = place
        super().__init__(self.in_words({}))

    def in_words(self, names: Mapping[str, str]) -> str:
        """Return the message with other names for arguments, such as those of options.

        Parameters
        ----------
        names : mapping of str to str
            By the name in Python.
        """
        argument = _called(self.argument, names)
        expected = with_options(self.expected, names)
        got = with_options(self.got, names)
        message = f"{self.place}{argument} must {self.verb} {expected}, got {got}."
        if self.remedy:
            message += f" {with_options(self.remedy, names)}"
        return message

    def with_names(self, names: Mapping[str, str]) -> Self:
        """Return the same error with other names for arguments."""
        return type(self)(
            _called(self.argument, names),
            with_options(self.expected, names),
            with_options(self.got, names),
            with_options(self.remedy, names),
            verb=self.verb,
            place=self.place,
        )

    def with_remedy(self, remedy: str) -> Self:
        """Return the same error with one more sentence at its end."""
        both = Wording(self.remedy, " ", remedy) if self.remedy else remedy
        return type(self)(
            self.argument, self.expected, self.got, both, verb=self.verb, place=self.place
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle would call the class with the message alone, which is what exceptions keep of their arguments.
        parts = (self.argument, self.expected, self.got, self.remedy)
        return functools.partial(type(self), verb=self.verb, place=self.place), parts


def error_at(error: ValueError | TypeError, place: str) -> ValueError | TypeError:
    """Return the same error that says first where it happened, such as the name of a model.

    Examples
    --------
    >>> error_at(ArgumentValueError("beta", "positive", -1), "model 'a'")
    ArgumentValueError("model 'a': beta must be positive, got -1.")
    >>> error_at(TypeError("no number"), "Rule 1")
    TypeError('Rule 1: no number')
    """
    if not isinstance(error, ArgumentError):
        return type(error)(f"{place}: {error}")
    return type(error)(
        error.argument,
        error.expected,
        error.got,
        error.remedy,
        verb=error.verb,
        place=f"{place}: {error.place}",
    )


class ArgumentValueError(ArgumentError, ValueError):
    """An argument whose value is wrong."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of the wrong type."""


def shortened(value: Any) -> str:
    """Return the ``repr`` of a value, cut at `REPR_LENGTH` characters."""
    text = repr(value)
    if len(text) > REPR_LENGTH:
        text = text[:REPR_LENGTH] + "..."
    return text
