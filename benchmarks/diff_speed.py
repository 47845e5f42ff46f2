"""How long `diff` takes, as ratios: to one softmax over both files, and to the reading of a log by the json module.

Each in a process of its own, whose largest memory is set against the size of one file:

    python benchmarks/diff_speed.py [--rows 50000] [--classes 1000] [--samples 100000]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _machine import best_of, header

MEMORY = """
import re, sys
from pathlib import Path
from shiftmetrics.cli import main
import shiftmetrics.agreement, shiftmetrics.decisions.diff.diff, shiftmetrics.tables.register
import pandas, scipy.special, rich.console
# ru_maxrss would be that of the process which started this one, where that is larger
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = peak()
try:
    main()
except SystemExit as ended:
    assert ended.code == 0, ended.code
print(before, peak(), file=sys.stderr)
"""


def softmax_pass(paths: list[Path]) -> None:
    """Compute the softmax of all rows of both files, in blocks that fit a cache."""
    for path in paths:
        values = np.load(path)
        for start in range(0, len(values), 128):
            block = values[start : start + 128].astype(np.float64)
            terms = np.exp(block - block.max(axis=1, keepdims=True))
            terms /= terms.sum(axis=1, keepdims=True)


def write_probabilities(folder: Path, n_rows: int, n_classes: int) -> list[Path]:
    rng = np.random.default_rng(0)
    paths = [folder / "old.npy", folder / "new.npy"]
    shape = (n_rows, n_classes)
    files = [np.lib.format.open_memmap(path, "w+", np.float32, shape) for path in paths]
    for start in range(0, n_rows, 1000):
        rows = slice(start, min(start + 1000, n_rows))
        logits = 2.0 * rng.normal(size=files[0][rows].shape)
        for file in files:
            terms = np.exp(logits)
            file[rows] = terms / terms.sum(axis=1, keepdims=True)
            logits = logits + 0.3 * rng.normal(size=logits.shape)
    for file in files:
        file.flush()
    return paths


def diff_of_probabilities(folder: Path, n_rows: int, n_classes: int) -> None:
    from shiftmetrics.decisions import diff_models
    from shiftmetrics.tables.register import read_file

    paths = write_probabilities(folder, n_rows, n_classes)

    def compare() -> None:
        diff_models(*(read_file(path, path.stem) for path in paths), rng=0)

    rival = best_of(lambda: softmax_pass(paths))
    ours = best_of(compare)
    typed = ["-c", MEMORY, "diff", *map(str, paths), "--quiet"]
    done = subprocess.run([sys.executable, *typed], capture_output=True, text=True, check=True)
    before, after = map(int, done.stderr.split()[-2:])
    size = paths[0].stat().st_size
    print(
        f"diff of {n_rows:,} x {n_classes:,} probabilities: {ours / rival:.1f} softmax passes over both"
    )
    print(f"  more memory than without files: {1024 * (after - before) / size:.2f} times one file")


def diff_of_logs(folder: Path, n_samples: int) -> None:
    from shiftmetrics.decisions import diff_scores
    from shiftmetrics.tables.register import read_file

    path = folder / "samples_task.jsonl"
    text = "The length of a question with its answers. " * 40
    with path.open("w", encoding="utf-8") as file:
        for number in range(n_samples):
            record = {
                "doc_id": number,
                "doc": {"id": f"q{number}", "question": text},
                "target": "7",
                "arguments": {"gen_args_0": {"arg_0": text, "arg_1": {"temperature": 0.0}}},
                "resps": [[text]],
                "filtered_resps": ["7"],
                "filter": "none",
                "metrics": ["exact_match"],
                "doc_hash": f"hash {number}",
                "prompt_hash": f"prompt {number}",
                "target_hash": "t",
                "exact_match": float(number % 3 > 0),
            }
            file.write(json.dumps(record) + "\n")

    def load() -> None:
        with path.open("rb") as file:
            for line in file:
                json.loads(line)

    rival = best_of(load)
    ours = best_of(lambda: read_file(path, "OLD"))
    log = read_file(path, "OLD")
    compared = best_of(lambda: diff_scores(log, log))
    print(f"a log of {n_samples:,} samples: {ours / rival:.1f} times json.loads of its lines")
    print(f"  compared with itself: {compared / rival:.1f} times")


def run() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=1_000)
    parser.add_argument("--samples", type=int, default=100_000)
    typed = parser.parse_args()
    print(header())
    with tempfile.TemporaryDirectory() as name:
        diff_of_probabilities(Path(name), typed.rows, typed.classes)
        diff_of_logs(Path(name), typed.samples)


if __name__ == "__main__":
    run()
