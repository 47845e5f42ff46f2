"""The gate on the command line: exit codes 0, 1 and 2, its files, and what it refuses."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.stability import FixedLoss, stability_criterion

PASSES = '[[rule]]\nname = "agrees"\nmeasure = "posterior_agreement"\nfield = "normalized"\nat_least = 0.1\n'
FAILS = (
    '[[rule]]\nname = "holds"\nmeasure = "stability"\nat_least = 9\nreason = "Agreed in March."\n'
)
WARNS = FAILS.replace("holds", "warns") + 'severity = "warn"\n'
LOST = '[[rule]]\nname = "lost"\nresult = "nowhere"\nat_least = 9\n'


@pytest.fixture
def gate(tmp_path, run):
    """Return a function that runs `check` on two results with rules of the given text."""
    rng = np.random.default_rng(0)
    clean = 3.0 * rng.normal(size=(60, 3))
    (tmp_path / "results").mkdir()
    posterior_agreement(clean + 0.1, clean).to_json(tmp_path / "results" / "agreement.json")
    stability_criterion(FixedLoss(rng.random(30)), 0.7).to_json(
        tmp_path / "results" / "stability.json"
    )

    def gate(text, *options):
        (tmp_path / "rules.toml").write_text(text)
        return run("check", tmp_path / "results", "--rules", tmp_path / "rules.toml", *options)

    return gate


def test_exit_codes(gate):
    assert gate(PASSES).exit_code == 0
    assert gate(PASSES + WARNS).exit_code == 0
    assert gate(PASSES + FAILS).exit_code == 1
    failed = gate(PASSES + FAILS + LOST)
    assert failed.exit_code == 2
    assert failed.stderr.splitlines() == [
        "error: 1 of 3 checks could not be made. lost: No result has the name 'nowhere'. There are 'agreement', "
        "'stability'."
    ]


def test_a_pipe_gets_tab_separated_lines(gate):
    lines = gate(PASSES + FAILS + WARNS).stdout.splitlines()
    assert lines[0].split("\t")[:3] == ["passed", "agrees", "agreement"]
    ended, rule, result, text = lines[1].split("\t")
    assert (ended, rule, result) == ("failed", "holds", "stability")
    assert "not at least 9. Agreed in March." in text
    assert lines[2].startswith("warned\twarns")
    assert lines[3] == "Failed: 3 checks of 3 rules, 1 passed, 1 failed, 1 warned."


def test_results_without_a_rule_are_named(gate):
    assert "Note: No rule looks at stability." in gate(PASSES).stdout


def test_a_terminal_gets_a_table(gate, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    printed = gate(PASSES + FAILS).stdout
    assert "\x1b[32mpassed" in printed
    assert "\t" not in printed


def test_files_are_written_whatever_the_outcome(gate, tmp_path):
    files = [
        "--junit",
        tmp_path / "j.xml",
        "--json",
        tmp_path / "g.json",
        "--report",
        tmp_path / "r.html",
    ]
    ended = gate(PASSES + FAILS + LOST, *files)
    assert ended.exit_code == 2
    assert all(f": {path}" in ended.stdout for path in files[1::2])
    root = ET.parse(tmp_path / "j.xml").getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")
    checked = json.loads((tmp_path / "g.json").read_text())
    assert [outcome["ended"] for outcome in checked["outcomes"]] == ["passed", "failed", "error"]
    assert checked["exit_code"] == 2
    page = (tmp_path / "r.html").read_text()
    assert 'class="gate error"' in page
    assert "Agreed in March." in page
    assert page.index("chip error") < page.index("chip failed") < page.index("chip passed")


def test_quiet_prints_nothing_but_errors(gate, tmp_path):
    assert gate(PASSES + FAILS, "--quiet").output == ""
    assert gate(LOST, "--quiet").stdout == ""


def test_its_own_outcomes_are_no_results(gate, tmp_path):
    out = tmp_path / "results" / "gate.json"
    assert gate(PASSES, "--json", out).exit_code == 0
    again = gate(PASSES, "--json", out)
    assert again.exit_code == 0
    assert "gate.json holds no results and is left out." in again.stdout


def test_what_it_refuses(gate, fails, tmp_path):
    def refused(text, *options):
        ended = gate(text, *options)
        assert ended.exit_code == 2, ended.output
        (line,) = ended.stderr.splitlines()
        assert ended.stdout == ""
        return line

    results, rules = tmp_path / "results", tmp_path / "rules.toml"
    assert "at least one [[rule]]" in refused("")
    assert "rules must be a TOML file" in refused("[[rule")
    assert "Did you mean 'at_least'" in refused("[[rule]]\nat_leest = 1")
    assert "The bound of a rule must be" in refused("[[rule]]\nname = 'x'")
    assert "something that passes" in refused("[[rule]]\nat_least = 2\nat_most = 1")
    assert "would overwrite RESULTS" in refused(PASSES, "--json", results / "stability.json")
    assert "--junit must not replace a file" in refused(
        PASSES, "--junit", results / "stability.json"
    )
    assert "must not end like a data file" in refused(PASSES, "--report", results / "stability.npz")
    assert "would overwrite --rules" in refused(PASSES, "--json", rules)
    assert "in a folder that exists" in refused(PASSES, "--junit", tmp_path / "nowhere" / "j.xml")
    assert "must be two files" in refused(
        PASSES, "--junit", tmp_path / "a", "--json", tmp_path / "a"
    )
    assert "existing file or folder" in fails("check", tmp_path / "no.json", "--rules", rules)
    assert "which is not there" in fails("check", results, "--rules", tmp_path / "no.toml")
    assert "Missing option '--rules'" in fails("check", results)
    assert "Missing argument 'RESULTS" in fails("check", "--rules", rules)
    (results / "stability.npz").write_bytes(b"damaged")
    assert "damaged file" in refused(PASSES)


def test_intervals_of_agreement_are_checked(run, folder):
    arguments = [
        "agreement",
        folder / "noisy.csv",
        folder / "clean.csv",
        "--id",
        "image",
        "--label",
        "truth",
    ]
    out = folder / "agreement.json"
    assert (
        run(*arguments, "--confidence-level", 0.9, "--resamples", 50, "--json", out, "-q").exit_code
        == 0
    )
    (folder / "rules.toml").write_text(PASSES + 'using = "interval"\n')
    checked = run("check", out, "--rules", folder / "rules.toml")
    assert checked.exit_code == 0, checked.output
    assert "(90 % interval)" in checked.stdout
    assert run(*arguments, "--json", out, "-q").exit_code == 0
    assert run("check", out, "--rules", folder / "rules.toml").exit_code == 2


def test_a_reader_that_leaves_early_does_not_open_the_gate(gate, tmp_path):
    assert gate(FAILS).exit_code == 1
    command = f"{sys.executable} -m shiftmetrics check {tmp_path / 'results'} --rules {tmp_path / 'rules.toml'}"
    shell = ["bash", "-c", f"{command} >&1 | true; echo ${{PIPESTATUS[0]}}"]
    assert subprocess.run(shell, capture_output=True, text=True, check=True).stdout == "1\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("option", ["--junit", "--json", "--report"])
def test_all_files_stay_where_one_cannot_be_written(option, gate, tmp_path):
    """The rules end otherwise the second time, so that each file would change."""
    files = {
        "--junit": tmp_path / "j.xml",
        "--json": tmp_path / "j.json",
        "--report": tmp_path / "r.html",
    }
    assert gate(PASSES, *[word for pair in files.items() for word in pair]).exit_code == 0
    before = {file: file.read_bytes() for file in files.values()}
    full = files | {option: Path("/dev/full")}
    assert gate(FAILS, *[word for pair in full.items() for word in pair]).exit_code == 2
    assert {file: file.read_bytes() for file in before} == before
