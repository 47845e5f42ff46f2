"""One page from results that other commands wrote."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from shiftmetrics import kernel_entropic_novelty, posterior_agreement, stability_criterion
from shiftmetrics.stability import ZeroOneLoss


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Path:
    """Return a folder of results of three measures, as their commands write them."""
    written = tmp_path_factory.mktemp("measured")
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(60, 3))
    found = {
        "noise": posterior_agreement(scores + rng.normal(size=(60, 3)), scores),
        "patients": stability_criterion(ZeroOneLoss(np.abs(rng.normal(size=60))), 0.4),
        "points": kernel_entropic_novelty(scores + np.array([9.0, 0.0, 0.0]), scores),
    }
    for name, result in found.items():
        result.to_json(written / f"{name}.json")
    return written


@pytest.fixture
def results(measured, folder, monkeypatch) -> Path:
    monkeypatch.chdir(folder)
    return Path(shutil.copytree(measured, folder / "results"))


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
    for line in ("noise: ", "patients: ", "points: NEW  About ", "Report: page.html"):
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
