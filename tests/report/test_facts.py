import pytest

from shiftmetrics.report import facts_of
from shiftmetrics.report.facts import percent, with_unit


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "50.0 %"), (1.0, "100.0 %"), (0.0, "0.0 %"), (0.0001, "0.01 %"), (None, "–"), (float("nan"), "–")],
)
def test_percent(value, text):
    assert percent(value) == text


def test_units():
    assert with_unit(1.5, "nats") == "1.5 nats"
    assert with_unit(None, "nats") == "–"
    assert with_unit(float("inf"), "") == "inf"


def test_every_measure_leads_with_itself_and_explains_its_direction(results):
    for result in results.values():
        first = facts_of(result)[0]
        assert first.name == result.title.lower()
        assert first.meaning.startswith("higher is ")
        assert all(fact.value for fact in facts_of(result))
