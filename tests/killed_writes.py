"""Commands that are killed before each of their writes: no file is half-written, and the command can be typed again.

    PYTHONPATH=src:tests python tests/killed_writes.py [check monitor ...]

A process is forked for each kill. It ends, as by ``kill -9``, just before its k-th change of a file: opening one to
write, renaming, removing, cutting, making a folder. Each kill is tried in a folder without results, and in one where
the results of other inputs stand. A line is printed for each command, then its faults.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd

from shiftmetrics._core.documents import read_results
from shiftmetrics.cli import main
from shiftmetrics.examples import evaluate

KILLED = 137
ANSWERS = (0, 1, 3)
"""How a command ends that has an answer."""
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.truncate", "os.chmod", "os.rmdir", "os.link")
COMMANDS = {
    "agreement": "agreement runs.npz:noisy runs.npz:clean --json j.json --report r.html",
    "audit": "audit ref.csv cur.csv --rows rows.csv --json j.json --report r.html",
    "check": "check res.json --rules rules.toml --junit j.xml --json j.json --report r.html",
    "compare": "compare runs.npz:noisy runs.npz:clean --reference runs.npz:clean --json j.json --report r.html",
    "curves": "curves 1=runs.npz:noisy --reference runs.npz:clean --json j.json --report r.html",
    "demo": "demo --output out",
    "diff": "diff old.csv new.csv --id id --changed changed.csv --markdown m.md --json j.json --report r.html",
    "example": "example audit",
    "monitor": "monitor pass.json cur.csv --state s.json --junit j.xml --json j.json --report r.html",
    "novelty": "novelty cur.npy ref.npy --json j.json --report r.html",
    "passport": "passport ref.csv --output p.json",
    "read": "read old.csv --save reading.toml",
    "report": "report res.json --output r.html",
    "run": "run config.toml --output out",
    "stability": "stability distances.npy --distances 0 -r 0.4 --json j.json --report r.html",
}
RULES = '[[rule]]\nname = "x"\nmeasure = "posterior_agreement"\nat_least = 0.0\n'
CONFIG = '[[agreement]]\nname = "a"\nshifted = "runs.npz:noisy"\nreference = "runs.npz:clean"\n'
MAY_GO = {"run": {"out/report.html"}}
"""Files that a command removes before it has new ones: a page of an earlier run would pass for that of this one."""
NEEDS_NEW = {"audit": "rows.csv", "diff": "changed.csv"}
"""Tables to be filled in, which no command replaces: the user moves them away before it is given again."""
MAY_GROW = {"s.history.jsonl"}
"""Files that keep the line of a killed run before those of the next: no state leads to it, so it is not counted."""
MOMENTS = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|[0-9a-f]{16,}")
"""Times, and digests, which may be of files with times: two runs, a second apart, differ in them."""
ENDS = {".html": "</html>", ".md": "\n", ".csv": "\n", ".toml": "\n"}


def write_inputs(folder: Path, seed: int, *, n_rows: int = 100) -> None:
    """Write the inputs of all commands: predictions, samples, tables, a passport, a result and its rules."""
    rng = np.random.default_rng(seed)
    clean = rng.normal(size=(n_rows, 3))
    np.savez(folder / "runs.npz", clean=clean, noisy=clean + 0.5 * rng.normal(size=(n_rows, 3)))
    for name in ("old", "new"):
        odds = np.exp(clean + 0.4 * rng.normal(size=clean.shape))
        table = pd.DataFrame(odds / odds.sum(axis=1, keepdims=True), columns=["cat", "dog", "fox"])
        table.assign(id=range(n_rows)).to_csv(folder / f"{name}.csv", index=False)
    for name, share in (("ref", 0.0), ("cur", 0.3)):
        moved = rng.normal(size=n_rows) + 4.0 * (rng.random(n_rows) < share)
        table = pd.DataFrame({"a": moved, "b": rng.choice(["x", "y"], n_rows)})
        table.to_csv(folder / f"{name}.csv", index=False)
        np.save(folder / f"{name}.npy", np.column_stack([moved, rng.normal(size=n_rows)]))
    np.save(folder / "distances.npy", rng.random(n_rows))
    (folder / "rules.toml").write_text(RULES, encoding="utf-8")
    (folder / "config.toml").write_text(CONFIG, encoding="utf-8")
    for line in (
        "passport ref.csv --output pass.json",
        "agreement runs.npz:noisy runs.npz:clean --json res.json",
    ):
        code, _ = ended(folder, line)
        assert code == 0, line


def ended(
    folder: Path, line: str, kill_before: int | None = None, *, number: int | None = None
) -> tuple[int, int]:
    """Run a command line in a process of its own; return how it ended, and the number of its changes of files.

    With ``number`` it gets that signal before the change, and is not killed.
    """
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        _run(folder, line, kill_before, tell, number)
    os.close(tell)
    with os.fdopen(told) as pipe:  # before the process is waited for: the pipe must not fill up
        marks = pipe.read()
    changes, _, modules = marks.partition(" ")
    for module in modules.split():  # those forked later need not import them again
        with suppress(Exception):
            importlib.import_module(module)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(changes)


def _run(folder: Path, line: str, kill_before: int | None, tell: int, number: int | None) -> None:
    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    sys.argv = ["shiftmetrics", *line.split()]
    # A job in the background of a shell ignores Ctrl-C, and so do its children; here it is to come.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    n_changes = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal n_changes
        if not _changes_a_file(event, arguments, folder):
            return
        n_changes += 1
        if n_changes - 1 == kill_before:
            if number is None:
                os._exit(KILLED)
            os.kill(os.getpid(), number)
        os.write(tell, b".")

    sys.addaudithook(watch)
    code = 99
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        os.write(tell, f" {' '.join(sys.modules)}".encode())
        os._exit(code)


def _changes_a_file(event: str, arguments: tuple[object, ...], folder: Path) -> bool:
    if event == "open":
        _, mode, flags = arguments
        by_mode = isinstance(mode, str) and bool(set(mode) & set("wax+"))
        if not by_mode and not (
            isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        ):
            return False
    elif event not in CHANGES:
        return False
    path = arguments[0]
    return isinstance(path, str | os.PathLike) and Path(path).resolve().is_relative_to(folder)


def visible(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder, without moments and those that a killed process had not put in their places."""
    return {
        str(path.relative_to(folder)): MOMENTS.sub(b"*", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def damaged(folder: Path, names: set[str]) -> Iterator[str]:
    """Yield the files, of those named, that are not whole."""
    for name in sorted(names):
        path = folder / name
        try:
            if path.suffix == ".json":
                if "arrays_sha256" in json.loads(path.read_text(encoding="utf-8")):
                    read_results(path)
            elif path.suffix == ".xml":
                ET.parse(path)
            elif path.suffix in ENDS:
                assert path.read_text(encoding="utf-8").endswith(
                    (ENDS[path.suffix], ENDS[path.suffix] + "\n")
                )
        except Exception as error:
            yield f"{name} is damaged: {error}"


def faults(name: str, base: Path, inputs: tuple[Path, Path]) -> Iterator[str]:
    """Yield what is wrong after a command was killed, before each of its changes; at last their number."""
    line, (other, mine) = COMMANDS[name], inputs
    runs = []
    for _ in range(2):
        place = Path(shutil.copytree(mine, base / "whole"))
        code, n_changes = ended(place, line)
        runs.append(visible(place))
        shutil.rmtree(place)
    whole = runs[0]
    if code not in ANSWERS or not n_changes:
        yield f"{name}: it ends with {code} after {n_changes} changes"
    certain = {file for file in whole if runs[1].get(file) == whole[file]}  # pages hold the time
    for kill_before in range(n_changes):
        for is_first in (True, False):
            where = f"{name}, killed before change {kill_before + 1} of {n_changes}"
            place = Path(shutil.copytree(mine if is_first else other, base / "place"))
            if not is_first:
                ended(place, line)
                if name in NEEDS_NEW:
                    (place / NEEDS_NEW[name]).unlink()
                # another passport needs another state
                kept = {"pass.json"} if name == "monitor" else set()
                for file in mine.iterdir():
                    if file.name not in kept:
                        shutil.copy(file, place)
            before = visible(place)
            if ended(place, line, kill_before)[0] != KILLED:
                yield f"{where}: not killed"
            after = visible(place)
            changed = {file for file in after if after[file] != before.get(file)}
            yield from (
                f"{where}: lost {file}"
                for file in before.keys() - after.keys() - MAY_GO.get(name, set())
            )
            yield from (f"{where}: {fault}" for fault in damaged(place, set(after)))
            if is_first:
                yield from (
                    f"{where}: {file} differs"
                    for file in changed & certain
                    if after[file] != whole[file]
                )
            again = ended(place, line)[0]
            # a monitor counts batches of other inputs too
            allowed = ANSWERS if name == "monitor" and not is_first else (code,)
            if again not in allowed:
                yield f"{where}: typed again it ends with {again}, not {code}"
            yield from (
                f"{where}, typed again: {fault}" for fault in damaged(place, set(visible(place)))
            )
            if is_first:
                end = visible(place)
                yield from (
                    f"{where}, typed again: {file} differs"
                    for file in certain
                    if end[file] != whole[file]
                    and not (file in MAY_GROW and end[file].endswith(whole[file]))
                )
            shutil.rmtree(place)
    print(f"{name}: {2 * n_changes} kills", flush=True)


@contextmanager
def measured_once() -> Iterator[None]:
    """Let the demonstration find what it has found already: what is killed is how it writes."""
    found = evaluate.evaluate_digits(n_images=400, progress=False)
    with mock.patch.object(evaluate, "evaluate_digits", return_value=found):
        yield


def main_of(names: list[str]) -> int:
    """Kill the commands; return the number of faults."""
    n_faults = 0
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder).resolve()
        inputs = base / "other", base / "mine"
        for seed, place in enumerate(inputs):
            place.mkdir()
            write_inputs(place, seed)
        for name in names or list(COMMANDS):
            with measured_once() if name == "demo" else nullcontext():
                for fault in faults(name, base, inputs):
                    n_faults += 1
                    print(fault, flush=True)
    return n_faults


if __name__ == "__main__":
    sys.exit(1 if main_of(sys.argv[1:]) else 0)
