"""The register: each kind is told by its content, whatever the file is called, and a new kind is one reader more."""

import dataclasses
import re
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables import register
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import Reader, ReadOptions, UnreadableError
from shiftmetrics.tables.register import READERS, add_reader, known_suffixes, read_file
from table_examples import WRITERS, example_frame, needs, write_example

NAMES = [reader.name for reader in WRITERS]


def check_example(cells: Cells) -> None:
    """Assert that the cells are those of the example: its numbers, and its words where the format has words."""
    expected = example_frame()
    if cells.values is not None:
        assert np.allclose(cells.values[:, 1:], expected[["cat", "dog"]])
        return
    assert list(cells.frame.columns) == list(expected.columns)
    assert cells.frame["id"].tolist() == expected["id"].tolist()
    assert cells.frame["answer"].tolist() == expected["answer"].tolist()
    assert np.allclose(cells.frame["dog"].astype(float), expected["dog"])


@pytest.mark.parametrize("reader", WRITERS, ids=NAMES)
def test_each_reader_reads_what_it_writes(reader, tmp_path):
    needs(reader)
    check_example(read_file(write_example(reader, tmp_path), "OLD"))


@pytest.mark.parametrize("reader", WRITERS, ids=NAMES)
@pytest.mark.parametrize("suffix", [".csv", ".dat", ""])
def test_a_file_is_told_by_its_content_and_not_by_its_suffix(reader, suffix, tmp_path):
    needs(reader)
    path = write_example(reader, tmp_path)
    check_example(read_file(path.rename(tmp_path / f"other{suffix}"), "OLD"))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_each_reader_says_what_it_is(reader):
    assert reader.name.split()[0] in ("a", "an")
    assert reader.told_by
    assert all(suffix.startswith(".") for suffix in reader.suffixes)
    assert (reader.read is None) != (reader.unpack is None)
    assert set(reader.suffixes) <= set(known_suffixes())


def test_a_new_kind_is_one_reader_more(tmp_path, monkeypatch):
    def read(content):
        numbers = [float(part) for part in content.read()[5:].split(b"/")]
        return Cells(
            argument=content.argument, name=content.name, table=pd.DataFrame({"p": numbers})
        )

    monkeypatch.setattr("shiftmetrics.tables.register.READERS", list(READERS))
    toy = Reader(
        name="a toy file",
        suffixes=(".toy",),
        told_by="its first letters, TOYS:",
        tells=lambda content: content.head.startswith(b"TOYS:"),
        read=read,
    )
    add_reader(toy)
    path = tmp_path / "a.toy"
    path.write_bytes(b"TOYS:0.5/0.25")
    assert read_file(path, "OLD").frame["p"].tolist() == [0.5, 0.25]
    path.write_bytes(b"TOYS:0.5/x")
    with pytest.raises(UnreadableError, match=r"^OLD must be a toy file, got 'a\.toy'"):
        read_file(path, "OLD")
    assert ".toy" in known_suffixes()
    # A cell of a notebook that runs again replaces it.
    n_readers = len(register.READERS)
    add_reader(dataclasses.replace(toy, suffixes=(".other",)))
    assert len(register.READERS) == n_readers
    assert ".toy" not in known_suffixes()
    assert ".other" in known_suffixes()
    with pytest.raises(
        ValueError, match=f"reader must be with a name of its own.*{re.escape(READERS[0].name)}"
    ):
        add_reader(dataclasses.replace(toy, name=READERS[0].name))
    with pytest.raises(ValueError, match="reader must be able to read or to unpack a file"):
        add_reader(dataclasses.replace(toy, name="another", read=None))


def test_pickled_objects_are_never_opened(tmp_path):
    path = tmp_path / "old.npy"
    np.save(path, np.array([{}, None], dtype=object), allow_pickle=True)
    with pytest.raises(UnreadableError, match="pickled"):
        read_file(path, "OLD")
    np.savez(tmp_path / "old.npz", a=np.array([{}], dtype=object))
    with pytest.raises(UnreadableError, match="pickled"):
        read_file(tmp_path / "old.npz", "OLD")


@pytest.mark.parametrize("suffix", [".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip"])
def test_what_unpacks_to_too_much_is_refused(suffix, tmp_path):
    path = tmp_path / f"old{suffix}"
    pd.DataFrame({"a": np.zeros(400_000)}).to_csv(path, index=False)
    assert path.stat().st_size < 20_000
    with pytest.raises(UnreadableError, match="max-gib"):
        read_file(path, "OLD", ReadOptions(max_gib=0.001))
    assert len(read_file(path, "OLD").frame) == 400_000


def test_missing_and_empty_files_are_named(tmp_path):
    with pytest.raises(UnreadableError, match="which is not there"):
        read_file(tmp_path / "none.csv", "OLD")
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(UnreadableError, match="an empty file"):
        read_file(tmp_path / "empty.csv", "OLD")


def test_the_register_loads_without_pandas_or_pyarrow():
    code = (
        "import sys, shiftmetrics.tables.register;"
        "print([name for name in ('pandas', 'pyarrow', 'sklearn', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_archive_whose_names_are_damaged_is_refused_in_words(tmp_path):
    path = tmp_path / "old.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("é.csv", "a,b\n1,2\n")
    # a byte that no name in UTF-8 has
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xa9"))
    with pytest.raises(
        UnreadableError, match="^OLD must be a zip archive of one file, got .* cannot be read"
    ):
        read_file(path, "OLD")


HALF = [
    '[{"id": 1, "p": "\\ud83d"}, {"id": 2, "p": "b"}]',
    '{"id": 1, "p": "a\\ude00"}\n{"id": 2, "p": "b"}\n',
    '{"columns": ["id", "\\ud83d"], "data": [[1, 2], [3, 4]]}',
    '{"\\udfff": [1, 2]}',
]


@pytest.mark.parametrize("text", HALF)
def test_half_of_a_sign_is_refused(text, tmp_path):
    """JSON can write it, and no file, page or terminal takes it; a whole pair is a sign like others."""
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(UnreadableError, match="OLD must be a .*, got 'a.json'"):
        read_file(path, "OLD")
    path.write_text('[{"id": 1, "p": "\\ud83d\\ude00"}, {"id": 2, "p": "b"}]')
    assert read_file(path, "OLD").frame["p"].tolist() == ["\N{GRINNING FACE}", "b"]


def test_half_of_a_sign_is_found_among_other_cells_and_in_the_last_of_many_rows(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"p": 1}, {"p": null}, {"p": "a"}, {"p": "\\ud83d"}]')
    with pytest.raises(UnreadableError, match="OLD must be a .*, got 'a.json'"):
        read_file(path, "OLD")
    np.save(tmp_path / "a.npy", np.array(["a"] * 20_000 + ["\ud83d"]))
    with pytest.raises(UnreadableError, match="half of one"):
        read_file(tmp_path / "a.npy", "OLD")


def test_half_of_a_sign_in_an_array_or_in_a_part_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array(["a", "\ud83d"]))
    with pytest.raises(UnreadableError, match="half of one"):
        read_file(tmp_path / "a.npy", "OLD")
    (tmp_path / "parts").mkdir()
    for place, cell in enumerate(["b", "\\ud83d"]):
        (tmp_path / "parts" / f"{place}.jsonl").write_text(f'{{"id": {place}, "p": "{cell}"}}\n')
    with pytest.raises(UnreadableError, match="half of one"):
        read_file(tmp_path / "parts", "OLD")
