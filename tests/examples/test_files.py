"""The demonstration as files: a configuration and rules that name what it measured, beside its arrays."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from shiftmetrics.examples.evaluate import BROKEN_RISK, Demonstration
from shiftmetrics.examples.files import write_inputs


@pytest.fixture(scope="module")
def folder(small: Demonstration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    assert write_inputs(small, folder, seed=7) == folder / "config.toml"
    return folder


def test_the_configuration_names_arrays_that_are_there(small: Demonstration, folder: Path) -> None:
    config = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
    assert config["seed"] == 7
    tables = [table for name in ("agreement", "stability", "novelty") for table in config[name]]
    assert [table["name"] for table in tables] == list(small.results)
    assert config["stability"][0]["threshold"] == BROKEN_RISK
    with np.load(folder / "digits.npz", allow_pickle=False) as arrays:
        for table in tables:
            for value in table.values():
                if str(value).startswith("digits.npz"):
                    assert str(value).partition(":")[2] in arrays.files
        np.testing.assert_array_equal(arrays["distances"], small.distances)
        rows = small.context.rows[tables[0]["name"]]
        np.testing.assert_array_equal(arrays["rotated_scores"], rows.scores)
        np.testing.assert_array_equal(arrays["scores"], rows.reference_scores)


def test_the_rules_speak_of_results_that_are_there(small: Demonstration, folder: Path) -> None:
    rules = tomllib.loads((folder / "rules.toml").read_text(encoding="utf-8"))["rule"]
    named = {rule["result"] for rule in rules if "result" in rule}
    assert named == set(list(small.results)[:2])
    measures = {result.measure.split(".")[0] for result in small.results.values()}
    assert {rule["measure"] for rule in rules} <= measures
