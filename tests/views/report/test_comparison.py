"""A comparison on the page: a line for each model and for each pair, with the figures of the result."""

import re
from dataclasses import replace

import numpy as np
import pytest

from shiftmetrics import Resampling
from shiftmetrics.comparison import compare_agreement
from shiftmetrics.comparison.result import AGREES_MOST, SEPARATED
from shiftmetrics.views.report import facts_of, render_report
from shiftmetrics.views.report.answer import answer_of


@pytest.fixture(scope="module")
def compared():
    rng = np.random.default_rng(0)
    clean, noise = 2.0 * rng.normal(size=(2, 120, 3))
    constant = np.tile([9.0, 0.0, 0.0], (120, 1)) + 0.01 * noise
    return compare_agreement(
        {"constant": constant, "upset": clean + noise, "calm": clean + 0.1 * noise},
        {"constant": constant, "upset": clean, "calm": clean},
        resampling=Resampling(rng=0, n_resamples=100),
    )


def lines(page, caption):
    table = page.partition(caption)[2].partition("</table>")[0]
    return [re.findall(r"<td[^>]*>([^<]*)</td>", line) for line in table.split("<tr>")[2:]]


def test_models_stand_in_their_order(compared):
    page = render_report(compared)
    found = lines(page, "Models, the best first")
    assert [line[1] for line in found] == [model.name for model in compared.models]
    assert [line[0] for line in found] == [model.ranks for model in compared.models]
    values = [float(line[2]) for line in found]
    assert values == pytest.approx([model.value for model in compared.models], rel=0.01)
    assert [line[4] == "constant" for line in found] == [
        model.collapsed for model in compared.models
    ]


def test_every_pair_has_a_line(compared):
    found = lines(render_report(compared), "Paired differences")
    pairs = compared.differences
    assert [line[:2] for line in found] == [[pair.first, pair.second] for pair in pairs]
    assert [float(line[4]) for line in found] == pytest.approx([p.p_value for p in pairs], rel=0.05)


def test_facts_name_each_model_with_its_rank(compared):
    facts = {fact.name: fact for fact in facts_of(compared)}
    for model in compared.models:
        assert f"rank {model.ranks}" in facts[model.name].meaning
        assert ("a single class" in facts[model.name].meaning) == model.collapsed


def test_the_first_screen_asks_for_the_labels_that_the_headline_asks_for(compared):
    clear = replace(compared, status=SEPARATED)
    assert answer_of(clear).word == "CLEAR"
    answer = answer_of(replace(clear, beside="Label 2 rows.", to_label=("r7", "r3")))
    assert (answer.word, answer.tone) == ("UNDECIDED", "open")
    steps = answer.steps
    assert steps[0] == "Label 2 rows to decide, in this order: r7, r3."
    assert not any(step.startswith("Take ") for step in steps)


def test_a_vote_is_called_agreement_on_the_first_screen(compared):
    sentence = answer_of(replace(compared, wording=AGREES_MOST)).sentence
    assert sentence.startswith(f"{compared.best.name} agrees most with the others of 3 models: ")
    assert "best" not in sentence
