"""Errors on arguments: one form of message, and its parts."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shiftmetrics
from shiftmetrics._core.exceptions import (
    ArgumentError,
    ArgumentTypeError,
    ArgumentValueError,
    Setting,
    Wording,
    with_options,
)
from shiftmetrics._core.validation import check_choice


def test_the_message_has_one_shape() -> None:
    assert str(ArgumentValueError("beta", "positive", -1)) == "beta must be positive, got -1."
    mended = ArgumentValueError("beta", "positive", -1, "Flip it.")
    assert str(mended) == "beta must be positive, got -1. Flip it."
    assert mended.in_words({"beta": "--beta"}) == "--beta must be positive, got -1. Flip it."


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


def test_a_setting_reads_as_python_and_as_typed() -> None:
    text = Wording("Pass ", Setting("ids"), " or ", Setting("method", "dense"), ".")
    assert text == 'Pass ids= or method="dense".'
    assert (
        with_options(text, {"ids": "--id", "method": "--method"}) == "Pass --id or --method dense."
    )
    assert with_options(text, {}) == text
    inner = Setting("inner", True)
    assert (str(inner), inner.typed({"inner": "--inner"})) == ("inner=True", "--inner")


def test_other_names_replace_arguments_and_nothing_of_the_user() -> None:
    names = {"old": "OLD", "new": "NEW", "costs": "--costs"}
    both = ArgumentValueError("old and new", "of the same rows", "3 in old")
    assert both.in_words(names) == "OLD and NEW must be of the same rows, got 3 in old."
    for argument, called in {
        "costs['new']": "--costs['new']",
        "old, column 'new'": "OLD, column 'new'",
        "The classes of old and new": "The classes of OLD and NEW",
    }.items():
        assert ArgumentValueError(argument, "so", "not").with_names(names).argument == called


def test_a_verb_and_a_wording_survive_pickling() -> None:
    remedy = Wording("Pass ", Setting("inner", True), ".")
    error = ArgumentValueError("old", "rows", "none", remedy, verb="hold").with_remedy("Or stop.")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "old must hold rows, got none. Pass inner=True. Or stop."
    assert again.in_words({"inner": "--inner"}).endswith("got none. Pass --inner. Or stop.")


def parts_of_messages() -> Iterator[tuple[str, str]]:
    """Yield where, and what, for each string in the parts of an error, or in what a name such as remedy holds."""
    for path in sorted(Path(shiftmetrics.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_part = isinstance(node, ast.Assign) and any(
                getattr(target, "id", "") in ("remedy", "expected", "got")
                for target in node.targets
            )
            if isinstance(node, ast.Call):
                is_part = getattr(node.func, "id", "").startswith("Argument")
            if not is_part:
                continue
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield f"{path.name}:{part.lineno}", part.value


def test_messages_name_arguments_by_settings_alone() -> None:
    parts = dict(parts_of_messages())
    assert len(parts) > 300
    named = {place: text for place, text in parts.items() if re.search(r"\b[a-z_]+=(?!=)", text)}
    # calls of functions that the user writes in Python
    assert [place for place, text in named.items() if "(" not in text] == []
