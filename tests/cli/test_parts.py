"""Folders and patterns of parquet files: the number of one file, read part by part."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import Resampling, posterior_agreement
from shiftmetrics.cli.inputs import chunked_files
from shiftmetrics.comparison import compare_agreement

pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'shiftmetrics[parquet]'")

RNG = np.random.default_rng(0)
REFERENCE = 3.0 * RNG.normal(size=(600, 3))
SHIFTED = REFERENCE + RNG.normal(size=REFERENCE.shape)


IN_CHUNKS = "from shiftmetrics.cli.inputs import chunked_files; chunked_files.AT_ONCE = 0\n"


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    # as if they were large
    monkeypatch.setattr(chunked_files, "AT_ONCE", 0)
    for name, values in (("shifted", SHIFTED), ("original", REFERENCE)):
        (tmp_path / name).mkdir()
        for number, part in enumerate(np.array_split(values, 3)):
            frame = pd.DataFrame(part, columns=["a", "b", "c"])
            frame.to_parquet(tmp_path / name / f"{number}.parquet", row_group_size=70)
    return tmp_path / "shifted", tmp_path / "original"


def value_of(path: Path) -> float:
    import json

    return float(json.loads(path.read_text())["value"])


@pytest.mark.slow
def test_folders_and_patterns_give_the_number_of_arrays(
    run: Callable, folders: tuple[Path, Path]
) -> None:
    shifted, original = folders
    json, report = shifted.parent / "r.json", shifted.parent / "r.html"
    for pair in (folders, (shifted / "*.parquet", original / "*.parquet")):
        result = run("agreement", *pair, "--json", json, "--report", report)
        assert result.exit_code == 0, result.output
        exact = posterior_agreement(SHIFTED, REFERENCE).value
        assert value_of(json) == pytest.approx(exact, rel=1e-12)
    result = run("agreement", *folders, "--columns", "c,a", "--json", json)
    assert result.exit_code == 0, result.output
    exact = posterior_agreement(SHIFTED[:, [2, 0]], REFERENCE[:, [2, 0]]).value
    assert value_of(json) == pytest.approx(exact, rel=1e-12)


def test_novelty_of_folders(run: Callable, folders: tuple[Path, Path]) -> None:
    assert run("novelty", *folders).exit_code == 0


def test_models_in_folders_are_compared(run: Callable, folders: tuple[Path, Path]) -> None:
    shifted, original = folders
    json = shifted.parent / "r.json"
    result = run(
        "compare", f"m={shifted}", f"n={original}", "--reference", original, "--json", json
    )
    assert result.exit_code == 0, result.output
    exact = compare_agreement(
        {"m": SHIFTED, "n": REFERENCE}, REFERENCE, resampling=Resampling(rng=0)
    )
    assert value_of(json) == pytest.approx(exact.value, rel=1e-12)


def test_what_is_wrong_is_named(fails: Callable, folders: tuple[Path, Path]) -> None:
    original = folders[1]
    assert "--id must be left out for several" in fails("agreement", *folders, "--id", "a")
    assert "--columns must name a column of SHIFTED, got 'z'" in fails(
        "agreement", *folders, "--columns", "z"
    )
    (original / "9.parquet").write_bytes((original / "0.parquet").read_bytes())
    assert "must have the same shape, got (600, 3) and (800, 3)" in fails("agreement", *folders)
    (original / "9.parquet").unlink()
    file = original / "1.parquet"
    file.write_bytes(file.read_bytes()[:300])  # a copy that ended early
    assert str(file) in fails("agreement", *folders)
    pd.DataFrame({"a": [1.0]}).to_parquet(file)
    message = fails("agreement", *folders)
    assert f"got '{file}'. It cannot be read (\"no column 'b'\")" in message


def test_stability_reads_a_folder_as_one_table(fails: Callable, folders: tuple[Path, Path]) -> None:
    asked = ["stability", folders[0], "--distances", "a", "--threshold", "0.4"]
    row = int(np.argmax(SHIFTED[:, 0] < 0.0))
    expected = f"must be at least 0 everywhere, got {SHIFTED[row, 0]:g} at row {row}."
    assert expected in fails(*asked)


def test_agreement_within_a_memory_limit(
    run: Callable, fails: Callable, folders: tuple[Path, Path]
) -> None:
    assert run("agreement", *folders, "--memory-limit", "100000000").exit_code == 0
    assert "needs 24.03 MiB of memory, got a limit of 976.6 KiB" in fails(
        "agreement", *folders, "--memory-limit", "1000000"
    )


INTERRUPTED = f"""
{IN_CHUNKS}
import os, signal, sys
from shiftmetrics._core.chunks import Chunks

read, readings = Chunks.checked, []

def interrupted(self, part, number):
    readings.append(number)
    if len(readings) == 60:
        os.kill(os.getpid(), signal.SIGINT)
    return read(self, part, number)

Chunks.checked = interrupted
signal.signal(signal.SIGINT, signal.default_int_handler)
from shiftmetrics.cli import main
sys.argv = ["shiftmetrics", "agreement", "shifted", "original", "--json", "r.json", "--report", "r.html"]
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_in_the_middle_ends_with_130_and_leaves_nothing(
    folders: tuple[Path, Path],
) -> None:
    folder = folders[0].parent
    before = sorted(folder.rglob("*"))
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert sorted(folder.rglob("*")) == before


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_while_a_model_is_opened_is_no_error_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,died\n1,0\n2,1\n")
    (tmp_path / "late.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nmodel = 1\n"
    )
    code = (
        "import signal, sys\n"
        "from shiftmetrics.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.argv = ['shiftmetrics', 'stability', 'rows.csv', '--model', 'late:model', '--trust', '--target', "
        "'died', '--threshold', '0.4']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_disk_that_fills_up_under_the_arrays_ends_in_one_line(folders: tuple[Path, Path]) -> None:
    folder = folders[0].parent
    before = sorted(folder.rglob("*"))
    # No file may grow beyond 4 KiB, and the agreement of 600 rows takes more: writing fails in the middle.
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        f"{IN_CHUNKS}"
        "from shiftmetrics.cli import main\n"
        "sys.argv = ['shiftmetrics', 'agreement', 'shifted', 'original', '--json', 'r.json']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "r.npz" in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(folder.rglob("*")) == before
