"""Logs of evaluations in JSON lines."""

from __future__ import annotations

import json

import pytest

import tool_logs
from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.readers.evaluation_lines import FORMATS
from shiftmetrics.tables.register import read_file

OWN = ("evalscope", "openai_evals", "human_eval", "garak")


def read(tmp_path, records):
    path = tmp_path / "old.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return read_file(path, "OLD")


def records_of(data):
    return [json.loads(line) for line in data.decode().splitlines()]


def test_each_format_is_told_by_its_own_file_alone():
    for name, (write, _, _) in tool_logs.WRITERS.items():
        if name == "lighteval":
            continue
        head = write([0.0, 1.0])
        assert sum(about.tells(head) for about in FORMATS) == (name in OWN)


def test_a_first_line_that_goes_on_beyond_the_head_is_told():
    head = tool_logs.evalscope([0.0, 1.0])
    assert [about.tool for about in FORMATS if about.tells(head.partition(b"\n")[0])] == [
        "evalscope"
    ]


def test_the_answer_of_the_model_is_no_part_of_the_question(tmp_path):
    logs = [
        read(tmp_path, records_of(tool_logs.evalscope(part))) for part in ([0.0, 1.0], [1.0, 1.0])
    ]
    assert logs[0].frame["digest"].tolist() == logs[1].frame["digest"].tolist()
    assert logs[0].scores == ("acc", "length")
    assert logs[0].frame["about.level"].tolist() == ["0", "1"]


def test_a_sample_that_could_not_be_scored_is_failed(tmp_path):
    records = records_of(tool_logs.evalscope([0.0, 1.0]))
    records[0]["sample_score"]["score"] |= {"status": "judge_unavailable", "value": {}}
    assert read(tmp_path, records).frame["failed"].tolist() == [True, False]


def test_events_belong_together_by_their_sample(tmp_path):
    scores = [1.0, 0.0, 0.0, 1.0]
    log = read(tmp_path, records_of(tool_logs.openai_evals(scores)))
    found = dict(zip(log.frame["id"], log.frame["correct"], strict=True))
    assert found == {f"test.dev.{place}": score for place, score in enumerate(scores)}


def test_metrics_of_a_judge_are_scores(tmp_path):
    spec = {"spec": {"eval_name": "closedqa"}}
    lines = [
        {"sample_id": f"s{n}", "type": "metrics", "data": {"choice": "Y", "score": float(n % 2)}}
        for n in range(4)
    ]
    log = read(tmp_path, [spec, *lines, {"sample_id": "s4", "type": "error", "data": {}}])
    assert log.scores == ("score",)
    assert log.frame["failed"].tolist() == [False] * 4 + [True]


def test_samples_of_one_problem_are_repeats(tmp_path):
    log = read(tmp_path, records_of(tool_logs.human_eval([1.0, 0.0, 0.0, 0.0], n_samples=2)))
    assert log.frame["repeat"].tolist() == [1, 2, 1, 2]
    assert "repeat" not in read(tmp_path, records_of(tool_logs.human_eval([1.0, 0.0]))).frame


def test_outputs_of_one_attempt_are_repeats_and_hits_are_failures(tmp_path):
    records = records_of(tool_logs.garak([1.0, 0.0]))
    for record in records:
        if record.get("status") == 2:
            record["outputs"] = [{"text": "7"}, {"text": "8"}]
            record["detector_results"]["dan.DAN"] = [0.0, 1.0]
    log = read(tmp_path, records)
    assert log.frame["repeat"].tolist() == [1, 2, 1, 2]
    assert log.frame["dan.DAN"].tolist() == [0.0, 1.0] * 2
    assert log.lower_is_better == {"dan.DAN"}


def test_a_line_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "old.jsonl"
    path.write_bytes(tool_logs.human_eval([1.0, 0.0]) + b'{"task_id": ')
    with pytest.raises(UnreadableError, match="line 3"):
        read_file(path, "OLD")
