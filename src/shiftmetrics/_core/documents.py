"""Results as JSON, one or several to a file: their arrays stand in one ``.npz`` file beside it, or inside it.

The JSON says which class each part is of (`record`), who wrote it and by which schema. It names its ``.npz`` file by
a digest, so that arrays of another result are noticed. Results load this module when they are first written or read.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.files import WRITTEN_BY, atomic_path, is_ours, is_stream, write_text
from shiftmetrics._core.lazy import BROKEN
from shiftmetrics._core.options import check_memory, check_memory_limit
from shiftmetrics._core.record import KeepArray, decode, encode_value
from shiftmetrics._core.staging import rename

SCHEMA_VERSION = 2
_DIGEST = re.compile("[0-9a-f]{64}")


def write_result(result: Any, path: str | os.PathLike[str] | None) -> str:
    """Return a result as JSON, or write it; see `Result.to_json`."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    return write_document(_document_of(result, keep_arrays(arrays, path), ""), arrays, path)


def write_results(results: Mapping[str, Any], path: str | os.PathLike[str] | None = None) -> str:
    """Return named results as one JSON text, or write them.

    Parameters
    ----------
    results : mapping of str to Result
        Names and results, kept in their order.
    path : path, optional
        The JSON file. Arrays go to an ``.npz`` file of the same name beside it; without a path, and where the path is
        a pipe or a device, they stand inside the JSON.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the folder of ``path`` does not exist.

    See Also
    --------
    read_results : The way back.

    Examples
    --------
    >>> write_results({}, "nowhere/results.json")
    Traceback (most recent call last):
    ...
    ValueError: The output folder must exist, got 'nowhere'. Create it first, or choose another path.
    """
    arrays: dict[str, npt.NDArray[Any]] = {}
    keep_array = keep_arrays(arrays, path)
    entries = []
    for position, (name, result) in enumerate(results.items()):
        entries.append({"name": name, **_document_of(result, keep_array, str(position))})
    return write_document({"results": entries}, arrays, path)


def read_result(source: str | os.PathLike[str]) -> Any:
    """Read one result from JSON text or from a file; see `Result.from_json`."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        with _in_words("text"):
            return _result_of(_parsed(source, "text"), None)
    path = Path(source)
    with _in_words(path.name):
        return _result_of(_parsed(path.read_text(encoding="utf-8"), path.name), path)


def read_results(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `write_results` wrote, or the file of a single result, which goes by its title.

    Parameters
    ----------
    path : path
        The JSON file.

    Returns
    -------
    dict of str to Result

    Raises
    ------
    ValueError
        If the file is not JSON of results, or has another schema version.
    """
    path = Path(path)
    with _in_words(path.name):
        document = _parsed(path.read_text(encoding="utf-8"), path.name)
        if not isinstance(document, Mapping) or "results" not in document:
            single = _result_of(document, path)
            return {single.title: single}
        # What a single result says of itself, the file of several says once.
        common = {
            name: document[name] for name in ("schema_version", "arrays_sha256") if name in document
        }
        found = {}
        for entry in document["results"]:
            name = str(entry["name"])
            if name in found:
                got = f"{path.name}, in which {name!r} stands twice"
                raise ArgumentValueError("source", "results with names of their own", got)
            found[name] = _result_of({**common, **entry}, path)
        return found


class NotJsonError(ArgumentValueError):
    """A text that is no JSON, or JSON of numbers and depths that no result has; the message holds its place."""


def _parsed(text: str, place: str) -> Any:
    """Return what JSON holds, in numbers that are finite: our writers write infinity as a string."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        # such as an integer of ten thousand digits
        reason = "with a number that no result has"
        if isinstance(error, json.JSONDecodeError):
            reason = f"not JSON ({error})"
        elif isinstance(error, RecursionError):
            reason = "nested too deeply"
        raise NotJsonError("source", "the JSON of a result", f"{place}, {reason}") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


@contextmanager
def _in_words(place: str) -> Iterator[None]:
    """Say in one sentence, with its place, what damage does to documents, archives and arrays."""
    try:
        yield
    except UnicodeDecodeError as error:
        expected = "the JSON of a result"
        raise ArgumentValueError("source", expected, f"{place}, not JSON (not a text)") from error
    # It is a ValueError too, and names its place already.
    except NotJsonError:
        raise
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
    except (MemoryError, OSError):
        raise
    except Exception as error:
        got = f"{place}, where a part is missing or damaged"
        raise ArgumentValueError("source", "the JSON of a whole result", got) from error


def _result_of(document: Any, path: Path | None) -> Any:
    """Rebuild a result from parsed JSON; ``path`` is where it came from, for the arrays beside it."""
    known = isinstance(document, Mapping) and {"schema_version", "type"} <= document.keys()
    if not known:
        got = "a document without schema_version and type"
        raise ArgumentValueError("source", "the JSON of a result", got)
    version = document["schema_version"]
    if version != SCHEMA_VERSION:
        remedy = "Upgrade shiftmetrics to read it."
        if isinstance(version, int) and version < SCHEMA_VERSION:
            remedy = "It was written by an earlier development version: compute it again."
        expected = f"of schema_version {SCHEMA_VERSION}"
        raise ArgumentValueError("source", expected, value=version, remedy=remedy)
    npz = None if path is None else path.with_suffix(".npz")
    stored = {} if npz is None else _load_arrays(npz, document.get("arrays_sha256"))

    def load_array(stand_in: Mapping[str, Any]) -> npt.NDArray[Any]:
        content = stand_in["array"]
        if isinstance(content, str):
            if content not in stored:
                place = f"The array {content!r}"
                expected = "in the .npz file beside the JSON"
                raise ArgumentValueError(place, expected, npz, "Keep both files together.")
            return stored[content]
        return load_inside(stand_in)

    result = decode(dict(document), load_array)
    # A type that nobody registered stays the dict that it was read as.
    if not hasattr(result, "summary"):
        expected = "the JSON of a known result"
        broken = "; ".join(f"{name} ({why})" for name, why in BROKEN.items())
        remedy = "Install the package whose result it is."
        # The package may be installed and fail to import: to install it would not help.
        if broken:
            remedy = f"A package that adds results cannot be imported: {broken}."
        raise ArgumentValueError("source", expected, f"type {document['type']!r}", remedy)
    result.summary()  # what cannot be said is damaged
    return result


def _document_of(result: Any, keep_array: KeepArray, path: str) -> dict[str, Any]:
    """Return a result as JSON can hold it; ``keep_array(path, array)`` returns what stands for an array."""
    described = {name: getattr(result, name) for name in ("measure", "higher_is_better", "unit")}
    derived = encode_value(result.secondary_metrics, keep_array, path)
    return {**described, **derived, **encode_value(result, keep_array, path)}


def write_document(
    document: dict[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    path: str | os.PathLike[str] | None,
) -> str:
    """Return the text of a JSON document; write it to ``path`` and, beside it, the ``.npz`` file of its arrays.

    Raises
    ------
    ValueError
        If the folder of ``path`` does not exist, ``path`` ends in ``.npz``, or the arrays would replace an ``.npz``
        file that no JSON file names: then nothing is written.
    """
    document = {**WRITTEN_BY, "schema_version": SCHEMA_VERSION, **document}
    if path is None:
        return json.dumps(document, indent=2, allow_nan=False)
    path = Path(path)
    if path.suffix == ".npz":
        remedy = "The arrays go to the .npz file beside it."
        raise ArgumentValueError("path", "a file that ends in .json", repr(str(path)), remedy)
    archive = path.with_suffix(".npz")
    buffer = io.BytesIO()
    if arrays:
        if has_foreign_archive(path):
            expected = (
                f"a file whose arrays do not replace {str(archive)!r}, which no JSON file goes with"
            )
            remedy = "Choose another name, or remove that file."
            raise ArgumentValueError("path", expected, repr(str(path)), remedy)
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
        # The digest tells a reader that both files come from one call.
        digest = hashlib.sha256(buffer.getvalue()).hexdigest()
        document = {**document, "arrays_sha256": digest}
    text = json.dumps(document, indent=2, allow_nan=False)
    if arrays:
        _write_pair(path, text + "\n", archive, buffer.getvalue(), digest)
    else:
        write_without_arrays(path, text + "\n")
    return text


def write_without_arrays(path: str | os.PathLike[str], text: str) -> None:
    """Write a JSON file that has no arrays; those of a result that it replaces are removed."""
    outdated = _names_arrays(Path(path))
    write_text(path, text)
    if outdated:
        rename(Path(path).with_suffix(".npz"), None)


def _write_pair(path: Path, text: str, archive: Path, content: bytes, digest: str) -> None:
    """Replace a JSON file and the archive beside it, so that a whole pair is there at any moment.

    The new archive first stands under a name with its digest, where readers of the new JSON look too. Until the JSON
    is replaced the old pair is whole, and from then on the new one.
    """
    waiting = _waiting_archive(archive, digest)
    try:
        with atomic_path(waiting) as temporary:
            temporary.write_bytes(content)
    except OSError as error:  # the name that waits is no name that anybody knows
        raise OSError(error.errno, error.strerror or str(error), str(archive)) from error
    try:
        write_text(path, text)
    except BaseException:
        # Where the disk is full, no archive stays.
        waiting.unlink(missing_ok=True)
        raise
    rename(waiting, Path(os.path.realpath(archive)))


def _waiting_archive(archive: Path, digest: str) -> Path:
    """Return where an archive stands until the JSON that names it has been replaced."""
    # A link stays a link: the file that it points at is replaced.
    place = Path(os.path.realpath(archive))
    return place.with_name(f".{place.stem[:40]}.{digest[:16]}.npz")


def keep_arrays(
    arrays: dict[str, npt.NDArray[Any]], path: str | os.PathLike[str] | None
) -> KeepArray:
    """Return what stands for an array in the JSON: its name, where a file beside ``path`` can hold it, or itself.

    Arrays for that file are added to ``arrays``.
    """
    beside = path is not None and not is_stream(path)

    def keep(name: str, array: npt.NDArray[Any]) -> Any:
        content: Any = name
        if beside:
            arrays[name] = array
        else:
            content = encode_value(array.ravel().tolist(), keep)
        return {"array": content, "dtype": str(array.dtype), "shape": list(array.shape)}

    return keep


def load_inside(stand_in: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return an array that stands inside a JSON document."""
    parts = [decode(part, load_inside) for part in stand_in["array"]]
    return np.asarray(parts, dtype=np.dtype(stand_in["dtype"])).reshape(stand_in["shape"])


def has_foreign_archive(path: Path) -> bool:
    """Return True if the ``.npz`` beside a JSON file is someone else's: it exists, and the JSON names no arrays."""
    return path.with_suffix(".npz").exists() and not _names_arrays(path)


def _names_arrays(path: Path) -> bool:
    """Return True if a JSON file of ours says that its arrays are in the ``.npz`` beside it."""
    return is_ours(path, "json") and b'"arrays_sha256"' in path.read_bytes()


def _load_arrays(npz: Path, digest: str | None) -> dict[str, npt.NDArray[Any]]:
    """Load the arrays beside a JSON file, if there are any; ``digest`` is what the JSON says about them."""
    content = npz.read_bytes() if npz.is_file() else None
    # a digest is a part of a name below
    is_digest = isinstance(digest, str) and _DIGEST.fullmatch(digest) is not None
    if is_digest and hashlib.sha256(content or b"").hexdigest() != digest:
        # The process that wrote the pair may have ended between the two.
        waiting = _waiting_archive(npz, str(digest))
        if waiting.is_file():
            content = waiting.read_bytes()
    if content is None:
        return {}
    if digest is not None and hashlib.sha256(content).hexdigest() != digest:
        expected = "those that were written with the JSON"
        got = "a damaged file or one of another result"
        raise ArgumentValueError(
            f"The arrays in {str(npz)!r}", expected, got, "Write the result again."
        )
    # A small archive may unpack to many gigabytes: it is asked first.
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = sum(part.file_size for part in archive.infolist())
    check_memory(size, check_memory_limit(None), f"The file {str(npz)!r}", "Do not read it.")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except Exception as error:  # NumPy and its archives raise what they come across
        place = f"The arrays in {str(npz)!r}"
        raise ArgumentValueError(
            place, "whole", "damaged ones", "Write the result again."
        ) from error
