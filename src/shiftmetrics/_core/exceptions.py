"""What is wrong with an argument: errors that carry its name, what it must be, what came, and the remedy."""

from __future__ import annotations

from typing import Any

_NO_VALUE = object()

REPR_LENGTH = 60
"""How much of the ``repr`` of a value a message shows."""


class ArgumentError(Exception):
    """Base of the errors on an argument; raised as `ArgumentValueError` or `ArgumentTypeError`.

    Parameters
    ----------
    argument, expected : str
        Name of the argument, and what it must be.
    got : object, optional
        What was received, in words.
    remedy : str, default ""
        A sentence that says what to do.
    value : object, optional
        What was received, in place of ``got``: the first `REPR_LENGTH` characters of its ``repr`` are shown.

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
    ) -> None:
        if value is not _NO_VALUE:
            got = shortened(value)
        self.argument = argument
        self.expected = expected
        self.got = str(got)
        self.remedy = remedy
        super().__init__(self.in_words(argument))

    def in_words(self, argument: str) -> str:
        """Return the message with another name for the argument, such as that of an option."""
        message = f"{argument} must be {self.expected}, got {self.got}."
        if self.remedy:
            message += f" {self.remedy}"
        return message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.argument, self.expected, self.got, self.remedy)


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
