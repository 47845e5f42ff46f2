"""The table of names."""

from __future__ import annotations

import pytest

from shiftmetrics.tables.roles.names import has_name_of, plain_name


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("id", "id"), ("image_id", "id"), ("imageId", "id"), ("rowIndex", "id"), ("inst#", "id"),
        ("label", "truth"), ("y_true", "truth"), ("Ground Truth", "truth"),
        (".pred_class", "answer"), ("prediction_label", "answer"), ("predictedLabel", "answer"),
        ("output_label", "answer"), ("predictions.predicted_label", "answer"), ("uid", "id"),
        ("time_per_example", "beside"), ("total_cost", "beside"), ("n_output_tokens", "beside"),
        ("sample_weight", "weight"), ("latency_ms", "beside"), ("score", "confidence"),
    ],
)  # fmt: skip
def test_usual_names(name, role):
    assert has_name_of(name, role)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("prediction_label", "truth"),
        ("cat", "id"),
        ("paid", "id"),
        ("setosa", "answer"),
        ("predictions.predicted_label", "truth"),
        ("time", "id"),
        ("full_timer", "beside"),
    ],
)
def test_other_names(name, role):
    assert not has_name_of(name, role)


def test_plain_names():
    assert plain_name(" Predicted-Label ") == "predicted_label"
