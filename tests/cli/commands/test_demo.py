import json
import re
from pathlib import Path

import pytest

from shiftmetrics._core.documents import read_results
from shiftmetrics._core.result import Result
from shiftmetrics.cli.commands.demo import demo
from shiftmetrics.examples.evaluate import evaluate_digits


@pytest.fixture
def small(monkeypatch) -> None:
    """Let the demonstration work on a few hundred digits."""
    monkeypatch.setattr(
        "shiftmetrics.examples.evaluate.evaluate_digits",
        lambda **options: evaluate_digits(n_images=400, **options),
    )


@pytest.mark.slow
def test_it_writes_a_report_and_results_and_says_where(run, small, tmp_path):
    output = tmp_path / "new" / "folder"
    result = run("demo", "--output", output, "--digit", "0")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in output.iterdir()) == [
        "config.toml", "digits.npz", "report.html", "results.json", "results.npz", "rules.toml",
    ]  # fmt: skip
    assert str(output / "report.html") in result.stdout
    assert "first novel mode is that digit" in result.stdout
    results = read_results(output / "results.json")
    assert [value.title for value in results.values()] == [
        "Posterior agreement", "Posterior agreement", "Stability", "Kernel entropic novelty",
    ]  # fmt: skip
    for name, value in results.items():
        assert name in result.stdout
        assert value.headline() in result.stdout


@pytest.mark.slow
def test_its_configuration_measures_the_same(run, small, tmp_path):
    quiet = run("demo", "--output", tmp_path, "--seed", "1", "--quiet")
    assert (quiet.exit_code, quiet.output) == (0, "")
    done = run("run", tmp_path / "config.toml")
    # a turn changes four predictions of ten: the gate is closed
    assert done.exit_code == 1, done.output
    assert (tmp_path / "results" / "junit.xml").is_file()
    for name, result in read_results(tmp_path / "results.json").items():
        again = Result.from_json(tmp_path / "results" / f"{name}.json")
        assert again.value == result.value
        assert again.status == result.status


def test_bad_options(fails, tmp_path):
    assert "--digit must be" in fails("demo", "--output", tmp_path, "--digit", "10")
    (tmp_path / "file").write_text("")
    assert "--output must be a folder" in fails("demo", "--output", tmp_path / "file")


@pytest.mark.slow
def test_the_whole_demonstration(run, tmp_path):
    result = run("demo", "--output", tmp_path)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 1_000_000
    # The first mode is the withheld digit, and its pictures say so.
    first = re.search(r'<article class="mode first">.*?</article>', page, re.DOTALL)[0]
    typical = first.split("Nearest to it in the reference")[0]
    assert re.findall(r'alt="row \d+, label (\d)"', typical) == ["4"] * 12
    document = json.loads((tmp_path / "results.json").read_text())
    assert len(document["results"]) == 4
    assert all(
        Path(tmp_path / name).stat().st_size
        for name in ("report.html", "results.json", "results.npz")
    )


@pytest.mark.parametrize("name", ["config.toml", "rules.toml"])
def test_files_of_others_are_not_replaced(name, fails, small, tmp_path):
    (tmp_path / name).write_text("mine = 1")
    message = fails("demo", "--output", tmp_path)
    assert f"{name} must not replace a file that shiftmetrics did not write" in message
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine = 1"


def test_an_interrupt_leaves_no_empty_folder(monkeypatch, tmp_path):
    def interrupted(**options):
        raise KeyboardInterrupt

    monkeypatch.setattr("shiftmetrics.examples.evaluate.evaluate_digits", interrupted)
    new, own = tmp_path / "new", tmp_path / "own"
    own.mkdir()
    for folder in (new, own):
        with pytest.raises(KeyboardInterrupt):
            demo(output=folder, quiet=True)
    # a folder that was there stays, though it is empty
    assert (new.exists(), own.exists()) == (False, True)
