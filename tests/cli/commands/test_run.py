"""One file, one run: what the commands alone would find, one page, rules, and slips found before any computing."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from run_configurations import CONFIG, ONE, RULE
from shiftmetrics._core.documents import read_results
from shiftmetrics.cli.app import COMMANDS
from shiftmetrics.cli.commands.config import KINDS
from shiftmetrics.cli.inputs.results import read_result_files

# --- what it writes ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_results_are_those_of_the_commands_alone(run, write, folder, monkeypatch):
    done = run("run", write(CONFIG))
    assert done.exit_code == 0, done.output
    written = folder / "results"
    assert sorted(path.name for path in written.iterdir()) == [
        "noise.json", "noise.npz", "patients.json", "patients.npz", "points.json", "points.npz", "report.html",
    ]  # fmt: skip
    monkeypatch.chdir(folder)
    alone = [
        ("noise", "agreement noisy.csv clean.csv --id image --label truth"),
        (
            "patients",
            "stability patients.csv --distances distance --threshold 0.4 --id patient --curve --seed 3",
        ),
        (
            "points",
            "novelty points.npz:new points.npz:reference --seed 3",
        ),
    ]
    for name, command in alone:
        assert run(*command.split(), "--json", f"alone-{name}.json").exit_code == 0
        expected = list(read_results(Path(f"alone-{name}.json")).values())
        found = list(read_results(written / f"{name}.json").values())
        assert len(found) == len(expected)
        assert all(one.equals(other) for one, other in zip(found, expected, strict=True))
    assert (
        found[0].settings["resampling"]["rng"] == 3
    )  # of the last, from the seed of the whole file
    names = list(read_result_files([written]).results)  # what rules and `check` call them
    assert names == ["noise", "patients", "patients: Stability over risk thresholds", "points"]


@pytest.mark.slow
def test_the_page_shows_everything_with_its_rows(run, write, folder):
    run("run", write(CONFIG))
    page = (folder / "results" / "report.html").read_text(encoding="utf-8")
    assert "<h1>The spring release</h1>" in page
    for shown in (
        "image-1",
        "cat",
        "patients.csv",
        "Scores of noisy.csv set against those",
    ):
        assert shown in page, shown
    alone = run("agreement", folder / "noisy.csv", folder / "clean.csv", "--id", "image", "--label", "truth",
                "--report", folder / "alone.html")  # fmt: skip
    assert alone.exit_code == 0
    pairs = (
        (folder / "alone.html")
        .read_text(encoding="utf-8")
        .split("The pairs agree least")[0]
        .count("<svg")
    )
    assert page.count("<svg") > pairs > 0  # the drawings of the command, and those of the others


@pytest.mark.slow
def test_a_line_for_each_measurement_and_none_when_quiet(run, write):
    done = run("run", write(CONFIG))
    for line in (
        "[1/3] noise: agreement",
        "[2/3] patients: stability",
        "[3/3] points: novelty",
        "Report: ",
    ):
        assert line in done.stdout
    quiet = run("run", write(ONE), "--quiet")
    assert (quiet.exit_code, quiet.output) == (0, "")


def test_paths_start_at_the_folder_of_the_file(run, write, folder, tmp_path_factory, monkeypatch):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    assert run("run", write(ONE), "--output", "here").exit_code == 0
    assert sorted(path.name for path in (elsewhere / "here").iterdir()) == [
        "noise.json", "noise.npz", "report.html",
    ]  # fmt: skip
    assert not (folder / "results").exists()
    assert Path.cwd() == elsewhere


def test_options_may_be_lists_tables_and_spelt_with_dashes(run, write, folder, monkeypatch):
    done = run(
        "run",
        write("""
        output = "."
        [[compare]]
        name = "two models"
        shifted = { small = "noisy.csv", large = "clean.csv" }
        reference = ["clean.csv"]
        id = "image"
        label = "truth"
        prior = [0.2, 0.3, 0.5]
        columns = ["cat", "dog", "eel"]
        resamples = 50
        [[stability]]
        name = "moves"
        file = "patients.csv"
        distances = "distance"
        threshold = 0.4
        theta1 = inf
        one-hot = []
        """),
    )
    assert done.exit_code == 0, done.output
    found = next(iter(read_results(folder / "two models.json").values()))
    assert sorted(model.name for model in found.models) == ["large", "small"]
    monkeypatch.chdir(folder)
    typed = "compare small=noisy.csv large=clean.csv --reference clean.csv --id image --label truth --resamples 50"
    assert (
        run(
            *typed.split(),
            "--prior",
            "0.2,0.3,0.5",
            "--columns",
            "cat,dog,eel",
            "--json",
            "typed.json",
        ).exit_code
        == 0
    )
    assert next(iter(read_results(folder / "typed.json").values())).equals(found)
    assert next(iter(read_results(folder / "moves.json").values())).settings["theta1"] == np.inf


def test_results_of_earlier_measurements_can_be_compared(run, write, folder):
    config = """
    [[stability]]
    name = "a"
    file = "patients.csv"
    distances = "distance"
    threshold = 0.4
    [[stability]]
    name = "b"
    file = "distances.npy"
    distances = 0
    threshold = 0.4
    [[compare]]
    name = "both"
    shifted = ["results/a.json", "results/b.json"]
    """
    assert run("run", write(config)).exit_code == 0
    both = read_results(folder / "results" / "both.json")
    assert [result.title for result in both.values()] == ["Comparison of models"]


def test_every_command_that_measures_can_stand_in_a_file():
    others = {"example", "demo", "check", "run", "report", "passport", "monitor", "read"}
    assert set(COMMANDS) - others == set(KINDS)


def test_a_dry_run_reads_and_writes_nothing(run, fails, write, folder):
    done = run("run", write(CONFIG), "--dry-run")
    assert (done.exit_code, done.stderr) == (0, "")
    assert (
        done.stdout
        == "Measurements with their inputs in order: 3. Nothing was computed or written.\n"
    )
    assert not (folder / "results").exists()
    assert "clear.csv" in fails("run", write(CONFIG.replace("clean.csv", "clear.csv")), "--dry-run")


# --- rules -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bound", "code"), [(0.01, 0), (0.99, 1)])
def test_rules_decide_the_exit_code(run, write, folder, bound, code):
    write(RULE.format(bound), "rules.toml")
    done = run("run", write('rules = "rules.toml"\n' + ONE))
    assert done.exit_code == code, done.output
    cases = ET.parse(folder / "results" / "junit.xml").getroot().findall(".//testcase")
    assert [case.get("name") for case in cases] == ["predictions survive noise [noise]"]
    assert len(cases[0].findall("failure")) == code
    page = (folder / "results" / "report.html").read_text(encoding="utf-8")
    assert "predictions survive noise" in page
    checked = run("check", folder / "results", "--rules", folder / "rules.toml")
    assert checked.exit_code == code


def test_rules_may_stand_in_the_file_and_beside_it(run, write, folder):
    write(RULE.format(0.01), "rules.toml")
    inline = RULE.replace("predictions survive noise", "stricter").format(0.99)
    done = run("run", write('rules = "rules.toml"\n' + ONE + inline))
    assert done.exit_code == 1
    assert len(ET.parse(folder / "results" / "junit.xml").getroot().findall(".//testcase")) == 2


def test_a_rule_that_cannot_be_checked_is_an_error(run, write):
    done = run("run", write(ONE + RULE.format(0.1).replace("normalized", "normalised")))
    assert done.exit_code == 2
    assert "error: rule 'predictions survive noise'" in done.stderr


def test_rules_that_are_gone_leave_no_outcomes(run, write, folder):
    assert run("run", write(ONE + RULE.format(0.01))).exit_code == 0
    assert (folder / "results" / "junit.xml").exists()
    assert run("run", write(ONE)).exit_code == 0
    assert not (folder / "results" / "junit.xml").exists()


# --- failures ----------------------------------------------------------------------------------------------

FAILING = """
[[agreement]]
name = "a"
shifted = "runs.npz:noisy"
reference = "runs.npz:clean"
[[agreement]]
name = "b"
shifted = "runs.npz:noisy"
reference = "runs.npz:clean"
kind = "probabilities"
[[agreement]]
name = "c"
shifted = "runs.npz:noisy"
reference = "runs.npz:clean"
"""


def test_what_succeeded_is_kept_when_one_fails(run, write, folder):
    done = run("run", write(FAILING))
    assert done.exit_code == 2
    assert done.stderr.startswith("error: b: SHIFTED must")
    assert len(done.stderr.splitlines()) == 1
    names = sorted(path.name for path in (folder / "results").iterdir())
    assert names == ["a.json", "a.npz", "c.json", "c.npz", "report.html"]
    page = (folder / "results" / "report.html").read_text(encoding="utf-8")
    assert "<dt>Failed</dt><dd>b</dd>" in page


@pytest.mark.slow
def test_an_old_result_does_not_stand_for_one_that_failed(run, write, folder):
    assert run("run", write(FAILING.replace('kind = "probabilities"\n', ""))).exit_code == 0
    assert (folder / "results" / "b.json").exists()
    assert run("run", write(FAILING)).exit_code == 2
    assert not (folder / "results" / "b.json").exists()
    assert not (folder / "results" / "b.npz").exists()
    assert (folder / "results" / "a.json").exists()


def test_when_all_fail_no_page_stays(run, write, folder):
    failing = FAILING.split("[[agreement]]")[2]
    good = "[[agreement]]" + failing.replace('kind = "probabilities"\n', "")
    assert run("run", write(good)).exit_code == 0
    assert run("run", write("[[agreement]]" + failing)).exit_code == 2
    assert list((folder / "results").iterdir()) == []


@pytest.mark.slow
def test_only_our_own_files_are_replaced(fails, run, write, folder):
    results = folder / "results"
    results.mkdir()
    (results / "notes.txt").write_text("mine")
    assert run("run", write(ONE)).exit_code == 0
    assert run("run", write(ONE)).exit_code == 0
    assert (results / "notes.txt").read_text() == "mine"
    for name, text in [
        ("noise.json", '{"mine": 1}'),
        ("noise.json", '{"schema_version": 3, "mine": 1}'),
        ("report.html", "<p>mine</p>"),
        ("noise.json", "[1, 2"),
    ]:
        kept = (results / name).read_text()
        (results / name).write_text(text)
        assert f"file that shiftmetrics did not write, got '{results / name}'" in fails(
            "run", write(ONE)
        )
        assert (results / name).read_text() == text
        (results / name).write_text(kept)
    (results / "noise.json").unlink()
    assert "noise.npz" in fails("run", write(ONE))


def test_a_diff_of_two_columns_of_one_table_can_stand_in_a_file(run, write, folder):
    answers = {"id": range(30, 70), "truth": ["a", "b"] * 20, "first": ["a", "b"] * 20}
    table = pd.DataFrame(answers).assign(second=["a", *["a", "b"] * 19, "b"])
    table.to_csv(folder / "both.csv", index=False)
    config = """
    [[diff]]
    name = "columns"
    old = "both.csv"
    old_column = "first"
    new_column = "second"
    label = "truth"
    """
    done = run("run", write(config))
    assert done.exit_code == 0, done.output
    n_changed = int((table["first"] != table["second"]).sum())
    (result,) = read_results(folder / "results" / "columns.json").values()
    assert result.changes.n_changed == n_changed == 38
