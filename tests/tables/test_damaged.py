"""Damaged files of each registered reader: they are read, or refused in our words, never by an error of a library.

As a script it tries more of them: ``python tests/tables/test_damaged.py --cases 20000``.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from evaluation_logs import (
    inspect_archive,
    inspect_json,
    inspect_log,
    inspect_sample,
    lm_eval_file,
    lm_eval_line,
    promptfoo_json,
    promptfoo_result,
)  # fmt: skip
from shiftmetrics.tables.content import ReadOptions, UnreadableError
from shiftmetrics.tables.register import read_file
from table_examples import WRITERS, is_installed, write_example
from token_examples import TinyModel, generated_line, given_line, token_log
from tool_logs import WRITERS as TOOLS

FORM = re.compile(r"OLD must be .+, got .+\.(\s.+\.)?", re.DOTALL)
FOREIGN = re.compile(
    r"Traceback|Error\b|Exception|0x[0-9a-f]{6}|codec|pyarrow|pandas\.|numpy\.|errno", re.IGNORECASE
)
MOST_SECONDS = 20.0

SUFFIXES = sorted({suffix for reader in WRITERS for suffix in reader.suffixes})


def damage(data: bytes, chance: random.Random) -> bytes:
    """Return the bytes cut, with signs changed, with a stretch repeated, left out or taken from another place."""
    kind = chance.randrange(6)
    at = chance.randrange(len(data) + 1)
    if kind == 0:
        return data[:at]
    changed = bytearray(data)
    if kind == 1:
        for _ in range(chance.choice([1, 1, 2, 5, 20])):
            place = chance.randrange(len(data))
            changed[place] ^= 1 << chance.randrange(8)
        return bytes(changed)
    if kind == 2:
        for _ in range(chance.choice([1, 3, 10])):
            changed[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(changed)
    end = min(len(data), at + chance.randrange(1, 40))
    if kind == 3:
        return data[:at] + data[end:]
    if kind == 4:
        return data[:end] + data[at:]
    other = chance.randrange(len(data))
    return data[:at] + data[other : other + end - at] + data[end:]


def read_damaged(data: bytes, suffix: str, folder: Path) -> str:
    """Read the bytes as a file and return "read" or "refused"; anything else is raised."""
    path = folder / f"damaged{suffix}"
    path.write_bytes(data)
    start = time.process_time()
    try:
        cells = read_file(path, "OLD", ReadOptions(max_gib=0.05))
        assert len(cells.frame) > 0
        assert all(isinstance(name, str) for name in cells.frame.columns)
        assert cells.frame.columns.is_unique
        assert cells.written <= set(cells.frame.columns)
        found = "read"
    except UnreadableError as error:
        message = str(error)
        assert FORM.fullmatch(message), message
        assert not FOREIGN.search(message), message
        found = "refused"
    finally:
        path.unlink()
    assert time.process_time() - start < MOST_SECONDS
    return found


def log_examples(folder: Path) -> dict[str, bytes]:
    """Return one log of each tool whose logs are read, by the suffix of its file."""
    samples = [inspect_sample(f"q{n}", {"match": "CIPN"[n], "score": 0.25 * n}) for n in range(4)]
    results = [promptfoo_result(n, float(n % 2)) for n in range(4)]
    model = TinyModel()
    files = [
        inspect_json(folder / "a.inspect.json", inspect_log(samples)),
        inspect_archive(folder / "a.eval", inspect_log(samples)),
        lm_eval_file(folder / "a.samples.jsonl", [lm_eval_line(n, {"acc": 1.0}) for n in range(4)]),
        promptfoo_json(folder / "a.promptfoo.json", results),
        token_log(folder / "a.given.jsonl", [given_line(model, "a", [3, 1, 4, 1], 4)]),
        token_log(folder / "a.own.jsonl", [generated_line(model, "a", [3, 1, 4], 3, 4)]),
    ]
    lines = folder / "a.promptfoo.jsonl"
    lines.write_text("".join(json.dumps(result) + "\n" for result in results), encoding="utf-8")
    return {path.name[1:]: path.read_bytes() for path in [*files, lines]}


LOGS = (
    ".inspect.json",
    ".eval",
    ".samples.jsonl",
    ".promptfoo.json",
    ".given.jsonl",
    ".own.jsonl",
    ".promptfoo.jsonl",
)


@pytest.mark.parametrize("suffix", LOGS)
def test_damaged_logs_are_read_or_refused_in_our_words(suffix, tmp_path):
    data = log_examples(tmp_path)[suffix]
    chance = random.Random(suffix)
    found = Counter(read_damaged(damage(data, chance), suffix, tmp_path) for _ in range(60))
    assert found.total() == 60
    assert read_damaged(data, suffix, tmp_path) == "read"


@pytest.mark.parametrize("tool", [name for name in TOOLS if name != "lighteval"])
def test_damaged_logs_of_further_tools_are_read_or_refused_in_our_words(tool, tmp_path):
    write, _, suffix = TOOLS[tool]
    data = write([0.0, 1.0, 0.0, 1.0])
    chance = random.Random(tool)
    found = Counter(read_damaged(damage(data, chance), suffix, tmp_path) for _ in range(60))
    assert found.total() == 60
    assert read_damaged(data, suffix, tmp_path) == "read"


def cases_of(data: bytes, reader, n_cases: int, seed: int):
    """Yield damaged bytes and the suffix of the file that holds them: its own, or that of another kind."""
    chance = random.Random(f"{reader.name} {seed}")
    for _ in range(n_cases):
        suffix = reader.suffixes[0]
        if chance.random() < 0.2:
            suffix = chance.choice(SUFFIXES)
        yield damage(data, chance), suffix


@pytest.mark.parametrize("reader", WRITERS, ids=lambda reader: reader.name)
def test_damaged_files_are_read_or_refused_in_our_words(reader, tmp_path):
    if not is_installed(reader):
        pytest.skip("its package is missing")
    data = write_example(reader, tmp_path).read_bytes()
    found = Counter(
        read_damaged(*case, tmp_path) for case in cases_of(data, reader, n_cases=25, seed=0)
    )
    assert found.total() == 25


@pytest.mark.parametrize("reader", WRITERS, ids=lambda reader: reader.name)
def test_each_beginning_of_a_file_is_read_or_refused_in_our_words(reader, tmp_path):
    if not is_installed(reader):
        pytest.skip("its package is missing")
    data = write_example(reader, tmp_path, n_rows=4).read_bytes()
    for length in {0, 1, 2, 4, 8, len(data) // 2, len(data) - 1}:
        read_damaged(data[:length], reader.suffixes[0], tmp_path)


def main() -> None:
    """Try many damaged files and print how many were read and refused."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=2000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    readers = [reader for reader in WRITERS if is_installed(reader)]
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for reader in readers:
            data = write_example(reader, folder).read_bytes()
            found: Counter[str] = Counter()
            for bytes_, suffix in cases_of(
                data, reader, given.cases // len(readers) + 1, given.seed
            ):
                try:
                    found[read_damaged(bytes_, suffix, folder)] += 1
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    failed += 1
                    print(
                        f"  {reader.name}{suffix}: {type(error).__name__}: {str(error)[:300]}",
                        flush=True,
                    )
            print(reader.name, dict(found), flush=True)
        for suffix, data in log_examples(folder).items():
            chance = random.Random(f"{suffix} {given.seed}")
            found = Counter()
            for _ in range(given.cases // len(readers) + 1):
                try:
                    found[read_damaged(damage(data, chance), suffix, folder)] += 1
                except AssertionError as error:
                    failed += 1
                    print(f"  log{suffix}: {str(error)[:300]}", flush=True)
            print(f"log{suffix}", dict(found), flush=True)
    print(f"{failed} foreign messages")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
