"""Extract archives safely: no file leaves the target folder, and all files are extracted or none."""

from __future__ import annotations

import lzma
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from shiftmetrics._core.exceptions import ArgumentValueError

_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError)


def extract(archive: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Path:
    """Extract a tar (plain, gz, bz2, xz) or zip archive into a new folder.

    The files are written beside ``folder`` under a temporary name, which is renamed when all of them are there.
    Permissions, owners and times in the archive are ignored.

    Parameters
    ----------
    archive : path
        The archive.
    folder : path
        Must not exist yet, or be empty.

    Returns
    -------
    pathlib.Path
        ``folder``.

    Raises
    ------
    ValueError
        If the archive holds a path outside the folder, a link or a device, if it is truncated or damaged, if the
        disk has no room for it, or if ``folder`` is not empty. Nothing is left behind then.

    Examples
    --------
    >>> import tempfile, zipfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with zipfile.ZipFile(folder / "a.zip", "w") as archive:
    ...     archive.writestr("inner/text.txt", "hello")
    >>> (extract(folder / "a.zip", folder / "out") / "inner" / "text.txt").read_text()
    'hello'
    """
    path, target = Path(archive), Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ArgumentValueError(
            "folder", "new or empty", f"{str(target)!r}", "Choose another, or remove it."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        for name, size, content in _members(path):
            if size > shutil.disk_usage(temporary).free:
                raise ValueError(
                    f"The disk of {str(target.parent)!r} has no room for {name!r} ({size} bytes). Free some space."
                )
            place = temporary / _inside(name, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("xb") as out:
                shutil.copyfileobj(content, out, 1 << 20)
            if place.stat().st_size != size:
                raise EOFError(f"{name} ends early")
        if target.exists():
            target.rmdir()
        temporary.chmod(0o755)
        temporary.rename(target)
    except (*_DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a fault of the disk; the decompressors' own complaints carry no number
        raise ValueError(
            f"The archive {str(path)!r} is truncated or damaged ({str(error).splitlines()[0].rstrip(':')}). "
            "Delete it and download it again."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def is_archive(path: Path) -> bool:
    """Tell by its name whether ``path`` is an archive that `extract` opens."""
    return path.name.endswith((".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip"))


def _members(path: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Yield name, size and content of each regular file, refusing whatever is not a file or a folder."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                _inside(member.filename, path)
                kind = stat.S_IFMT(member.external_attr >> 16)
                if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                    _refuse(path, member.filename, "a link or a device")
                if not member.is_dir():
                    with archive.open(member) as content:
                        yield member.filename, member.file_size, content
        return
    with tarfile.open(path, "r:*") as tar:
        for entry in tar:
            _inside(entry.name, path)
            if not (entry.isreg() or entry.isdir()):
                _refuse(path, entry.name, "a link or a device")
            if entry.isreg():
                file = tar.extractfile(entry)
                if file is not None:
                    with file:
                        yield entry.name, entry.size, file
        # A tar file ends with two blocks of zeros, the first of which has just been read: tarfile itself takes
        # a file that was cut at a header for a complete one.
        if tar.fileobj is None or tar.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise EOFError("the end of the archive is missing")
        while tar.fileobj.read(1 << 20):
            pass  # to the very end, where a compressed stream keeps its checksum


def _inside(name: str, archive: Path) -> PurePosixPath:
    """Return the member's path if it stays inside the target folder, on any system."""
    path = PurePosixPath(name)
    if (
        path.is_absolute()
        or ".." in path.parts
        or "\\" in name
        or "\0" in name
        or PureWindowsPath(name).drive
    ):
        _refuse(archive, name, "a path outside the target folder")
    return path


def _refuse(archive: Path, name: str, what: str) -> None:
    raise ValueError(
        f"The archive {str(archive)!r} holds {what} ({name!r}) and was refused. "
        "Do not use it; get the data from its publisher."
    )
