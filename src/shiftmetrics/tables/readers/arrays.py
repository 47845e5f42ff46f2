"""Arrays of NumPy: npy and npz."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import Content, Reader
from shiftmetrics.tables.readers.named_arrays import table_of_arrays
from shiftmetrics.tables.readers.packed import is_zip, zip_members

if TYPE_CHECKING:
    import pandas as pd

PICKLED = "pickled Python objects, which can run code when they are opened"
PLAIN = "Save plain numbers or strings instead, for instance numpy.save(path, array.astype(float))."


def _read_npy(content: Content) -> Cells:
    with content.open() as file:
        _check_header(content, file)
    # a memory map: blocks of rows are read as they are needed
    source: Any = content.path if content.path is not None else content.open()
    mode: Any = "r" if content.path is not None else None
    return _cells(content, np.load(source, mmap_mode=mode, allow_pickle=False))


def _read_npz(content: Content) -> Cells:
    members = {member.filename.removesuffix(".npy"): member for member in zip_members(content)}
    if content.options.key is None and len(members) > 1:
        content.check_size(sum(member.file_size for member in members.values()))
        found = {key: _read_member(content, member) for key, member in members.items()}
        table = table_of_arrays(found)
        if table is not None:
            frame, notes = table
            return Cells(argument=content.argument, name=content.name, table=frame, notes=notes)
    key = _choose_key(content, list(members))
    content.check_size(members[key].file_size)
    return _cells(content, _read_member(content, members[key]))


def _read_member(content: Content, member: zipfile.ZipInfo) -> Any:
    with content.open() as file, zipfile.ZipFile(file) as archive:
        # The header is looked at first: nothing is unpickled, and no member is unpacked that is too large.
        with archive.open(member) as stored:
            _check_header(content, stored)
        with archive.open(member) as stored:
            return np.lib.format.read_array(stored, allow_pickle=False)


def _check_header(content: Content, file: Any) -> None:
    """Refuse what would have to be unpickled, and arrays that are larger than a file may be."""
    version = np.lib.format.read_magic(file)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise content.refusal("an array of numbers or strings", PICKLED, PLAIN)
    content.check_size(float(np.prod(np.array(shape, dtype=float))) * dtype.itemsize)


def _cells(content: Content, values: Any) -> Cells:
    if np.ndim(values) == 0:
        raise content.refusal("an array with rows", "a single value")
    if not len(values):
        raise content.refusal("an array with rows", "which has none")
    if values.dtype.kind in "VSmM" and not values.dtype.names:
        if values.dtype.kind == "S":
            values = np.char.decode(values, "utf-8")
        elif values.dtype.kind == "V":
            raise content.refusal("an array of numbers or strings", "raw bytes", PLAIN)
    return Cells(
        argument=content.argument, name=content.name, values=np.asanyarray(values), header="none"
    )


def _choose_key(content: Content, names: list[str]) -> str:
    key = content.options.key
    if not names:
        raise content.refusal("a file with an array", "which holds none")
    if key in names:
        return str(key)
    if key is None and len(names) == 1:
        return names[0]
    asked = "" if key is None else f" and no {key!r}"
    raise content.refusal(
        "a file with one array",
        f"which holds {first_few(names, 8)}{asked}",
        f"Write {content.name}:{names[0]}.",
    )


def _is_npz(content: Content) -> bool:
    if not is_zip(content):
        return False
    try:
        members = zip_members(content)
    except Exception:
        return False
    return bool(members) and all(member.filename.endswith(".npy") for member in members)


def _write_npz(frame: pd.DataFrame, path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, scores=frame.select_dtypes("number").to_numpy())


def _write_npy(frame: pd.DataFrame, path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, frame.select_dtypes("number").to_numpy())


READERS = (
    Reader(
        name="an npy file",
        suffixes=(".npy",),
        told_by="its first six bytes, \\x93NUMPY",
        tells=lambda content: content.head.startswith(b"\x93NUMPY"),
        read=_read_npy,
        write=_write_npy,
    ),
    Reader(
        name="an npz file",
        suffixes=(".npz",),
        told_by="a zip archive of npy files",
        tells=_is_npz,
        read=_read_npz,
        write=_write_npz,
    ),
)
