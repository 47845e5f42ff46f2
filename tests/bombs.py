"""Small files that unpack to far more than they are: each is refused in one sentence, in little memory and time.

Outside continuous integration: ``make attack``. The last line counts what broke.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import gzip
import lzma
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shiftmetrics.tables.content import ReadOptions, UnreadableError
from shiftmetrics.tables.register import read_file

MAX_GIB = 0.05
MOST_GIB = 4.0
"""Address space of the process that reads, with its libraries."""
MOST_SECONDS = 60
_ROWS = b"1,2\n" * 2**16
_CELL = b'<row><c t="n"><v>1</v></c><c t="n"><v>2</v></c></row>' * 2**12
_DEEP = 50_000


def fill(file: Any, start: bytes, block: bytes, size: int) -> None:
    """Write blocks until a size is reached."""
    file.write(start)
    written = 0
    while written < size:
        written += file.write(block)


def bombs(folder: Path, size: int) -> Iterator[Path]:
    """Write each bomb of ``size`` bytes once unpacked, and yield where it lies."""
    packers = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    for suffix, pack in packers.items():
        path = folder / f"rows.csv.{suffix}"
        # Packed files stand one behind another.
        path.write_bytes(pack(b"a,b\n") + pack(_ROWS * 16) * (size // (16 * len(_ROWS)) + 1))
        yield path
    path = folder / "rows.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("b.csv", "w", force_zip64=True) as file,
    ):
        fill(file, b"a,b\n", _ROWS, size)
    yield path
    for name, text in nested().items():
        path = folder / name
        path.write_text(text)
        yield path
    path = folder / "array.npy"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 100), }"
    header = header.ljust(117) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(800))
    yield path
    for write in (workbooks, columns):
        with contextlib.suppress(ImportError):
            yield from write(folder, size)


def nested() -> dict[str, str]:
    """Return JSON of many levels: lists, objects, and both in cells of lines."""
    lists = "[" * _DEEP + "]" * _DEEP
    objects = '{"a":' * _DEEP + "1" + "}" * _DEEP
    return {
        "lists.json": lists,
        "objects.json": objects,
        "cell.json": f'[{{"id":1,"a":{objects}}}]',
        "lists.jsonl": f'{{"id":1,"a":{lists}}}\n' * 2,
        "objects.jsonl": f'{{"id":1,"a":{objects}}}\n' * 2,
    }


def workbooks(folder: Path, size: int) -> Iterator[Path]:
    """Write workbooks of many rows, of one cell far away, and of entities of XML inside each other."""
    import openpyxl

    plain = folder / "plain.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active.append([1, 2])
    book.save(plain)
    entities = [f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 10)]
    inside = f'<!DOCTYPE l [<!ENTITY e0 "aaaaaaaaaa">{"".join(entities)}]><worksheet'.encode()
    far = b'<row r="1048576"><c r="XFD1048576" t="n"><v>1</v></c></row></sheetData>'
    changes: dict[str, Callable[[bytes], tuple[bytes, bytes]]] = {
        "rows.xlsx": lambda sheet: (
            sheet.partition(b"</sheetData>")[0],
            b"</sheetData></worksheet>",
        ),
        "far.xlsx": lambda sheet: (sheet.replace(b"</sheetData>", far), b""),
        "entities.xlsx": lambda sheet: (
            sheet.replace(b"<worksheet", inside, 1).replace(b"<v>1</v>", b"<v>&e9;</v>"),
            b"",
        ),
    }
    for name, change in changes.items():
        path = folder / name
        with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for part in old.namelist():
                content = old.read(part)
                end = b""
                if part.endswith("sheet1.xml"):
                    content, end = change(content)
                with new.open(part, "w", force_zip64=True) as file:
                    fill(file, content, _CELL, size if end else 0)
                    file.write(end)
        yield path


def columns(folder: Path, size: int) -> Iterator[Path]:
    """Write parquet of a billion equal numbers in a few kB, and text that Zstandard packs."""
    import pyarrow as pa
    from pyarrow import parquet

    path = folder / "billion.parquet"
    # A group of rows is one dictionary of one word, and one run of its places.
    with parquet.ParquetWriter(path, pa.schema([("a", pa.bool_()), ("b", pa.null())])) as writer:
        for _ in range(10):
            n_rows = 100_000_000
            table = [pa.nulls(n_rows, pa.bool_()), pa.nulls(n_rows)]
            writer.write_table(pa.table(table, names=["a", "b"]), row_group_size=n_rows)
    yield path
    path = folder / "rows.csv.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(b"a,b\n")
        for _ in range(size // len(_ROWS) + 1):
            file.write(_ROWS)
    yield path


def read_one(path: Path) -> int:
    """Read a bomb, and say whether it was refused in our words."""
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        limit = int(MOST_GIB * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        cells = read_file(path, "OLD", ReadOptions(max_gib=MAX_GIB))
    except UnreadableError as error:
        print("refused:", str(error)[:200])
        return 0
    # What is small may be read, such as a workbook with one cell that is far away.
    print("read:", cells.frame.shape)
    return int(cells.frame.memory_usage(deep=True).sum() > 4 * MAX_GIB * 2**30)


def main() -> int:
    """Read each bomb in a process of its own; print what broke, then one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mib", type=int, default=2048, help="size of a bomb once unpacked")
    parser.add_argument("--read", type=Path, help="read one file, in this process")
    given = parser.parse_args()
    if given.read is not None:
        return read_one(given.read)
    n_bombs = 0
    broken = []
    with tempfile.TemporaryDirectory() as name:
        for path in bombs(Path(name), given.mib * 2**20):
            n_bombs += 1
            command = [sys.executable, __file__, "--read", str(path)]
            try:
                ended = subprocess.run(
                    command, capture_output=True, text=True, check=False, timeout=MOST_SECONDS
                )
                said = (ended.stdout + ended.stderr).strip().splitlines()[-1:]
                is_right = ended.returncode == 0
            except subprocess.TimeoutExpired:
                said = [f"not read within {MOST_SECONDS} seconds"]
                is_right = False
            print(f"{path.name} ({path.stat().st_size:,} bytes): {' '.join(said)}", flush=True)
            if not is_right:
                broken.append(path.name)
            path.unlink()
    print(f"{len(broken)} of {n_bombs} bombs broke a reader {' '.join(broken)}".rstrip())
    return int(bool(broken))


if __name__ == "__main__":
    raise SystemExit(main())
