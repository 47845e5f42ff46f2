"""A reading: what the columns of some files were taken for, as a sentence and as a file that a gate keeps."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import UnreadableTableError

SCHEMA = 1

MOST_NAMED = 6
"""Classes and columns that a sentence lists."""


def as_sentence(text: str) -> str:
    """Return words with a capital and a full stop; a name, such as of a file, stays as it is written."""
    first = text.partition(" ")[0]
    start = text[:1].upper() if first.isalpha() else text[:1]
    return f"{start}{text[1:]}."


@dataclass(frozen=True, kw_only=True)
class FileReading:
    """What the columns of one file were taken for.

    Attributes
    ----------
    name : str
        The file, or the argument where it is no file.
    form : str
        "classes", "answers", "probability", "percentage", "margin", "outputs", "sets" for several labels a row, or
        "labels" for a file of labels.
    id : tuple of str
        Columns that name the rows; empty where rows go by their place.
    classes : mapping of str to str
        Columns of scores, and their classes; of several labels a row, these.
    answer, confidence, truth, weight, group : str or None
    between : tuple of str
        The two classes of a single column of numbers, which speaks for the second one.
    left_out : tuple of str
        Columns without a role.
    """

    name: str
    form: str
    id: tuple[str, ...] = ()
    classes: Mapping[str, str] = field(default_factory=dict)
    answer: str | None = None
    confidence: str | None = None
    truth: str | None = None
    weight: str | None = None
    group: str | None = None
    between: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def parts(self) -> list[str]:
        """Return what was taken for what, one phrase each."""
        found = [
            f"id {' and '.join(_shown(name) for name in self.id)}"
            if self.id
            else "rows by their place"
        ]
        if self.classes:
            what = "labels" if self.form == "sets" else "classes"
            found.append(f"{what} {self._classes()}")
        # A single column of numbers is named by what it holds, such as a probability.
        single = self.between or self.form == "outputs"
        words = {
            self.form if single else "answer": self.answer,
            "confidence": self.confidence,
            "truth": self.truth,
            "weight": self.weight,
            "group": self.group,
        }
        found += [f"{role} {_shown(name)}" for role, name in words.items() if name is not None]
        if self.between:
            found.append(f"classes {self.between[0]} and {self.between[1]}, for which it speaks")
        return found

    def _classes(self) -> str:
        """Return the classes, with their columns where these have other names."""
        shown = []
        for column, name in self.classes.items():
            shown.append(name if column == name else f"{name} ({column})")
        return first_few(shown, MOST_NAMED, show=str)

    def sentence(self) -> str:
        """Return the reading as one sentence."""
        text = f"Read {self.name}: {', '.join(self.parts())}"
        if self.left_out:
            text += f"; left out {first_few(self.left_out, MOST_NAMED, show=_shown)}"
        return text + "."


def _shown(name: str) -> str:
    """Return the name of a column; one without a name is the index."""
    return name if name.strip() else "the index"


@dataclass(frozen=True, kw_only=True)
class TableReading:
    """What was taken for what in all files of a comparison.

    Attributes
    ----------
    files : tuple of FileReading
        Those of predictions, then that of labels.
    task : {"classes", "regression"}
    notes : tuple of str
        What the user should know.
    warnings : tuple of str
        What stands above the verdict.
    doubtful : bool
        Whether something speaks against this reading, so that nothing may be called safe.
    """

    files: tuple[FileReading, ...]
    task: str = "classes"
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def doubtful(self) -> bool:
        """Whether something speaks against this reading."""
        return bool(self.warnings)

    def sentence(self) -> str:
        """Return all sentences as one text."""
        return " ".join(self.sentences())

    def sentences(self) -> list[str]:
        """Return one sentence for each way in which files were read, and the notes."""
        by_text: dict[str, list[str]] = {}
        for file in self.files:
            text = file.sentence().removeprefix(f"Read {file.name}: ")
            by_text.setdefault(text, []).append(file.name)
        # One file stands twice where two models were asked about its rows.
        named = {text: " and ".join(dict.fromkeys(names)) for text, names in by_text.items()}
        sentences = [f"Read {names}: {text}" for text, names in named.items()]
        sentences += [as_sentence(note) for note in self.notes]
        return sentences

    def to_toml(self) -> str:
        """Return the reading as TOML, without notes and warnings, which belong to the cells of one day."""
        lines = [f"schema = {SCHEMA}", f"task = {_quoted(self.task)}"]
        for file in self.files:
            lines += ["", "[[file]]", f"form = {_quoted(file.form)}"]
            lines.append(f"id = [{', '.join(map(_quoted, file.id))}]")
            for role in ("answer", "confidence", "truth", "weight", "group"):
                name = getattr(file, role)
                if name is not None:
                    lines.append(f"{role} = {_quoted(name)}")
            if file.between:
                lines.append(f"between = [{', '.join(map(_quoted, file.between))}]")
            if file.left_out:
                lines.append(f"left_out = [{', '.join(map(_quoted, file.left_out))}]")
            if file.classes:
                lines += ["", "[file.classes]"]
                lines += [
                    f"{_quoted(column)} = {_quoted(name)}" for column, name in file.classes.items()
                ]
        return "\n".join(lines) + "\n"

    def save(self, path: Path) -> None:
        """Write the reading to a file."""
        path.write_text(self.to_toml(), encoding="utf-8")


def _quoted(text: str) -> str:
    """Return a string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    controls = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    escaped = "".join(controls.get(letter, letter) for letter in escaped)
    escaped = "".join(
        letter if letter >= " " and letter != "\x7f" else f"\\u{ord(letter):04x}"
        for letter in escaped
    )
    return f'"{escaped}"'


def load_reading(path: Path) -> TableReading:
    """Return the reading that a file holds.

    Raises
    ------
    UnreadableTableError
        If it holds none.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableTableError(
            f"--reading must name a file that `shiftmetrics read FILE --save reading.toml` wrote, but "
            f"{path.name} is no "
            f"TOML: {str(error)[:100]}."
        ) from error
    files = content.get("file")
    if content.get("schema") != SCHEMA or not isinstance(files, list) or not files:
        raise UnreadableTableError(
            f"--reading must name a file that `shiftmetrics read FILE --save reading.toml` wrote, but "
            f"{path.name} has "
            f"no schema = {SCHEMA} and no [[file]]."
        )
    return TableReading(
        files=tuple(_file_of(part, path) for part in files),
        task=str(content.get("task", "classes")),
    )


def _file_of(part: Any, path: Path) -> FileReading:
    """Return one file of a reading."""
    known = {
        "form",
        "id",
        "answer",
        "confidence",
        "truth",
        "weight",
        "group",
        "between",
        "left_out",
        "classes",
    }
    if not isinstance(part, dict) or not isinstance(part.get("form"), str):
        raise UnreadableTableError(
            f"{path.name} must hold a form in each [[file]], got {str(part)[:60]}."
        )
    # A misspelt role that was passed over would leave its column without one, in silence.
    unknown = sorted(set(part) - known)
    wrong = [
        name for name, value in part.items() if name in known and not _has_its_type(name, value)
    ]
    if unknown or wrong:
        raise UnreadableTableError(
            f"{path.name} must hold roles of columns in each [[file]], got {first_few([*unknown, *wrong])}."
        )
    words = {name: part.get(name) for name in ("answer", "confidence", "truth", "weight", "group")}
    return FileReading(
        name=path.name,
        form=part["form"],
        id=tuple(part.get("id", ())),
        classes=dict(part.get("classes", {})),
        between=tuple(part.get("between", ())),
        left_out=tuple(part.get("left_out", ())),
        **words,
    )


def _has_its_type(name: str, value: Any) -> bool:
    """Return True for a list of strings, a table of strings, or a string, as an entry of a file must be."""
    if name in ("id", "between", "left_out"):
        return isinstance(value, list) and all(isinstance(part, str) for part in value)
    if name == "classes":
        return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())
    return isinstance(value, str)
