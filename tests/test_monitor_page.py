"""The page of the monitor: its workflow, its line for cron and its test, as GitHub, cron and pytest run them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import Passport, make_passport
from shiftmetrics.decisions.monitor.state_file import StateFile

yaml = pytest.importorskip("yaml")
bash = shutil.which("bash")
git = shutil.which("git")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bash is None or git is None, reason="no bash, or no git"),
]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "monitor.md"
FOLDER = "/srv/batches"
"""Where the page's line for cron works."""


def block(language):
    """Return the one block of the page in a language."""
    (found,) = re.findall(
        rf"^```{language}\n(.*?)^```$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    return found


@pytest.fixture
def shell(tmp_path):
    """Return a function that runs a program of bash in a folder; some commands stand for those of the machine."""
    tools = tmp_path / "bin"
    tools.mkdir()
    programs = {
        "shiftmetrics": f'exec "{sys.executable}" -m shiftmetrics "$@"',
        "python": f'exec "{sys.executable}" "$@"',
        "pip": "exit 0",
        "date": '[ "$1" = +%F ] && echo 2026-01-05',
    }
    for name, program in programs.items():
        path = tools / name
        path.write_text(f"#!/bin/sh\n{program}\n")
        path.chmod(0o755)

    def shell(program, folder, **variables):
        environment = {
            **os.environ,
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "GIT_CONFIG_NOSYSTEM": "1",
            **variables,
        }
        # as GitHub calls it
        return subprocess.run(
            [bash, "-e", "-c", program], cwd=folder, env=environment, capture_output=True, text=True
        )

    return shell


def samples(mean, seed, n=150):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(mean, 1.0, size=(n, 2)), columns=["a", "b"])


def new_passport(folder):
    folder.mkdir(exist_ok=True)
    make_passport(samples(0.0, 0, 400)).save(folder / "passport.json")
    return folder


def test_the_workflow_fails_on_an_alarm_until_it_is_acknowledged(shell, tmp_path):
    (job,) = yaml.safe_load(block("yaml"))["jobs"].values()
    upstream = tmp_path / "upstream.git"
    repository = new_passport(tmp_path / "repository")
    # the user's own: each batch is a file with its number
    (repository / "fetch_batch.py").write_text(
        "import os, shutil\nshutil.copy(os.environ['BATCH'], 'batch.csv')\n"
    )
    shell(
        f"git init --quiet --bare --initial-branch main '{upstream}'; git init --quiet --initial-branch main; "
        "git add .; git -c user.name=me -c user.email=me@example.org commit --quiet --message start; "
        f"git remote add origin '{upstream}'; git push --quiet --set-upstream origin main",
        repository,
    )

    def act(number, mean, note=""):
        batch = tmp_path / f"{number}.csv"
        if mean is not None:
            samples(mean, number).to_csv(batch, index=False)
        # a job starts from what was pushed, in an empty folder
        place = tmp_path / f"job{number}"
        shell(f"git clone --quiet '{upstream}' '{place}'", tmp_path)
        code = 0
        for step in job["steps"]:
            if "run" not in step or (code and step.get("if") != "always()"):
                continue
            variables = {
                name: text.replace("${{ inputs.acknowledge }}", note)
                for name, text in step.get("env", {}).items()
            }
            assert "${{" not in step["run"] + "".join(variables.values())
            done = shell(step["run"], place, BATCH=str(batch), **variables)
            code = code or done.returncode
            if step.get("if") == "always()":
                assert done.returncode == 0, done.stderr
        return code, place

    code, place = act(1, 0.0)
    assert code == 0
    (uploaded,) = (step["with"]["path"] for step in job["steps"] if "path" in step.get("with", {}))
    assert {path.name for path in place.glob(uploaded)} == {"monitor.html", "monitor.xml"}
    assert act(2, 2.0)[0] == 1
    assert act(3, None)[0] == 1  # the batch could not be fetched
    assert act(4, 2.0, "new station; exit 7")[0] == 0  # a note is no program
    code, place = act(5, 2.0)
    assert code == 0
    assert "new station; exit 7" in (place / "monitor.html").read_text(encoding="utf-8")
    # what was pushed has every batch, and gives the alarms again
    checked = tmp_path / "checked"
    shell(f"git clone --quiet '{upstream}' '{checked}'", tmp_path)
    passport = Passport.load(checked / "passport.json")
    state = StateFile(checked / "passport.state.json").replay(passport)
    assert state.n_batches == 4
    assert [each.note for each in state.acknowledged] == ["new station; exit 7"]


def test_the_line_for_cron_prints_nothing_unless_there_is_news(shell, tmp_path):
    folder = new_passport(tmp_path / "batches")
    line = block("none").strip()
    found = re.fullmatch(r"((?:\S+\s+){5})(.*)", line)
    assert len(found[1].split()) == 5
    # cron ends a command at a per cent sign that has no backslash
    assert not re.search(r"(?<!\\)%", found[2])
    command = found[2].replace(r"\%", "%").replace(FOLDER, str(folder))
    assert FOLDER in line

    def mailed(mean):
        batch = folder / "2026-01-05.csv"
        batch.unlink(missing_ok=True)
        if mean is not None:
            samples(mean, 1).to_csv(batch, index=False)
        done = shell(command, tmp_path)
        assert done.stderr == ""
        return done.stdout

    assert mailed(0.0) == ""
    assert mailed(2.0).startswith("CHANGED")
    assert "error: BATCH must be an existing file" in mailed(None)


def test_the_test_of_the_page_fails_on_an_alarm_and_counts_nothing(shell, tmp_path):
    folder = new_passport(tmp_path / "project")
    (folder / "test_batch.py").write_text(block("python"), encoding="utf-8")
    command = "python -m pytest -q -p no:cacheprovider -c /dev/null --rootdir . test_batch.py"

    def tested(mean):
        samples(mean, 1).to_csv(folder / "batch.csv", index=False)
        return shell(command, folder)

    assert tested(0.0).returncode == 0
    failed = tested(2.0)
    assert failed.returncode == 1
    assert "CHANGED" in failed.stdout
    assert not (folder / "passport.state.json").exists()
    # the command counts; what it was told to acknowledge is quiet in the test as well
    counted = "shiftmetrics monitor passport.json batch.csv"
    assert shell(counted, folder).returncode == 1
    assert shell(f"{counted} --acknowledge 'new station'", folder).returncode == 0
    assert tested(2.0).returncode == 0
