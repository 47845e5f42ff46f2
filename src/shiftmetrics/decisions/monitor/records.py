"""Small files of records: passports and states of monitors, as JSON with their arrays inside."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

from shiftmetrics._core.documents import keep_arrays, load_inside
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.files import write_text
from shiftmetrics._core.record import Record, decode, encode_value

Check: TypeAlias = Callable[[Any, Mapping[str, Any]], None]
"""Raises where a record, or the document that it stood in, is damaged."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FileRecord(Record):
    """A record that is a JSON file by itself.

    Attributes
    ----------
    version : int
        Of the schema. A file of another version is refused: guessing what its numbers mean would end in wrong alarms.
    """

    argument: ClassVar[str]
    """What messages call it."""
    readable: ClassVar[tuple[int, ...]] = ()
    """Versions that are read, where it is more than one."""

    version: int = 1

    @property
    def text(self) -> str:
        """The record as JSON in one line."""
        return canonical(encode_value(self, keep_arrays({}, None))) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record as JSON, all of it or nothing."""
        write_text(path, self.text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save` wrote.

        Raises
        ------
        ValueError
            If the file is no JSON, holds something else, is damaged, or is of another schema version.
        """
        return cls._read(path, None)

    @classmethod
    def _read(cls, path: str | os.PathLike[str], check: Check | None) -> Self:
        """Read a file; ``check`` gets the record and its document, and raises a ValueError where they are damaged."""
        # Each way in which a file may be wrong has a sentence: no JSON, another record or version, damage.
        name = repr(str(path))
        try:
            # A pipe may never end.
            text = Path(path).read_text(encoding="utf-8") if Path(path).is_file() else ""
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ArgumentValueError(cls.argument, "a file of JSON", name) from error
        if not isinstance(content, dict) or content.get("type") != cls.__name__:
            raise ArgumentValueError(cls.argument, f"a file that holds a {cls.argument}", name)
        if content.get("version") not in (cls.readable or (cls.version,)):
            expected = f"of schema version {cls.version}"
            got = f"version {content.get('version')!r} in {name}"
            remedy = "Write it again with this release."
            if _is_newer(content.get("version"), max(cls.readable, default=cls.version)):
                remedy = "Upgrade shiftmetrics to read it."
            raise ArgumentValueError(cls.argument, expected, got, remedy)
        try:
            record = decode(content, load_inside)
            if check is not None:
                check(record, content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            got = f"{name}, which is damaged ({error})"
            raise ArgumentValueError(cls.argument, "a complete file", got) from error
        assert isinstance(record, cls)  # the type was compared above
        return record


def canonical(content: Any) -> str:
    """Return JSON in one line without spaces."""
    return json.dumps(content, separators=(",", ":"))


def _is_newer(version: Any, known: int) -> bool:
    return isinstance(version, int) and version > known
