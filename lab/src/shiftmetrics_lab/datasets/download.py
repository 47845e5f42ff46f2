"""Downloads that resume, are checked, and appear under their name only when they are complete."""

from __future__ import annotations

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.files import write_text
from shiftmetrics._core.validation import check_integer

_CHUNK = 1 << 20
_HEX_DIGITS = {"md5": 32, "sha256": 64}


def download(
    url: str,
    target: str | os.PathLike[str],
    *,
    checksum: str | None,
    progress: bool = True,
    attempts: int = 3,
    timeout: float = 60.0,
) -> Path:
    """Download a file, resuming where an earlier attempt stopped, and check it before it gets its name.

    While under way the file is called ``<target>.part``. A file that already stands at ``target`` is checked and
    not downloaded again.

    Parameters
    ----------
    url : str
        An http or https address.
    target : path
        Where the file goes. Its folder is created.
    checksum : str or None
        ``"sha256:..."`` or ``"md5:..."``. With None, for publishers who give no checksum, the SHA-256 of the first
        download is kept beside the file as ``<target>.sha256`` and holds from then on.
    progress : bool, default True
        Whether to show a progress bar.
    attempts : int, default 3
        How often to try, resuming each time.
    timeout : float, default 60.0
        Seconds without an answer before an attempt fails.

    Returns
    -------
    pathlib.Path
        ``target``.

    Raises
    ------
    ValueError
        If the address or the checksum is malformed, or the file does not have the checksum (it is deleted then,
        unless it was there before).
    ConnectionError
        If no attempt completes. What has arrived is kept for the next call.
    """
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise ArgumentValueError("url", "an http or https address", value=url)
    check_integer(attempts, "attempts", low=1)
    path = Path(target)
    expected = _expected(path, checksum)
    if path.exists():
        verify(path, expected)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    resumed = part.exists() and part.stat().st_size > 0
    _retry(
        lambda: _continue(url, part, progress=progress, timeout=timeout, name=path.name),
        url,
        attempts,
    )
    try:
        verify(part, expected)
    except ValueError:
        part.unlink()
        if not resumed:
            raise
        # The part may have belonged to another version of the file: once more, from the start.
        _retry(
            lambda: _continue(url, part, progress=progress, timeout=timeout, name=path.name),
            url,
            attempts,
        )
        try:
            verify(part, expected)
        except ValueError:
            part.unlink()
            raise
    if checksum is None:
        write_text(_pin(path), f"sha256:{digest(part, 'sha256')}\n")
    part.replace(path)
    return path


def digest(path: Path, algorithm: str) -> str:
    """Return the hexadecimal digest of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(
            stream, lambda: hashlib.new(algorithm, usedforsecurity=False)
        ).hexdigest()


def verify(path: Path, checksum: str | None) -> None:
    """Raise a ValueError unless the file has the checksum; None always passes."""
    if checksum is None:
        return
    algorithm, _, wanted = checksum.partition(":")
    found = digest(path, algorithm)
    if found != wanted.lower():
        raise ValueError(
            f"The file {str(path)!r} must have {algorithm} {wanted}, got {found}: it is damaged or another version. "
            "Delete it and download it again, or get it from its publisher."
        )


def _expected(path: Path, checksum: str | None) -> str | None:
    """Return the checksum to hold the file to: the one given, or the one kept from the first download."""
    if checksum is None:
        pin = _pin(path)
        if not pin.is_file():
            return None
        checksum = pin.read_text(encoding="utf-8").strip()
    algorithm, _, wanted = checksum.partition(":")
    if len(wanted) != _HEX_DIGITS.get(algorithm) or set(wanted.lower()) - set("0123456789abcdef"):
        raise ArgumentValueError(
            "checksum", "'sha256:' or 'md5:' and hexadecimal digits", value=checksum
        )
    return checksum


def _pin(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _retry(attempt: Callable[[], None], url: str, attempts: int) -> None:
    for number in range(attempts):
        try:
            attempt()
            return
        except urllib.error.HTTPError as error:
            if error.code < 500 or number == attempts - 1:
                raise ConnectionError(
                    f"The server answered {error.code} ({error.reason}) for {url}."
                ) from error
        except (OSError, http.client.HTTPException) as error:
            if number == attempts - 1:
                raise ConnectionError(
                    f"The download of {url} failed after {attempts} attempt(s): {error}. "
                    "Call again to resume it, or download the file by hand and give its path."
                ) from error
        time.sleep(min(2.0**number, 10.0) / 4.0)


def _continue(url: str, part: Path, *, progress: bool, timeout: float, name: str) -> None:
    """Append what is missing of ``url`` to ``part``."""
    start = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "shiftmetrics"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if (
            error.code == 416 and start
        ):  # nothing is missing, or the part is of another file: the checksum tells
            return
        raise
    with response:
        continues = response.status == 206 and str(
            response.headers.get("Content-Range", "")
        ).startswith(f"bytes {start}-")
        if not continues:
            start = 0
        length = response.headers.get("Content-Length")
        total = None if length is None else start + int(length)
        with (
            part.open("ab" if continues else "wb") as out,
            _bar(name, start, total, progress) as bar,
        ):
            while chunk := response.read(_CHUNK):
                out.write(chunk)
                bar.update(len(chunk))
    size = part.stat().st_size
    if total is not None and size != total:
        raise ConnectionError(f"the connection ended after {size} of {total} bytes")


def _bar(name: str, start: int, total: int | None, progress: bool) -> Any:
    from tqdm.auto import tqdm

    return tqdm(
        desc=name,
        initial=start,
        total=total,
        unit="B",
        unit_scale=True,
        disable=not progress or None,
        leave=False,
    )
