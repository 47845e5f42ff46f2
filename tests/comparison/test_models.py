"""Models by name: what is refused, and whose error it is."""

import pytest

from shiftmetrics import Computing
from shiftmetrics.comparison.models import check_sizes, measure_each, model_names


def test_models_are_a_mapping_of_two_or_more_by_strings():
    assert model_names({"b": 1, "a": 2}, "results") == ["b", "a"]
    for wrong, error in (({"a": 1}, ValueError), ([1, 2], TypeError), ({1: 1, 2: 2}, TypeError)):
        with pytest.raises(error, match="results"):
            model_names(wrong, "results")


def test_models_of_different_rows_are_named():
    check_sizes("scores", {"a": 3, "b": 3})
    with pytest.raises(ValueError, match="3 for 'a', 4 for 'b'"):
        check_sizes("scores", {"a": 3, "b": 4})


def test_each_model_is_measured_without_a_bar_of_its_own_and_errors_name_it():
    def measure(name, computing):
        assert not computing.progress
        if name == "bad":
            raise ValueError("scores must be finite")
        return name.upper()

    found = measure_each(["a", "b"], measure, Computing(progress=False))
    assert found == {"a": "A", "b": "B"}
    with pytest.raises(ValueError, match="Sample 'bad': scores must be finite"):
        measure_each(["a", "bad"], measure, None, thing="Sample")
