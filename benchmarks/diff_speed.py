"""How long `diff` takes, as ratios: to a softmax over both files, json.loads of a log, and reading two parquet files.

The last is of CPU time, since threads decode parquet, of files with ids, and of `agreement` too.

Each in a process of its own, whose largest memory is set against the size of one file:

    python benchmarks/diff_speed.py [--rows 50000] [--classes 1000] [--samples 100000] [--ids 1000000]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _machine import PRINT_PEAK, best_of, cpu_of_process, header

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


IMPORTS = "import numpy, pandas as pd, scipy.special, pyarrow.parquet\n"
FLOOR = """
import numpy as np, pyarrow.compute as pc
old, new = [pyarrow.parquet.read_table(path) for path in ({old!r}, {new!r})]
assert old["id"].equals(new["id"]) and pc.count_distinct(old["id"]).as_py() == len(old)
assert old["label"].equals(new["label"])
names = old.column_names[1:-1]
label = pc.index_in(old["label"].combine_chunks(), pyarrow.array(names)).to_numpy()
def answers(table):
    best, answer = table[names[0]].to_numpy(), np.zeros(len(table), np.int8)
    total = best.copy()
    for place, name in enumerate(names[1:], start=1):
        column = table[name].to_numpy()
        total += column
        larger = column > best
        answer[larger] = place
        best = np.maximum(best, column)
    assert np.isfinite(total).all() and np.abs(total - 1.0).max() < 1e-3
    return answer
first, second = answers(old), answers(new)
changed = first != second
fixed, broken = (changed & (second == label)).sum(), (changed & (first == label)).sum()
"""
"""The least that a program does which reads both files, matches the ids and compares the answers of one reading."""


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


def write_parquet(folder: Path, n_rows: int) -> list[Path]:
    """Write the probabilities of ten classes for two models, with ids that are words, and the labels."""
    import pandas as pd

    rng = np.random.default_rng(0)
    names = [f"class {place}" for place in range(10)]
    logits = 2.0 * rng.normal(size=(n_rows, 10))
    labels = np.array(names)[logits.argmax(axis=1)]
    ids = [f"sample-{place:07d}" for place in range(n_rows)]
    paths = []
    for model in ("old", "new"):
        terms = np.exp(logits)
        terms /= terms.sum(axis=1, keepdims=True)
        frame = pd.DataFrame(terms, columns=names).assign(label=labels)
        frame.insert(0, "id", ids)
        paths.append(folder / f"{model}.parquet")
        frame.to_parquet(paths[-1], index=False)
        logits += 0.3 * rng.normal(size=logits.shape)
    return paths


def cpu_of(code: str) -> tuple[float, float]:
    """Return the least CPU time of three processes, and the largest memory, in seconds and MiB."""
    program = [sys.executable, "-c", code + PRINT_PEAK]
    found = []
    for _ in range(3):
        spent, printed = cpu_of_process(program, stderr=subprocess.DEVNULL)
        found.append((spent, int(printed.split()[-1]) / 2**10))
    return min(found)[0], max(peak for _, peak in found)


def files_with_ids(folder: Path, n_rows: int) -> None:
    """Set `diff` and `agreement` of two parquet files against their reading, and reading and measure."""
    old, new = map(str, write_parquet(folder, n_rows))
    start, _ = cpu_of(IMPORTS)
    read, of_read = cpu_of(
        f"{IMPORTS}tables = [pd.read_parquet(path) for path in ({old!r}, {new!r})]"
    )
    scores = "[pd.read_parquet(path).iloc[:, 1:11].to_numpy() for path in"
    measured, _ = cpu_of(
        f"{IMPORTS}from shiftmetrics import posterior_agreement\n"
        f"posterior_agreement(*{scores} ({new!r}, {old!r})])"
    )
    floor, of_floor = cpu_of(IMPORTS + FLOOR.format(old=old, new=new))
    ratio = (floor - start) / (read - start)
    print(
        f"the least that reads both, matches ids and compares: {ratio:.1f} times reading both by pandas"
    )
    print(f"  {floor - start:.1f} CPU seconds; {of_floor:.0f} MiB")
    rivals = {"diff": read - start, "agreement": measured - start}
    for command, first, second in (("diff", old, new), ("agreement", new, old)):
        typed = ["shiftmetrics", command, first, second]
        spent, peak = cpu_of(
            f"import sys; sys.argv = {typed!r}\nfrom shiftmetrics.cli import main\n"
            "try: main()\nexcept SystemExit as ended: assert ended.code in (None, 0, 1, 3)"
        )
        what = "reading both" if command == "diff" else "reading and measuring"
        ratio = (spent - start) / rivals[command]
        print(
            f"{command} of two parquet files of {n_rows:,} x 10 with ids: {ratio:.1f} times {what}"
        )
        print(
            f"  {spent - start:.1f} CPU seconds; {peak:.0f} MiB, and {of_read:.0f} to read both alone"
        )


def run() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=1_000)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--ids", type=int, default=1_000_000)
    typed = parser.parse_args()
    print(header())
    with tempfile.TemporaryDirectory() as name:
        diff_of_probabilities(Path(name), typed.rows, typed.classes)
        diff_of_logs(Path(name), typed.samples)
        files_with_ids(Path(name), typed.ids)


if __name__ == "__main__":
    run()
