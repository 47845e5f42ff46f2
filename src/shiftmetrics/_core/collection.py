"""Several results in one JSON file, each under its name, with all their arrays in one ``.npz`` beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from shiftmetrics._core.archives import keep_arrays
from shiftmetrics._core.result import (
    Result,
    document_of,
    result_from_document,
    write_document,
)
from shiftmetrics._core.validation import describe


def write_results(results: Mapping[str, Result], path: str | os.PathLike[str] | None = None) -> str:
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
        entries.append({"name": name, **document_of(result, keep_array, str(position))})
    return write_document({"results": entries}, arrays, path)


def read_results(path: str | os.PathLike[str]) -> dict[str, Result]:
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
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(document, Mapping) or "results" not in document:
            single = result_from_document(document, path)
            return {single.title: single}
        common = {
            name: document[name] for name in ("schema_version", "arrays_sha256") if name in document
        }
        entries = [{**common, **entry} for entry in document["results"]]
        return {str(entry["name"]): result_from_document(entry, path) for entry in entries}
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        got = f"{str(path)!r} ({error})"
        raise ValueError(describe("path", "a file with the JSON of results", got)) from error
    except (ValueError, OSError):  # in words of their own
        raise
    except Exception as error:  # whatever damage does to documents, archives and arrays
        got = f"{str(path)!r}, where a part is missing or damaged"
        raise ValueError(describe("path", "a file with whole results", got)) from error
