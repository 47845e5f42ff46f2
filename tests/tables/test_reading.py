"""A reading as a sentence and as a file."""

from __future__ import annotations

import pytest

from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.reading import FileReading, TableReading, as_sentence, load_reading


def _reading():
    file = FileReading(
        name="old.csv",
        form="classes",
        id=("image_id",),
        classes={"p_cat": "cat", 'p_"dog"\\\t': "dog"},
        answer="pred",
        left_out=("latency_ms",),
    )
    other = FileReading(
        name="new.csv", form="probability", answer="p", between=("no", "yes"), truth="y"
    )
    return TableReading(files=(file, other), notes=("two rows are left out",))


def test_sentence():
    text = _reading().files[0].sentence()
    assert text.startswith("Read old.csv: id image_id, classes cat (p_cat)")
    assert text.endswith("answer pred; left out latency_ms.")
    assert "Two rows are left out." in _reading().sentence()


def test_names_keep_their_letters():
    assert as_sentence("n.csv is right in 40% of the rows") == "n.csv is right in 40% of the rows."
    assert as_sentence("two rows are left out") == "Two rows are left out."


def test_equal_readings_are_said_once():
    file = FileReading(name="old.csv", form="answers", answer="pred")
    both = TableReading(files=(file, FileReading(name="new.csv", form="answers", answer="pred")))
    assert both.sentence() == "Read old.csv and new.csv: rows by their place, answer pred."
    # A file stands twice where two models were asked about its rows.
    assert TableReading(files=(*both.files, file)).sentence() == both.sentence()
    assert not both.doubtful
    assert TableReading(files=(file,), warnings=("worse than chance",)).doubtful


def test_a_saved_reading_comes_back(tmp_path):
    path = tmp_path / "reading.toml"
    reading = _reading()
    reading.save(path)
    found = load_reading(path)
    assert found.to_toml() == reading.to_toml()
    assert dict(found.files[0].classes) == dict(reading.files[0].classes)
    assert found.files[1].between == ("no", "yes")


@pytest.mark.parametrize(
    "text",
    ["", "schema = 1", "schema = 9\n[[file]]\nform = 'answers'", "[[file", "schema = 1\n[[file]]\nid = []",
     "schema = 1\n[[file]]\nform = 'answers'\nwhat = 3", "schema = 1\n[[file]]\nform = 'answers'\nid = 'a'",
     "schema = 1\n[[file]]\nform = 'answers'\nclasses = 3", "schema = 1\nfile = [1]"],
)  # fmt: skip
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "reading.toml"
    path.write_text(text)
    with pytest.raises(UnreadableTableError, match=r"reading\.toml"):
        load_reading(path)
