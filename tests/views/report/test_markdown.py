"""Results as Markdown: what a decision leads with, and no markup from names."""

import re
import shlex

import pytest

from shiftmetrics import diff_models
from shiftmetrics._core.files import is_ours
from shiftmetrics.stability import FixedLoss, stability_criterion
from shiftmetrics.views.report import render_markdown
from shiftmetrics.views.report.markdown import plain_text


def test_the_verdict_leads(decided):
    lines = render_markdown({"it": decided}, title="From a to b", notes=["Took x.", "Took x."])
    shown = lines.splitlines()
    assert shown[1] == "## SAFE: From a to b"
    assert shown[3] == "new is &lt;b>2 points&lt;/b> better."
    assert lines.index("**Ship it.**") < lines.index("- Kappa 0.9.")
    assert lines.count("Took x.") == 1


def test_a_measure_has_its_headline():
    measured = stability_criterion(FixedLoss([0.0, 0.0, 1.0, 0.0]), 0.5)
    text = render_markdown({"stability": measured})
    assert "## BREAKS: stability" in text
    assert plain_text(measured.headline()) in text


@pytest.mark.parametrize(
    "text",
    [
        "<script>",
        "[a](http://b)",
        "![a](b)",
        "*a*",
        "_a_",
        "`a`",
        "a|b",
        "~~a~~",
        "$a$",
        "@a",
        "#1",
    ],
)
def test_signs_of_markdown_are_text(text):
    shown = plain_text(text)
    assert shown != text
    # what is left without the escapes is the text
    assert shown.replace("\\", "").replace("&lt;", "<").replace("&amp;", "&") == text


@pytest.mark.parametrize("start", ["- a", "+ a", "> a", "= a", "1. a", "2) a"])
def test_no_text_starts_a_list_or_a_quotation(start):
    shown = plain_text(start)
    assert shown.replace("\\", "") == start
    assert shown != start


def test_lines_and_controls_are_removed():
    assert plain_text("a\n\n# b\x1b[2J") == "a \\# b\\\\x1b\\[2J"


def test_a_file_is_told_from_those_of_the_user(decided, tmp_path):
    page = tmp_path / "verdict.md"
    page.write_text(render_markdown({"it": decided}))
    assert is_ours(page, "md")
    page.write_text("# Mine\n")
    assert not is_ours(page, "md")


@pytest.mark.parametrize(("name", "is_code"), [("new_*[x]*.csv", True), ("new`.csv", False)])
def test_a_command_is_code_that_can_be_copied(name, is_code):
    old, new = ["a"] * 30 + ["b"] * 30, ["a"] * 20 + ["b"] * 40
    files = {"OLD": "old.csv", "NEW": name}
    text = render_markdown({"diff": diff_models(old, new)}, files=files)
    commands = re.findall(r"`(shiftmetrics diff [^`]*)`", text)
    assert len(commands) == 2 * is_code
    for command in commands:
        assert shlex.split(command)[2:4] == ["old.csv", name]
