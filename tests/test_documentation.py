"""The README and the pages of the documentation are true: every Python block runs, every output is what it prints.

The blocks of a page share one namespace, in their order. A ``text`` block right after a ``python`` block is what that
block prints, with ``...`` for what may differ (see `doctest.ELLIPSIS`). A ``console`` block holds command lines, each
followed by what it prints and, by ``echo $?``, its exit code. Commands anywhere else need files that a page has not:
their options and arguments are checked.
``python tests/test_documentation.py PAGE`` writes the ``text`` blocks of a page anew.
"""

import contextlib
import doctest
import io
import re
import shlex
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from shiftmetrics.cli import main
from shiftmetrics.cli.app import load_command
from shiftmetrics.cli.errors import UsageError

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
WITH_CODE = [
    page
    for page in PAGES
    if re.search(r"^```(python|console)$", page.read_text("utf-8"), re.MULTILINE)
]


class Block(NamedTuple):
    line: int
    code: str
    output: str | None

    def printed(self, page: Path, namespace: dict[str, object]) -> str:
        """Run the block and return what it prints."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * (self.line - 1) + self.code, name(page), "exec"), namespace)
        return out.getvalue()


def blocks(page: Path, language: str = "python") -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(
        rf"^```{language}\n(.*?)^```\n(?:\n*^```text\n(.*?)^```\n)?", text, re.MULTILINE | re.DOTALL
    )
    return [Block(text[: part.start()].count("\n") + 2, part[1], part[2]) for part in found]


def without_bounds(text: str) -> str:
    """Leave out the bounds on rounding errors, which differ between processors."""
    return re.sub(r"\b\d\.\de-\d\d\b", "BOUND", text)


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_of_a_page_runs(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    checker = doctest.OutputChecker()
    for block in blocks(page):
        printed = block.printed(page, namespace)
        if block.output is not None:
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            same = checker.check_output(
                without_bounds(block.output), without_bounds(printed), flags
            )
            assert same, f"{name(page)}, line {block.line} prints:\n{printed}\nnot:\n{block.output}"
    for block in blocks(page, "console"):
        # a command line, and what it prints below it where the page says so
        commands = re.findall(
            r"^\$ (shiftmetrics .*)\n((?:(?!\$ ).*\n)*)(?:\$ echo \$\?\n(\d)\n)?",
            block.code,
            re.MULTILINE,
        )
        for command, output, code in commands:
            monkeypatch.setattr(sys, "argv", shlex.split(command))
            capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                main()
            assert (ended.value.code or 0) == int(code or 0), command
            if output:
                printed = capsys.readouterr().out
                flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
                assert checker.check_output(output, printed, flags), f"{command} prints:\n{printed}"


def commands_of(page: Path) -> list[str]:
    """Return the command lines of a page, in blocks of any kind and within sentences."""
    text = page.read_text(encoding="utf-8")
    block = r"^ *```[^\n]*\n(.*?)^ *```$"
    flags = re.MULTILINE | re.DOTALL
    inside = "\n".join(re.findall(block, text, flags))
    found = re.findall(r"^\W*(?:run: )?(shiftmetrics [a-z]+ .*)", inside, re.MULTILINE)
    sentences = re.sub(r"^ *```.*?^ *```$", "", text, flags=flags)
    found += re.findall(r"`(shiftmetrics [a-z]+ [^`]*)`", sentences)
    # up to what the shell does with it, or fills in
    found = [re.split(r" [|>&#]", command)[0] for command in found]
    return [re.sub(r"\$\{.*?\}|\$\(.*?\)", "filled", command) for command in found]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_of_a_page_has_its_options_and_arguments(page: Path) -> None:
    for command in commands_of(page):
        words = shlex.split(command)
        if {"...", "--help"} & set(words):
            continue
        # raises where an option is not known, or an argument is missing
        load_command(words[1]).make_context(words[1], words[2:])


def test_commands_are_found_wherever_they_stand(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Type `shiftmetrics diff a b --peak`:\n\n```text\nshiftmetrics diff a b > c\n```\n\n"
        '```yaml\n- run: shiftmetrics audit a "$(date)" # it\n```\n'
    )
    peak, *others = commands_of(page)[::-1]
    assert others[::-1] == ["shiftmetrics diff a b", 'shiftmetrics audit a "filled"']
    with pytest.raises(UsageError, match="--peak"):
        load_command("diff").make_context("diff", shlex.split(peak)[2:])


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_block_of_python_escapes_the_test(page: Path) -> None:
    # a block marked "py" looks the same on the page, and would not be run
    if (
        page.name == "language_models.md"
    ):  # they need files of other tools: test_evaluation_tables.py runs them
        return
    assert not re.search(
        r"^ *```(py|python3|ipython|pycon)$", page.read_text("utf-8"), re.MULTILINE
    )


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target or target.startswith(("#", "mailto:")):
            continue
        path = target.partition("#")[0]
        if not path.startswith("gallery/"):  # made by the build
            assert (page.parent / path).exists(), f"{name(page)} links to {target}"


def test_the_two_commands_stand_at_the_top_of_the_readme() -> None:
    top = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:20]
    assert {"make demo", "make test"} <= {line.partition("#")[0].strip(" $") for line in top}


def test_every_command_of_the_readme_is_a_target() -> None:
    targets = set(
        re.findall(
            r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    )
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(
            r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), flags=re.MULTILINE
        ):
            assert target in targets, f"{name(page)} names make {target}"


def write_outputs(page: Path) -> None:
    """Write what the blocks of a page print into the ``text`` blocks after them, wrapped to the page."""
    text, namespace = page.read_text(encoding="utf-8"), {}
    for block in blocks(page):
        printed = block.printed(page, namespace).splitlines()
        if block.output is not None:
            lines = [
                part
                for line in printed
                for part in textwrap.wrap(line, 100, subsequent_indent="  ")
            ]
            after = block.code + "```\n\n```text\n"
            text = text.replace(after + block.output, after + "\n".join([*lines, ""]))
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        write_outputs(Path(argument).resolve())
