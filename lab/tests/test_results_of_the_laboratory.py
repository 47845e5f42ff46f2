"""Results of the laboratory are read by the commands of the core."""

import numpy as np

from shiftmetrics.cli.inputs.results import read_result_files
from shiftmetrics_lab.distances import output_distance


def test_results_of_the_laboratory_are_known_to_commands(tmp_path):
    rng = np.random.default_rng(0)
    output_distance(rng.normal(size=(20, 3)), rng.normal(size=(20, 3))).to_json(tmp_path / "d.json")
    assert list(read_result_files([tmp_path]).results) == ["d"]
