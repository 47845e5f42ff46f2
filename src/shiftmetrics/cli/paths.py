"""The one door of all paths: what a command reads and what it will write, before it starts.

An option of type Path whose help says FILE is written; every other string may name a file that is read. Two names of
one file, through links, relative names or files beside it, are an error.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shiftmetrics.cli.forms import Option
from shiftmetrics.cli.inputs.sources import parquet_files
from shiftmetrics.cli.outputs import check_outputs, is_stdout

DefaultPaths = Mapping[str, Callable[[Mapping[str, Any]], Path | None]]
"""Where the file of an option goes that was not typed, from all values."""


def is_written(option: Option) -> bool:
    """Return True if an option names a file that the command writes."""
    return option.kind is Path and (option.metavar or "").startswith("FILE")


def name_of(option: Option) -> str:
    """Return what messages call an option or an argument."""
    return (option.metavar or option.name.upper()) if option.is_argument else option.flag


def check_paths(
    options: Iterable[Option], values: Mapping[str, Any], defaults: DefaultPaths
) -> None:
    """Refuse to start a command of which two files are one.

    Parameters
    ----------
    options : iterable of Option
        All arguments and options of the command.
    values : mapping of str to object
        What was typed, by the names of parameters.
    defaults : mapping of str to callable
        Files of options that were not typed.

    Raises
    ------
    ValueError
        The first two that are one file, or a named pipe, which may never end.
    """
    taken: dict[object, str] = {}
    written: dict[str, Path] = {}
    for option in options:
        value = values.get(option.name)
        name = name_of(option)
        if is_written(option):
            if value is None and option.name in defaults:
                value = defaults[option.name](values)
            if value is not None:
                written[name] = Path(value)
            continue
        if option.is_argument and (
            value == "" or (isinstance(value, list | tuple) and "" in value)
        ):
            raise ValueError(
                f"{name} must be a file, got an empty text. Is a variable of the shell empty?"
            )
        for path in _paths_in(value):
            _check_no_pipe(path, name)
            # texts that are no paths may be longer than a name can be
            if stat.S_ISREG(_mode(path)):
                taken.setdefault(_identity(path), name)
    outputs: dict[object, str] = {}
    for name, path in written.items():
        _check_no_pipe(path, name)
        if is_stdout(path) or _is_device(path):
            continue
        if stat.S_ISDIR(_mode(path)):
            raise ValueError(f"{name} must be a file, got the folder {str(path)!r}.")
        if path.is_symlink() and _leads_to_itself(path):
            raise ValueError(
                f"{name} must be a file, got the link {str(path)!r}, which leads to itself."
            )
        for target in (path, *_beside(name, path)):
            same = _identity(target)
            if same in taken:
                raise ValueError(
                    f"{name} {path} would overwrite {taken[same]}, {target.name}. Choose another name."
                )
            if outputs.setdefault(same, name) != name:
                raise ValueError(
                    f"{outputs[same]} and {name} must be two files, got {str(target)!r} twice."
                )
        if not os.access(path.parent, os.W_OK):
            raise ValueError(
                f"{name} must be in a folder that exists and can be written, got {str(path)!r}."
            )
    check_outputs({"--junit": written.get("--junit")}, ())


def _paths_in(value: Any) -> Iterator[Path]:
    """Return what a typed value may name: itself, an archive before a colon, a path behind a name, a pattern."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _paths_in(part)
    elif isinstance(value, Path):
        yield value
    elif isinstance(value, str) and value and "\0" not in value:
        texts = {value, value.partition("=")[2]}
        texts |= {text.rpartition(":")[0] for text in texts}
        for text in texts - {""}:
            path = Path(text)
            yield path
            # the arrays of a result
            if path.suffix == ".json":
                yield path.with_suffix(".npz")
            yield from parquet_files(text)


def _beside(name: str, path: Path) -> list[Path]:
    """Return the files that a command writes beside that of an option."""
    if name == "--json":
        return [path.with_suffix(".npz")]
    if name == "--state":
        from shiftmetrics.decisions.monitor.state_file import StateFile

        file = StateFile(path)
        return [file.history, file.lock]
    return []


def _identity(path: Path) -> object:
    """Return what two names of one file share, whether it exists or not."""
    try:
        found = path.stat()
    except OSError:
        return os.path.normcase(os.path.realpath(path))
    # Hard links, and other spellings of a path, are one file.
    return found.st_dev, found.st_ino


def _leads_to_itself(path: Path) -> bool:
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # not there, or no name of a file at all
        return 0


def _is_device(path: Path) -> bool:
    mode = _mode(path)
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _check_no_pipe(path: Path, name: str) -> None:
    """Refuse a named pipe, at which the command would wait for ever; those of the shell have another end."""
    if stat.S_ISFIFO(_mode(path)) and not str(path).startswith(("/dev/", "/proc/")):
        raise ValueError(f"{name} must be a file, got the named pipe {str(path)!r}.")
