"""A decision is the first screen of a page, the card of a notebook, and what the terminal prints."""

import numpy as np
import pytest

from decided import Decided
from pages import Page
from shiftmetrics import compare_agreement, kernel_entropic_novelty, posterior_agreement
from shiftmetrics._core.result import format_percent
from shiftmetrics.cli.outputs import show
from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion
from shiftmetrics.views import Context
from shiftmetrics.views.report import render_report
from shiftmetrics.views.report.answer import answer_of


def test_the_answer_stands_before_everything_else(decided):
    context = Context(command="shiftmetrics diff old.csv new.csv")
    page = render_report({"it": decided}, context=context)
    answer = page.index('class="answer good"')
    shown = [page.index(part) for part in ("> SAFE<", ">52<", "Ship it.", "Look at cats.")]
    assert [answer, *shown] == sorted([answer, *shown])
    assert max(shown) < page.index("shiftmetrics diff old.csv") < page.index('id="methods"')
    assert "new is &lt;b&gt;" in page  # texts are escaped


def test_what_is_wrong_is_red(decided):
    page = render_report(Decided(value=-1.0, error_bound=0.0, n_samples=10))
    assert 'class="answer bad"' in page
    assert "WORSE" in page


def test_the_terminal_prints_the_word_first(decided, capsys):
    show({"it": decided}, ["Took id as the id."])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "SAFE  new is <b>2 points</b> better."
    assert lines[1:] == ["Kappa 0.9.", "Ship it.", "Look at cats.", "Note: Took id as the id."]


@pytest.fixture(scope="module")
def measured():
    """Return results of all measures, at their boundaries too."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 80)
    clean = rng.normal(size=(80, 3)) + 3 * np.eye(3)[labels]
    noisy = clean + rng.normal(size=(80, 3))
    points = np.concatenate([rng.normal(size=(60, 2)), rng.normal(9.0, 0.3, size=(30, 2))])
    known = rng.normal(size=(90, 2))
    losses = FixedLoss([0.0, 0.0, 1.0, 0.0])
    return {
        "changed": posterior_agreement(noisy, clean, resampling=0.95),
        "unchanged": posterior_agreement(clean, clean),
        "new": kernel_entropic_novelty(points, known, bandwidth=1.0),
        "missing": kernel_entropic_novelty(known, points, bandwidth=1.0),
        "same": kernel_entropic_novelty(known, rng.normal(size=(90, 2)), bandwidth=1.0),
        "breaks": stability_criterion(ZeroOneLoss(np.maximum(rng.normal(1, 1, 80), 0)), 0.4),
        "weights": stability_criterion(losses, 0.5),
        "broken": stability_criterion(losses, 0.2),
        "holds": stability_criterion(FixedLoss([0.0, 0.0, 0.0, 0.0]), 0.2),
        "compared": compare_agreement(
            {
                name: (clean + size * rng.normal(size=(80, 3)), clean)
                for name, size in (("small", 2.0), ("middle", 0.5), ("large", 0.2))
            }
        ),
    }


WORDS = {
    "changed": "CHANGED",
    "unchanged": "UNCHANGED",
    "new": "NEW",
    "missing": "MISSING",
    "same": "NOTHING NEW",
    "breaks": "BREAKS",
    "weights": "BREAKS",
    "broken": "BROKEN",
    "holds": "HOLDS",
}


@pytest.mark.parametrize("name", [*WORDS, "compared"])
def test_the_first_screen_of_a_measure_is_short(measured, name):
    answer = answer_of(measured[name])
    assert answer.word == WORDS.get(name, answer.word)
    assert len(answer.word) <= 12
    assert len(answer.sentence.split()) <= 20
    assert "`" not in answer.sentence
    assert "p =" not in answer.sentence
    assert len(answer.tiles) <= 6


def test_the_numbers_of_a_first_screen_are_those_of_the_result(measured):
    changed = measured["changed"]
    figures = {figure.name: figure for figure in answer_of(changed).tiles}
    assert figures["Changed"].value == format_percent(changed.changes.disagreement)
    assert format_percent(changed.changes.disagreement_interval.low) in figures["Changed"].meaning
    new = measured["new"]
    figures = {figure.name: figure for figure in answer_of(new).tiles}
    assert figures["New"].value == format_percent(new.fraction)
    assert format_percent(new.fraction_interval.low) in figures["New"].meaning


def test_the_lead_is_that_of_the_first_over_the_second(measured):
    compared = measured["compared"]
    lead = answer_of(compared).tiles[-1]
    assert lead.name == f"Lead over {compared.models[1].name}"
    gap = compared.models[0].value - compared.models[1].value
    assert float(lead.value) == pytest.approx(gap, rel=1e-3)


def test_a_page_of_one_measure_leads_with_its_answer_and_names_the_files(measured):
    context = Context(files={"SHIFTED": "noisy rows.csv", "REFERENCE": "clean.csv"})
    page = Page(render_report(measured["changed"], context=context)).text
    assert page.index("CHANGED") < page.index("Do predictions survive")
    assert "shiftmetrics diff clean.csv 'noisy rows.csv' --changed changed.csv" in page
    # what is on the first screen alone is not all that was found
    assert measured["changed"].headline().split(";")[1].strip() in page


def test_of_several_results_the_worst_leads_and_each_has_a_line(measured):
    page = render_report({"mine": measured["changed"], "yours": measured["broken"]})
    assert 'class="answer bad"' in page
    text = Page(page).text
    assert text.index("BROKEN") < text.index("The worst of 2 measurements: yours.")
    for name in ("changed", "broken"):
        assert answer_of(measured[name]).sentence in text


def test_a_result_without_its_rows_has_no_chart(measured):
    assert "<svg" not in render_report(measured["breaks"].without_rows())
