"""Files of an example: what the first page shows, and nothing of others written over."""

import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[3]


def shown(command):
    """Return what the README and the pages show below a command, up to dots for the rest."""
    found = {}
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        pattern = rf"^\$ shiftmetrics {command} .*\n((?:(?!\$ ).+\n)+?)\.\.\.$"
        for lines in re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE):
            found[page.name] = lines.splitlines()
    assert "README.md" in found
    return found


def test_the_example_of_an_audit_is_what_the_first_page_shows(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("example", "audit").exit_code == 0
    result = run("audit", "reference.csv", "current.csv", "--time", "day")
    current = pd.read_csv("current.csv")
    riders = current["job"] == "delivery rider"
    for page, lines in shown("audit reference.csv current.csv --time day").items():
        assert result.stdout.splitlines()[: len(lines)] == lines, page
    assert f"job = delivery rider, hours above 54, age 23  {riders.sum()} samples" in result.stdout
    assert f"income missing  {current['income'].isna().sum()} samples" in result.stdout
    assert result.stdout.count("since 2024-10-16 (0 % > ") == 2
    late = current[current["day"] >= "2024-10-16"]
    young = late["age"] <= 27
    of_riders = late["job"] == "delivery rider"
    counts = (
        f"{(young & of_riders).sum()} of {of_riders.sum()} samples, {(young & ~of_riders).sum()} of"
    )
    assert f"of it where age at most 27: {counts}" in result.stdout
    assert run("example", "audit").exit_code == 0  # the same again


def test_the_example_of_two_models_is_what_the_first_page_shows(run, fails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("example", "diff").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.csv", "new.csv", "old.csv"]
    done = run("diff", "old.csv", "new.csv", "--labels", "labels.csv", "--allow", "0.01")
    for page, lines in shown("diff old.csv new.csv --labels labels.csv --allow 0.01").items():
        assert done.stdout.splitlines()[: len(lines)] == lines, page
    assert done.exit_code == 0


@pytest.mark.parametrize("name", ["reference.csv", "current.csv"])
def test_nothing_is_written_over(name, fails, place):
    """What is somebody's own stays, and so do links that point nowhere; a file is not written without the other."""
    (place / name).write_text("mine")
    assert f"--output must not hold another {name}, got '.'" in fails("example", "audit")
    assert [path.name for path in place.iterdir()] == [name]
    assert (place / name).read_text() == "mine"
    (place / name).unlink()
    (place / name).symlink_to("nowhere")
    assert "must not hold another" in fails("example", "audit")
