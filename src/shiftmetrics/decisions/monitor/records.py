"""Small files of records: passports and states of monitors, as JSON with their arrays inside."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from shiftmetrics._core.documents import keep_arrays, load_inside
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.files import write_text
from shiftmetrics._core.record import Record, decode, encode_value


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

    version: int = 1

    @property
    def text(self) -> str:
        """The record as JSON in one line."""
        return json.dumps(encode_value(self, keep_arrays({}, None)), separators=(",", ":")) + "\n"

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
        # Each way in which a file may be wrong has a sentence: no JSON, another record or version, damage.
        name = repr(str(path))
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise ArgumentValueError(cls.argument, "a file of JSON", name) from error
        if not isinstance(content, dict) or content.get("type") != cls.__name__:
            raise ArgumentValueError(cls.argument, f"a file that holds a {cls.argument}", name)
        if content.get("version") != cls.version:
            expected = f"of schema version {cls.version}"
            got = f"version {content.get('version')!r} in {name}"
            remedy = "Write it again with this release."
            raise ArgumentValueError(cls.argument, expected, got, remedy)
        try:
            record = decode(content, load_inside)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            got = f"{name}, which is damaged ({error})"
            raise ArgumentValueError(cls.argument, "a complete file", got) from error
        assert isinstance(record, cls)  # the type was compared above
        return record
