"""The first seed of an experiment by the sources of an earlier commit, in a repository made for it."""

import json
import subprocess
from pathlib import Path

import _beside
import pytest

EXPERIMENT = """
def _plain(value):
    return {name: float(number) for name, number in value.items()}
"""
SCRIPT = """
from shiftmetrics import FACTOR

def measure(seed, quick):
    return {"size": FACTOR * (seed + 1)}
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_beside, "TOP", tmp_path)
    git(tmp_path, "init", "--quiet")
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(folder: Path, factor: int, runs: list[dict[str, float]]) -> str:
    """Commit sources with this factor, and the result of the script; return the commit."""
    texts = {
        "src/shiftmetrics/__init__.py": f"FACTOR = {factor}\n",
        "papers/_experiment.py": EXPERIMENT,
        "papers/made.py": SCRIPT,
        "papers/results/made.json": json.dumps({"factor": factor, "runs": runs}),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", f"factor {factor}")
    return git(folder, "rev-parse", "--short=10", "HEAD")


def test_the_commit_that_brought_the_kept_seeds_is_found(repository: Path) -> None:
    commit(repository, 2, [{"size": 2.0}])
    brought = commit(repository, 3, [{"size": 3.0}])
    commit(repository, 4, [{"size": 3.0}])
    assert _beside.commit_that_made("made") == brought


def test_earlier_sources_compute_apart_from_the_present_ones(repository: Path) -> None:
    earlier = commit(repository, 2, [{"size": 2.0}])
    later = commit(repository, 5, [{"size": 2.0}])
    assert _beside.first_seed_by(earlier, "made") == {"size": 2.0}
    assert _beside.first_seed_by(later, "made") == {"size": 5.0}


def test_sources_that_do_not_run_are_named(repository: Path) -> None:
    made = commit(repository, 2, [{"size": 2.0}])
    with pytest.raises(RuntimeError, match="other at .* does not run here: ModuleNotFoundError"):
        _beside.first_seed_by(made, "other")


def test_nothing_is_found_without_a_history(repository: Path) -> None:
    (repository / "papers" / "results").mkdir(parents=True)
    (repository / "papers" / "results" / "made.json").write_text('{"runs": []}', encoding="utf-8")
    assert _beside.commit_that_made("made") is None
