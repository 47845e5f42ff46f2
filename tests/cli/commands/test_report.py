"""One page from results that other commands wrote."""

from pathlib import Path

import pytest


@pytest.fixture
def results(run, folder, monkeypatch) -> Path:
    """Return a folder of results of three measures."""
    monkeypatch.chdir(folder)
    (folder / "results").mkdir()
    for name, command in {
        "noise": "agreement runs.npz:noisy runs.npz:clean",
        "patients": "stability patients.csv --distances distance --threshold 0.4",
        "points": "novelty points.npz:new points.npz:reference",
    }.items():
        assert run(*command.split(), "--json", f"results/{name}.json").exit_code == 0
    return folder / "results"


def test_one_page_of_a_folder(run, results, folder):
    done = run("report", results, "--output", "page.html", "--title", "Release <4>")
    assert done.exit_code == 0, done.output
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<h1>Release &lt;4&gt;</h1>" in page
    for shown in (
        "noise",
        "patients",
        "points",
        'id="agreement"',
        'id="stability"',
        'id="novelty"',
    ):
        assert shown in page, shown
    for line in ("noise: ", "patients: ", "points: New", "Report: page.html"):
        assert line in done.stdout


def test_one_page_of_files_and_report_is_another_word_for_output(run, results, folder):
    done = run(
        "report",
        results / "noise.json",
        results / "points.json",
        "--report",
        "page.html",
        "--quiet",
    )
    assert (done.exit_code, done.output) == (0, "")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert 'id="stability"' not in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["results"], "Missing option '--output'"),
        (["nothing", "-o", "p.html"], "RESULTS must be an existing file or folder, got 'nothing'"),
        (["patients.csv", "-o", "p.html"], "RESULTS must be files of results, got 'patients.csv'"),
        (["results", "-o", "results"], "--output must be a file, got the folder"),
        (["results", "-o", "no/p.html"], "--output must be in a folder that exists"),
        (["results", "-o", "results/noise.json"], "--output results/noise.json would overwrite RESULTS"),
    ],
)  # fmt: skip
def test_bad_input(fails, results, folder, arguments, message):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert message in fails("report", *arguments)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
