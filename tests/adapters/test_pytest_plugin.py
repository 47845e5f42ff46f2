"""The plugin for pytest, run as a project of its own would run it."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.metadata import entry_points
from pathlib import Path

import pandas as pd
import pytest

from evaluation_logs import promptfoo_json, promptfoo_result
from shiftmetrics.adapters.pytest_plugin import PROPERTY, SafeGate, compared_inputs

pytest_plugins = "pytester"

ROOT = Path(__file__).resolve().parents[2]
NAME = "shiftmetrics"
MODULE = "shiftmetrics.adapters.pytest_plugin"


def test_the_plugin_is_an_entry_point():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'[project.entry-points.pytest11]\n{NAME} = "{MODULE}"' in text


def test_other_projects_load_nothing_but_pytest():
    code = f"""
import sys, pytest
before = set(sys.modules)
import {MODULE}
more = {{name.partition(".")[0] for name in set(sys.modules) - before}}
assert more <= {{"shiftmetrics"}}, more
assert len([name for name in sys.modules if name.startswith("shiftmetrics")]) < 10
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.fixture(scope="module")
def all_loaded(tmp_path_factory):
    """Load what the plugin loads: a run within this process forgets what it was first to load."""
    gate = SafeGate("warm up", lambda name, value: None, tmp_path_factory.mktemp("pages"))
    truth = ["cat", "dog"] * 200
    gate(truth, truth, labels=truth, allow=0.02)


@pytest.fixture
def project(pytester, all_loaded):
    """Return a project with predictions of an equal and of a worse model, and a function that runs its tests."""
    truth = ["cat", "dog"] * 200
    frames = {"old": truth, "same": truth, "bad": ["dog"] * 60 + truth[60:]}
    for name, answers in frames.items():
        table = pd.DataFrame({"id": range(400), "prediction": answers, "label": truth})
        table.to_csv(pytester.path / f"{name}.csv", index=False)
    loaded = {found.name for found in entry_points(group="pytest11")}
    plugin = NAME if NAME in loaded else MODULE

    def run(body, *arguments, ini="[pytest]\n"):
        pytester.makepyfile(body)
        pytester.makeini(ini)
        return pytester.runpytest_inprocess("-p", plugin, "-p", "no:cacheprovider", *arguments)

    return run


def test_a_safe_model_passes_and_its_result_is_returned(project):
    done = project(
        """
        def test_new_model(assert_safe):
            result = assert_safe("old.csv", "same.csv", labels="label", allow=0.02)
            assert result.verdict == "SAFE"
            assert result.n_samples == 400
        """
    )
    done.assert_outcomes(passed=1)


def test_the_verdict_is_the_message_of_a_failure(project):
    done = project(
        """
        def test_new_model(assert_safe):
            assert_safe("old.csv", "bad.csv", labels="label", allow=0.02)

        def test_too_few(assert_safe):
            assert_safe("old.csv", "same.csv", labels="label", allow=0.001)
        """
    )
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(["WORSE  new is 7.5 points worse*", "CANNOT TELL  *"])
    # the message alone, and no lines of the plugin
    assert "pytest_plugin.py" not in done.stdout.str()


def test_the_junit_file_has_the_verdicts(project, pytester):
    done = project(
        """
        def test_new_model(assert_safe):
            assert_safe("old.csv", "same.csv", labels="label", allow=0.02, name="first")
            assert_safe("old.csv", "bad.csv", labels="label", allow=0.02, name="second")
        """,
        "--junitxml=junit.xml",
        "-Werror::pytest.PytestWarning",
    )
    done.assert_outcomes(failed=1)
    (case,) = ElementTree.parse(pytester.path / "junit.xml").iter("testcase")
    found = {part.get("name"): part.get("value") for part in case.iter("property")}
    assert found[f"{PROPERTY}.first"] == "SAFE"
    assert found[f"{PROPERTY}.second"] == "WORSE"
    assert found["shiftmetrics.sentence.second"].startswith("new is 7.5 points worse")
    assert case.find("failure").get("message").startswith("Failed: second:\nWORSE")


@pytest.mark.slow
def test_each_comparison_has_a_report(project, pytester):
    done = project(
        """
        import pytest

        @pytest.mark.parametrize("name", ["a/b", "a:b"])
        def test_new_model(assert_safe, name):
            assert_safe("old.csv", "same.csv", labels="label", allow=0.02)
            assert_safe("old.csv", "bad.csv", labels="label", allow=0.02)
        """,
        "--junitxml=junit.xml",
        "--shiftmetrics-reports=pages",
    )
    done.assert_outcomes(failed=2)
    pages = sorted((pytester.path / "pages").glob("*.html"))
    assert len(pages) == 4
    assert sum("WORSE" in page.read_text(encoding="utf-8") for page in pages) == 2
    found = ElementTree.parse(pytester.path / "junit.xml").iter("property")
    named = [part.get("value") for part in found if part.get("name") == "shiftmetrics.report"]
    assert sorted(named) == [str(page) for page in pages]


def test_the_folder_may_be_set(project, pytester):
    done = project(
        """
        def test_new_model(assert_safe):
            assert_safe("old.csv", "same.csv", labels="label", allow=0.02)
        """,
        ini="[pytest]\nshiftmetrics_reports = out/pages\n",
    )
    done.assert_outcomes(passed=1)
    assert len(list((pytester.path / "out" / "pages").glob("*.html"))) == 1


def test_what_cannot_be_compared_is_an_error_and_no_verdict(project):
    done = project(
        """
        def test_new_model(assert_safe):
            assert_safe("old.csv", "missing.csv", labels="label", allow=0.02)
        """
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*new must be an existing file*"])
    assert "CANNOT TELL" not in done.stdout.str()


# --- without a run of its own ----------------------------------------------------------------------------


def test_logs_and_scores_are_told(tmp_path):
    paths = []
    for name, wrong in (("old", 3), ("new", 4)):
        results = [promptfoo_result(n, 0.0 if n % wrong == 0 else 1.0) for n in range(120)]
        paths.append(promptfoo_json(tmp_path / f"{name}.json", results))
    result = compared_inputs(*paths, labels=None, scores=None, options={"allow": 0.2})
    assert (result.old_score, result.new_score) == (80 / 120, 90 / 120)
    table = pd.DataFrame({"id": range(80), "judge": [0.5, 1.0] * 40})
    result = compared_inputs(table, table, labels=None, scores="judge", options={"allow": 0.2})
    assert result.old_score == pytest.approx(0.75)
    with pytest.raises(TypeError, match="labels"):
        compared_inputs(table, table, labels="id", scores="judge", options={"allow": 0.2})


def test_labels_may_be_a_file(tmp_path):
    truth = pd.DataFrame({"id": range(300), "label": ["a", "b", "b"] * 100})
    truth.to_csv(tmp_path / "labels.csv", index=False)
    answers = truth.rename(columns={"label": "prediction"})
    seen = []
    gate = SafeGate("test", lambda name, value: seen.append((name, value)), None)
    result = gate(answers, answers, labels=tmp_path / "labels.csv", allow=0.05)
    assert result.population == "future"
    assert seen[0] == (PROPERTY, "SAFE")


def test_a_limit_is_needed():
    gate = SafeGate("test", lambda name, value: None, None)
    with pytest.raises(TypeError, match="allow"):
        gate(["a"], ["a"])
    with pytest.raises(TypeError, match="allow must be a number"):
        gate(["a"], ["a"], allow=None)
