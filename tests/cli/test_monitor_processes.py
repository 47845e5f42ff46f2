"""The command `monitor` with real processes: batches at once, and commands that fail."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import Passport
from shiftmetrics.decisions.monitor.state_file import StateFile

pytestmark = pytest.mark.slow


@pytest.fixture
def watched(run, place):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"]).to_csv("reference.csv", index=False)
    for number, mean in enumerate((0.0, 4.0)):
        batch = pd.DataFrame(rng.normal(mean, 1.0, size=(60, 2)), columns=["a", "b"])
        batch.to_csv(f"{number}.csv", index=False)
    assert run("passport", "reference.csv", "--output", "p.json").exit_code == 0
    return place


def monitor(*arguments, **options):
    command = [sys.executable, "-m", "shiftmetrics", "monitor", "p.json", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def files():
    """Return what stands in the folder, without the locks."""
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.suffix != ".lock"}


def test_monitors_at_once_lose_no_batch_and_no_alarm(watched):
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda i: monitor(f"{i % 2}.csv", "--state", "s.json"), range(8)))
    assert {process.returncode for process in done} <= {0, 1}, done
    passport = Passport.load("p.json")
    file = StateFile("s.json")
    state = file.read(passport)
    assert state.n_batches == 8
    assert any(alarm.raised for alarm in state.rows)
    assert file.replay(passport).equals(state)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("options", [["--report", "/dev/full"], ["--json", "/dev/full"], "stdout"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_command_that_failed_can_be_given_again(options, is_first, watched):
    if not is_first:
        assert monitor("0.csv", "--state", "s.json").returncode == 0
    before = files()
    if options == "stdout":
        with open("/dev/full", "w") as full:  # noqa: PTH123
            command = [sys.executable, "-m", "shiftmetrics", "monitor", "p.json", "0.csv"]
            command += ["--state", "s.json", "--json", "j.json"]
            code = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, check=False
            ).returncode
    else:
        code = monitor("0.csv", "--state", "s.json", *options).returncode
    assert code == 2
    assert files() == before
