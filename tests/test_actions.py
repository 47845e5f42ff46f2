"""The action for GitHub: its step, as bash runs it there, on real files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

yaml = pytest.importorskip("yaml")
bash = shutil.which("bash")
pytestmark = pytest.mark.skipif(bash is None, reason="no bash")

ROOT = Path(__file__).resolve().parents[1]
ACTION = yaml.safe_load((ROOT / ".github/actions/diff/action.yml").read_text(encoding="utf-8"))


def step(name):
    (found,) = (part for part in ACTION["runs"]["steps"] if part["name"] == name)
    return found


@pytest.fixture
def act(tmp_path):
    """Return a function that runs the step with inputs; it returns the exit code, the summary and the outputs."""
    tools = tmp_path / "bin"
    tools.mkdir()
    command = tools / "shiftmetrics"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shiftmetrics "$@"\n')
    command.chmod(0o755)
    truth = ["cat", "dog"] * 200
    frames = {"old": truth, "same": truth, "bad one": ["dog"] * 60 + truth[60:]}
    for name, answers in frames.items():
        table = pd.DataFrame({"id": range(400), "prediction": answers, "label": truth})
        table.to_csv(tmp_path / f"{name}.csv", index=False)

    def act(**inputs):
        values = {name: entry.get("default", "") for name, entry in ACTION["inputs"].items()}
        values |= inputs
        summary = tmp_path / "summary.md"
        summary.write_text("# Tests\n")
        outputs = tmp_path / "outputs"
        outputs.write_text("")
        environment = {
            **os.environ,
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_OUTPUT": str(outputs),
        }
        for variable, text in step("Compare")["env"].items():
            name = text.removeprefix("${{ inputs.").removesuffix(" }}")
            environment[variable] = values[name]
        # as GitHub calls it
        typed = [bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", step("Compare")["run"]]
        done = subprocess.run(
            typed, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        written = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
        assert written["exit-code"] == str(done.returncode)
        return done, summary.read_text(), written["verdict"]

    return act


@pytest.mark.slow
def test_a_worse_model_fails_the_job_and_the_summary_says_why(act):
    done, summary, verdict = act(
        old="old.csv", new="bad one.csv", allow="0.02", arguments="--label 'label' --id\nid"
    )
    assert done.returncode == 1, done.stderr
    assert verdict == "WORSE"
    assert "WORSE  new is 7.5 points worse" in done.stdout  # the log of the job has it too
    assert summary.startswith("# Tests\n")
    assert "## WORSE: From old.csv to bad one.csv" in summary
    assert "new is 7.5 points worse" in summary


@pytest.mark.slow
def test_a_safe_model_passes(act):
    done, summary, verdict = act(
        old="old.csv", new="same.csv", allow="0.02", arguments="--label label --quiet"
    )
    assert done.returncode == 0, done.stderr
    assert verdict == "SAFE"
    assert "## SAFE: From old.csv to same.csv" in summary
    assert done.stdout == ""


@pytest.mark.slow
def test_too_few_rows_leave_with_their_own_code(act):
    done, summary, verdict = act(
        old="old.csv", new="same.csv", allow="0.001", arguments="--label label"
    )
    assert (done.returncode, verdict) == (3, "CANNOT TELL")
    assert "## CANNOT TELL:" in summary


@pytest.mark.slow
def test_an_error_stands_in_the_summary(act):
    done, summary, verdict = act(old="old.csv", new="missing.csv")
    assert (done.returncode, verdict) == (2, "ERROR")
    assert "    error: NEW must be an existing file" in summary


def test_words_of_inputs_are_never_run(act, tmp_path):
    done, summary, verdict = act(old="old.csv", new="$(touch owned)", arguments="'; touch owned")
    assert (done.returncode, verdict) == (2, "ERROR")
    assert "quote" in summary
    assert not (tmp_path / "owned").exists()


def test_every_step_takes_inputs_from_variables():
    for part in ACTION["runs"]["steps"]:
        assert "${{" not in part["run"]
