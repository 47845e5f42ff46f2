"""JUnit files: what common readers of them expect, and characters that XML cannot hold."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.rules import Rule, check_results

# Of the schema that Jenkins publishes for its JUnit plugin: attributes that must be there, then those that may.
ATTRIBUTES = {
    "testsuites": ({"name"}, {"tests", "failures", "errors", "time", "disabled"}),
    "testsuite": (
        {"name", "tests"},
        {
            "failures",
            "errors",
            "skipped",
            "time",
            "timestamp",
            "hostname",
            "id",
            "package",
            "disabled",
        },
    ),
    "testcase": ({"name", "classname"}, {"time", "assertions", "status"}),
    "failure": (set(), {"message", "type"}),
    "error": (set(), {"message", "type"}),
    "system-out": (set(), set()),
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase", "properties", "system-out", "system-err"},
    "testcase": {"failure", "error", "skipped", "system-out", "system-err"},
}


def check_schema(element):
    required, allowed = ATTRIBUTES[element.tag]
    assert required <= set(element.attrib) <= required | allowed
    for child in element:
        assert child.tag in CHILDREN.get(element.tag, set())
        check_schema(child)
    if element.tag in ("testsuites", "testsuite"):
        cases = list(element.iter("testcase"))
        assert int(element.get("tests")) == len(cases)
        assert int(element.get("failures")) == sum(
            case.find("failure") is not None for case in cases
        )
        assert int(element.get("errors")) == sum(case.find("error") is not None for case in cases)
        for name in ("tests", "failures", "errors", "skipped"):
            assert int(element.get(name, 0)) >= 0
        assert float(element.get("time")) >= 0.0


@pytest.fixture
def write(gauge, tmp_path):
    def write(*rules, names=("it",)):
        checked = check_results({name: gauge() for name in names}, rules)
        checked.to_junit(tmp_path / "junit.xml")
        root = ET.parse(tmp_path / "junit.xml").getroot()
        check_schema(root)
        return root

    return write


def test_each_rule_and_result_is_a_test_case(write):
    root = write(
        Rule(name="holds", at_least=0),
        Rule(name="fails", at_least=5, reason="Agreed in March."),
        Rule(name="warns", at_least=5, severity="warn"),
        Rule(name="lost", result="nowhere", at_least=5),
        names=("a", "b"),
    )
    cases = {(case.get("name"), case.get("classname")): case for case in root.iter("testcase")}
    assert len(cases) == 7
    gauge = "shiftmetrics.tests.gauge"
    assert list(cases["holds [a]", gauge]) == []
    failure = cases["fails [b]", gauge].find("failure")
    assert failure.get("message") == "value 1: not at least 5."
    assert "Agreed in March." in failure.text
    assert cases["warns [a]", gauge].find("failure") is None
    assert (
        cases["warns [a]", gauge]
        .find("system-out")
        .text.startswith("Warning: value 1: not at least 5.")
    )
    assert "'nowhere'" in cases["lost", "shiftmetrics"].find("error").get("message")


@given(st.text(min_size=1), st.text())
def test_any_text_makes_a_file_that_parses(gauge, tmp_path_factory, name, reason):
    path = tmp_path_factory.getbasetemp() / "any.xml"
    checked = check_results({name: gauge()}, [Rule(name=name, at_least=5, reason=reason)])
    checked.to_junit(path)
    (case,) = ET.parse(path).getroot().iter("testcase")
    assert case.find("failure").get("message") == "value 1: not at least 5."


def test_a_folder_that_is_not_there_is_refused(write, gauge, tmp_path):
    checked = check_results({"it": gauge()}, [Rule(at_least=0)])
    with pytest.raises(ValueError, match="output folder must exist"):
        checked.to_junit(tmp_path / "nowhere" / "junit.xml")
    with pytest.raises(ValueError, match="must be a file, got the folder"):
        checked.to_junit(tmp_path)
