"""Files of records: whole or refused."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from batches import table
from shiftmetrics.decisions.monitor.passport import Passport
from shiftmetrics.decisions.monitor.profile import make_passport
from shiftmetrics.decisions.monitor.records import FileRecord


@pytest.mark.parametrize(
    "text", ["", "[1]", "{}", '{"type": "Alarm"}', '{"type": "Passport", "version": 1}', "\x00"]
)
def test_files_that_are_no_passports_are_refused(text, tmp_path):
    path = tmp_path / "passport.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="passport"):
        Passport.load(path)


def test_a_passport_of_another_version_is_refused(rng, tmp_path):
    path = tmp_path / "passport.json"
    make_passport(table(rng, 100)).save(path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "version": 99}))
    with pytest.raises(ValueError, match="99"):
        Passport.load(path)


@dataclass(frozen=True, eq=False, kw_only=True)
class Note(FileRecord):
    argument: ClassVar[str] = "note"

    words: tuple[str, ...]
    numbers: np.ndarray


def test_a_record_comes_back_from_one_line_of_text(tmp_path):
    note = Note(words=("a", "b"), numbers=np.array([0.1, -np.inf]))
    path = tmp_path / "note.json"
    note.save(path)
    assert path.read_text() == note.text
    assert note.text.count("\n") == 1
    assert Note.load(path).equals(note)


def test_a_damaged_record_is_refused(tmp_path):
    path = tmp_path / "note.json"
    content = json.loads(Note(words=(), numbers=np.zeros(2)).text)
    del content["words"]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="note"):
        Note.load(path)
