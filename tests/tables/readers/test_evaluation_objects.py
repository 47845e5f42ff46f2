"""Logs of evaluations that are one JSON object."""

from __future__ import annotations

import json

import pytest

import tool_logs
from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.logs import LogCells, NoScoreError
from shiftmetrics.tables.readers.evaluation_objects import FORMATS
from shiftmetrics.tables.register import READERS, read_file


def read(tmp_path, data):
    path = tmp_path / "old.json"
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return read_file(path, "OLD")


def test_each_format_is_told_by_its_own_file_alone():
    for name, (write, _, _) in tool_logs.WRITERS.items():
        if name == "lighteval":
            continue
        head = write([0.0, 1.0])
        told = [about.tool for about in FORMATS if about.tells(head)]
        assert len(told) == (
            name in ("evalplus", "code_eval", "helm", "opencompass", "deepeval", "mteb")
        )
    assert {about.name for about in FORMATS} <= {reader.name for reader in READERS}


def test_tests_that_were_added_count_beside_the_first_ones(tmp_path):
    log = read(tmp_path, tool_logs.evalplus([1.0, 0.0, 0.0, 1.0], n_samples=2))
    assert log.frame["plus"].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert log.frame["base"].tolist() == [1.0] * 4
    assert log.frame["repeat"].tolist() == [1, 2, 1, 2]
    assert log.frame["id"].tolist() == ["HumanEval/0"] * 2 + ["HumanEval/1"] * 2


def test_a_score_of_helm_that_is_none_of_an_answer_never_leads(tmp_path):
    data = json.loads(tool_logs.helm([0.25, 0.75]))
    assert read(tmp_path, data).scores == ("exact_match", "num_prompt_tokens")
    for record in data:
        record["stats"] = [
            stat for stat in record["stats"] if stat["name"]["name"] != "exact_match"
        ]
    with pytest.raises(UnreadableError, match="HELM"):
        read(tmp_path, data)


def test_a_perturbed_instance_is_another_question(tmp_path):
    data = json.loads(tool_logs.helm([0.25, 0.75]))
    data[1] |= {"instance_id": "id0", "perturbation": {"name": "typos"}}
    log = read(tmp_path, data)
    assert log.frame["id"].tolist() == ["id0", "id0 typos"]
    assert len(set(log.frame["digest"])) == 2


def test_an_error_of_a_metric_is_no_score(tmp_path):
    data = json.loads(tool_logs.deepeval([0.25, 0.75]))
    metric = data["testRunData"]["testCases"][0]["metricsData"][0]
    metric |= {"error": "no judge", "score": None}
    extra = {"name": "Hallucination", "score": 0.5}
    data["testRunData"]["testCases"][1]["metricsData"].append(extra)
    log = read(tmp_path, data["testRunData"])
    assert isinstance(log, LogCells)
    assert log.frame["failed"].tolist() == [True, False]
    assert log.lower_is_better == {"Hallucination"}


def test_details_without_correctness_are_refused(tmp_path):
    data = json.loads(tool_logs.opencompass([1.0, 0.0]))
    del data["details"]["0"]["correct"]
    with pytest.raises(UnreadableError, match="OpenCompass"):
        read(tmp_path, data)
    # An evaluator of all answers together, such as of exact matches: OpenCompass writes the answers alone.
    del data["details"]["1"]["correct"]
    with pytest.raises(NoScoreError, match="Let it score each sample"):
        read(tmp_path, data)


def test_answers_to_a_question_that_is_asked_twice_are_repeats(tmp_path):
    """Details of OpenCompass 0.5.4 as a list, as its own accuracy writes them."""
    details = [
        {
            "example_abbr": f"sums_{place}",
            "pred": ["7", "8"],
            "refr": ["7", "7"],
            "correct": [True, place > 0],
        }
        for place in range(2)
    ]
    log = read(tmp_path, {"accuracy": 75.0, "details": details})
    assert log.frame["correct"].tolist() == [1.0, 0.0, 1.0, 1.0]
    assert log.frame["repeat"].tolist() == [1, 2, 1, 2]
    assert log.frame["id"].tolist() == ["0", "0", "1", "1"]
