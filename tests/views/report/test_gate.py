"""The verdict shows how rules ended, what stands in the way first."""

import re

import pytest

from shiftmetrics.rules import Rule, check_results
from shiftmetrics.views import Context
from shiftmetrics.views.report import document, render_report


def page_of(results, *rules):
    return render_report(results, context=Context(rules=check_results(results, rules)))


@pytest.mark.slow
def test_rules_stand_before_the_sections(results):
    page = page_of(
        results,
        Rule(name="holds", result="mild", at_least=0.01, reason="Not shown."),
        Rule(name="fails & <b>", result="mild", at_least=9, reason="Agreed in March."),
        Rule(name="lost", result="nowhere", at_least=0),
    )
    gate = page.partition('class="gate error"')[2].partition("<nav")[0]
    assert re.findall(r'class="chip (\w+)"', gate) == ["error", "failed", "passed"]
    assert "3 checks of 3 rules, 1 passed, 1 failed, 1 could not be made." in gate
    assert "fails &amp; &lt;b&gt;" in gate
    assert "Agreed in March." in gate
    assert "Not shown." not in page
    assert "No rule checks strong, break, new." in gate


@pytest.mark.slow
def test_a_gate_that_is_passed_says_so(results):
    assert 'class="gate passed"' in page_of(
        results, Rule(measure="posterior_agreement", at_least=0.0)
    )
    assert 'class="gate failed"' in page_of(
        results, Rule(measure="posterior_agreement", at_least=9)
    )
    assert 'class="gate' not in render_report(results)


def test_the_page_stays_small_with_many_rules(results, monkeypatch):
    monkeypatch.setattr(document, "MOST_OUTCOMES", 3)
    page = page_of(results, *(Rule(name=f"rule {i}", result="mild", at_least=-i) for i in range(5)))
    assert page.count('class="chip passed"') == 3
    assert "And 2 more." in page
