"""Errors as one line: also where nobody reads it, and the disk is full."""

import errno
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shiftmetrics.cli.errors import fail, message_of


def script(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    path = shutil.which("shiftmetrics", path=str(Path(sys.executable).parent)) or shutil.which(
        "shiftmetrics"
    )
    assert path is not None, "the script is not installed"
    return subprocess.run(
        [path, *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )


def test_the_script_fails_with_one_line_and_code_2(tmp_path):
    done = script("agreement", "missing.csv", "other.csv", "--report", "r.html", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert (
        done.stderr
        == "error: SHIFTED must be an existing file, got 'missing.csv', which is not there.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_defect_is_told_from_bad_input(fails, tmp_path, monkeypatch):
    def broken(**_):
        raise RuntimeError("the floor gave way")

    monkeypatch.setattr("shiftmetrics.examples.evaluate.evaluate_digits", broken)
    message = fails("demo", "--output", tmp_path, "--quiet")
    assert message.startswith(
        "An unforeseen RuntimeError: the floor gave way. This is a defect of shiftmetrics"
    )


def test_tracebacks_on_request(run, monkeypatch):
    monkeypatch.setenv("SHIFTMETRICS_DEBUG", "1")
    result = run("agreement", "missing.csv", "other.csv")
    assert isinstance(result.exception, ValueError)


@pytest.mark.parametrize(
    ("typed", "argument"),
    [
        (["--report", "r.html"], "--report"),
        (["--report=r.html"], "--report"),
        (["-o", "r.html"], "-o"),
        (["r.html"], "The file"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_option(typed, argument, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["shiftmetrics", "diff", *typed])
    error = OSError(errno.ENOSPC, "No space left on device", "r.html")
    assert message_of(error) == (
        f"{argument} must be a file that can be opened or written, got 'r.html': No space left on device. "
        "Make room there, or choose another place."
    )
    other = OSError(errno.EIO, "Input/output error", b"r.html")
    assert message_of(other).endswith("got 'r.html': Input/output error. Choose another file.")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of a POSIX shell")
def test_an_error_that_nobody_reads_is_still_an_error(tmp_path):
    check = f"{sys.executable} -m shiftmetrics check missing --rules missing.toml"
    command = f"{check} 2>&1 | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, check=False)
    assert done.returncode == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pipes of a POSIX shell")
@pytest.mark.parametrize(
    "arguments", ["--help", "agreement --help", "agreement runs.npz:noisy runs.npz:clean"]
)
@pytest.mark.parametrize("output", ["| head -1", "| true", ">&-"])
def test_an_output_that_nobody_reads_is_no_failure(folder, arguments, output):
    command = f"{sys.executable} -m shiftmetrics {arguments} {output}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("output", "message"),
    [("> /dev/full", "Standard output cannot be written"), ("--json /dev/full", "/dev/full")],
)
def test_a_full_disk_is_named(folder, output, message):
    command = f"{sys.executable} -m shiftmetrics agreement runs.npz:noisy runs.npz:clean {output}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_message_is_the_own_words_of_bad_input_and_names_a_defect():
    assert message_of(ValueError("rows must be more")) == "rows must be more"
    assert message_of(TypeError()) == "TypeError"
    assert message_of(MemoryError("2 GiB")) == "Out of memory. 2 GiB"
    full = OSError(28, "No space left on device")
    assert message_of(full) == "Standard output cannot be written: No space left on device."
    assert "defect" in message_of(KeyError("a"))


def test_an_error_is_one_line_without_escape_sequences(capsys):
    with pytest.raises(SystemExit) as ended:
        fail("first\nsecond \x1b[31mred")
    assert ended.value.code == 2
    text = capsys.readouterr().err
    assert text.startswith("error: first second ")
    assert text.count("\n") == 1
    assert "\x1b" not in text
