"""Files of every kind with damaged bytes: each is read, or refused in one line that names it.

``python tests/cli/test_mutations.py --seconds 600`` mutates for ten minutes and prints what was unforeseen.
"""

import argparse
import contextlib
import json
import math
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from shiftmetrics import Result, posterior_agreement
from shiftmetrics._core.documents import read_results, write_results
from shiftmetrics.adapters.images import image_files
from shiftmetrics.cli.commands.config import read_config
from shiftmetrics.cli.errors import message_of
from shiftmetrics.cli.inputs.feature_samples import (
    FeatureOptions,
    array_of_sample,
    read_feature_samples,
)
from shiftmetrics.cli.inputs.results import read_result_files
from shiftmetrics.cli.inputs.row_values import values_of_rows
from shiftmetrics.cli.inputs.score_files import read_score_files
from shiftmetrics.cli.options import OPENING, ColumnOptions, Opening
from shiftmetrics.rules import read_rules

TOKENS = [
    b"", b"\x00", b"\xff", b'"', b"'", b"\n", b"\r\n", b",", b";;", b"|", b"1e999", b"-", b"nan", b"1,5", b"5%",
    b"2024-01-01", b"9" * 310, b"{", b"[", b"]}", b"null", b"-1", b"(", b"shape", b"\\u0000", b"\xef\xbb\xbf",
]  # fmt: skip


def originals(folder: Path) -> dict[Path, Callable[[Path], Any]]:
    """Write one small file of each kind, and return what reads it."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 3))
    frame = pd.DataFrame(values, columns=["a", "b", "c"])

    def sample(path: Path) -> list[Any]:
        typed = [(str(path), "SHIFTED"), (str(path), "REFERENCE")]
        features = read_feature_samples(str(path), str(path), FeatureOptions())
        return [*read_score_files(typed, ColumnOptions()).scores, *map(array_of_sample, features)]

    frame.to_csv(folder / "s.csv", index=False)
    frame.to_csv(folder / "s.csv.gz", index=False)
    frame.assign(word=list("abcdefghijkl")).to_csv(folder / "words.csv", index=False, sep=";")
    np.save(folder / "s.npy", values)
    np.savez(folder / "s.npz", values)
    np.savez_compressed(folder / "two.npz", x=values, y=np.arange(12))
    readers: dict[str, Callable[[Path], Any]] = dict.fromkeys(
        ["s.csv", "s.csv.gz", "words.csv", "s.npy", "s.npz", "two.npz"], sample
    )
    with contextlib.suppress(ImportError):
        frame.assign(lists=[[1, 2]] * 12).to_parquet(folder / "s.parquet")
        readers["s.parquet"] = sample
    np.save(folder / "v.npy", np.arange(12))
    readers["v.npy"] = lambda path: values_of_rows(str(path), "--label")
    result = posterior_agreement(values + 1.0, values, resampling=0.9)
    result.to_json(folder / "one.json")
    write_results({"a": result, "b": result}, folder / "many.json")
    readers["one.json"] = lambda path: (Result.from_json(path), read_result_files([path]))
    readers["many.json"] = lambda path: (read_results(path), read_result_files([path]))
    readers["one.npz"] = lambda path: read_results(path.with_suffix(".json"))
    (folder / "rules.toml").write_text(
        '[[rule]]\nname = "r"\nat_least = 0.5\nfield = "parts.a.value"\n'
    )
    readers["rules.toml"] = read_rules
    (folder / "config.toml").write_text(
        'seed = 1\ntrust = false\n[[agreement]]\nname = "n"\nshifted = "s.csv"\nreference = ["s.csv"]\nbeta = 2.0\n'
    )
    readers["config.toml"] = read_config

    def trusted(path: Path) -> None:
        token = OPENING.set(Opening(trust=True))
        try:
            sample(path)
        finally:
            OPENING.reset(token)

    joblib.dump(values, folder / "s.joblib")
    joblib.dump(frame, folder / "table.joblib", compress=3)
    readers |= dict.fromkeys(["s.joblib", "table.joblib"], trusted)
    pixels = rng.integers(0, 255, size=(12, 9, 3)).astype(np.uint8)
    for suffix in ("png", "jpg", "gif", "bmp", "tiff", "webp"):
        (folder / suffix).mkdir()
        for name in ("first", "second"):
            Image.fromarray(pixels).save(folder / suffix / f"{name}.{suffix}")
        readers[f"{suffix}/first.{suffix}"] = lambda path: image_files(path.parent).read(size=8)
    return {folder / name: read for name, read in readers.items()}


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Return the bytes with one to four changes."""
    found = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        start = min(
            int(len(found) * rng.random() ** 2), max(len(found) - 1, 0)
        )  # more often in headers
        stop = start + rng.choice([0, 1, 1, 2, 8, 64])
        kind = rng.randrange(6)
        if kind == 0:
            found[start:stop] = rng.randbytes(stop - start)
        elif kind == 1:
            found[start:stop] = rng.choice(TOKENS)
        elif kind == 2:
            found[start:stop] = found[start:stop] * rng.randint(2, 40)
        elif kind == 3:
            del found[start:stop]
        elif kind == 4 and found:
            found[start] ^= 1 << rng.randrange(8)
        else:
            del found[start if rng.random() < 0.3 else len(found) :]
    return bytes(found)


def unforeseen(folder: Path, seed: int, rounds: int, seconds: float = math.inf) -> Iterator[str]:
    """Read mutated files in turn, and yield what went wrong otherwise than it should."""
    rng = random.Random(seed)
    files = {path: (path.read_bytes(), read) for path, read in originals(folder).items()}
    started, counts = time.monotonic(), Counter[str]()
    for _ in range(rounds):
        if time.monotonic() - started > seconds:
            break
        for path, (content, read) in files.items():
            path.write_bytes(damaged := mutated(content, rng))
            counts[path.name] += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    read(path)
            except Exception as error:
                message = message_of(error)
                is_full = (
                    "Out of memory" in message and path.suffix != ".joblib"
                )  # a pickle may ask for any amount
                is_foreseen = "unforeseen" not in message and not is_full
                # or the argument
                is_named = any(word in message for word in (path.stem, "SHIFTED", "TEST"))
                if not (is_foreseen and is_named):
                    yield f"{path.name}: {message} {damaged[:300]!r}"
            finally:
                path.write_bytes(content)
    print(json.dumps(counts), file=sys.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_damaged_files_are_refused_in_words(seed: int) -> None:
    """In a process of its own: a damaged pickle may ask for all memory, which ends tests beside it."""
    command = [sys.executable, __file__, "--seed", str(seed), "--rounds", "60"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_originals_are_read(tmp_path: Path) -> None:
    for path, read in originals(tmp_path).items():
        if (
            path.suffix not in (".parquet", ".npz") and path.name != "words.csv"
        ):  # lists, two arrays, words
            found = read(path)
            if read.__name__ == "sample":
                assert [numbers.shape for numbers in found] == [(12, 3)] * 4, path
            elif path.suffix == ".json":
                assert found, path


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--rounds", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    with tempfile.TemporaryDirectory() as place:
        kinds = Counter(
            line.partition("{")[0][:300]
            for line in unforeseen(Path(place), options.seed, options.rounds, options.seconds)
        )
    for line, count in kinds.most_common(50):
        print(count, line)
    sys.exit(bool(kinds))
