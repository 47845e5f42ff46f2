"""Pages of every command as a browser reads them: whole, small, without scripts, with nothing from elsewhere."""

import re
from pathlib import Path

import pytest

import killed_writes
from pages import Page
from shiftmetrics.cli.app import COMMANDS

LARGEST = 250_000
"""Bytes of a page that can be sent by mail and opened at once."""
ACTIVE = {"script", "link", "iframe", "object", "embed", "base", "video", "audio", "form"}
LINES = {
    name: re.sub(r" --(json|junit|markdown|rows|changed) \S+", "", line)
    for name, line in killed_writes.COMMANDS.items()
    if ".html" in line
} | {
    "curves": "curves weak=runs.npz:noisy none=runs.npz:clean --reference runs.npz:clean --report r.html"
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    killed_writes.write_inputs(folder, 0, n_rows=2_000)
    return folder


def test_every_command_with_a_page_is_here() -> None:
    """`run` and `demo` put the pages of the others together."""
    assert set(COMMANDS) - set(LINES) == {"demo", "example", "passport", "read", "run"}


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_a_page_is_whole_small_and_quiet(
    name: str, inputs: Path, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inputs)
    for file in ("r.html", "s.json", "s.history.jsonl"):
        Path(file).unlink(missing_ok=True)
    done = run(*LINES[name].split())
    assert done.exit_code in (0, 1, 3), done.output
    text = Path("r.html").read_text(encoding="utf-8")
    assert 5_000 < len(text.encode()) <= LARGEST
    page = Page(text)
    assert page.open == []
    assert not {tag for tag, _ in page.elements} & ACTIVE
    assert not re.search(r"https?://|@import|\bon\w+=", re.sub(r"data:[^\"']+", "", text))
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    answer = next(
        line for line in done.stdout.splitlines() if line and not line.startswith("Read ")
    )
    answer = answer.removeprefix("res: ")  # the terminal names each file of `report`
    assert _letters(answer)[:40] in _letters(page.text)


def _letters(text: str) -> str:
    return re.sub(r"\W", "", text)
