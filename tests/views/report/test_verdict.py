"""A decision is the first screen of a page, the card of a notebook, and what the terminal prints."""

from decided import Decided
from shiftmetrics.cli.outputs import show
from shiftmetrics.stability import FixedLoss, stability_criterion
from shiftmetrics.views import Context
from shiftmetrics.views.report import render_report


def test_the_answer_stands_before_everything_else(decided):
    measured = stability_criterion(FixedLoss([0.0, 0.0, 1.0, 0.0]), 0.5)
    context = Context(command="shiftmetrics diff old.csv new.csv")
    page = render_report({"it": decided, "other": measured}, context=context)
    answer = page.index('class="answer good"')
    shown = [page.index(part) for part in (">SAFE<", ">52<", "Ship it.", "Look at cats.")]
    assert [answer, *shown] == sorted([answer, *shown])
    assert max(shown) < page.index("shiftmetrics diff old.csv") < page.index('id="verdict"')
    assert "new is &lt;b&gt;" in page  # texts are escaped
    assert page.count('<article class="verdict">') == 1  # the card of the measure alone


def test_what_is_wrong_is_red(decided):
    page = render_report(Decided(value=-1.0, error_bound=0.0, n_samples=10))
    assert 'class="answer bad"' in page
    assert "WORSE" in page


def test_the_terminal_prints_the_word_first(decided, capsys):
    show({"it": decided}, ["Took id as the id."])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "SAFE  new is <b>2 points</b> better."
    assert lines[1:] == ["Kappa 0.9.", "Ship it.", "Look at cats.", "Note: Took id as the id."]
