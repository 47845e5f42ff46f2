"""Frozen records that compare, travel as JSON and keep their arrays read-only: the base of results and parts."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.lazy import load_all_names

_KINDS = {np.float64: "fiub", np.int64: "iu", np.bool_: "b"}

_SCALARS: dict[Any, Any] = {
    float: int | float,
    int: int,
    bool: bool,
    str: str,
    types.NoneType: types.NoneType,
}

_NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass(frozen=True, eq=False, kw_only=True)
class Record:
    """Base of frozen records. Subclasses are found by their class name when JSON is read back."""

    _registry: ClassVar[dict[str, type[Record]]] = {}

    _renamed: ClassVar[Mapping[str, str]] = {}
    """Fields by the names that they had in older JSON, which stays readable."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        known = Record._registry.get(cls.__name__)
        # JSON names classes: two of one name could not be told apart. A dataclass with slots creates its class twice.
        if (
            known is not None
            and known.__module__ != cls.__module__
            and cls.__module__.startswith("shiftmetrics.")
        ):
            raise TypeError(
                f"{cls.__name__} must have a name of its own, got that of {known.__module__}."
            )
        Record._registry[cls.__name__] = cls

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _frozen(getattr(self, field.name)))

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():  # NumPy unpickles arrays as writeable
            object.__setattr__(self, name, _frozen(value))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain Python values and (read-only) NumPy arrays, nested parts as dicts."""
        shown = [field.name for field in dataclasses.fields(self) if field.repr]
        return {name: _plain(getattr(self, name)) for name in shown}

    def to_plain(self) -> Any:
        """Return what stands for the record inside the `to_dict` of another one."""
        return self.to_dict()

    def equals(self, other: object) -> bool:
        """Return True if ``other`` is of the same type with equal fields, arrays compared value by value."""
        if type(other) is not type(self):
            return False
        # What JSON says of both must be the same, and so must the arrays, which are set aside.
        arrays: list[dict[str, npt.NDArray[Any]]] = [{}, {}]
        documents = []
        for record, kept in zip((self, other), arrays, strict=True):
            documents.append(encode_value(record.to_dict(), kept.__setitem__))
        first, second = arrays
        if documents[0] != documents[1] or first.keys() != second.keys():
            return False
        return all(_same_values(first[name], second[name]) for name in first)


def public_names(cls: type[Record]) -> list[str]:
    """Return the names of the fields and of the public properties of a class of records."""
    fields = [field.name for field in dataclasses.fields(cls) if field.repr]
    properties = [
        name for name, _ in inspect.getmembers(cls, lambda part: isinstance(part, property))
    ]
    return fields + [name for name in properties if not name.startswith("_")]


KeepArray: TypeAlias = Callable[[str, npt.NDArray[Any]], Any]
"""What stands for an array of that name in JSON."""


def encode_value(value: Any, keep_array: KeepArray, path: str = "") -> Any:
    """Turn ``value`` into what JSON can hold; ``keep_array(path, array)`` returns an array's stand-in."""

    def inner(part: Any, name: str) -> Any:
        return encode_value(part, keep_array, f"{path}.{name}" if path else name)

    if isinstance(value, Record):
        document: dict[str, Any] = {"type": type(value).__name__}
        for field in dataclasses.fields(value):
            if field.repr:
                document[field.name] = inner(getattr(value, field.name), field.name)
        return document
    if isinstance(value, Mapping):
        return {str(key): inner(part, str(key)) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [inner(part, str(position)) for position, part in enumerate(value)]
    if isinstance(value, np.ndarray):
        # NumPy stores objects as pickles, which nobody should have to load.
        if value.dtype == object:
            return inner(value.tolist(), "")
        return keep_array(path, value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # "nan", "inf" or "-inf", which JSON has no numbers for
    if isinstance(value, str) and value in _NON_FINITE:
        # A string that looks like one of these numbers is marked, so that it is read back as a string.
        return {"text": value}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


def decode(value: Any, load_array: Callable[[Mapping[str, Any]], npt.NDArray[Any]]) -> Any:
    """Invert `encode_value`; ``load_array`` gets an array's stand-in.

    Raises
    ------
    ValueError
        If a record lacks a field.
    """
    if isinstance(value, dict):
        # What stands in the place of an array (`documents.keep_arrays`).
        if value.keys() == {"array", "dtype", "shape"}:
            return load_array(value)
        if value.keys() == {"text"} and value["text"] in ("inf", "-inf", "nan"):
            return value["text"]
        parts = {key: decode(part, load_array) for key, part in value.items()}
        cls = _class_of(value.get("type"))
        if cls is None:
            return parts
        return _build(cls, parts)
    if isinstance(value, list):
        return tuple(decode(part, load_array) for part in value)
    if isinstance(value, str):
        return _NON_FINITE.get(value, value)
    return value


def _class_of(name: Any) -> type[Record] | None:
    """Return the class of a type in a document."""
    if name is not None and str(name) not in Record._registry:
        load_all_names()
    return Record._registry.get(str(name))


def _build(cls: type[Record], parts: dict[str, Any]) -> Record:
    # A document says more than the fields: its type, its measure, the version of its schema.
    names = {field.name for field in dataclasses.fields(cls) if field.init}
    parts = {cls._renamed.get(name, name): part for name, part in parts.items()}
    fields = {name: part for name, part in parts.items() if name in names}
    for name, hint in _hints(cls).items():
        if name in fields and not _fits(fields[name], hint):
            shown = repr(fields[name])[:60]
            raise ValueError(
                f"The JSON of {_with_article(cls.__name__)} must hold a whole {name}, got {shown}. Write it again."
            )
        expected = _range_left(name, fields.get(name))
        if expected:
            raise ValueError(
                f"The JSON of {_with_article(cls.__name__)} must hold {expected} as {name}, got {fields[name]}. "
                "Write it again."
            )
    try:
        return cls(**fields)
    except TypeError as error:
        raise ValueError(
            f"The JSON of {_with_article(cls.__name__)} must hold all its fields ({error})."
        ) from error


def _range_left(name: str, value: Any) -> str:
    """Return what a number must be whose name says so; empty where the value is that, or no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    if name.startswith("n_") and value < 0:
        return "a count"
    # NaN stands for what is not known, infinity for what no fraction attains. Sums of weights may exceed 1 by their
    # rounding.
    outside = value < 0 or 1 + 1e-9 < value < math.inf
    if outside and name.endswith(("p_value", "fraction")):
        return "a number from 0 to 1"
    return ""


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _hints(cls: type[Any]) -> dict[str, Any]:
    """Return the types of the fields of a class, as far as they can be looked up."""
    try:
        return typing.get_type_hints(cls)
    except NameError:  # a type that is imported for type checkers alone
        return {}


def _fits(value: Any, hint: Any) -> bool:
    """Return True unless ``value``, read from JSON, is of another type than the field that it is for."""
    origin = typing.get_origin(hint)
    parts = typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is np.ndarray:
        (scalar,) = typing.get_args(parts[1])
        if not isinstance(value, np.ndarray):  # arrays of objects stand as lists in the JSON
            return scalar is Any and isinstance(value, tuple)
        return value.dtype.kind in _KINDS.get(scalar, value.dtype.kind)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if parts[-1] is Ellipsis:
            return all(_fits(part, parts[0]) for part in value)
        return len(value) == len(parts) and all(map(_fits, value, parts))
    if origin in (dict, Mapping):
        return isinstance(value, Mapping) and all(_fits(part, parts[1]) for part in value.values())
    if hint in _SCALARS:
        # True and False are integers of Python.
        return isinstance(value, _SCALARS[hint]) and isinstance(value, bool) == (hint is bool)
    if isinstance(hint, type) and issubclass(hint, Record):
        return isinstance(value, hint)
    return True


def _frozen(value: Any) -> Any:
    """Return ``value`` with its arrays as read-only views, NumPy scalars as Python's, lists as tuples."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
        return value
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is dict:
        return {key: _frozen(part) for key, part in value.items()}
    if type(value) in (tuple, list):
        return tuple(_frozen(part) for part in value)
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_plain()
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return tuple(_plain(part) for part in value)
    return value


def _same_values(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> bool:
    both_float = first.dtype.kind == "f" and second.dtype.kind == "f"
    return bool(np.array_equal(first, second, equal_nan=both_float))
