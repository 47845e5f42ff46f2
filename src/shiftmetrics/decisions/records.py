"""Small files of records: passports and states of monitors, as JSON with their arrays inside."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.record import Record, decode, encode
from shiftmetrics._core.validation import describe

AnyRecord = TypeVar("AnyRecord", bound=Record)


def to_text(record: Record) -> str:
    """Return a record as JSON in one line."""
    return json.dumps(encode(record, _keep_inside), separators=(",", ":")) + "\n"


def read_record(
    path: str | os.PathLike[str], cls: type[AnyRecord], argument: str, version: int
) -> AnyRecord:
    """Read the record of a class from a JSON file that `to_text` made.

    Raises
    ------
    ValueError
        If the file is no JSON, holds something else, is damaged, or is of another schema version.
    """
    name = repr(str(path))
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(describe(argument, "a file of JSON", name)) from error
    kind = content.get("type") if isinstance(content, dict) else None
    if kind != cls.__name__:
        raise ValueError(describe(argument, f"a file that holds a {argument}", name))
    if content.get("version") != version:
        got = f"version {content.get('version')!r} in {name}"
        remedy = "Write it again with this release."
        raise ValueError(describe(argument, f"of schema version {version}", got, remedy))
    try:
        record = decode(content, _load_inside)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        got = f"{name}, which is damaged ({error})"
        raise ValueError(describe(argument, "a complete file", got)) from error
    assert isinstance(record, cls)
    return record


def _keep_inside(path: str, array: npt.NDArray[Any]) -> dict[str, Any]:
    return {"array": array.tolist(), "dtype": str(array.dtype), "shape": list(array.shape)}


def _load_inside(stand_in: Mapping[str, Any]) -> npt.NDArray[Any]:
    array = np.array(stand_in["array"], dtype=np.dtype(stand_in["dtype"]))
    return array.reshape(stand_in["shape"])
