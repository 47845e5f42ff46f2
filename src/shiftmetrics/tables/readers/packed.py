"""Packed files: gz, bz2, xz, zst, and a zip archive of one file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftmetrics._core.validation import first_few, needs
from shiftmetrics.tables.content import Content, Reader

if TYPE_CHECKING:
    import pandas as pd


def _inner_name(name: str) -> str:
    return str(Path(name).with_suffix("")) if Path(name).suffix else name


def _unpacker(open_packed: Callable[[Any], Any]) -> Callable[[Content], Content]:
    def unpack(content: Content) -> Content:
        with content.open() as file, open_packed(file) as unpacked:
            return content.unpacked(unpacked, content.name)

    return unpack


def _open_zstandard(file: Any) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found]

        return zstd.open(file)
    except ImportError:
        with needs("A file packed by Zstandard", "pyarrow", "'shiftmetrics[parquet]'"):
            import pyarrow as pa
    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


def zip_members(content: Content) -> list[zipfile.ZipInfo]:
    """Return the files of a zip archive; what systems leave beside them is left out."""
    with content.open() as file, zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
    return [
        member
        for member in members
        if not member.filename.startswith("__MACOSX/")
        and member.filename.rpartition("/")[2] != ".DS_Store"
    ]


def is_zip(content: Content) -> bool:
    """Return True if the first bytes are those of a zip archive."""
    return content.head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


_DOCUMENTS = {
    "mimetype": ("a document or sheet of OpenDocument", "Save it as xlsx or csv."),
    "word/document.xml": ("a document of Word", "Save the table as csv."),
    "ppt/presentation.xml": ("slides of PowerPoint", "Save the table as csv."),
    "data.pkl": ("a file of PyTorch, which holds pickled objects", "Save arrays by numpy.save."),
    "xl/workbook.bin": ("a binary workbook, xlsb", "Save it as xlsx or csv."),
    "schema.json": ("a model of skops", "Save its predictions as csv or parquet."),
}


def _unpack_zip(content: Content) -> Content:
    members = zip_members(content)
    names = [member.filename for member in members]
    # Other formats are zip archives too, and none of their parts is a table to choose.
    for ending, (name, remedy) in _DOCUMENTS.items():
        if any(found == ending or found.endswith(f"/{ending}") for found in names):
            raise content.refusal("a table", name, remedy)
    key = content.options.key
    # The key of a single file is for what is inside it, such as the sheet of a workbook.
    chosen = names
    if len(names) > 1:
        # A whole name is that of one member, though others may have it in their folders.
        chosen = [name for name in names if key == name]
        chosen = chosen or [name for name in names if key == Path(name).name]
    if not names:
        raise content.refusal("an archive with one file", "which holds none")
    if len(chosen) != 1:
        raise content.refusal(
            "an archive with one file",
            f"which holds {first_few(names, 4)}",
            f"Name one: {content.name}:{names[0]}.",
        )
    with content.open() as file, zipfile.ZipFile(file) as archive:
        content.check_size(archive.getinfo(chosen[0]).file_size)
        with archive.open(chosen[0]) as member:
            return content.unpacked(member, content.name)


def _csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def _writer(compress: Callable[[bytes], bytes]) -> Callable[[pd.DataFrame, Path], None]:
    def write(frame: pd.DataFrame, path: Path) -> None:
        path.write_bytes(compress(_csv(frame)))

    return write


def _write_zip(frame: pd.DataFrame, path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", _csv(frame))


def _write_zstandard(frame: pd.DataFrame, path: Path) -> None:
    import pyarrow as pa

    path.write_bytes(pa.compress(_csv(frame), codec="zstd", asbytes=True))


def _is(beginning: bytes) -> Callable[[Content], bool]:
    return lambda content: content.head.startswith(beginning)


READERS = (
    Reader(
        name="a gzip file",
        suffixes=(".gz",),
        told_by="its first two bytes",
        tells=_is(b"\x1f\x8b"),
        unpack=_unpacker(lambda file: gzip.GzipFile(fileobj=file)),
        write=_writer(gzip.compress),
    ),
    Reader(
        name="a bzip2 file",
        suffixes=(".bz2",),
        told_by="its first three bytes, BZh",
        tells=_is(b"BZh"),
        unpack=_unpacker(bz2.BZ2File),
        write=_writer(bz2.compress),
    ),
    Reader(
        name="an xz file",
        suffixes=(".xz",),
        told_by="its first six bytes",
        tells=_is(b"\xfd7zXZ\x00"),
        unpack=_unpacker(lzma.LZMAFile),
        write=_writer(lzma.compress),
    ),
    Reader(
        name="a Zstandard file",
        suffixes=(".zst",),
        told_by="its first four bytes",
        tells=_is(b"\x28\xb5\x2f\xfd"),
        unpack=_unpacker(_open_zstandard),
        write=_write_zstandard,
        extra="parquet",
    ),
    Reader(
        name="a zip archive of one file",
        suffixes=(".zip",),
        told_by="its first four bytes, PK",
        tells=is_zip,
        unpack=_unpack_zip,
        write=_write_zip,
    ),
)
