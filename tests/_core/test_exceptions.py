"""Errors on arguments: one form of message, and its parts."""

from __future__ import annotations

import pickle

import pytest

from shiftmetrics._core.exceptions import ArgumentError, ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.validation import check_choice


def test_the_message_has_one_shape() -> None:
    assert str(ArgumentValueError("beta", "positive", -1)) == "beta must be positive, got -1."
    mended = ArgumentValueError("beta", "positive", -1, "Flip it.")
    assert str(mended) == "beta must be positive, got -1. Flip it."
    assert mended.in_words("--beta") == "--beta must be positive, got -1. Flip it."


def test_a_long_value_is_shortened() -> None:
    text = "x" * 1000
    error = ArgumentValueError("beta", "positive", value=text)
    assert str(error) == f"beta must be positive, got {repr(text)[:60]}...."
    short = ArgumentValueError("beta", "positive", value="abc")
    assert str(short) == "beta must be positive, got 'abc'."
    nothing = ArgumentValueError("beta", "positive", value=None)
    assert str(nothing) == "beta must be positive, got None."
    with pytest.raises(ValueError) as refusal:
        check_choice(text, "method", ["exact", "grid"])
    assert len(str(refusal.value)) < 120


@pytest.mark.parametrize(
    ("cls", "builtin"), [(ArgumentValueError, ValueError), (ArgumentTypeError, TypeError)]
)
def test_errors_carry_their_parts_and_pickle(cls: type, builtin: type) -> None:
    error = cls("rng", "a seed", 1.5, "Give an integer.")
    assert isinstance(error, ArgumentError)
    assert isinstance(error, builtin)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls
    assert (again.argument, again.expected, again.got, again.remedy) == (
        "rng",
        "a seed",
        "1.5",
        "Give an integer.",
    )
    assert str(again) == str(error)
