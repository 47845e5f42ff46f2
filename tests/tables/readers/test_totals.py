"""Totals of tools are refused, with how their logs are written."""

import json

import pytest

from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.register import read_file


@pytest.mark.parametrize(
    ("totals", "remedy"),
    [
        (
            {"results": {"sums": {"name": "sums", "alias": "sums", "acc,none": 0.7}}},
            "--log_samples",
        ),
        ({"results": {"sums": {"alias": "sums", "acc,none": 0.7}}}, "--log_samples"),
        ({"config_general": {"max_samples": None}, "results": {}}, "--save-details"),
        # evalscope 1.14.1: a report of one metric was read as a prediction that did not change
        (
            {
                "schema_version": 2,
                "name": "a@mcq",
                "dataset_name": "mcq",
                "metrics": [{"score": 0.8}],
            },
            "folder reviews",
        ),
        (
            {"index": 0, "model": "a", "model_output": {"choices": []}, "messages": []},
            "folder reviews",
        ),
        # HELM 0.5.16
        (
            [
                {
                    "name": {"name": "exact_match", "split": "test"},
                    "count": 1,
                    "sum": 0.5,
                    "mean": 0.5,
                }
            ],
            "per_instance",
        ),
        ({"adapter_spec": {"method": "generation"}, "request_states": []}, "per_instance"),
    ],
)
def test_totals_name_the_option_that_writes_a_log(totals, remedy, tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(totals, indent=2))
    with pytest.raises(UnreadableError, match=remedy):
        read_file(path, "OLD")


def test_results_of_another_form_are_a_table(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"results": [{"id": 1, "p": 0.5}, {"id": 2, "p": 0.25}]}))
    assert read_file(path, "OLD").frame["p"].tolist() == [0.5, 0.25]
